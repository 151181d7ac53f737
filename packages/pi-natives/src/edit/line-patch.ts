/**
 * Patches that identify lines by their numbers.
 * @module
 */
import { diffLineRuns } from "../diffs.js";
import { type Change, type ChangeContext, EditError, linesOf, textOf } from "./change.js";

/** The lines from `start` to `end`, exclusive, counted from 0; an empty range is an insertion point. */
interface Range {
  start: number;
  end: number;
}

interface Operation {
  /** The line of the patch, for error messages. */
  row: string;
  kind: "put" | "cut";
  /** The lines that are replaced; undefined for the end of the file. */
  range: Range | undefined;
  /** The new lines; undefined if a cut text is pasted. */
  body: string[] | undefined;
  /** The name of the text that is cut or pasted. */
  register: string;
}

const HEADER = /^\[(.+?)(?:#([0-9A-Fa-f]{4}))?\]$/;
/** Models also write a range as `3..4`, `3-4`, `3…4` or `3 4`. */
const OPERATION = /^(PUT|CUT) ([<>]?)(?:(\d+)(?:(?:\.=|\.\.|[ …-])(\d+)|(\*))?|(\$))(?: @(\S+?))? ?(:?)$/;
const EXAMPLE = 'begin with "[PATH#TAG]" from the last read, then for example "PUT 3.=4:" and lines that start with "+"';

function operation(row: string): Operation {
  const [, verb, gap, first, last, block, end, register = "", colon] = OPERATION.exec(row) ?? [];
  if (!verb) throw new EditError(`Cannot read "${row}": ${EXAMPLE}.`);
  if (block) throw new EditError(`"${row}": blocks of syntax are not supported. Name the lines: ${verb} ${gap}${first}.=M${colon}`);
  const line = Number(first);
  const range = end ? undefined : gap === "<" ? { start: line - 1, end: line - 1 } : gap === ">" ? { start: line, end: line } : { start: line - 1, end: Number(last ?? first) };
  if ((verb === "CUT" && (gap || end)) || (end && gap !== ">")) throw new EditError(`"${row}": name the lines, for example ${verb} 3.=4.`);
  if (range && (range.start < 0 || range.end < range.start + (gap ? 0 : 1))) throw new EditError(`"${row}": lines are numbered from 1, and the last one is not before the first.`);
  return { row, kind: verb === "PUT" ? "put" : "cut", range, body: colon && verb === "PUT" ? [] : undefined, register };
}

/** Returns a path without the quotes that are around one with blanks. */
const unquoted = (path: string) => /^(["'])(.+)\1$/.exec(path)?.[2] ?? path;

/** Parses a patch. */
export function parseLinePatch(input: string): Change[] {
  const changes: (Change & { operations: Operation[] })[] = [];
  // Empty rows count only between the new lines of an operation.
  let empty = 0;
  for (const row of input.split("\n")) {
    const trimmed = row.trim();
    if (/^\*\*\* (?:Begin|End) Patch$/.test(trimmed) || trimmed.startsWith("```")) continue;
    if (trimmed === "") {
      empty += 1;
      continue;
    }
    const [header, path, tag] = HEADER.exec(trimmed) ?? [];
    const change = changes.at(-1);
    const body = change?.operations.at(-1)?.body;
    if (row.startsWith("+") && body) {
      const skipped = body.length > 0 ? empty : 0;
      const lines = [...Array<string>(skipped).fill(""), row.slice(1).replace(/\r$/, "")];
      body.push(...lines);
      change.added.push(...lines);
    } else if (header) {
      const operations: Operation[] = [];
      changes.push({ path: unquoted(path as string), op: "update", ...(tag ? { tag: tag.toUpperCase() } : {}), added: [], operations, apply: (text, context) => applyOperations(operations, text, context) });
    } else if (!change) throw new EditError(`The first line is "${trimmed}": ${EXAMPLE}.`);
    else if (trimmed === "REM") change.op = "delete";
    else if (trimmed.startsWith("MV ")) change.moveTo = unquoted(trimmed.slice(3).trim());
    else change.operations.push(operation(trimmed));
    empty = 0;
  }
  if (changes.length === 0) throw new EditError(`The patch is empty: ${EXAMPLE}.`);
  return changes;
}

/**
 * Maps line numbers of the version that the patch was written for to those of the current text, without changed lines.
 */
function movedLines(base: string, text: string): Map<number, number> {
  const moved = new Map<number, number>();
  let [old, now] = [0, 0];
  for (const { count, added, removed } of diffLineRuns(base, text)) {
    if (!added && !removed) for (let at = 0; at < count; at++) moved.set(old + at, now + at);
    if (!added) old += count;
    if (!removed) now += count;
  }
  return moved;
}

/** Finds the lines of an operation in the current text. */
function located({ row, range }: Operation, total: number, moved: Map<number, number>, seen: ReadonlySet<number> | undefined, end: number): Range {
  if (!range) return { start: end, end };
  if (range.end > total) throw new EditError(`"${row}": the file has ${total} lines.`);
  const lines = Array.from({ length: range.end - range.start }, (_, at) => range.start + at);
  const unseen = lines.filter((line) => seen && !seen.has(line + 1));
  if (unseen.length) throw new EditError(`"${row}": read line ${(unseen[0] as number) + 1} first; it was not shown.`);
  if (lines.length === 0) {
    const above = range.start === 0 ? -1 : moved.get(range.start - 1);
    const below = moved.get(range.start);
    const at = above !== undefined ? above + 1 : below;
    if (at === undefined) throw new EditError(`"${row}": the file was changed there since it was read. Read it again.`);
    return { start: at, end: at };
  }
  const places = lines.map((line) => moved.get(line));
  const start = places[0];
  if (start === undefined || places.some((place, at) => place !== start + at)) throw new EditError(`"${row}": these lines were changed since they were read. Read the file again.`);
  return { start, end: start + lines.length };
}

function applyOperations(operations: Operation[], text: string, { base, seen, registers }: ChangeContext): string {
  const now = linesOf(text);
  const total = linesOf(base).length;
  const moved = base === text ? new Map(now.map((_, at) => [at, at])) : movedLines(base, text);
  const hunks = operations.map((each) => {
    const range = located(each, total, moved, seen, now.length);
    if (each.kind === "cut") {
      const lines = now.slice(range.start, range.end);
      registers.set(each.register, lines);
      registers.set("", lines);
      return { ...range, lines: [], row: each.row };
    }
    const lines = each.body ?? registers.get(each.register);
    if (!lines) throw new EditError(`"${each.row}": nothing was cut${each.register && ` as @${each.register}`} before. To write new lines, end it with ":".`);
    return { ...range, lines, row: each.row };
  });
  // The sort is stable, so that insertions at the same position keep their order.
  const sorted = hunks.map((hunk, order) => ({ ...hunk, order })).sort((a, b) => a.start - b.start || a.end - b.end || a.order - b.order);
  const result: string[] = [];
  let at = 0;
  for (const { start, end, lines, row } of sorted) {
    if (start < at) throw new EditError(`"${row}" overlaps with another change of the patch.`);
    result.push(...now.slice(at, start), ...lines);
    at = end;
  }
  return textOf([...result, ...now.slice(at)], text);
}
