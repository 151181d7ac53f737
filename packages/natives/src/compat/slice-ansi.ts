/**
 * `slice-ansi`: some columns of a text.
 * @module
 */
import { piecesOf } from "./pieces.js";
import { Style } from "./style.js";

/** The columns of a text; `crosses`: with a wide character across the right edge. */
export function columnsOf(text: string, start: number, end: number, crosses: boolean): string {
  const style = new Style(true);
  let out = "";
  // Escape sequences since the last character of the slice: they count once another one follows.
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
    // What shows nothing, such as a tab or a joiner that stands alone, counts as one here.
    const width = Math.max(1, piece.width);
    if (column >= end || (!crosses && column + width > end)) return out + shown.close();
    if (column >= start) {
      out += (hasBegun ? passed : style.open()) + piece.text;
      // The same as at the last character, unless something has passed since.
      if (!hasBegun || passed !== "") shown = style.copy();
      hasBegun = true;
    }
    passed = "";
    column += width;
  }
  // What stands behind a text that ends before the slice does belongs to it.
  if (column >= end || !hasBegun) return out + shown.close();
  return out + passed + style.close();
}

/**
 * The columns of `text` from `start` to `end`, the end not included. What holds where the slice begins is opened, and what
 * is open at its end is closed. A wide character across the left edge is left out; across the right edge it is kept. Takes
 * time linear in the text.
 *
 * @param end - Default: the end of the text.
 */
export default function sliceAnsi(text: string, start: number, end = Infinity): string {
  return columnsOf(text, start, end, true);
}
