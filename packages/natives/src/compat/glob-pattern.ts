/**
 * Glob patterns as fast-glob reads them: braces become alternatives, each a regular expression over a path with `/`.
 * @module
 */

/** The rules that decide what a pattern means. @internal */
export interface PatternSyntax {
  /** Wildcards match names that begin with a dot. */
  dot: boolean;
  /** Case is no difference. */
  ignoreCase: boolean;
  /** `@(a|b)` and the like have a meaning. */
  extglob: boolean;
  /** `**` reaches over folders. */
  globstar: boolean;
  /** `{a,b}` has a meaning. */
  braces: boolean;
}

/** More alternatives than this are refused: each is an expression. */
const LIMIT = 10_000;

const CLASSES: Record<string, string> = {
  alnum: "a-zA-Z0-9", alpha: "a-zA-Z", blank: " \\t", cntrl: "\\x00-\\x1f\\x7f", digit: "0-9", graph: "\\x21-\\x7e", lower: "a-z",
  print: "\\x20-\\x7e", punct: "!-\\/:-@\\[-`{-~", space: "\\s", upper: "A-Z", word: "\\w", xdigit: "0-9a-fA-F",
};

/** The end of the class that begins at `at`, or -1. */
function classEnd(pattern: string, at: number): number {
  let end = at + 1;
  if (pattern[end] === "!" || pattern[end] === "^") end++;
  if (pattern[end] === "]") end++;
  for (; end < pattern.length; end++) {
    if (pattern[end] === "\\") end++;
    else if (pattern[end] === "[" && pattern[end + 1] === ":") {
      const close = pattern.indexOf(":]", end + 2);
      if (close > 0) end = close + 1;
    } else if (pattern[end] === "]") return end;
  }
  return -1;
}

/** The place of what closes the bracket at `at`, or -1; `each` sees what stands on its level. */
function closing(pattern: string, at: number, each: (char: string, at: number) => void = () => {}): number {
  const [open, close] = [pattern[at] as string, pattern[at] === "{" ? "}" : ")"];
  let depth = 0;
  for (let index = at; index < pattern.length; index++) {
    const char = pattern[index] as string;
    if (char === "\\") index++;
    else if (char === "[" && classEnd(pattern, index) > 0) index = classEnd(pattern, index);
    else if (char === open) depth++;
    else if (char === close && --depth === 0) return index;
    else if (depth === 1) each(char, index);
  }
  return -1;
}

function range(body: string): string[] | undefined {
  const parts = /^(-?\d+|[a-zA-Z])\.\.(-?\d+|[a-zA-Z])(?:\.\.(-?\d+))?$/.exec(body);
  if (!parts) return undefined;
  const [, from = "", to = "", by] = parts;
  const letters = /^[a-zA-Z]$/.test(from) && /^[a-zA-Z]$/.test(to);
  if (!letters && (Number.isNaN(Number(from)) || Number.isNaN(Number(to)))) return undefined;
  const [low, high] = letters ? [from.charCodeAt(0), to.charCodeAt(0)] : [Number(from), Number(to)];
  const step = Math.max(1, Math.abs(Number(by ?? 1)));
  if (Math.abs(high - low) / step > LIMIT) throw new RangeError(`fast-glob: {${body}} has more than ${LIMIT} members`);
  const width = [from, to].some((text) => /^-?0\d/.test(text)) ? Math.max(from.length, to.length) : 0;
  const members: string[] = [];
  for (let value = low; low <= high ? value <= high : value >= high; value += low <= high ? step : -step) {
    members.push(letters ? String.fromCharCode(value) : value < 0 ? `-${String(-value).padStart(width - 1, "0")}` : String(value).padStart(width, "0"));
  }
  return members;
}

/** The alternatives of `{a,b}` and `{1..3}`, in the order written; other braces stay. @internal */
export function expandBraces(pattern: string): string[] {
  const done: string[] = [];
  const todo = [{ text: pattern, from: 0 }];
  for (let next = todo.pop(); next; next = todo.pop()) {
    const { text } = next;
    let at = next.from;
    let bodies: string[] | undefined;
    let close = -1;
    for (; at < text.length && !bodies; at++) {
      if (text[at] === "\\") at++;
      else if (text[at] === "[" && classEnd(text, at) > 0) at = classEnd(text, at);
      else if (text[at] === "{" && text[at - 1] !== "$") {
        const commas: number[] = [];
        close = closing(text, at, (char, index) => char === "," && commas.push(index));
        if (close < 0) continue;
        const cuts = [...commas, close];
        bodies = commas.length ? cuts.map((cut, index) => text.slice(index ? (cuts[index - 1] as number) + 1 : at + 1, cut)) : range(text.slice(at + 1, close));
        if (bodies) break;
      }
    }
    if (!bodies) done.push(text);
    else for (const body of bodies.reverse()) todo.push({ text: text.slice(0, at) + body + text.slice(close + 1), from: at });
    if (done.length + todo.length > LIMIT) throw new RangeError(`fast-glob: ${JSON.stringify(pattern.slice(0, 100))} has more than ${LIMIT} alternatives`);
  }
  return [...new Set(done)];
}

const escaped = (char: string) => char.replace(/[\\^$.*+?()[\]{}|/-]/, "\\$&");

function classSource(pattern: string, at: number, end: number): string {
  const negated = /[!^]/.test(pattern[at + 1] as string);
  let body = "";
  for (let index = at + (negated ? 2 : 1); index < end; index++) {
    const named = pattern[index] === "[" && /^\[:(\w+):\]/.exec(pattern.slice(index, end));
    if (named && CLASSES[named[1] as string]) {
      body += CLASSES[named[1] as string];
      index += named[0].length - 1;
    } else if (pattern[index] === "\\") body += escaped(pattern[++index] as string);
    else body += pattern[index] === "-" ? "-" : escaped(pattern[index] as string);
  }
  return negated ? `[^/${body}]` : `(?!/)[${body}]`;
}

