/**
 * Files by the pattern of their path.
 * @module
 */
import { statSync } from "node:fs";
import { resolve, sep } from "node:path";
import { type CallOptions, Limit, deliverAll, underSignal } from "./call.js";
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
   * (none of them); a `/` at the end for folders only; several patterns separated by
   * commas, of which one that begins with `!` takes paths away again. May be absolute, below `path`. A pattern that is the
   * name of an entry (`[id].tsx`) matches that entry. `\` takes the meaning of a character away (on Windows it separates, but for `\,`).
   * An array has one pattern per item, in which a comma is a character like others. Default: `"*"`.
   */
  pattern?: string | readonly string[] | undefined;
  /** Patterns of entries to leave out; `dir/**` leaves out the folder too. Default: none. */
  ignore?: string | readonly string[] | undefined;
  /** A folder, a file, or a link to either. */
  path: string;
  /** Only entries of this type; a link counts as what it points to, but for `FileType.Symlink`. Default: all. */
  fileType?: FileType | undefined;
  /** Only files, and links to files: `fileType: FileType.File`. Default: false. */
  onlyFiles?: boolean | undefined;
  /** Only folders, and links to folders: `fileType: FileType.Dir`. Default: false. */
  onlyDirectories?: boolean | undefined;
  /** Give absolute paths. Default: false, relative to `path`. */
  absolute?: boolean | undefined;
  /** A pattern without `/` matches at any depth. Default: true. */
  recursive?: boolean | undefined;
  /** Wildcards match names that begin with a dot. Default: false; a dot that the pattern writes always matches. */
  hidden?: boolean | undefined;
  /** Leave out what `.gitignore`, `.ignore` and `.rgignore` name. Default: true. */
  gitignore?: boolean | undefined;
  /** Use a scan of the folder that is a moment old, if there is one. Default: false. */
  cache?: boolean | undefined;
  /** At most this many matches. Default: all. */
  maxResults?: number | undefined;
  /** The newest first, with `mtime` and `size` of each. Default: false, in path order. */
  sortByMtime?: boolean | undefined;
  /** Enter links to folders, but for those that lead back to a folder above. Default: false. */
  followLinks?: boolean | undefined;
  /** The number of levels below `path` that are looked at: 1 is the folder itself. Default: all. */
  maxDepth?: number | undefined;
  /** Search `node_modules` also where neither `path` nor `pattern` names it. Default: false. */
  includeNodeModules?: boolean | undefined;
}

/** One entry that matches. */
export interface GlobMatch {
  /** Relative to the searched folder, with `/`; of a single file as it was given; with `absolute` from the root. */
  path: string;
  /** Its type; a link is a link. */
  fileType: FileType;
  /** The time of its last change, in milliseconds since the epoch; with `sortByMtime`. */
  mtime?: number;
  /** Its size in bytes; with `sortByMtime`. */
  size?: number;
}

/** The result of `glob`. */
export interface GlobResult {
  /** The matches, in path order or the newest first. */
  matches: GlobMatch[];
  /** The number of entries that match, also those that `maxResults` cut. */
  totalMatches: number;
  /** `maxResults` cut something; absent where not. */
  limitReached?: true;
  /** Whatever makes the answer less than complete; absent where there is nothing to say. */
  warnings?: string[];
}

const SYNC: Table = {
  pattern: "patterns", ignore: "patterns", path: "string!", fileType: "u32", onlyFiles: "boolean", onlyDirectories: "boolean",
  absolute: "boolean", recursive: "boolean", hidden: "boolean", gitignore: "boolean", cache: "boolean", maxResults: "u32",
  sortByMtime: "boolean", includeNodeModules: "boolean", followLinks: "boolean", maxDepth: "u32", timeoutMs: "u32",
};
const GLOB: Table = { ...SYNC, signal: "signal" };

/** A pattern of an array as part of a list: its commas outside of braces and classes do not separate. */
function escapeCommas(pattern: string): string {
  let depth = 0;
  return pattern.replace(/\\[^]|\[!?\]?[^\]/]*\]|[{},]/g, (part) => {
    if (part === "{") depth++;
    else if (part === "}") depth = Math.max(0, depth - 1);
    else if (part === "," && depth === 0) return "\\,";
    return part;
  });
}

/** A list of patterns as the core reads it. */
function patternList(patterns: string | readonly string[]): string {
  return typeof patterns === "string" ? patterns : patterns.map(escapeCommas).join(",");
}

/** The patterns of `ignore` as they take entries away; `dir/**` takes the folder itself too. */
function ignored(call: string, patterns: string | readonly string[]): string[] {
  const list = typeof patterns === "string" ? [patterns] : patterns;
  const negated = list.find((pattern) => pattern.startsWith("!") && pattern[1] !== "(");
  if (negated !== undefined) throw Object.assign(new RangeError(`${call}: ignore must not begin with "!": ${JSON.stringify(negated)}`), { code: "ERR_INVALID_ARG_VALUE" });
  const escaped = typeof patterns === "string" ? list : list.map(escapeCommas);
  return escaped.flatMap((pattern) => (pattern.endsWith("/**") ? [`!${pattern}`, `!${pattern.slice(0, -3)}`] : [`!${pattern}`]));
}

/** The checked options, as they cross to the addon. */
function requestOf(call: string, options: GlobOptions): GlobRequest {
  const { pattern, ignore, onlyFiles, onlyDirectories, absolute, fileType, signal, ...rest } = options;
  const request = rest as GlobRequest;
  if (fileType !== undefined && !Object.values(FileType).includes(fileType)) {
    throw rangeError(`${call}: fileType`, "FileType.File (1), Dir (2) or Symlink (3)", fileType);
  }
  const types = new Set([fileType, onlyFiles ? FileType.File : undefined, onlyDirectories ? FileType.Dir : undefined]);
  types.delete(undefined);
  if (types.size > 1) throw Object.assign(new RangeError(`${call}: only one of fileType, onlyFiles and onlyDirectories can hold`), { code: "ERR_INVALID_ARG_VALUE" });
  for (const type of types) request.fileType = type as FileType;
  // An empty array asks for nothing; an empty text is no pattern, and means the default.
  if (pattern !== undefined) request.pattern = patternList(pattern);
  if (ignore !== undefined && ignore.length) request.pattern = [request.pattern ?? "*", ...ignored(call, ignore)].join(",");
  return request;
}

/** The prefix that makes paths absolute; empty where they are to stay relative. */
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

/** A single file comes back as it was given. */
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
 * Finds files, folders and links by the pattern of their path, in path order, on all cores. Follows a link as `path`, and
 * those below it with `followLinks` alone; never enters `.git`.
 *
 * `onMatch` gets each match in the order of the result, after the folder was read and before the promise settles. A promise
 * that it returns is awaited before the next match. When it throws or its promise rejects, the call rejects with that.
 *
 * Rejects with an `AbortError` or a `TimeoutError` when stopped, with `ERR_INVALID_ARG_VALUE` for a pattern that means
 * nothing or that is absolute and lies outside of `path`, with `ENOENT`, `ENOTDIR`, `ELOOP`, `ENAMETOOLONG` or `EACCES` for a
 * path that cannot be read.
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
 * Finds as {@link glob} does, through another call of the addon.
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
 * The same as {@link glob}, before it returns: for scripts and for configuration. It works on all cores, and holds up the event
 * loop until it is done. Throws where `glob` rejects; `timeoutMs` is the only way to stop it.
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
