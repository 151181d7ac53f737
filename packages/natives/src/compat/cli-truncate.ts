/**
 * `cli-truncate`: truncates a text to a number of columns, with a mark at the cut.
 * @module
 */
import { columnsOf } from "./slice-ansi.js";
import stringWidth from "./string-width.js";

/** The options of `cliTruncate`. */
export interface Options {
  /** The position of the cut. Default `"end"`. */
  readonly position?: "start" | "middle" | "end";
  /** Add a space between the text and the mark. Default false. */
  readonly space?: boolean;
  /** Cut at a space if one is at most three columns away. Default false. */
  readonly preferTruncationOnSpace?: boolean;
  /** The mark. Default `…`. */
  readonly truncationCharacter?: string;
}

/** The maximum distance between a cut and a space. */
const REACH = 3;

/** SGR sequences before a text. */
const OPENING = /^(?:\x1b\[[\d;:]*m)+/;

/** SGR sequences after a text. */
const CLOSING = /(?:\x1b\[[\d;:]*m)+$/;

function slice(text: string, start: number, end: number): string {
  return columnsOf(text, start, end, false);
}

/** Returns the column of a space near `at`, to the left (-1) or to the right (1); `at` itself if there is none. */
function nearBlank(text: string, at: number, direction: 1 | -1): number {
  for (let step = 0; step <= REACH; step++) {
    if (text.charAt(at + step * direction) === " ") return at + step * direction;
  }
  return at;
}

/** Returns the mark after `text`, in its style. */
function markBehind(text: string, mark: string): string {
  const end = CLOSING.exec(text)?.index ?? text.length;
  return text.slice(0, end) + mark + text.slice(end);
}

/** Returns the mark before `text`, in its style. */
function markBefore(text: string, mark: string): string {
  const end = OPENING.exec(text)?.[0].length ?? 0;
  return text.slice(0, end) + mark + text.slice(end);
}

function check(text: unknown, columns: unknown, position: unknown, mark: unknown): void {
  if (typeof text !== "string") throw new TypeError(`Expected \`input\` to be a string, got ${typeof text}`);
  if (typeof columns !== "number") throw new TypeError(`Expected \`columns\` to be a number, got ${typeof columns}`);
  if (!Number.isFinite(columns)) throw new TypeError(`Expected \`columns\` to be a finite number, got ${columns}`);
  if (position !== "start" && position !== "middle" && position !== "end") {
    throw new TypeError(`Expected \`options.position\` to be either \`start\`, \`middle\` or \`end\`, got ${String(position)}`);
  }
  if (typeof mark !== "string") {
    throw new TypeError(`Expected \`options.truncationCharacter\` to be a string, got ${typeof mark}`);
  }
}

/**
 * Truncates `text` to `columns` columns, including the mark. Text that fits is returned unchanged.
 *
 * @throws TypeError for an argument of the wrong type, columns that are not finite, an unknown position.
 */
export default function cliTruncate(text: string, columns: number, options: Options = {}): string {
  const { position = "end", space = false, preferTruncationOnSpace = false, truncationCharacter = "…" } = options;
  check(text, columns, position, truncationCharacter);
  if (columns < 1) return "";
  const length = stringWidth(text);
  if (length <= columns) return text;
  if (columns === 1) return truncationCharacter;

  if (position === "start") {
    const mark = space && !preferTruncationOnSpace ? `${truncationCharacter} ` : truncationCharacter;
    if (preferTruncationOnSpace) {
      const from = nearBlank(text, length - columns + 1, 1);
      return markBefore(slice(text, from, length).trim(), mark);
    }
    return markBefore(slice(text, length - columns + stringWidth(mark), length), mark);
  }
  if (position === "end") {
    const mark = space && !preferTruncationOnSpace ? ` ${truncationCharacter}` : truncationCharacter;
    const to = preferTruncationOnSpace ? nearBlank(text, columns - 1, -1) : columns - stringWidth(mark);
    return markBehind(slice(text, 0, to), mark);
  }
  // With fewer columns, the spaces around the mark would not be next to any text.
  const mark = space && columns > 3 ? ` ${truncationCharacter} ` : truncationCharacter;
  const room = Math.max(0, columns - stringWidth(mark));
  const half = Math.floor(columns / 2);
  const to = Math.min(preferTruncationOnSpace ? nearBlank(text, half, -1) : half, room);
  const wanted = preferTruncationOnSpace ? nearBlank(text, length - (columns - half) + 1, 1) : 0;
  const from = Math.max(wanted, length - (room - to));
  const tail = slice(text, from, length);
  return slice(text, 0, to) + mark + (preferTruncationOnSpace ? tail.trim() : tail);
}
