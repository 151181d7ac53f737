/**
 * The clipboard.
 * @module
 */
import "./installed.js";
import * as natives from "@sinew/natives";

export { readImageFromClipboard } from "@sinew/natives";
export type { ClipboardImage } from "@sinew/natives";

/** Copies a text to the clipboard, if there is one. Does not wait and never fails. */
export function copyToClipboard(text: string): void {
  void natives.copyToClipboard(text);
}
