/**
 * Finds files by patterns.
 * @module
 */
import { statSync } from "node:fs";
import { resolve, sep } from "node:path";
import { type CallOptions, Limit, deliverAll, underSignal } from "./call.js";
import { splitPatterns } from "./glob-list.js";
import { native } from "./loader.js";
import type { GlobAnswer, GlobRequest } from "./native.js";
import { type Table, options as check, rangeError, typeError } from "./options.js";

/**
 * The type of an entry; a link is a link.
 *
 * @example
 * ```js
 * import { FileType, glob } from "@sinew/natives";
 * const { matches } = await glob({ path: ".", fileType: FileType.Dir });
 * console.log(matches.every((match) => match.fileType === FileType.Dir)); // true
 * ```
 */
export const FileType = { File: 1, Dir: 2, Symlink: 3 } as const;
/** The type of an entry; a link is a link. */
export type FileType = (typeof FileType)[keyof typeof FileType];

/** The options of `glob`. */
export interface GlobOptions extends CallOptions {
  /**
   * `*`, `?`, `**`, `[a-z]`, `[!a]`, `{a,b}`, `{1..3}`; within a name `@(a|b)` (one of them), `?(…)`, `*(…)`, `+(…)` and `!(a|b)`
   * (none of them); a `/` at the end matches directories only. Separate several patterns with commas; a pattern that begins with `!`
   * excludes paths. A pattern may be absolute, if it is below `path`. A pattern that is the name of an existing entry (`[id].tsx`) matches that
   * entry. `\` escapes a character (on Windows it separates directories, except in `\,`). In an array each item is one pattern: commas and
   * blanks are part of it, and braces and brackets that are not closed are literal. Default: `"*"`.
   */
  pattern?: string | readonly string[] | undefined;
  /** Patterns of entries to exclude, as in `pattern`; `dir/**` excludes the directory too. Default: none. */
  ignore?: string | readonly string[] | undefined;
  /** A directory, a file, or a link to either. */
  path: string;
  /** Return only entries of this type. A link has the type of its target, except for `FileType.Symlink`. Default: all. */
  fileType?: FileType | undefined;
  /** Return only files and links to files, like `fileType: FileType.File`. Default: false. */
  onlyFiles?: boolean | undefined;
  /** Return only directories and links to directories, like `fileType: FileType.Dir`. Default: false. */
  onlyDirectories?: boolean | undefined;
  /** Return absolute paths. Default: false, relative to `path`. */
  absolute?: boolean | undefined;
  /** A pattern without `/` matches at any depth. Default: true. */
  recursive?: boolean | undefined;
  /** Let wildcards match names that begin with a dot. Default: false; a dot in the pattern always matches. */
  hidden?: boolean | undefined;
  /** Skip files that `.gitignore`, `.ignore` and `.rgignore` exclude. Default: true. */
  gitignore?: boolean | undefined;
  /** Use a cached scan of the directory, at most a second old. Default: false. */
  cache?: boolean | undefined;
  /** Maximum number of matches. Default: all. */
  maxResults?: number | undefined;
  /** Return the newest first, with `mtime` and `size`. Default: false, in path order. */
  sortByMtime?: boolean | undefined;
  /** Follow links to directories, except those that lead back to a parent. Default: false. */
  followLinks?: boolean | undefined;
  /** Maximum number of levels; 1 is the directory itself. Default: all. */
  maxDepth?: number | undefined;
  /** Include `node_modules` even if neither `path` nor `pattern` names it. Default: false. */
  includeNodeModules?: boolean | undefined;
}

/** A matching entry. */
export interface GlobMatch {
  /** The path relative to the searched directory, with `/`; for a single file, as you passed it; with `absolute`, absolute. */
  path: string;
  /** Its type; a link is a link. */
  fileType: FileType;
  /** Time of the last change, in milliseconds since the epoch; with `sortByMtime`. */
  mtime?: number;
  /** Its size in bytes; with `sortByMtime`. */
  size?: number;
}

/** The result of `glob`. */
export interface GlobResult {
  /** The matches, in path order or the newest first. */
  matches: GlobMatch[];
  /** Number of matching entries, including those beyond `maxResults`. */
  totalMatches: number;
  /** True if there are more matches than `maxResults`; otherwise absent. */
  limitReached?: true;
  /** Everything that makes the result incomplete; absent if there is nothing. */
  warnings?: string[];
}

const SYNC: Table = {
  pattern: "patterns", ignore: "patterns", path: "string!", fileType: "u32", onlyFiles: "boolean", onlyDirectories: "boolean",
  absolute: "boolean", recursive: "boolean", hidden: "boolean", gitignore: "boolean", cache: "boolean", maxResults: "u32",
  sortByMtime: "boolean", includeNodeModules: "boolean", followLinks: "boolean", maxDepth: "u32", timeoutMs: "u32",
};
const GLOB: Table = { ...SYNC, signal: "signal" };

/** Returns the patterns of `ignore`. */
function ignored(call: string, patterns: string | readonly string[]): string[] {
  const list = typeof patterns === "string" ? splitPatterns(patterns) : [...patterns];
  const negated = list.find((pattern) => pattern.startsWith("!") && pattern[1] !== "(");
  if (negated !== undefined) throw Object.assign(new RangeError(`${call}: ignore must not begin with "!": ${JSON.stringify(negated)}`), { code: "ERR_INVALID_ARG_VALUE" });
  return list;
}

