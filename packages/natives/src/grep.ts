/**
 * Searches files, and text in memory, with the engine of ripgrep.
 * @module
 */
import { type CallOptions, underSignal, withCallback } from "./call.js";
import { native } from "./loader.js";
import type { Columns, GrepAnswer, GrepRequest } from "./native.js";
import { type Table, bytes, options as check, typeError } from "./options.js";

/** What a search returns: a row per matching line, a row per file, or a row per file with its number of matching lines. */
export type GrepMode = "content" | "filesWithMatches" | "count";

/** The options of a search in a text. */
export interface SearchOptions {
  /**
   * A regular expression in the syntax of Rust's `regex`. Look-around, backreferences, atomic groups, `\K` and `\G` are searched with a slower
   * engine, and a warning says so. Empty matches every line.
   */
  pattern: string;
  /** Treat the pattern as plain text. Default: false. */
  literal?: boolean | undefined;
  /** Ignore upper and lower case. Default: false. */
  ignoreCase?: boolean | undefined;
  /** Allow a match to span several lines; it is one row. Default: false. */
  multiline?: boolean | undefined;
  /** Maximum number of rows; 0 returns none. Default: all. */
  maxCount?: number | undefined;
  /** Maximum number of matching lines per file; 0 searches no file. Default: all. */
  maxCountPerFile?: number | undefined;
  /** Number of rows to skip. Default: 0. */
  offset?: number | undefined;
  /** Number of lines before and after each match, in mode `"content"`. Default: 0. */
  context?: number | undefined;
  /** Number of lines before each match. Default: the value of `context`. */
  contextBefore?: number | undefined;
  /** Number of lines after each match. Default: the value of `context`. */
  contextAfter?: number | undefined;
  /** Maximum length of a line, in characters. A longer line is cut to a part that contains the match. Default: 16 Mi; 0 means the same. */
  maxColumns?: number | undefined;
  /** What to return. Default: `"content"`. */
  mode?: GrepMode | undefined;
}

/** The options of `grep`. */
export interface GrepOptions extends SearchOptions, CallOptions {
  /** A directory, a file, or a link to either. A file is searched even if `glob` or `type` excludes it. */
  path: string;
  /**
   * Search only matching files: `*.ts`, `src/**`, `*.{js,ts}`, `!*.min.js`; the same patterns and lists as `pattern` of `glob`. An empty array matches
   * nothing. Ignored files stay ignored. Default: all.
   */
  glob?: string | readonly string[] | undefined;
  /** Search only files of this ripgrep type: `rust`, `js`, `py`. Default: all. */
  type?: string | undefined;
  /** Search files whose name or directory begins with a dot. Files that `glob` names with their dot are always searched, `.git` never. Default: true. */
  hidden?: boolean | undefined;
  /** Skip files that `.gitignore`, `.ignore` and `.rgignore` exclude. Default: true. */
  gitignore?: boolean | undefined;
  /** Use a cached list of files, at most a second old. Default: false. */
  cache?: boolean | undefined;
}

/** A line before or after a match. */
export interface ContextLine {
  /** The line number, from 1. */
  lineNumber: number;
  /** The text without its line end. */
  line: string;
}

/** A match in a text. */
export interface SearchMatch {
  /** The line number, from 1; 0 in a row for a whole file. */
  lineNumber: number;
  /** The line without its end (`\n` or `\r\n`); several lines if the match spans them. */
  line: string;
  /** The column of the match, in characters of the whole line, from 1; 0 in a row for a whole file. */
  column: number;
  /**
   * The offset of the match from the start of the file, in bytes. In UTF-16, the offset in the text as UTF-8, without its byte order mark.
   */
  byteOffset: number;
  /** The lines before the match that no other row shows; absent if there are none. */
  contextBefore?: ContextLine[];
  /** The lines after the match that no other row shows; absent if there are none. */
  contextAfter?: ContextLine[];
  /** True if the line was cut to `maxColumns`; otherwise absent. */
  truncated?: true;
}

/** A match in a file. */
export interface GrepMatch extends SearchMatch {
  /** The path relative to the searched directory, with `/`; for a single file, as you passed it. */
  path: string;
  /** Number of matching lines in the file (with `multiline`: of matches that share no line); only in mode `"count"`. */
  matchCount?: number;
}

