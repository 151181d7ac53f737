/**
 * The edit tool: texts, line numbers and patches.
 * @module
 */
export { editDescription, editGrammar } from "./descriptions.js";
export {
  type HashlineOpCount, hashlineCountOps, hashlineFileHash, hashlineFormatHeader, hashlineFormatNumberedLines, hashlineIsReadTruncationNotice, hashlineStripPrefixes,
} from "./hashline.js";
export { editInspect } from "./plan.js";
export { EditSession } from "./session.js";
export { EditStore } from "./store.js";
export type * from "./types.js";

/** Returns no regions: edits that a model writes as plain text are not recognized. */
export function extractInlineSloppyRegions(_text: string): { start: number; end: number; payload: string }[] {
  return [];
}
