/**
 * Search of files and of text in memory, on the engine of ripgrep.
 * @module
 */
import { type CallOptions, underSignal, withCallback } from "./call.js";
import { native } from "./loader.js";
import type { Columns, GrepAnswer, GrepRequest } from "./native.js";
import { type Table, bytes, options as check, typeError } from "./options.js";

/** The rows that a search collects: one per matching line, per file, or per file with the number of its matching lines. */
export type GrepMode = "content" | "filesWithMatches" | "count";

/** The options of searching a text. */
export interface SearchOptions {
  /** A regular expression (the syntax of Rust's `regex`: no look-around, no backreferences). Empty matches every line. */
  pattern: string;
  /** Search for the pattern as it stands. Default: false. */
  literal?: boolean | undefined;
  /** Upper and lower case are the same. Default: false. */
  ignoreCase?: boolean | undefined;
  /** A match may run over several lines; it is one row. Default: false. */
  multiline?: boolean | undefined;
  /** At most this many rows in all; 0 gives none. Default: all. */
  maxCount?: number | undefined;
  /** At most this many matching lines of each file. Default: all. */
  maxCountPerFile?: number | undefined;
  /** Leave out the first rows of the ordered whole. Default: 0. */
  offset?: number | undefined;
  /** Lines to show before and after each match, in mode `"content"`. Default: 0. */
  context?: number | undefined;
  /** Lines to show before; beats `context`. */
  contextBefore?: number | undefined;
  /** Lines to show after; beats `context`. */
  contextAfter?: number | undefined;
  /** The widest line, in characters: a longer one is cut to a window that holds the match. Default: 16 Mi; 0 means the same. */
  maxColumns?: number | undefined;
  /** The rows to collect. Default: `"content"`. */
  mode?: GrepMode | undefined;
}

/** The options of `grep`. */
export interface GrepOptions extends SearchOptions, CallOptions {
  /** A folder, a file, or a link to either. A file named here is searched whatever `glob` and `type` say. */
  path: string;
  /** Only files that match: `*.ts`, `src/**`, `*.{js,ts}`, `!*.min.js`, several separated by commas. Brings no ignored file back. Default: all. */
  glob?: string | undefined;
  /** Only files of this type of ripgrep: `rust`, `js`, `py`. Default: all. */
  type?: string | undefined;
  /** Search files whose name or folder begins with a dot; those that `glob` names with their dot always are. Default: true; `.git` never is. */
  hidden?: boolean | undefined;
  /** Leave out what `.gitignore`, `.ignore` and `.rgignore` name. Default: true. */
  gitignore?: boolean | undefined;
  /** Use a scan of the folder that is a moment old, if there is one. Default: false. */
  cache?: boolean | undefined;
}

/** A line beside a match. */
export interface ContextLine {
  /** From 1. */
  lineNumber: number;
  /** Without its end. */
  line: string;
}

/** One match in a text. */
export interface SearchMatch {
  /** From 1; 0 in a row that stands for a file. */
  lineNumber: number;
  /** The line without its end (`\n` or `\r\n`); several lines where the match runs over them. */
  line: string;
  /** The start of the match, in characters of the whole line, from 1; 0 in a row that stands for a file. */
  column: number;
  /** The start of the match, in bytes from the start of the file. */
  byteOffset: number;
  /** The lines before, those that no other row shows; absent where there are none. */
  contextBefore?: ContextLine[];
  /** The lines after, those that no other row shows; absent where there are none. */
  contextAfter?: ContextLine[];
  /** The line was cut to `maxColumns`; absent where not. */
  truncated?: true;
}

/** One match in a file. */
export interface GrepMatch extends SearchMatch {
  /** Relative to the searched folder, with `/`; of a single file as it was given. */
  path: string;
  /** The number of lines of the file that match (with `multiline`: matches that share no line); only in mode `"count"`. */
  matchCount?: number;
}

/** The result of `grep`. */
export interface GrepResult {
  /** The rows, by path, then by line. */
  matches: GrepMatch[];
  /** The number of rows; in mode `"count"` that of the matching lines in them. */
  totalMatches: number;
  /** The number of files with rows. */
  filesWithMatches: number;
  /** The number of files that were searched until the result was complete. */
  filesSearched: number;
  /** There is more than `maxCount`; absent where not. */
  limitReached?: true;
  /** Files that were not searched, or not to their end; absent where there are none. */
  skipped?: { binary: number; tooLarge: number; unreadable: number };
  /** Whatever makes the answer less than complete or other than asked; absent where there is nothing to say. */
  warnings?: string[];
}

