/**
 * Edits that contain the text to replace.
 * @module
 */
import { type Change, EditError, linesOf } from "./change.js";

interface Replacement {
  old_string?: string;
  new_string?: string;
  replace_all?: boolean;
}

/** Parses the arguments `path`, `old_string`, `new_string` and `replace_all`, or a list of them in `edits`. */
export function parseReplace({ path, edits, ...single }: { path?: string; edits?: Replacement[] } & Replacement): Change[] {
  if (typeof path !== "string" || path === "") throw new EditError("path is missing.");
  const list = edits ?? [single];
  return [{
    path, op: "update", added: list.flatMap(({ new_string }) => (typeof new_string === "string" ? linesOf(new_string) : [])),
    apply: (text, { fuzzy }) => list.reduce((now, each) => replaced(now, each, fuzzy, path), text),
  }];
}

function replaced(text: string, { old_string: old, new_string: now, replace_all: all }: Replacement, fuzzy: boolean, path: string): string {
  if (!old || typeof now !== "string") throw new EditError("old_string must not be empty, and new_string is required.");
  if (old === now) throw new EditError("old_string and new_string are equal.");
  const parts = text.split(old);
  if (parts.length === 2 || (all && parts.length > 2)) return parts.join(now);
  if (parts.length > 2) throw new EditError(`old_string is ${parts.length - 1} times in ${path}. Add lines around it, or set replace_all.`);
  const place = fuzzy ? similar(text, old) : [];
  const [only] = place;
  if (place.length > 1) throw new EditError(`old_string is not in ${path}, and ${place.length} places differ only in blanks. Copy the text exactly.`);
  if (!only) throw new EditError(`old_string is not in ${path}. Read the file, and copy the text exactly.`);
  const lines = text.split("\n");
  lines.splice(only.start, only.count, ...linesOf(now));
  return lines.join("\n");
}

/** Returns the lines of a text that differ from `old` only in whitespace at the ends of lines. */
function similar(text: string, old: string): { start: number; count: number }[] {
  const wanted = linesOf(old).map((line) => line.trim());
  const lines = text.split("\n").map((line) => line.trim());
  const starts = lines.map((_, at) => at).filter((at) => wanted.every((line, next) => lines[at + next] === line));
  return wanted.every((line) => line === "") ? [] : starts.map((start) => ({ start, count: wanted.length }));
}
