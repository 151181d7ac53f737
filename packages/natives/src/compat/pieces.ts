/**
 * A text as a run of escape sequences and clusters.
 * @module
 */
import { escapeAt, nextEscape } from "./escapes.js";
import stringWidth from "./string-width.js";

/** An escape sequence, or what a terminal shows as one. */
export interface Piece {
  readonly text: string;
  /** Columns; 0 for an escape sequence. */
  readonly width: number;
  readonly isEscape: boolean;
}

const CLUSTERS = new Intl.Segmenter();

/** Of a cluster, whose escape character is one without a sequence. */
const COUNTED = { countAnsiEscapeCodes: true };

/** Printable ASCII that nothing joins, or other text with the character that it may join. */
const RUNS = /[ -~]+(?![^ -~])|[ -~]?[^ -~]+/g;

/** The segmenter takes time that grows faster than a text: it gets no more of one at once. */
const WINDOW = 256;

/** The pieces so far, and the columns that they take. */
interface Pieces {
  readonly list: Piece[];
  width: number;
}

function push(pieces: Pieces, text: string, width: number): void {
  pieces.list.push({ text, width, isEscape: false });
  pieces.width += width;
}

/** Appends the clusters of a text without escape sequences, at least up to `columns`. */
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
      // The last one may go on behind the window.
      const isLast = at + WINDOW >= run.length;
      const whole = isLast || segments.length === 1 ? segments : segments.slice(0, -1);
      for (const segment of whole) {
        push(pieces, segment, stringWidth(segment, COUNTED));
        at += segment.length;
      }
    }
  }
}

/** The pieces of a text, in order: at least those up to `columns`. Linear in what is read of the text. */
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
