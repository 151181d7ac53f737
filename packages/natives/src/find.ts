/**
 * Finds files by a few letters of their path.
 * @module
 */
import { type CallOptions, underSignal } from "./call.js";
import { native } from "./loader.js";
import type { FindAnswer, FindRequest } from "./native.js";
import { type Table, options as check } from "./options.js";

/** The options of `fuzzyFind`. */
export interface FuzzyFindOptions extends CallOptions {
  /**
   * Letters of the path, in order; words separated by spaces may be in any order. An upper-case letter makes the search case-sensitive, unless
   * nothing is found then. Separators (`-`, `_`, `.`, `/`) may be omitted or replaced by others. Empty: everything, in path order.
   */
  query: string;
  /** A directory, or a link to one. */
  path: string;
  /** Search names that begin with a dot. Default: false. */
  hidden?: boolean | undefined;
  /** Skip files that `.gitignore`, `.ignore` and `.rgignore` exclude. Default: true. */
  gitignore?: boolean | undefined;
  /** Use a cached scan of the directory, at most a second old. Default: false. */
  cache?: boolean | undefined;
  /** Maximum number of matches. Default: 100. */
  maxResults?: number | undefined;
}

/** A matching entry. */
export interface FuzzyFindMatch {
  /** The path relative to the searched directory, with `/`. */
  path: string;
  /** True for a directory. */
  isDirectory: boolean;
  /** The score; higher is better. Only scores of the same call are comparable. 0 for an empty query. */
  score: number;
  /** The indices of the characters in `path` that matched the query, ascending. */
  positions: number[];
}

/** The result of `fuzzyFind`. */
export interface FuzzyFindResult {
  /** The matches, the best first. */
  matches: FuzzyFindMatch[];
  /** Number of matching entries, including those beyond `maxResults`. */
  totalMatches: number;
  /** Everything that makes the result incomplete; absent if there is nothing. */
  warnings?: string[];
}

const FIND: Table = {
  query: "string!", path: "string!", hidden: "boolean", gitignore: "boolean", cache: "boolean", maxResults: "u32",
  timeoutMs: "u32", signal: "signal",
};

function rows({ text, numbers }: FindAnswer): FuzzyFindMatch[] {
  const matches: FuzzyFindMatch[] = [];
  let read = 0;
  for (let next = 0; next < numbers.length; ) {
    const path = text.slice(read, (read += numbers[next] as number));
    const positions = next + 4;
    const end = positions + (numbers[next + 3] as number);
    matches.push({
      path,
      isDirectory: numbers[next + 1] === 1,
      score: numbers[next + 2] as number,
      positions: Array.from(numbers.subarray(positions, end)),
    });
    next = end;
  }
  return matches;
}

/**
 * Finds files and directories by a few letters, as in the file picker of an editor. These rank higher: an exact path or name; letters in the
 * name rather than in its directories; starts of words and camelCase humps; consecutive letters; shorter paths. Ignored and hidden entries
 * rank below similar ones. If nothing else matches, one extra letter or two swapped neighbors are tolerated. Diacritics are ignored.
 * Links are skipped.
 *
 * Rejects with an `AbortError` or a `TimeoutError` if it is stopped, with `ENOENT` or `EACCES` for a path that cannot be read.
 *
 * @example
 * ```js
 * import { fuzzyFind } from "@sinew/natives";
 * const { matches } = await fuzzyFind({ query: "readme", path: ".", maxResults: 5 });
 * for (const { path, score } of matches) console.log(score, path);
 * ```
 */
export async function fuzzyFind(options: FuzzyFindOptions): Promise<FuzzyFindResult> {
  return fuzzyFindBy(native.fuzzyFind, options);
}

/**
 * Does the same as {@link fuzzyFind} with another function of the addon.
 * @internal
 */
export async function fuzzyFindBy(find: typeof native.fuzzyFind, options: FuzzyFindOptions): Promise<FuzzyFindResult> {
  const { signal, ...request } = check("fuzzyFind", FIND, options);
  const answer = await underSignal(signal, (abort) => find(request as FindRequest, abort));
  const result: FuzzyFindResult = { matches: rows(answer), totalMatches: answer.totalMatches };
  if (answer.warnings.length) result.warnings = answer.warnings;
  return result;
}
