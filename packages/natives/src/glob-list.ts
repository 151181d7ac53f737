/**
 * Lists of glob patterns as the addon reads them: one text, in which commas separate the patterns.
 * @module
 */

import { sep } from "node:path";

const windows = process.platform === "win32";
/** An escaped character (`\` separates directories on Windows), a class that is closed on its level, or one character. */
const TOKEN = windows ? /\[[!^]?\]?(?:\[:\w+:\]|[^\]/])*\]|[^]/g : /\\[^]|\[[!^]?\]?(?:\[:\w+:\]|\\[^]|[^\]/\\])*\]|[^]/g;
const RANGE = /^(?:-?\d+\.\.-?\d+|[a-zA-Z]\.\.[a-zA-Z])(?:\.\.-?\d+)?$/;

/** The tokens of a pattern, and the positions of the braces and commas that make alternatives. */
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

/** A class that matches one character. It means the same on every system and is one token of the list. */
const alone = (char: string) => (char === "\\" ? "[\\\\]" : `[${char}]`);

/** One pattern as an item of the list: nothing in it separates, and braces without alternatives are literal. */
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

/** The pattern that matches the text of another literally. */
function literal(pattern: string): string {
  return item(pattern.replace(/[*?[{}(,\\]/g, (char) => (char === "\\" && windows ? char : alone(char))));
}

/** The items for one pattern: an entry whose name is the pattern matches too, if the pattern can mean something else. */
function items(pattern: string): string[] {
  const [, mark = "", body = ""] = /^(!(?!\())?([^]*)$/.exec(pattern) as RegExpExecArray;
  const all = body && /[[{(\\]/.test(body) ? [item(body), literal(body)] : [item(body)];
  return [...new Set(all)].map((one) => mark + one);
}

/** The patterns of a text in which commas outside of classes and alternatives separate. @internal */
export function splitPatterns(text: string): string[] {
  const { tokens, structure } = parse(text);
  const parts = [""];
  tokens.forEach((token, at) => {
    if (token === "," && !structure.has(at)) parts.push("");
    else parts[parts.length - 1] += token === "\\," ? "," : token;
  });
  return parts.length === 1 ? [text] : parts.map((part) => part.trim()).filter(Boolean);
}

/** An absolute pattern below one of the directories as a relative one: their names may have braces and commas too. */
function relativePattern(pattern: string, roots: readonly string[]): string {
  const [, mark = "", body = ""] = /^(!(?!\())?([^]*)$/.exec(pattern) as RegExpExecArray;
  const written = body.split(sep).join("/");
  const root = roots.find((each) => written.startsWith(each));
  return root === undefined ? pattern : `${mark}./${body.slice(root.length)}`;
}

/**
 * The text of a list that holds each of the patterns.
 * @param roots The absolute paths of the directory that is searched, with `/` between names and at the end.
 * @internal
 */
export function joinPatterns(patterns: readonly string[], roots: readonly string[]): string {
  // The addon drops blanks around an item, and finds an entry whose name is the whole list: no name has this in it.
  return patterns.flatMap((pattern) => items(relativePattern(pattern, roots))).join(",\n\n");
}
