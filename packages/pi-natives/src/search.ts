/**
 * Search, with the result shapes of pi-natives.
 * @module
 */
import * as natives from "@sinew/natives";
import { type Callback, valueOf } from "./callback.js";

export { FileType, invalidateFsScanCache, listWorkspace, search } from "@sinew/natives";
export type {
  ContextLine, FuzzyFindMatch, FuzzyFindOptions, FuzzyFindResult, GlobMatch, GlobOptions, GrepMatch, GrepOptions, ListWorkspaceOptions, ListWorkspaceResult,
  SearchMatch as Match, SearchOptions, SearchResult,
} from "@sinew/natives";

/** The forms of a result. */
export const GrepOutputMode = { Content: "content", Count: "count", FilesWithMatches: "filesWithMatches" } as const;
/** The forms of a result. */
export type GrepOutputMode = (typeof GrepOutputMode)[keyof typeof GrepOutputMode];

/** The result of `grep`, with the number of files that were too large. */
export interface GrepResult extends natives.GrepResult {
  /** The number of files that were skipped because of their size; absent if there are none. */
  skippedOversized?: number;
}

/** Searches files; see `grep` of `@sinew/natives`. */
export async function grep(options: natives.GrepOptions, onMatch?: Callback<natives.GrepMatch>): Promise<GrepResult> {
  const result = await natives.grep(options, valueOf(onMatch));
  const tooLarge = result.skipped?.tooLarge;
  return tooLarge ? { ...result, skippedOversized: tooLarge } : result;
}

/** Finds files by patterns; `totalMatches` is the number of returned matches. See `glob` of `@sinew/natives`. */
export async function glob(options: natives.GlobOptions, onMatch?: Callback<natives.GlobMatch>): Promise<natives.GlobResult> {
  const result = await natives.glob(options, valueOf(onMatch));
  return { ...result, totalMatches: result.matches.length };
}

/** Finds files by letters of their path; the paths of directories end with `/`. See `fuzzyFind` of `@sinew/natives`. */
export async function fuzzyFind(options: natives.FuzzyFindOptions): Promise<natives.FuzzyFindResult> {
  const result = await natives.fuzzyFind(options);
  return { ...result, matches: result.matches.map((match) => (match.isDirectory && !match.path.endsWith("/") ? { ...match, path: `${match.path}/` } : match)) };
}

/** Returns whether a pattern matches anywhere in a text. */
export function hasMatch(content: string | Uint8Array, pattern: string | Uint8Array, ignoreCase?: boolean | null, multiline?: boolean | null): boolean {
  return natives.hasMatch(content, pattern, { ignoreCase: ignoreCase ?? false, multiline: multiline ?? false });
}
