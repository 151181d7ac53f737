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

/** Matches the notes with which a read ends that does not show the whole file. */
const NOTICE = /^\[(?:Showing (?=.*\blines?\b).*\bof \S.*|\d+ more lines? in .+\. Use \S+ to continue)\]$/;

/** Returns whether a row is the note that a text was truncated. */
export function hashlineIsReadTruncationNotice(line: string): boolean {
  return NOTICE.test(line.trim());
}

const NUMBERED = /^\s*[*+-]?\s*\d+[:|]/;
const HEADER = /^\[[^\]\n]+#[0-9A-Fa-f]{4}\]$/;
/** Matches rows in the place of lines that were not shown, such as `…` and `12-40:{…}`. */
const GAP = /^(?:\.\.\.|…|\d+-\d+:.*…\W*)$/;

/**
 * Removes headers, notes and line numbers from rows that were copied from a read. Unless all other rows are numbered,
 * they stay unchanged.
 */
export function hashlineStripPrefixes(lines: string[]): string[] {
  const rows = lines.filter((line) => !HEADER.test(line) && !GAP.test(line.trim()) && !hashlineIsReadTruncationNotice(line));
  const filled = rows.filter((line) => line !== "");
  return filled.length > 0 && filled.every((line) => NUMBERED.test(line)) ? rows.map((line) => line.replace(NUMBERED, "")) : lines;
}

/** The number of operations of one kind in a patch. */
export interface HashlineOpCount {
  label: string;
  count: number;
}

const OPERATION = /^(PUT|CUT) ([<>]?)(?:([1-9]\d*)(?:(?:\.=|\.\.|[ …-])(\d+)|(?:\.=)?(\*?))|(\$))(?: (@)\S+?)? ?(:?)$/;

/** Returns the kind of an operation; undefined for other rows. */
function labelOf(row: string): string | undefined {
  if (row === "REM") return row;
  if (/^MV \S/.test(row)) return "MV";
  const [, verb, gap, first, last, block, end, register, colon = ""] = OPERATION.exec(row) ?? [];
  if (!verb || (gap || end ? verb === "CUT" : false) || (end && gap !== ">")) return undefined;
  const line = gap === "<" && first === "1" ? "1" : "N";
  const lines = end ? "$" : gap ? line + (gap === ">" ? block : "") : block ? "N*" : last !== undefined && last !== first ? "N.=M" : "N.=N";
  // New lines follow a colon, and cut lines are named or inserted at a position.
  const isInvalid = verb === "CUT" || register ? colon !== "" : !gap && colon === "";
  return `${verb} ${gap}${lines}${register ? " @reg" : ""}${colon}${isInvalid ? " (invalid)" : ""}`;
}

/** Counts the operations of a patch by kind, such as `PUT N.=M:`; empty for a text without operations. */
export function hashlineCountOps(input: string): HashlineOpCount[] {
  const counts = new Map<string, number>();
  for (const row of input.split("\n")) {
    const label = labelOf(row.trim());
    if (label !== undefined) counts.set(label, (counts.get(label) ?? 0) + 1);
  }
  return [...counts].map(([label, count]) => ({ label, count }));
}
