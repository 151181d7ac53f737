/**
 * The exports of `@oh-my-pi/pi-natives` 18 that `@sinew/natives` has, with its signatures.
 * @packageDocumentation
 */
import * as natives from "@sinew/natives";

export {
  Ellipsis, HighlightStream, KeyEventType, extractSegments, getSupportedLanguages, getSystemInfo, highlightCode, htmlToMarkdown, matchesKey, matchesKittySequence, matchesLegacySequence,
  parseKey, parseKittySequence, sanitizeText, sliceWithWidth, supportsLanguage, truncateToWidth, visibleWidth, wrapTextWithAnsi,
} from "@sinew/natives";
export type { ExtractSegmentsResult, HighlightColors, HtmlToMarkdownOptions, ParsedKittyResult, SliceResult } from "@sinew/natives";
export * from "./clipboard.js";
export * from "./missing.js";
export * from "./search.js";
export * from "./shell.js";
export * from "./tokens.js";

/** A profile of the calls of the last seconds; `svg` is absent where there is nothing to draw. */
export type WorkProfile = Omit<natives.WorkProfile, "svg"> & { svg?: string };

/** The profile of the calls of the last seconds. */
export function getWorkProfile(lastSeconds: number): WorkProfile {
  const { svg, ...profile } = natives.getWorkProfile(lastSeconds);
  return svg === null ? profile : { ...profile, svg };
}

/** Has no effect: compatibility jamo of Hangul are two cells wide, as Unicode says, whatever a terminal makes of them. */
export function setHangulCompatJamoWidthOverride(_value: number): void {}

/** Resolves: highlighting has nothing to load. */
export async function warmHighlighter(): Promise<undefined> {
  return undefined;
}