/** Checks the options, and converts them for the addon. */
function requestOf(call: string, options: GlobOptions): GlobRequest {
  const { pattern, ignore, onlyFiles, onlyDirectories, absolute, fileType, signal, ...rest } = options;
  const request = rest as GlobRequest;
  if (fileType !== undefined && !Object.values(FileType).includes(fileType)) {
    throw rangeError(`${call}: fileType`, "FileType.File (1), Dir (2) or Symlink (3)", fileType);
  }
  const types = new Set([fileType, onlyFiles ? FileType.File : undefined, onlyDirectories ? FileType.Dir : undefined]);
  types.delete(undefined);
  if (types.size > 1) throw Object.assign(new RangeError(`${call}: only one of fileType, onlyFiles and onlyDirectories can be set`), { code: "ERR_INVALID_ARG_VALUE" });
  for (const type of types) request.fileType = type as FileType;
  // An empty array matches nothing; an empty text is not a pattern, and means the default.
  if (ignore !== undefined && ignore.length) {
    request.ignore = ignored(call, ignore);
    request.pattern = typeof pattern === "string" ? splitPatterns(pattern || "*") : [...(pattern ?? ["*"])];
  } else if (pattern !== undefined) {
    request.pattern = typeof pattern === "string" ? pattern : [...pattern];
  }
  return request;
}

/** Returns the prefix that makes paths absolute; empty if they stay relative. */
function prefixOf({ absolute, path }: GlobOptions): string {
  if (!absolute) return "";
  const folder = resolve(path).split(sep).join("/");
  return folder.endsWith("/") ? folder : `${folder}/`;
}

function resultOf(options: GlobOptions, answer: GlobAnswer): GlobResult {
  const matches = rows(answer);
  const prefix = prefixOf(options);
  if (prefix) for (const match of matches) match.path = absolutePath(options.path, prefix, match.path);
  const result: GlobResult = { matches, totalMatches: answer.totalMatches };
  if (answer.limitReached) result.limitReached = true;
  if (answer.warnings.length) result.warnings = answer.warnings;
  return result;
}

/** Returns the path of a single file as it was passed. */
function absolutePath(given: string, prefix: string, path: string): string {
  return path === given.split(sep).join("/") && statSync(given, { throwIfNoEntry: false })?.isFile() ? prefix.slice(0, -1) : prefix + path;
}

function rows({ text, lengths, fileTypes, mtimes, sizes }: GlobAnswer): GlobMatch[] {
  const count = lengths.length;
  const matches = new Array<GlobMatch>(count);
  const timed = mtimes.length > 0;
  let start = 0;
  for (let row = 0; row < count; row++) {
    const end = start + (lengths[row] as number);
    const path = text.substring(start, end);
    const fileType = fileTypes[row] as FileType;
    matches[row] = timed ? { path, fileType, mtime: mtimes[row] as number, size: sizes[row] as number } : { path, fileType };
    start = end;
  }
  return matches;
}

/**
 * Finds files, directories and links by patterns, in path order, on all cores. `path` may be a link; links below it are followed only with
 * `followLinks`. `.git` is never searched.
 *
 * `onMatch` receives each match in the order of the result, after the directory was read and before the promise settles. If it returns a
 * promise, the next match waits for it. If it throws or its promise rejects, the call rejects with that error.
 *
 * Rejects with an `AbortError` or a `TimeoutError` if it is stopped, with `ERR_INVALID_ARG_VALUE` for a pattern that is invalid, or absolute
 * and outside of `path`, and with `ENOENT`, `ENOTDIR`, `ELOOP`, `ENAMETOOLONG` or `EACCES` for a path that cannot be read.
 *
 * @example
 * ```js
 * import { glob } from "@sinew/natives";
 * const { matches } = await glob({ pattern: "src/**\/*.ts,!*.d.ts", path: "." });
 * for (const { path } of matches) console.log(path);
 * ```
 */
export async function glob(
  options: GlobOptions,
  onMatch?: (match: GlobMatch) => void | Promise<void>,
): Promise<GlobResult> {
  return globBy(native.glob, options, onMatch);
}

/**
 * Does the same as {@link glob} with another function of the addon.
 * @internal
 */
export async function globBy(
  find: typeof native.glob,
  options: GlobOptions,
  onMatch?: (match: GlobMatch) => void | Promise<void>,
): Promise<GlobResult> {
  const checked = check("glob", GLOB, options);
  if (onMatch !== undefined && onMatch !== null && typeof onMatch !== "function") {
    throw typeError("glob: onMatch", "a function", onMatch);
  }
  const request = requestOf("glob", checked);
  const { signal, timeoutMs } = checked;
  const limit = new Limit({ signal, timeoutMs });
  if (Array.isArray(checked.pattern) && checked.pattern.length === 0) return { matches: [], totalMatches: 0 };
  const answer = await underSignal(signal, (abort) => find(request, abort));
  const result = resultOf(checked, answer);
  if (onMatch) await deliverAll(signal, limit, result.matches, onMatch);
  return result;
}

/** The options of `globSync`. */
export type GlobSyncOptions = Omit<GlobOptions, "signal">;

/**
 * Like {@link glob}, but synchronous: for scripts and configuration files. It uses all cores and blocks the event loop until it is done.
 * Throws if `glob` would reject; only `timeoutMs` can stop it.
 *
 * @example
 * ```js
 * import { globSync } from "@sinew/natives";
 * const { matches } = globSync({ pattern: ["src/**\/*.ts", "*.md"], ignore: "**\/*.d.ts", path: ".", absolute: true });
 * for (const { path } of matches) console.log(path);
 * ```
 */
export function globSync(options: GlobSyncOptions): GlobResult {
  const checked = check("globSync", SYNC, options);
  const request = requestOf("globSync", checked);
  if (Array.isArray(checked.pattern) && checked.pattern.length === 0) return { matches: [], totalMatches: 0 };
  return resultOf(checked, native.globSync(request));
}
