/**
 * The tasks of fast-glob: patterns grouped by their base directory; and conversions of paths to patterns.
 * @module
 */
import type { Options } from "./fast-glob-options.js";
import { baseOf, expandBraces, isDynamic } from "./glob-pattern.js";

/** Patterns with the same base directory. */
export interface Task {
  /** The base directory. */
  base: string;
  /** True if the patterns are not just paths. */
  dynamic: boolean;
  /** All patterns; negative ones begin with `!`. */
  patterns: string[];
  /** The patterns of entries to find. */
  positive: string[];
  /** The patterns of entries to exclude. */
  negative: string[];
}

const isNegative = (pattern: string) => pattern.startsWith("!") && pattern[1] !== "(";
const withoutMark = (pattern: string) => (isNegative(pattern) ? pattern.slice(1) : pattern);
const isOutside = (pattern: string) => /^(?:\.\/)*\.\./.test(pattern);

/** Returns patterns in their final form: with expanded alternatives and without duplicate slashes. */
function processed(patterns: readonly string[], { braceExpansion = true, baseNameMatch = false }: Options): string[] {
  const expanded = braceExpansion ? patterns.flatMap((pattern) => (/\{.*(?:,|\.\.).*\}/s.test(pattern) ? expandBraces(pattern).filter(Boolean) : [pattern])) : [...patterns];
  const deep = baseNameMatch ? expanded.map((pattern) => (pattern.includes("/") ? pattern : `**/${pattern}`)) : expanded;
  return deep.map((pattern) => pattern.replace(/(?!^)\/{2,}/g, "/"));
}

function grouped(positive: readonly string[], negative: readonly string[], dynamic: boolean): Task[] {
  const task = (base: string, own: string[]): Task => ({ base, dynamic, patterns: [...own, ...negative.map((pattern) => `!${pattern}`)], positive: own, negative: [...negative] });
  const byBase = (patterns: readonly string[]) => {
    const groups = new Map<string, string[]>();
    for (const pattern of patterns) {
      const base = baseOf(pattern);
      groups.set(base, [...(groups.get(base) ?? []), pattern]);
    }
    return groups;
  };
  const inside = positive.filter((pattern) => !isOutside(pattern));
  const groups = byBase(inside);
  const tasks = [...byBase(positive.filter(isOutside))].map(([base, own]) => task(base, own));
  return groups.has(".") ? [...tasks, task(".", inside)] : [...tasks, ...[...groups].map(([base, own]) => task(base, own))];
}

/** Returns the tasks for patterns. */
export function tasksOf(patterns: readonly string[], options: Options): Task[] {
  const all = processed(patterns, options);
  const ignore = processed(options.ignore ?? [], options);
  const positive = all.filter((pattern) => !isNegative(pattern));
  const negative = [...all.filter(isNegative), ...ignore].map(withoutMark);
  const fixed = positive.filter((pattern) => !isDynamic(pattern, options));
  const dynamic = positive.filter((pattern) => isDynamic(pattern, options));
  return [...grouped(fixed, negative, false), ...grouped(dynamic, negative, true)];
}

/** Escapes a Unix path, so that its characters are literal. */
export function escapePosix(path: string): string {
  return path.replace(/\\?([()*?[\]{|}]|^!|[!+@](?=\()|\\(?![!()*+?@[\]{|}]))/g, "\\$1");
}

/** Escapes a Windows path, so that its characters are literal. */
export function escapeWindows(path: string): string {
  return path.replace(/\\?([(){}[\]]|^!|[!+@](?=\())/g, "\\$1");
}

/** Converts a Unix path to a pattern. */
export function pathToPatternPosix(path: string): string {
  return escapePosix(path);
}

/** Converts a Windows path to a pattern. */
export function pathToPatternWindows(path: string): string {
  return escapeWindows(path)
    .replace(/^\\\\([.?])/, "//$1")
    .replace(/\\(?![!()+@[\]{}])/g, "/");
}