/** The result of `grep`. */
export interface GrepResult {
  /** The rows, ordered by path, then by line. */
  matches: GrepMatch[];
  /** Number of rows in `matches`; in mode `"count"`, of the matching lines in them. With `limitReached`, there are more. */
  totalMatches: number;
  /** Number of files with rows. */
  filesWithMatches: number;
  /** Number of files that were searched until the result was complete. */
  filesSearched: number;
  /** True if there are more rows than `maxCount`, or a file has more matching lines than `maxCountPerFile`; otherwise absent. */
  limitReached?: true;
  /**
   * Files that were not searched completely; absent if there are none. `tooLarge` includes files with lines on which look-around or
   * backreferences take too long.
   */
  skipped?: { binary: number; tooLarge: number; unreadable: number };
  /** Everything that makes the result incomplete or different from the request; absent if there is nothing. */
  warnings?: string[];
}

/** The result of `searchContent`. */
export interface SearchResult {
  /** The rows; empty in the modes that only count. */
  matches: SearchMatch[];
  /** Number of rows; in mode `"count"` of matching lines, in mode `"filesWithMatches"` 1 or 0. */
  matchCount: number;
  /** True if there are more rows than `maxCount`, or more matching lines than `maxCountPerFile`. */
  limitReached: boolean;
  /** The error in the pattern. */
  error?: string;
  /** What makes the result incomplete or different from the request: the pattern was repaired, or another engine was used. */
  warnings?: string[];
}

const SEARCH: Table = {
  pattern: "string!", literal: "boolean", ignoreCase: "boolean", multiline: "boolean", maxCount: "u32",
  maxCountPerFile: "u32", offset: "u32", context: "u32", contextBefore: "u32", contextAfter: "u32", maxColumns: "u32",
  mode: ["content", "filesWithMatches", "count"],
};
const GREP_SYNC: Table = {
  ...SEARCH, path: "string!", glob: "patterns", type: "string", hidden: "boolean", gitignore: "boolean", cache: "boolean",
  timeoutMs: "u32",
};
const GREP: Table = { ...GREP_SYNC, signal: "signal" };

/** The number of pieces of a result, a megabyte each, that are converted to rows without a pause. */
const PIECES = 2;
/** The number of values per file, per row and per context line, and the flag of a cut line. */
const FILE = 3;
const ROW = 10;
const CONTEXT = 3;
const TRUNCATED = 1;

/** Reads the columns, which `rows.rs` describes, in order. `start` creates a row of a file. */
function each<M extends SearchMatch & { matchCount?: number }>(
  { text, numbers }: Columns,
  start: (path: string, lineNumber: number, line: string, column: number, byteOffset: number) => M,
  take: (match: M) => void,
): void {
  let next = 0;
  let read = 0;
  const at = (index: number) => numbers[index] as number;
  const slice = (units: number) => text.slice(read, (read += units));
  // Each length is stored twice: in bytes, and in the units of a JavaScript string.
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
 * Searches files for lines that match a pattern. Finds what `rg --crlf` finds with the same options, in path order, on all cores.
 *
 * Files of any size are searched completely. Binary files (with a NUL byte) are skipped, UTF-16 with a byte order mark is transcoded, and
 * invalid UTF-8 is searched as bytes and shown with U+FFFD. `node_modules` is skipped unless `path` or `glob` names it. If there are no
 * matches and no warnings, `rg` finds nothing either.
 *
 * `onMatch` receives each row, in the order of the result, while the search runs. If it returns a promise, the search waits for it. If it
 * throws or its promise rejects, the call stops and rejects with that error. All calls of `onMatch` have ended when the promise settles.
 *
 * Rejects with an `AbortError` or a `TimeoutError` if it is stopped, with `ERR_INVALID_ARG_VALUE` for an invalid pattern, glob or type (the
 * message says where), and with `ENOENT` or `EACCES` for a path that cannot be read.
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
 * Does the same as {@link grep} with another function of the addon.
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
    // Creating millions of rows takes seconds, so other work can run between the pieces.
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
 * Like {@link grep}, but synchronous: for scripts. It uses all cores and blocks the event loop until it is done. Throws if `grep` would
 * reject; only `timeoutMs` can stop it.
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
 * Searches a text in memory, line by line. Bytes are read as UTF-8, or as UTF-16 if they begin with its byte order mark; NUL bytes are
 * ordinary characters. Runs in linear time, except with look-around or backreferences. An invalid pattern is returned in `error`; an option of the wrong type throws.
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
 * Returns whether a pattern matches anywhere in a text. `^` and `$` match at the ends of the text; with `multiline`, at
 * the ends of its lines. Throws for an invalid pattern, and for one with look-around or backreferences.
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
