/**
 * Measures, wraps and cuts terminal text.
 *
 * The addon does the work, except for short texts of printable ASCII and cuts near the start of one: for these, calling
 * the addon would take longer than the work itself.
 * @module
 */
import { native } from "./loader.js";
import { count, rangeError, text as string, typeError } from "./options.js";

/** The default number of cells of a tab. */
const TAB_WIDTH = 3;

/** Up to this many characters, a test here is faster than calling the addon. */
const SHORT = 256;

/**
 * Matches anything but printable ASCII. V8 compiles it to a loop that is five times as fast as one with `charCodeAt`.
 */
const UNPLAIN = /[^ -~]/;

/** Padding beyond this many cells is refused, because no terminal could show the result. */
const PAD_LIMIT = 1 << 24;

/**
 * The mark at the end of a text that was cut.
 *
 * @example
 * ```js
 * import { Ellipsis, truncateToWidth } from "@sinew/natives";
 * truncateToWidth("a long text", 6, Ellipsis.Ascii); // "a l..."
 * ```
 */
export enum Ellipsis {
  /** `…`, one cell. */
  Unicode = 0,
  /** `...`, three cells. */
  Ascii = 1,
  /** Nothing. */
  Omit = 2,
}

const MARKS: readonly string[] = ["…", "...", ""];

/** A range of columns of a line. */
export interface SliceResult {
  /** The text. Styles that are active at its start are restored, and all styles are closed at its end. */
  text: string;
  /** The width of the text, in cells. */
  width: number;
}

/** The parts of a line left and right of an overlay. */
export interface ExtractSegmentsResult {
  /** The text left of it. */
  before: string;
  /** The cells of `before`. */
  beforeWidth: number;
  /** The text right of it. */
  after: string;
  /** The cells of `after`. */
  afterWidth: number;
}

/** Returns whether the first `end` characters are printable ASCII, so that each is one cell wide and separate. */
function isPlain(text: string, end: number): boolean {
  return !UNPLAIN.test(end === text.length ? text : text.slice(0, end));
}

/** Checks a whole number from 0, without a call in the usual case. */
function cells(where: string, value: number): number {
  return value >>> 0 === value ? value : count(where, value);
}

/** Decodes the number in the four characters at `at`: the addon returns texts and their widths as one string. */
function numberAt(packed: string, at: number): number {
  const low = packed.charCodeAt(at) | (packed.charCodeAt(at + 1) << 8) | (packed.charCodeAt(at + 2) << 16);
  return low + packed.charCodeAt(at + 3) * 0x1000000;
}

function tab(call: string, value: number | null | undefined): number {
  return value === undefined || value === null ? TAB_WIDTH : cells(`${call}: tabWidth`, value);
}

/**
 * Returns the width of `text` in a terminal, in cells.
 *
 * Escape sequences (also incomplete ones) and control characters have no width. Wide characters, emoji sequences, flags and keycaps are two
 * cells wide. Combining marks and joiners add nothing. A lone surrogate counts as U+FFFD. Runs in linear time for every text.
 *
 * The width of a sized text (OSC 66, the text sizing protocol of kitty) is its scale times its width or, without a width, times the
 * cells of its text. {@link wrapTextWithAnsi} and the functions that cut treat it as one piece, like a wide character.
 *
 * @param text - Any text; line feeds have no width.
 * @param tabWidth - Cells of a tab. Default 3.
 * @throws TypeError for an argument of the wrong type, RangeError for a negative or fractional number.
 * @example
 * ```js
 * import { visibleWidth } from "@sinew/natives";
 * visibleWidth("\x1b[1m界\x1b[0m!"); // 3
 * visibleWidth("\x1b]66;s=2;Title\x07"); // 10
 * ```
 */
export function visibleWidth(text: string, tabWidth?: number): number {
  if (typeof text !== "string") string("visibleWidth: text", text);
  const tabs = tabWidth === undefined ? TAB_WIDTH : tab("visibleWidth", tabWidth);
  const length = text.length;
  if (length <= SHORT && isPlain(text, length)) return length;
  return native.visibleWidth(text, tabs);
}

/**
 * Counts the characters of `text` that are one cell wide here and two cells wide in terminals with an East Asian setting (`±`, `…`, box drawing;
 * letters like `α` stay narrow). `visibleWidth(text) + countAmbiguous(text)` is the width there. Runs in linear time.
 *
 * @throws TypeError when `text` is not a string.
 * @example
 * ```js
 * import { countAmbiguous } from "@sinew/natives";
 * countAmbiguous("5 ± 1"); // 1
 * ```
 */