/** One level or more of a pattern without braces, as the source of an expression. */
function source(pattern: string, syntax: PatternSyntax, begins: boolean): string {
  let out = "";
  let start = begins;
  const noDot = syntax.dot ? "" : "(?!\\.)";
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at] as string;
    const group = syntax.extglob && pattern[at + 1] === "(" && "@?*+!".includes(char) ? groupSource(pattern, at, syntax, start) : undefined;
    if (group) {
      out += group.source;
      if (group.rest) return out;
      at = group.end;
    } else if (char === "/") {
      out += "/";
      start = true;
      continue;
    } else if (char === "*") {
      let end = at;
      while (pattern[end + 1] === "*") end++;
      const alone = start && (end + 1 === pattern.length || pattern[end + 1] === "/");
      // A lone star is a name, and a name has a character.
      out += (start ? noDot : "") + (alone ? "[^/]+" : "[^/]*");
      at = end;
    } else if (char === "?") out += `${start ? noDot : ""}[^/]`;
    else if (char === "[" && classEnd(pattern, at) > 0) {
      const end = classEnd(pattern, at);
      // A class may match a dot at the start, as in picomatch.
      out += classSource(pattern, at, end);
      at = end;
    } else if (char === "(" && closing(pattern, at) > 0) {
      // A plain group is one of regular expressions.
      const end = closing(pattern, at);
      out += `(?:${alternatives(pattern, at, end).map((part) => source(part, syntax, start)).join("|")})`;
      at = end;
    } else out += escaped(char === "\\" && at + 1 < pattern.length ? (pattern[++at] as string) : char);
    start = false;
  }
  return out;
}

function alternatives(pattern: string, open: number, close: number): string[] {
  const cuts: number[] = [];
  closing(pattern, open, (char, index) => char === "|" && cuts.push(index));
  return [...cuts, close].map((cut, index) => pattern.slice(index ? (cuts[index - 1] as number) + 1 : open + 1, cut));
}

function groupSource(pattern: string, at: number, syntax: PatternSyntax, start: boolean): { source: string; end: number; rest: boolean } | undefined {
  const end = closing(pattern, at + 1);
  if (end < 0) return undefined;
  const body = `(?:${alternatives(pattern, at + 1, end).map((part) => source(part, syntax, start)).join("|")})`;
  if (pattern[at] !== "!") return { source: body + (pattern[at] === "@" ? "" : pattern[at]), end, rest: false };
  // What it is not depends on what follows: it is read to the end of its level here.
  const after = pattern.slice(end + 1);
  const level = source(after.split("/", 1)[0] as string, syntax, false);
  return { source: `(?!${body}${level}(?:/|$))[^/]*?${source(after, syntax, false)}`, end, rest: true };
}

/** One pattern without braces. */
function expression(pattern: string, syntax: PatternSyntax): string {
  const name = syntax.dot ? "(?!\\.{1,2}(?:/|$))[^/]+" : "(?!\\.)[^/]+";
  const levels = pattern.split("/");
  if (!syntax.globstar) return source(pattern, syntax, true);
  // A group may hold a slash: then its levels are none.
  if (/[@?*+!]?\([^)]*\/[^)]*\)/.test(pattern)) return source(pattern, syntax, true);
  let out = "";
  for (let index = 0; index < levels.length; index++) {
    const level = levels[index] as string;
    const last = index === levels.length - 1;
    if (/^\*{2,}$/.test(level)) {
      while (/^\*{2,}$/.test(levels[index + 1] ?? "")) index++;
      const ends = index === levels.length - 1;
      if (!ends) out += `(?:${name}/)*`;
      else if (out === "") out += `(?:${name}(?:/${name})*)?/?`;
      // Behind a folder: that itself, and all below it.
      else out = `${out.slice(0, -1)}(?:/${name})*/?`;
      continue;
    }
    out += source(level, syntax, true) + (last ? "" : "/");
  }
  return out;
}

/** The expression of a pattern; it matches whole paths. @internal */
export function patternExpression(pattern: string, syntax: PatternSyntax): RegExp {
  const all = (syntax.braces ? expandBraces(pattern) : [pattern]).map((one) => expression(one.replace(/^(?:\.\/)+/, ""), syntax));
  return new RegExp(`^(?:${all.join("|")})$`, `s${syntax.ignoreCase ? "i" : ""}`);
}

/** Tells whether anything in a pattern is more than a name. @internal */
export function isDynamic(pattern: string, { caseSensitiveMatch = true, extglob = true, braceExpansion = true } = {}): boolean {
  if (pattern === "") return false;
  if (!caseSensitiveMatch || pattern.includes("\\")) return true;
  if (/[*?]|^!/.test(pattern) || /\[[^[]*\]/.test(pattern) || /(?:^|[^!*+?@])\([^(]*\|[^|]*\)/.test(pattern)) return true;
  if (extglob && /[!*+?@]\([^(]*\)/.test(pattern)) return true;
  return braceExpansion && /\{[^}]*(?:,|\.\.)[^}]*\}/.test(pattern);
}

/** The folder in which every match of a pattern lies. @internal */
export function baseOf(pattern: string): string {
  const levels = pattern.split("/");
  const kept: string[] = [];
  for (const level of levels.slice(0, -1)) {
    if (/[*?{}]|[[\]()]|^!/.test(level.replace(/\\./g, ""))) break;
    kept.push(level.replace(/\\(?=[!*?|(){}[\]@+])/g, ""));
  }
  if (kept.length === 1 && kept[0] === "") return "/";
  return kept.join("/") || ".";
}
