/**
 * Files by what a person types to find one.
 * @module
 */
import { type CallOptions, underSignal } from "./call.js";
import { native } from "./loader.js";
import type { FindAnswer, FindRequest } from "./native.js";
import { type Table, options as check } from "./options.js";

/** The options of `fuzzyFind`. */
export interface FuzzyFindOptions extends CallOptions {
  /**
   * Letters of the path in their order; words separated by blanks come in any order. A capital makes case count, unless
   * nothing is found then. Separators (`-`, `_`, `.`, `/`) may be left out or be others. Empty: everything, in path order.
   */
  query: string;
  /** A folder, or a link to one. */
  path: string;
  /** Search names that begin with a dot. Default: false. */
  hidden?: boolean | undefined;
  /** Leave out what `.gitignore`, `.ignore` and `.rgignore` name. Default: true. */
  gitignore?: boolean | undefined;
  /** Use a scan of the folder that is a moment old, if there is one. Default: false. */
  cache?: boolean | undefined;
  /** At most this many matches. Default: 100. */
  maxResults?: number | undefined;
}

/** One entry that answers the query. */
export interface FuzzyFindMatch {
  /** Relative to the searched folder, with `/`. */
  path: string;
  /** True for a folder. */
  isDirectory: boolean;
  /** More is better; only scores of one call compare. 0 for an empty query. */
  score: number;
  /** The characters of `path` that the query matched: indices of the string, ascending. */
  positions: number[];
}

/** The result of `fuzzyFind`. */
export interface FuzzyFindResult {
  /** The best first. */
  matches: FuzzyFindMatch[];
  /** The number of entries that match the query, also those that `maxResults` cut. */
  totalMatches: number;
  /** Whatever makes the answer less than complete; absent where there is nothing to say. */
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
 * Finds the files and folders that a person means: an exact path or name first, the name before its folders, starts of
 * words and camel humps before their middles, a run before scattered letters, the shorter path first; ignored and hidden
 * entries after others that are alike. One letter too many and two swapped neighbours are forgiven where nothing fits
 * better; diacritics do not count. Links are left out.
 *
 * Rejects with an `AbortError` or a `TimeoutError` when stopped, with `ENOENT` or `EACCES` for a path that cannot be read.
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
 * Finds as {@link fuzzyFind} does, through another call of the addon.
 * @internal
 */
export async function fuzzyFindBy(find: typeof native.fuzzyFind, options: FuzzyFindOptions): Promise<FuzzyFindResult> {
  const { signal, ...request } = check("fuzzyFind", FIND, options);
  const answer = await underSignal(signal, (abort) => find(request as FindRequest, abort));
  const result: FuzzyFindResult = { matches: rows(answer), totalMatches: answer.totalMatches };
  if (answer.warnings.length) result.warnings = answer.warnings;
  return result;
}