export function countAmbiguous(text: string): number {
  if (typeof text !== "string") string("countAmbiguous: text", text);
  const length = text.length;
  if (length <= SHORT && isPlain(text, length)) return 0;
  return native.countAmbiguous(text);
}

/**
 * Wraps `text` into lines of at most `width` cells: at words, inside a word only when it is longer than a line, never
 * inside a cluster or an escape sequence. A cluster wider than `width` gets a line of its own.
 *
 * Each line starts with the styles (SGR, as written) and the OSC 8 link that are active there, and closes underline, strikethrough,
 * overline and link at its end. `\n` and `\r\n` split lines. Spaces at a break are removed, but an indent is kept: a word that does not fit
 * next to it is split.
 *
 * @param width - Cells of a line; 0 is read as 1.
 * @param tabWidth - Cells of a tab. Default 3.
 * @param cjkRules - A word with wide characters is not broken before a closing mark (`。`, `」`, `ー`) or after an opening one (`「`), as
 *   UAX #14 demands, if another place is on the line. Default true.
 * @returns At least one line.
 * @throws TypeError for an argument of the wrong type, RangeError for a negative or fractional number.
 * @example
 * ```js
 * import { wrapTextWithAnsi } from "@sinew/natives";
 * wrapTextWithAnsi("\x1b[4mone two\x1b[24m", 3); // ["\x1b[4mone\x1b[24m", "\x1b[4mtwo\x1b[24m"]
 * ```
 */
export function wrapTextWithAnsi(text: string, width: number, tabWidth?: number, cjkRules = true): string[] {
  if (typeof text !== "string") string("wrapTextWithAnsi: text", text);
  const columns = cells("wrapTextWithAnsi: width", width);
  const tabs = tab("wrapTextWithAnsi", tabWidth);
  if (typeof cjkRules !== "boolean") throw typeError("wrapTextWithAnsi: cjkRules", "a boolean", cjkRules);
  const length = text.length;
  if (length <= columns && length <= SHORT && isPlain(text, length)) return [text];
  return native.wrapTextWithAnsi(text, columns, tabs, cjkRules).split("\n");
}

/**
 * Cuts `text` to `maxWidth` cells, including the ellipsis. Text that fits is returned unchanged. A cut resets SGR and
 * closes an open link before the ellipsis.
 *
 * @param ellipsis - The mark at a cut. Default `Ellipsis.Unicode`.
 * @param pad - Fills with spaces to exactly `maxWidth` cells. Default false.
 * @param tabWidth - Cells of a tab. Default 3.
 * @throws TypeError for an argument of the wrong type, RangeError for a negative or fractional number, an unknown
 * ellipsis, or padding beyond 16,777,216 cells.
 * @example
 * ```js
 * import { truncateToWidth } from "@sinew/natives";
 * truncateToWidth("\x1b[31mlong text", 5); // "\x1b[31mlong\x1b[0m…"
 * ```
 */
export function truncateToWidth(
  text: string,
  maxWidth: number,
  ellipsis?: Ellipsis | null,
  pad?: boolean | null,
  tabWidth?: number | null,
): string {
  if (typeof text !== "string") string("truncateToWidth: text", text);
  const most = cells("truncateToWidth: maxWidth", maxWidth);
  const kind = ellipsis ?? Ellipsis.Unicode;
  const mark = MARKS[kind];
  if (mark === undefined) throw rangeError("truncateToWidth: ellipsis", "0, 1 or 2", ellipsis);
  const fill = pad === true;
  if (fill && most > PAD_LIMIT) throw rangeError("truncateToWidth: maxWidth", `at most ${PAD_LIMIT} with padding`, maxWidth);
  const tabs = tab("truncateToWidth", tabWidth);
  const length = text.length;
  // Examines the whole text, or one character more than fits, which might be a combining mark.
  const seen = Math.min(length, most + 1);
  if (seen <= SHORT && isPlain(text, seen)) {
    if (length <= most) return fill ? text.padEnd(most) : text;
    const kept = most - mark.length;
    return kept >= 0 ? text.slice(0, kept) + mark : mark.slice(0, most);
  }
  return native.truncateToWidth(text, most, kind, fill, tabs) ?? text;
}

