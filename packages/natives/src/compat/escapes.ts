/**
 * Escape sequences as the drop-in modules see them.
 * @module
 */

/** A control sequence: parameters, intermediates, a final byte. */
const CSI = /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]/y;

/** An operating system command; a control in it, or no end, makes it text. */
const OSC = /\x1b\][^\x00-\x1f\x7f-\x9f]*(?:\x07|\x1b\\|\x9c)/y;

/**
 * Whatever a terminal obeys rather than shows: also strings of devices, and sequences of two characters. A string ends
 * before the next escape character, so that many without an end are read once.
 */
const ANY =
  /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)|\x1b[PX^_][^\x1b\x9c]*(?:\x1b\\|\x9c)|\x1b[ -/]+[0-~]|\x1b[0-~]/g;

/** The first character of any escape sequence. */
const INTRODUCER = /[\x1b\x9b]/g;

/** Where the next escape character stands from `from` on; -1 where there is none. */
export function nextEscape(text: string, from: number): number {
  INTRODUCER.lastIndex = from;
  return INTRODUCER.test(text) ? INTRODUCER.lastIndex - 1 : -1;
}

/** Returns whether `text` may hold an escape sequence. */
export function hasEscape(text: string): boolean {
  return nextEscape(text, 0) >= 0;
}

/** `text` without its escape sequences; other controls stay. */
export function stripEscapes(text: string): string {
  return hasEscape(text) ? text.replace(ANY, "") : text;
}

/** The control sequence or operating system command that begins at `at`, or undefined where text stands. */
export function escapeAt(text: string, at: number): string | undefined {
  for (const form of [CSI, OSC]) {
    form.lastIndex = at;
    const found = form.exec(text);
    if (found) return found[0];
  }
  return undefined;
}
