/**
 * The clipboard.
 * @module
 */
import * as natives from "@sinew/natives";

export { readImageFromClipboard } from "@sinew/natives";
export type { ClipboardImage } from "@sinew/natives";

/** Puts a text on the clipboard, as far as there is one; does not wait and never fails. */
export function copyToClipboard(text: string): void {
  void natives.copyToClipboard(text);
}