/** The result of `searchContent`. */
export interface SearchResult {
  /** The rows; none in the modes that only count. */
  matches: SearchMatch[];
  /** The number of rows; in mode `"count"` that of matching lines, in mode `"filesWithMatches"` 1 or 0. */
  matchCount: number;
  /** There is more than `maxCount`. */
  limitReached: boolean;
  /** The fault of the pattern. */
  error?: string;
  /** A pattern that was repaired. */
  warnings?: string[];
}

const SEARCH: Table = {
  pattern: "string!", literal: "boolean", ignoreCase: "boolean", multiline: "boolean", maxCount: "u32",
  maxCountPerFile: "u32", offset: "u32", context: "u32", contextBefore: "u32", contextAfter: "u32", maxColumns: "u32",
  mode: ["content", "filesWithMatches", "count"],
};
const GREP_SYNC: Table = {
  ...SEARCH, path: "string!", glob: "string", type: "string", hidden: "boolean", gitignore: "boolean", cache: "boolean",
  timeoutMs: "u32",
};
const GREP: Table = { ...GREP_SYNC, signal: "signal" };

/** The number of pieces of a result (of a megabyte each) that become rows at a stretch. */
const PIECES = 2;
/** The numbers of a file, a row and a context line, and the flag of a line that was cut. */
const FILE = 3;
const ROW = 10;
const CONTEXT = 3;
const TRUNCATED = 1;

/** Reads the columns that the core describes in `rows.rs`, in order. `start` makes a row of a file. */
function each<M extends SearchMatch & { matchCount?: number }>(
  { text, numbers }: Columns,
  start: (path: string, lineNumber: number, line: string, column: number, byteOffset: number) => M,
  take: (match: M) => void,
): void {
  let next = 0;
  let read = 0;
  const at = (index: number) => numbers[index] as number;
  const slice = (units: number) => text.slice(read, (read += units));
  // Each length comes twice, in bytes and in the units of a JavaScript string.
  const lines = (count: number) => {
    const list: ContextLine[] = [];
    for (; count > 0; count--, next += CONTEXT) list.push({ lineNumber: at(next), line: slice(at(next + 2)) });
    return list;
  };
  while (next < numbers.length) {
    const path = slice(at(next + 1));
    const rows = at(next + 2);
    next += FILE;
    for (let row = 0; row < rows; row++) {
      const head = next;
      next += ROW;
      const before = at(head + 8) ? lines(at(head + 8)) : undefined;
      const line = slice(at(head + 7));
      const match = start(path, at(head), line, at(head + 1), at(head + 2) + at(head + 3) * 2 ** 32);
      if (before) match.contextBefore = before;
      if (at(head + 9)) match.contextAfter = lines(at(head + 9));
      if (at(head + 5) & TRUNCATED) match.truncated = true;
      if (at(head + 4)) match.matchCount = at(head + 4);
      take(match);
    }
  }
}

function inFile(path: string, lineNumber: number, line: string, column: number, byteOffset: number): GrepMatch {
  return { path, lineNumber, line, column, byteOffset };
}

function inText(_: string, lineNumber: number, line: string, column: number, byteOffset: number): SearchMatch {
  return { lineNumber, line, column, byteOffset };
}

/**
 * Searches files for lines that match a pattern: what `rg --crlf` finds with the same options, in path order, on all
 * cores. Files are read whole, whatever their size. Binary files (with a NUL byte) are skipped, UTF-16 with a byte order
 * mark is transcoded, invalid UTF-8 is searched as bytes and shown with U+FFFD. `node_modules` is left out unless `path` or
 * `glob` names it. No match and no warning means that `rg` finds nothing.
 *
 * `onMatch` gets each row, in the order of the result, while the search runs. A promise that it returns is awaited before the
 * next row, and the search waits meanwhile. When it throws or its promise rejects, the call ends and rejects with that. All
 * calls have happened when the promise settles.
 *
 * Rejects with an `AbortError` or a `TimeoutError` when stopped, with `ERR_INVALID_ARG_VALUE` for a pattern, glob or type
 * that cannot be used (the message says where), with `ENOENT` or `EACCES` for a path that cannot be read.
 *
 * @example
 * ```js
 * import { grep } from "@sinew/natives";
 * const { matches } = await grep({ pattern: "TODO", path: ".", glob: "*.ts", context: 1 });
 * for (const { path, lineNumber, line } of matches) console.log(`${path}:${lineNumber}: ${line}`);
 * ```
 */
export async function grep(
  options: GrepOptions,
  onMatch?: (match: GrepMatch) => void | Promise<void>,
): Promise<GrepResult> {
  return grepBy(native.grep, options, onMatch);
}

/**
 * Searches as {@link grep} does, through another call of the addon.
 * @internal
 */
