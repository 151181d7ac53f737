/**
 * Files by the pattern of their path.
 * @module
 */
import { type CallOptions, Limit, deliverAll, underSignal } from "./call.js";
import { native } from "./loader.js";
import type { GlobAnswer, GlobRequest } from "./native.js";
import { type Table, options as check, rangeError, typeError } from "./options.js";

/**
 * What an entry is; a link is a link.
 *
 * @example
 * ```js
 * import { FileType, glob } from "@sinew/natives";
 * const { matches } = await glob({ path: ".", fileType: FileType.Dir });
 * console.log(matches.every((match) => match.fileType === FileType.Dir)); // true
 * ```
 */
export const FileType = { File: 1, Dir: 2, Symlink: 3 } as const;
/** What an entry is; a link is a link. */
export type FileType = (typeof FileType)[keyof typeof FileType];

/** What to look for, and where. */
export interface GlobOptions extends CallOptions {
  /**
   * `*`, `?`, `**`, `[a-z]`, `[!a]`, `{a,b}`, `{1..3}`; a `/` at the end for folders only; several patterns separated by
   * commas, of which one that begins with `!` takes paths away again. May be absolute, below `path`. A pattern that is the
   * name of an entry (`[id].tsx`) matches that entry. `\` takes the meaning of a character away (on Windows it separates).
   * Default: `"*"`.
   */
  pattern?: string | undefined;
  /** A folder, a file, or a link to either. */
  path: string;
  /** Only entries of this type; a link counts as what it points to, but for `FileType.Symlink`. Default: all. */
  fileType?: FileType | undefined;
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
  /** Search `node_modules` also where neither `path` nor `pattern` names it. Default: false. */
  includeNodeModules?: boolean | undefined;
}

/** One entry that matches. */
export interface GlobMatch {
  /** Relative to the searched folder, with `/`; of a single file as it was given. */
  path: string;
  /** What it is; a link is a link. */
  fileType: FileType;
  /** When it last changed, in milliseconds since the epoch; with `sortByMtime`. */
  mtime?: number;
  /** Its size in bytes; with `sortByMtime`. */
  size?: number;
}

/** What `glob` found. */
export interface GlobResult {
  /** The matches, in path order or the newest first. */
  matches: GlobMatch[];
  /** How many entries match, also those that `maxResults` cut. */
  totalMatches: number;
  /** `maxResults` cut something; absent where not. */
  limitReached?: true;
  /** Whatever makes the answer less than complete; absent where there is nothing to say. */
  warnings?: string[];
}

const GLOB: Table = {
  pattern: "string", path: "string!", fileType: "u32", recursive: "boolean", hidden: "boolean", gitignore: "boolean",
  cache: "boolean", maxResults: "u32", sortByMtime: "boolean", includeNodeModules: "boolean", timeoutMs: "u32",
  signal: "signal",
};

function rows({ text, lengths, fileTypes, mtimes, sizes }: GlobAnswer): GlobMatch[] {
  const matches = new Array<GlobMatch>(lengths.length);
  let read = 0;
  for (let row = 0; row < lengths.length; row++) {
    const path = text.slice(read, (read += lengths[row] as number));
    const fileType = fileTypes[row] as FileType;
    matches[row] = mtimes.length
      ? { path, fileType, mtime: mtimes[row] as number, size: sizes[row] as number }
      : { path, fileType };
  }
  return matches;
}

/**
 * Finds files, folders and links by the pattern of their path, in path order, on all cores. Follows a link as `path`, none
 * below it; never enters `.git`.
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
  const { signal, ...request } = check("glob", GLOB, options);
  if (onMatch !== undefined && onMatch !== null && typeof onMatch !== "function") {
    throw typeError("glob: onMatch", "a function", onMatch);
  }
  if (request.fileType !== undefined && !Object.values(FileType).includes(request.fileType)) {
    throw rangeError("glob: fileType", "FileType.File (1), Dir (2) or Symlink (3)", request.fileType);
  }
  const limit = new Limit({ signal, timeoutMs: request.timeoutMs });
  const answer = await underSignal(signal, (abort) => native.glob(request as GlobRequest, abort));
  const matches = rows(answer);
  if (onMatch) await deliverAll(signal, limit, matches, onMatch);
  const result: GlobResult = { matches, totalMatches: answer.totalMatches };
  if (answer.limitReached) result.limitReached = true;
  if (answer.warnings.length) result.warnings = answer.warnings;
  return result;
}
