/**
 * The filters of fast-glob: which entries match, and which directories are entered on the way to them.
 * @module
 */
import { basename, isAbsolute, resolve } from "node:path";
import type { Options } from "./fast-glob-options.js";
import type { Task } from "./fast-glob-tasks.js";
import { type Matcher, type PatternSyntax, compilePattern, levelsOf } from "./glob-expression.js";
import { isDynamic } from "./glob-pattern.js";

/** The kind of an entry. */
export type EntryKind = "file" | "folder" | "link" | "other";

/** A level of a pattern, which directory names are compared with. */
interface Level {
  matches: (name: string) => boolean;
  /** True if it is `**` or contains it. */
  isDeep: boolean;
}

/** The filter of one task. @internal */
export class EntryFilter {
  readonly #cwd: string;
  readonly #positive: Matcher[];
  readonly #relative: Matcher[];
  readonly #absolute: Matcher[];
  /** The patterns that exclude whole directories. */
  readonly #closing: Matcher[];
  /** The levels of each positive pattern; absent if every directory is entered. */
  readonly #levels: Level[][] | undefined;
  readonly #base: string;
  readonly #entered = new Map<string, boolean>();

  constructor(task: Task, options: Options, cwd: string) {
    this.#cwd = cwd;
    const syntax: PatternSyntax = {
      dot: options.dot ?? false,
      ignoreCase: options.caseSensitiveMatch === false,
      extglob: options.extglob ?? true,
      globstar: options.globstar ?? true,
    };
    const compile = (patterns: readonly string[], dot = syntax.dot) => patterns.map((pattern) => compilePattern(pattern, { ...syntax, dot }));
    this.#positive = compile(task.positive);
    this.#relative = compile(task.negative.filter((pattern) => !isAbsolute(pattern)), true);
    this.#absolute = compile(task.negative.filter((pattern) => isAbsolute(pattern)), true);
    // A pattern that ends with a wildcard excludes entries, and directories are still entered.
    this.#closing = compile(task.negative.filter((pattern) => pattern.endsWith("/**") || !isDynamic(basename(pattern))));
    const levels = task.positive.map((pattern) => levelMatchers(pattern, options, syntax));
    this.#levels = options.baseNameMatch || levels.some(([first]) => first?.isDeep) ? undefined : levels;
    this.#base = task.base === "." ? "" : task.base.replace(/^\.\//, "");
  }

  /** Returns true if every directory above a path is entered. */
  reaches(path: string): boolean {
    if (!this.#levels && !this.#closing.length) return true;
    const cut = path.lastIndexOf("/");
    return cut <= 0 || this.#enters(path.slice(0, cut));
  }

  #enters(directory: string): boolean {
    // The searched directory is always entered; the directories above it are not examined.
    if (directory.length <= this.#base.length) return true;
    const known = this.#entered.get(directory);
    if (known !== undefined) return known;
    const enters = this.reaches(directory) && this.#leadsOn(directory) && !this.#closing.some((matcher) => matcher.test(directory));
    this.#entered.set(directory, enters);
    return enters;
  }

  /** Returns true if a pattern can match something below the directory. */
  #leadsOn(directory: string): boolean {
    const names = directory.split("/");
    return !this.#levels || this.#levels.some((levels) => {
      const first = levels.findIndex(({ isDeep }) => isDeep);
      if (first >= 0 ? names.length > first : levels.length <= names.length) return first >= 0;
      return names.every((name, index) => levels[index]?.matches(name));
    });
  }

  /** Returns true if a path matches a pattern, and none that excludes it. */
  matches(path: string, isDir: boolean): boolean {
    if (!some(this.#positive, path, isDir) || some(this.#relative, path, isDir)) return false;
    return !this.#absolute.length || !some(this.#absolute, resolve(this.#cwd, path), isDir);
  }
}

function some(matchers: readonly Matcher[], path: string, isDir: boolean): boolean {
  return matchers.some((matcher) => matcher.test(path)) || (isDir && matchers.some((matcher) => matcher.test(`${path}/`)));
}

function levelMatchers(pattern: string, options: Options, syntax: PatternSyntax): Level[] {
  const text = pattern.replace(/^(?:\.\/)+/, "");
  // Without groups, the `!` of `!(a)/*` negates the whole pattern, and fast-glob enters the directories that the rest names.
  return levelsOf(!syntax.extglob && text.startsWith("!") ? text.slice(1) : text).map((level) => {
    if (!isDynamic(level, options)) return { matches: (name) => name === level, isDeep: false };
    const matcher = compilePattern(level, syntax);
    return { matches: (name) => matcher.test(name), isDeep: level.includes("**") };
  });
}
