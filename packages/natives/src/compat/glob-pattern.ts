/**
 * The parts of fast-glob's patterns that need no matching: alternatives in braces, and the directory in which a pattern begins.
 * @module
 */

/** The maximum number of alternatives, each of which is compiled separately. */
const LIMIT = 10_000;

/** Returns the end of the class that begins at `at`, or -1. */
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

/** Returns the position that closes the bracket at `at`, or -1. `each` is called for the characters on its level. */
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

/** Expands `{a,b}` and `{1..3}` in the written order; other braces are kept. @internal */
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

/** Returns whether a pattern contains anything but literal text. @internal */
export function isDynamic(pattern: string, { caseSensitiveMatch = true, extglob = true, braceExpansion = true } = {}): boolean {
  if (pattern === "") return false;
  if (!caseSensitiveMatch || pattern.includes("\\")) return true;
  if (/[*?]|^!/.test(pattern) || /\[[^[]*\]/.test(pattern) || /(?:^|[^!*+?@])\([^(]*\|[^|]*\)/.test(pattern)) return true;
  if (extglob && /[!*+?@]\([^(]*\)/.test(pattern)) return true;
  return braceExpansion && /\{[^}]*(?:,|\.\.)[^}]*\}/.test(pattern);
}

/** Returns the directory that contains all matches of a pattern. @internal */
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
