/**
 * Escape sequences as the replacement modules recognize them.
 * @module
 */

/** Matches a control sequence: parameters, intermediates, a final byte. */
const CSI = /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]/y;

/** Matches an operating system command. One with a control character or without an end is text. */
const OSC = /\x1b\][^\x00-\x1f\x7f-\x9f]*(?:\x07|\x1b\\|\x9c)/y;

/**
 * Matches everything that controls a terminal, including device strings and sequences of two characters. A string ends
 * before the next escape character, so that many unterminated ones are read only once.
 */
const ANY =
  /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)|\x1b[PX^_][^\x1b\x9c]*(?:\x1b\\|\x9c)|\x1b[ -/]+[0-~]|\x1b[0-~]/g;

/** Matches the first character of any escape sequence. */
const INTRODUCER = /[\x1b\x9b]/g;

/** Returns the index of the next escape character from `from` on; -1 if there is none. */
export function nextEscape(text: string, from: number): number {
  INTRODUCER.lastIndex = from;
  return INTRODUCER.test(text) ? INTRODUCER.lastIndex - 1 : -1;
}

/** Returns whether `text` may contain an escape sequence. */
export function hasEscape(text: string): boolean {
  return nextEscape(text, 0) >= 0;
}

/** Returns `text` without its escape sequences; other control characters are kept. */
export function stripEscapes(text: string): string {
  return hasEscape(text) ? text.replace(ANY, "") : text;
}

/** Returns the control sequence or operating system command that begins at `at`; undefined if there is text. */
export function escapeAt(text: string, at: number): string | undefined {
  for (const form of [CSI, OSC]) {
    form.lastIndex = at;
    const found = form.exec(text);
    if (found) return found[0];
  }
  return undefined;
}
