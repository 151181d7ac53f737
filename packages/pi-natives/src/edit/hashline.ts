/**
 * Numbered lines, and the tag that identifies the version of a text in an edit.
 * @module
 */

/** Returns the text to hash, in which line ends and trailing whitespace do not count. */
const normalized = (text: string) => text.replace(/[^\S\n]+(?=\n|$)/g, "");

/** Returns the tag of a text: 4 hexadecimal digits. */
export function hashlineFileHash(text: string): string {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(normalized(text))) hash = Math.imul(hash ^ byte, 0x01000193);
  return (((hash >>> 16) ^ hash) & 0xffff).toString(16).toUpperCase().padStart(4, "0");
}

/** Returns the header of a file: `[PATH#TAG]`. */
export function hashlineFormatHeader(path: string, tag: string): string {
  return `[${path}#${tag}]`;
}

/** Returns the lines of a text as `NUMBER:LINE`. */
export function hashlineFormatNumberedLines(text: string, startLine?: number | null): string {
  return text.split("\n").map((line, at) => `${at + (startLine ?? 1)}:${line}`).join("\n");
}

const NOTICE = /^\[.*\b(?:Showing lines|more lines?)\b.*\]$/;

/** Returns whether a row is the note that a text was truncated. */
export function hashlineIsReadTruncationNotice(line: string): boolean {
  return NOTICE.test(line.trim());
}

const NUMBERED = /^[ *+-]?\d+:/;
const HEADER = /^\[[^\]\n]+#[0-9A-Fa-f]{4}\]$/;

/**
 * Removes headers and line numbers from rows that were copied from a read. Unless all rows are numbered, they stay
 * unchanged.
 */
export function hashlineStripPrefixes(lines: string[]): string[] {
  const rows = lines.filter((line) => !HEADER.test(line));
  const filled = rows.filter((line) => line.trim() !== "");
  return filled.length > 0 && filled.every((line) => NUMBERED.test(line)) ? rows.map((line) => line.replace(NUMBERED, "")) : lines;
}

/** The number of operations of one kind in a patch. */
export interface HashlineOpCount {
  label: string;
  count: number;
}

/** Counts the operations of a patch by kind, such as `PUT N.=M:`; empty for a text without operations. */
export function hashlineCountOps(input: string): HashlineOpCount[] {
  const counts = new Map<string, number>();
  for (const line of input.split("\n")) {
    if (!/^(?:PUT|CUT) [<>]?(?:\d+|\$)/.test(line)) continue;
    const label = line.trimEnd().replace(/ @\S+/, " @name").replace(/(\d+)\.=\d+/, "N.=M").replace(/\d+/, "N");
    counts.set(label, (counts.get(label) ?? 0) + 1);
  }
  return [...counts].map(([label, count]) => ({ label, count }));
}
