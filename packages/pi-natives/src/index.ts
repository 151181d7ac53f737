/**
 * The exports of `@oh-my-pi/pi-natives` 14 to 18.2 that `@sinew/natives` supports, with the original signatures.
 * @packageDocumentation
 */
import "./installed.js";
import * as natives from "@sinew/natives";

export {
  Ellipsis, HighlightStream, ImageFormat, KeyEventType, PhotonImage, SamplingFilter, extractSegments, getSupportedLanguages, getSystemInfo, highlightCode, htmlToMarkdown, killTree,
  listDescendants, matchesKey, matchesKittySequence, matchesLegacySequence, parseKey, parseKittySequence, sanitizeText, searchContent, sliceWithWidth, supportsLanguage, truncateToWidth,
  visibleWidth, wrapTextWithAnsi,
} from "@sinew/natives";
export type { ExtractSegmentsResult, HighlightColors, HtmlToMarkdownOptions, ParsedKittyResult, SliceResult } from "@sinew/natives";
export * from "./clipboard.js";
export { DesktopSession } from "./desktop.js";
export * from "./diffs.js";
export * from "./edit/index.js";
export * from "./generated.js";
export * from "./isolation.js";
export * from "./missing.js";
export * from "./notebook.js";
export * from "./platform.js";
export * from "./search.js";
export * from "./shell.js";
export * from "./syntax.js";
export * from "./tokens.js";
export * from "./vectors.js";
export { VcsGitRepo } from "./vcs/git-repo.js";
export { VcsRepo } from "./vcs/repo.js";
export type * from "./vcs/options.js";
export {
  clone as vcsGitClone, detachGitDir as vcsDetachGitDir, git as vcsGitDiscover, gitInfo as vcsGitRepoInfo, isPureJj as vcsIsPureJj, jj as vcsJjDiscover,
  joinPatches as vcsJoinPatches, repo as vcsDiscover, repoForDisplay as vcsDiscoverForDisplay, validateHunkSelections as vcsValidateHunkSelections,
} from "./vcs.js";

/** A profile of the calls of the last seconds; `svg` is absent if there is nothing to draw. */
export type WorkProfile = Omit<natives.WorkProfile, "svg"> & { svg?: string };

/** Returns the profile of the calls of the last seconds. */
export function getWorkProfile(lastSeconds: number): WorkProfile {
  const { svg, ...profile } = natives.getWorkProfile(lastSeconds);
  return svg === null ? profile : { ...profile, svg };
}

/** Has no effect: Hangul compatibility jamo are always two cells wide, as specified by Unicode. */
export function setHangulCompatJamoWidthOverride(_value: number): void {}

/** Resolves at once, because highlighting has nothing to load. */
export async function warmHighlighter(): Promise<undefined> {
  return undefined;
}

/** Returns the command unchanged. */
export function applyBashFixups(command: string): { command: string; stripped: string[] } {
  return { command, stripped: [] };
}
