/**
 * `slice-ansi`: returns a range of columns of a text.
 * @module
 */
import { piecesOf } from "./pieces.js";
import { Style } from "./style.js";

/** Returns a range of columns of a text; with `crosses`, includes a wide character across the right edge. */
export function columnsOf(text: string, start: number, end: number, crosses: boolean): string {
  const style = new Style(true);
  let out = "";
  // Escape sequences since the last character of the slice, which are only used if another character follows.
  let passed = "";
  let shown = new Style(true);
  let hasBegun = false;
  let column = 0;
  for (const piece of piecesOf(text, end)) {
    if (piece.isEscape) {
      style.apply(piece.text);
      passed += piece.text;
      continue;
    }
    // An invisible character, such as a tab or a separate joiner, counts as one column here.
    const width = Math.max(1, piece.width);
    if (column >= end || (!crosses && column + width > end)) return out + shown.close();
    if (column >= start) {
      out += (hasBegun ? passed : style.open()) + piece.text;
      // The style is that of the last character, unless sequences have followed it.
      if (!hasBegun || passed !== "") shown = style.copy();
      hasBegun = true;
    }
    passed = "";
    column += width;
  }
  // If the text ends before the slice does, the sequences at its end belong to the slice.
  if (column >= end || !hasBegun) return out + shown.close();
  return out + passed + style.close();
}

/**
 * Returns the columns of `text` from `start` to `end`, exclusive. Styles that are active at the start are restored, and
 * closed at the end. A wide character across the left edge is omitted; across the right edge it is kept. Runs in linear
 * time.
 *
 * @param end - Default: the end of the text.
 */
export default function sliceAnsi(text: string, start: number, end = Infinity): string {
  return columnsOf(text, start, end, true);
}
