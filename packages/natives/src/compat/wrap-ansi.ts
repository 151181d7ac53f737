/**
 * `wrap-ansi`: wraps a text to a number of columns.
 * @module
 */
import { hasEscape } from "./escapes.js";
import { piecesOf, type Piece } from "./pieces.js";
import stringWidth from "./string-width.js";
import { Style } from "./style.js";

/** The options of `wrapAnsi`. */
export interface Options {
  /** Break words that are longer than a line. Default false. */
  readonly hard?: boolean;
  /** Break at spaces; otherwise wherever a line is full. Default true. */
  readonly wordWrap?: boolean;
  /** Remove spaces at both ends of wrapped lines. Default true. */
  readonly trim?: boolean;
}

/** The number of columns between two tab stops. */
const TAB = 8;

/** A line under construction. */
interface Row {
  readonly pieces: Piece[];
  width: number;
}

interface Word {
  readonly pieces: readonly Piece[];
  readonly width: number;
}

const BLANK: Piece = { text: " ", width: 1, isEscape: false };

/** Splits a line at single spaces; two consecutive spaces have an empty word between them. */
function wordsOf(line: string): Word[] {
  const words: Piece[][] = [[]];
  for (const piece of piecesOf(line)) {
    if (piece.text === " ") words.push([]);
    else words[words.length - 1]?.push(piece);
  }
  return words.map((pieces) => {
    let width = 0;
    let escapes = 0;
    for (const piece of pieces) {
      width += piece.width;
      if (piece.isEscape) escapes++;
    }
    // An escape sequence within a cluster does not split it on the screen.
    const isParted = escapes > 0 && width > 1 && pieces.some((piece) => piece.width !== piece.text.length && !piece.isEscape);
    return { pieces, width: isParted ? stringWidth(pieces.map((piece) => piece.text).join("")) : width };
  });
}

/** Returns the rows of one line of the text. */
function layOut(line: string, columns: number, hard: boolean, wordWrap: boolean, trim: boolean): Row[] {
  const rows: Row[] = [{ pieces: [], width: 0 }];
  const last = (): Row => rows[rows.length - 1] as Row;
  const begin = (): void => void rows.push({ pieces: [], width: 0 });
  const append = (row: Row, word: Word): void => {
    for (const piece of word.pieces) row.pieces.push(piece);
    row.width += word.width;
  };
  const breakWord = (word: Word): void => {
    word.pieces.forEach((piece, index) => {
      if (!piece.isEscape && last().width > 0 && last().width + piece.width > columns) begin();
      last().pieces.push(piece);
      last().width += piece.width;
      if (last().width === columns && !piece.isEscape && index < word.pieces.length - 1) begin();
    });
    // A row without visible content is merged with the previous one.
    const end = last();
    const above = rows[rows.length - 2];
    if (end.width === 0 && end.pieces.length > 0 && above) {
      above.pieces.push(...end.pieces);
      rows.pop();
    }
  };

  wordsOf(line).forEach((word, index) => {
    if (index > 0) {
      if (trim) trimStart(last());
      if (last().width >= columns && (!wordWrap || !trim)) begin();
      if (last().width > 0 || !trim) {
        last().pieces.push(BLANK);
        last().width++;
      }
    }
    const { width } = last();
    if (hard && wordWrap && word.width > columns) {
      // The word starts on a new row if that needs fewer breaks.
      const room = columns - width;
      const breaksHere = 1 + Math.floor((word.width - room - 1) / columns);
      const breaksBelow = Math.floor((word.width - 1) / columns);
      if (breaksBelow < breaksHere) begin();
      breakWord(word);
    } else if (width + word.width <= columns || word.width === 0) {
      append(last(), word);
    } else if (!wordWrap) {
      if (width >= columns) begin();
      breakWord(word);
    } else {
      if (width > 0) begin();
      append(last(), word);
    }
  });
  return rows;
}

/** Removes the spaces at the beginning of a row. */
function trimStart(row: Row): void {
  let count = 0;
  for (let piece = row.pieces[0]; piece && piece.text.trim() === "" && !piece.isEscape; piece = row.pieces[count]) {
    row.width -= piece.width;
    count++;
  }
  if (count > 0) row.pieces.splice(0, count);
}

/** Removes the spaces after the last visible character, including those between escape sequences. */
function trimEnd(row: Row): void {
  let isAtEnd = true;
  let isDone = false;
  const kept = row.pieces.reverse().filter((piece) => {
    if (isDone) return true;
    if (piece === BLANK && isAtEnd) return false;
    isAtEnd = piece.isEscape;
    isDone = piece.width > 0;
    return true;
  });
  row.pieces.splice(0, Infinity, ...kept.reverse());
}

/** Replaces tabs by spaces up to the next tab stop. */
function expandTabs(line: string): string {
  if (!line.includes("\t")) return line;
  const [first = "", ...parts] = line.split("\t");
  let out = first;
  let width = stringWidth(first);
  for (const part of parts) {
    const blanks = " ".repeat(TAB - (width % TAB));
    out += blanks + part;
    width += blanks.length + stringWidth(part);
  }
  return out;
}

/** Returns the text of the rows of a line; each row opens and closes its styles. */
function write(rows: readonly Row[]): string {
  const style = new Style();
  let out = "";
  rows.forEach((row, index) => {
    if (index > 0) {
      // An empty row has not opened any style.
      out += ((rows[index - 1] as Row).pieces.length > 0 ? style.close() : "") + "\n";
      if (row.pieces.length > 0) {
        const end = row.pieces.findIndex((piece) => !piece.isEscape);
        const leading = row.pieces.slice(0, end < 0 ? row.pieces.length : end).map((piece) => piece.text);
        out += style.without(leading).open();
      }
    }
    for (const piece of row.pieces) {
      out += piece.text;
      if (piece.isEscape) style.apply(piece.text);
    }
  });
  return out;
}

/**
 * Wraps `text` into lines of at most `columns` columns. At each inserted break, styles and links are closed and opened
 * again on the next line; at a line end of the text, they stay open. Tabs become spaces, and `\r\n` becomes `\n`. Runs
 * in linear time.
 */
export default function wrapAnsi(text: string, columns: number, options: Options = {}): string {
  const { hard = false, wordWrap = true, trim = true } = options;
  const lines = String(text).normalize().replaceAll("\r\n", "\n").split("\n").map(expandTabs);
  const wrapped = lines.map((line) => {
    if (trim && line.trim() === "") return "";
    // The line fits, and nothing has to be removed.
    if (!hasEscape(line) && line.length <= columns && /^[!-~](?:[ -~]*[!-~])?$/.test(line)) return line;
    const rows = layOut(line, columns, hard, wordWrap, trim);
    if (trim) rows.forEach(trimEnd);
    return write(rows);
  });
  return wrapped.join("\n");
}
