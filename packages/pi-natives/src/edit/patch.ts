/**
 * Patches in the `*** Begin Patch` form, and their hunks.
 * @module
 */
import { type Change, EditError, linesOf, textOf } from "./change.js";

interface Hunk {
  /** The text after `@@`: a line above the hunk. */
  anchor: string;
  old: string[];
  now: string[];
  /** The lines of `now` that are not in `old`. */
  added: string[];
}

function parseHunks(rows: readonly string[]): Hunk[] {
  const hunks: Hunk[] = [];
  for (const row of rows) {
    if (row === "*** End of File" || row.startsWith("\\ No newline")) continue;
    if (row.startsWith("@@")) {
      hunks.push({ anchor: row.replace(/^@@(?: -\d+(?:,\d+)? \+\d+(?:,\d+)? @@)?/, "").trim(), old: [], now: [], added: [] });
      continue;
    }
    if (hunks.length === 0) hunks.push({ anchor: "", old: [], now: [], added: [] });
    const hunk = hunks.at(-1) as Hunk;
    const [sign, line] = [row[0] ?? " ", row.slice(1)];
    if (!" +-".includes(sign)) throw new EditError(`Lines of a hunk start with a blank, "+" or "-": "${row}".`);
    if (sign !== "+") hunk.old.push(line);
    if (sign !== "-") hunk.now.push(line);
    if (sign === "+") hunk.added.push(line);
  }
  return hunks.filter(({ old, now }) => old.length || now.length);
}

/** The comparisons of lines, the strictest first. */
const COMPARISONS: readonly ((line: string) => string)[] = [(line) => line, (line) => line.trimEnd(), (line) => line.trim()];

function find(lines: readonly string[], wanted: readonly string[], from: number, fuzzy: boolean): number {
  for (const shape of fuzzy ? COMPARISONS : COMPARISONS.slice(0, 1)) {
    const shaped = wanted.map(shape);
    for (let at = from; at + wanted.length <= lines.length; at++) {
      if (shaped.every((line, next) => shape(lines[at + next] as string) === line)) return at;
    }
  }
  return -1;
}

function applyHunks(hunks: readonly Hunk[], text: string, fuzzy: boolean, path: string): string {
  const lines = linesOf(text);
  let from = 0;
  for (const { anchor, old, now } of hunks) {
    if (anchor) {
      const at = find(lines, [anchor], from, true);
      if (at >= 0) from = at + 1;
    }
    // The line after "@@" may be repeated in the hunk.
    const before = Math.max(from - 1, 0);
    const at = old.length === 0 ? (anchor ? from : lines.length) : [find(lines, old, from, fuzzy), find(lines, old, before, fuzzy), find(lines, old, 0, fuzzy)].find((place) => place >= 0);
    if (at === undefined) throw new EditError(`These lines are not in ${path}:\n${old.join("\n")}\nRead the file, and copy them exactly.`);
    lines.splice(at, old.length, ...now);
    from = at + now.length;
  }
  return textOf(lines, text);
}

/** Parses a patch that begins with `*** Begin Patch`. */
export function parseBeginPatch(input: string): Change[] {
  const sections = input.replaceAll("\r\n", "\n").split(/^(?=\*\*\* (?:Add|Update|Delete) File: )/m).filter((part) => part.startsWith("*** ") && !part.startsWith("*** Begin"));
  if (sections.length === 0) throw new EditError('The patch names no file: write "*** Begin Patch", then for example "*** Update File: PATH".');
  return sections.map((section): Change => {
    const [head = "", ...rest] = section.split("\n");
    const [, verb, path = ""] = /^\*\*\* (\w+) File: (.+?)\s*$/.exec(head) ?? [];
    const rows = rest.filter((row) => !/^\*\*\* (?:End Patch|Move to: )/.test(row));
    if (rows.at(-1) === "") rows.pop();
    const moveTo = /^\*\*\* Move to: (.+?)\s*$/m.exec(section)?.[1];
    if (verb === "Delete") return { path, op: "delete", added: [], apply: () => "" };
    if (verb === "Add") return created(path, rows.map((row) => row.replace(/^\+/, "")));
    return updated(path, parseHunks(rows), moveTo);
  });
}

function created(path: string, lines: string[]): Change {
  return { path, op: "create", added: lines, apply: () => textOf(lines, "") };
}

function updated(path: string, hunks: Hunk[], moveTo: string | undefined): Change {
  return { path, op: "update", ...(moveTo ? { moveTo } : {}), added: hunks.flatMap(({ added }) => added), apply: (text, { fuzzy }) => applyHunks(hunks, text, fuzzy, path) };
}

interface PatchEntry {
  op?: "create" | "update" | "delete";
  rename?: string;
  diff?: string;
}

/** Parses the arguments `path` and `edits`, each with `op`, `rename` and `diff`. */
export function parsePatchEdits({ path, edits }: { path?: string; edits?: PatchEntry[] }): Change[] {
  if (typeof path !== "string" || path === "" || !Array.isArray(edits) || edits.length === 0) throw new EditError("path and edits are required.");
  return edits.map(({ op = "update", rename, diff = "" }): Change => {
    const rows = linesOf(diff.replaceAll("\r\n", "\n")).filter((row) => !/^(?:--- |\+\+\+ |diff --git )/.test(row));
    if (op === "delete") return { path, op, added: [], apply: () => "" };
    if (op === "create") return created(path, rows.every((row) => row.startsWith("+")) ? rows.map((row) => row.slice(1)) : rows);
    return updated(path, parseHunks(rows), rename);
  });
}