/**
 * Returns the columns from `startCol` to `startCol + length` of a line. Styles and link that are active at the start are restored, and closed
 * at the end. A wide cluster across the left edge is dropped. One across the right edge is kept (then `width` is `length + 1`), unless
 * `strict` is set.
 *
 * @param strict - Drops a cluster across the right edge. Default false.
 * @param tabWidth - Cells of a tab. Default 3.
 * @throws TypeError for an argument of the wrong type, RangeError for a negative or fractional number.
 * @example
 * ```js
 * import { sliceWithWidth } from "@sinew/natives";
 * sliceWithWidth("\x1b[31mred\x1b[0m", 1, 2); // { text: "\x1b[31med\x1b[0m", width: 2 }
 * ```
 */
export function sliceWithWidth(
  line: string,
  startCol: number,
  length: number,
  strict?: boolean | null,
  tabWidth?: number | null,
): SliceResult {
  if (typeof line !== "string") string("sliceWithWidth: line", line);
  const start = cells("sliceWithWidth: startCol", startCol);
  const wanted = cells("sliceWithWidth: length", length);
  const tabs = tab("sliceWithWidth", tabWidth);
  const end = start + wanted;
  const seen = Math.min(line.length, end + 1);
  if (seen <= SHORT && isPlain(line, seen)) {
    const text = line.slice(start, end);
    return { text, width: text.length };
  }
  const packed = native.sliceWithWidth(line, start, wanted, strict === true, tabs);
  return { text: packed.slice(8), width: numberAt(packed, 0) };
}

/**
 * Cuts out the parts of a line left and right of an overlay, in one pass: the columns before `beforeEnd`, and `afterLen`
 * columns from `afterStart` on. Both restore the styles at their start and close them at their end. A wide cluster
 * across `beforeEnd` is omitted; across the right edge of `after` it is kept, unless `strictAfter` is set.
 *
 * @param strictAfter - Omits a cluster across the right edge of `after`. Default false.
 * @param tabWidth - Cells of a tab. Default 3.
 * @throws TypeError for an argument of the wrong type, RangeError for a negative or fractional number.
 * @example
 * ```js
 * import { extractSegments } from "@sinew/natives";
 * extractSegments("abcdef", 2, 4, 2); // { before: "ab", beforeWidth: 2, after: "ef", afterWidth: 2 }
 * ```
 */
export function extractSegments(
  line: string,
  beforeEnd: number,
  afterStart: number,
  afterLen: number,
  strictAfter?: boolean | null,
  tabWidth?: number | null,
): ExtractSegmentsResult {
  if (typeof line !== "string") string("extractSegments: line", line);
  const left = cells("extractSegments: beforeEnd", beforeEnd);
  const right = cells("extractSegments: afterStart", afterStart);
  const wanted = cells("extractSegments: afterLen", afterLen);
  const tabs = tab("extractSegments", tabWidth);
  const seen = Math.min(line.length, Math.max(left, right + wanted) + 1);
  if (seen <= SHORT && isPlain(line, seen)) {
    const before = line.slice(0, left);
    const after = line.slice(right, right + wanted);
    return { before, beforeWidth: before.length, after, afterWidth: after.length };
  }
  const packed = native.extractSegments(line, left, right, wanted, strictAfter === true, tabs);
  const split = 16 + numberAt(packed, 4);
  return {
    before: packed.slice(16, split),
    beforeWidth: numberAt(packed, 0),
    after: packed.slice(split),
    afterWidth: numberAt(packed, 8),
  };
}

/**
 * Returns `text` without anything that controls a terminal: escape sequences (including incomplete and C1 ones),
 * control characters except `\n` and `\t`, and lone surrogates. `\r` is removed too. A sized text (OSC 66) is removed
 * together with its text, which only some terminals show. If there is nothing to remove, the text is returned
 * unchanged.
 *
 * @throws TypeError when `text` is not a string.
 * @example
 * ```js
 * import { sanitizeText } from "@sinew/natives";
 * sanitizeText("\x1b[31mred\x1b[0m\r\n"); // "red\n"
 * ```
 */
export function sanitizeText(text: string): string {
  if (typeof text !== "string") string("sanitizeText: text", text);
  const length = text.length;
  if (length <= SHORT && isPlain(text, length)) return text;
  return native.sanitizeText(text) ?? text;
}
