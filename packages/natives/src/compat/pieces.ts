/**
 * Splits a text into escape sequences and clusters.
 * @module
 */
import { escapeAt, nextEscape } from "./escapes.js";
import stringWidth from "./string-width.js";

/** An escape sequence, or a cluster that a terminal shows as one character. */
export interface Piece {
  readonly text: string;
  /** The number of columns; 0 for an escape sequence. */
  readonly width: number;
  readonly isEscape: boolean;
}

const CLUSTERS = new Intl.Segmenter();

/** The options for a cluster, in which an escape character does not begin a sequence. */
const COUNTED = { countAnsiEscapeCodes: true };

/** Matches printable ASCII to which nothing is joined, or other text with the preceding character that it may join. */
const RUNS = /[ -~]+(?![^ -~])|[ -~]?[^ -~]+/g;

/** The maximum length of text for one call of the segmenter, whose running time is superlinear. */
const WINDOW = 256;

/** The pieces so far, and their total number of columns. */
interface Pieces {
  readonly list: Piece[];
  width: number;
}

function push(pieces: Pieces, text: string, width: number): void {
  pieces.list.push({ text, width, isEscape: false });
  pieces.width += width;
}

/** Appends the clusters of a text without escape sequences, at least up to the column `columns`. */
function pushClusters(pieces: Pieces, text: string, columns: number): void {
  for (const [run] of text.matchAll(RUNS)) {
    if (pieces.width > columns) return;
    const code = run.charCodeAt(run.length - 1);
    if (code >= 0x20 && code < 0x7f) {
      for (const character of run) {
        if (pieces.width > columns) return;
        push(pieces, character, 1);
      }
      continue;
    }
    for (let at = 0; at < run.length; ) {
      const segments = [...CLUSTERS.segment(run.slice(at, at + WINDOW))].map(({ segment }) => segment);
      // The last cluster may continue beyond the window.
      const isLast = at + WINDOW >= run.length;
      const whole = isLast || segments.length === 1 ? segments : segments.slice(0, -1);
      for (const segment of whole) {
        push(pieces, segment, stringWidth(segment, COUNTED));
        at += segment.length;
      }
    }
  }
}

/** Returns the pieces of a text, at least up to `columns`. Runs in time linear in the text that is read. */
export function piecesOf(text: string, columns = Infinity): Piece[] {
  const pieces: Pieces = { list: [], width: 0 };
  let from = 0;
  for (let at = nextEscape(text, 0); at >= 0 && pieces.width <= columns; at = nextEscape(text, at)) {
    const sequence = escapeAt(text, at);
    if (sequence === undefined) {
      at++;
      continue;
    }
    pushClusters(pieces, text.slice(from, at), columns);
    pieces.list.push({ text: sequence, width: 0, isEscape: true });
    from = at + sequence.length;
    at = from;
  }
  pushClusters(pieces, text.slice(from), columns);
  return pieces.list;
}
