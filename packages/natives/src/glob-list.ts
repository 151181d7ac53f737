/**
 * Lists of glob patterns in the form of the addon: one text in which commas separate the patterns.
 * @module
 */

import { sep } from "node:path";

const windows = process.platform === "win32";
/** An escaped character (`\` separates directories on Windows), a complete class, or one character. */
const TOKEN = windows ? /\[[!^]?\]?(?:\[:\w+:\]|[^\]/])*\]|[^]/g : /\\[^]|\[[!^]?\]?(?:\[:\w+:\]|\\[^]|[^\]/\\])*\]|[^]/g;
const RANGE = /^(?:-?\d+\.\.-?\d+|[a-zA-Z]\.\.[a-zA-Z])(?:\.\.-?\d+)?$/;

/** Returns the tokens of a pattern, and the positions of the braces and commas that form alternatives. */
function parse(pattern: string): { tokens: string[]; structure: Set<number> } {
  const tokens = pattern.match(TOKEN) ?? [];
  const structure = new Set<number>();
  const open: { at: number; commas: number[] }[] = [];
  tokens.forEach((token, at) => {
    if (token === "{") open.push({ at, commas: [] });
    else if (token === ",") open.at(-1)?.commas.push(at);
    else if (token === "}") {
      const group = open.pop();
      if (group && (group.commas.length || RANGE.test(tokens.slice(group.at + 1, at).join("")))) for (const one of [group.at, ...group.commas, at]) structure.add(one);
    }
  });
  return { tokens, structure };
}

/** Returns a class that matches one character. It has the same meaning on every system and is one token of the list. */
const alone = (char: string) => (char === "\\" ? "[\\\\]" : `[${char}]`);

/**
 * Returns a pattern as an item of the list: commas in it do not separate, and braces without alternatives are literal.
 */
function item(pattern: string): string {
  const { tokens, structure } = parse(pattern);
  const last = tokens.length - 1;
  return tokens
    .map((token, at) => {
      const isEdge = (at === 0 || at === last) && token.trim() === "";
      const isLone = token === "[" || (token === "\\" && !windows) || (/^[{},]$/.test(token) && !structure.has(at));
      return isEdge || isLone ? alone(token) : token;
    })
    .join("");
}

/** Returns the pattern that matches the text of another pattern literally. */
function literal(pattern: string): string {
  return item(pattern.replace(/[*?[{}(,\\]/g, (char) => (char === "\\" && windows ? char : alone(char))));
}

/** Returns the items for a pattern. An entry whose name equals the pattern matches too. */
function items(pattern: string): string[] {
  const [, mark = "", body = ""] = /^(!(?!\())?([^]*)$/.exec(pattern) as RegExpExecArray;
  const all = body && /[[{(\\]/.test(body) ? [item(body), literal(body)] : [item(body)];
  return [...new Set(all)].map((one) => mark + one);
}

/** Splits a text into patterns at commas outside of classes and alternatives. @internal */
export function splitPatterns(text: string): string[] {
  const { tokens, structure } = parse(text);
  const parts = [""];
  tokens.forEach((token, at) => {
    if (token === "," && !structure.has(at)) parts.push("");
    else parts[parts.length - 1] += token === "\\," ? "," : token;
  });
  return parts.length === 1 ? [text] : parts.map((part) => part.trim()).filter(Boolean);
}

/** Makes an absolute pattern below one of the directories relative. Their names may contain braces and commas too. */
function relativePattern(pattern: string, roots: readonly string[]): string {
  const [, mark = "", body = ""] = /^(!(?!\())?([^]*)$/.exec(pattern) as RegExpExecArray;
  const written = body.split(sep).join("/");
  const root = roots.find((each) => written.startsWith(each));
  return root === undefined ? pattern : `${mark}./${body.slice(root.length)}`;
}

/**
 * Returns the text of a list with these patterns.
 * @param roots The absolute paths of the directory that is searched, with `/` between names and at the end.
 * @internal
 */
export function joinPatterns(patterns: readonly string[], roots: readonly string[]): string {
  // The addon removes blanks around an item, and matches an entry whose name is the whole list. No name contains this.
  return patterns.flatMap((pattern) => items(relativePattern(pattern, roots))).join(",\n\n");
}