export async function grepBy(
  search: typeof native.grep,
  options: GrepOptions,
  onMatch?: (match: GrepMatch) => void | Promise<void>,
): Promise<GrepResult> {
  const { signal, ...request } = check("grep", GREP, options);
  if (onMatch !== undefined && onMatch !== null && typeof onMatch !== "function") {
    throw typeError("grep: onMatch", "a function", onMatch);
  }
  const answer = await (onMatch
    ? withCallback({ signal, timeoutMs: request.timeoutMs }, onMatch, true, (abort, deliver: (match: GrepMatch) => void) =>
        search(request as GrepRequest, (columns: Columns) => each(columns, inFile, deliver), abort))
    : underSignal(signal, (abort) => search(request as GrepRequest, undefined, abort)));
  const matches: GrepMatch[] = [];
  for (const [index, piece] of answer.matches.entries()) {
    // Millions of rows take seconds to make: other work has its turn between the pieces.
    if (index % PIECES === PIECES - 1) await new Promise((resolve) => setImmediate(resolve));
    each(piece, inFile, (match) => matches.push(match));
  }
  return resultOf(answer, matches);
}

function resultOf(answer: GrepAnswer, matches: GrepMatch[]): GrepResult {
  const { totalMatches, filesWithMatches, filesSearched, binary, tooLarge, unreadable } = answer;
  const result: GrepResult = { matches, totalMatches, filesWithMatches, filesSearched };
  if (answer.limitReached) result.limitReached = true;
  if (binary || tooLarge || unreadable) result.skipped = { binary, tooLarge, unreadable };
  if (answer.warnings.length) result.warnings = answer.warnings;
  return result;
}

/** The options of `grepSync`. */
export type GrepSyncOptions = Omit<GrepOptions, "signal">;

/**
 * The same as {@link grep}, before it returns: for scripts. It works on all cores, and holds up the event loop until it is done.
 * Throws where `grep` rejects; `timeoutMs` is the only way to stop it.
 *
 * @example
 * ```js
 * import { grepSync } from "@sinew/natives";
 * for (const { path, line } of grepSync({ pattern: "TODO", path: "src" }).matches) console.log(path, line);
 * ```
 */
export function grepSync(options: GrepSyncOptions): GrepResult {
  const answer = native.grepSync(check("grepSync", GREP_SYNC, options) as GrepRequest);
  const matches: GrepMatch[] = [];
  for (const piece of answer.matches) each(piece, inFile, (match) => matches.push(match));
  return resultOf(answer, matches);
}

/**
 * Searches a text in memory, line by line. Bytes are taken as UTF-8 (UTF-16 where they begin with its byte order mark);
 * NUL bytes are characters like others. Takes time in proportion to the text. A pattern that cannot be used comes back in
 * `error`, it is never thrown; an option of the wrong type is.
 *
 * @example
 * ```js
 * import { searchContent } from "@sinew/natives";
 * searchContent("one\ntwo\n", { pattern: "t.o" }).matches[0].lineNumber; // 2
 * ```
 */
export function searchContent(content: string | Uint8Array, options: SearchOptions): SearchResult {
  const request = check("searchContent", SEARCH, options) as GrepRequest;
  const text = typeof content === "string" ? content : bytes("searchContent: content", content);
  const answer = native.search(text, request);
  const matches: SearchMatch[] = [];
  each(answer.matches, inText, (match) => matches.push(match));
  const result: SearchResult = { matches, matchCount: answer.matchCount, limitReached: answer.limitReached };
  if (answer.error !== undefined && answer.error !== null) result.error = answer.error;
  if (answer.warnings.length) result.warnings = answer.warnings;
  return result;
}

/**
 * The same as {@link searchContent}.
 *
 * @example
 * ```js
 * import { search } from "@sinew/natives";
 * search("one\ntwo\n", { pattern: "o", mode: "count" }).matchCount; // 2
 * ```
 */
export const search = searchContent;

/**
 * Returns whether a pattern matches anywhere in a text. `^` and `$` are the ends of the text, with `multiline` those of its
 * lines. Throws for a pattern that cannot be used.
 *
 * @example
 * ```js
 * import { hasMatch } from "@sinew/natives";
 * hasMatch("const a = 1", "\\bconst\\b"); // true
 * ```
 */
export function hasMatch(
  content: string | Uint8Array,
  pattern: string | Uint8Array,
  options?: { ignoreCase?: boolean | undefined; multiline?: boolean | undefined } | null,
): boolean {
  const { ignoreCase = false, multiline = false } = options
    ? check("hasMatch", { ignoreCase: "boolean", multiline: "boolean" }, options)
    : {};
  return native.hasMatch(
    typeof content === "string" ? content : bytes("hasMatch: content", content),
    typeof pattern === "string" ? pattern : bytes("hasMatch: pattern", pattern),
    ignoreCase,
    multiline,
  );
}
