/**
 * Paths of entries, which the addon returns as bytes.
 * @module
 */

/** The path of an entry. */
export interface EntryPath {
  /** The path below the root, with `/` between names; bytes that are not UTF-8 are shown as U+FFFD. */
  path: string;
  /** The bytes of the path, if it is not UTF-8. */
  bytes?: Buffer;
}

/** Returns the path for some bytes, with the bytes if they are not UTF-8. @internal */
export function pathOf(bytes: Buffer): EntryPath {
  const path = bytes.toString("utf8");
  // A copy, because the original buffer contains the paths of all rows.
  return path.includes("\ufffd") && !Buffer.from(path).equals(bytes) ? { path, bytes: Buffer.from(bytes) } : { path };
}

/** Returns the paths of a column; `ends` contains the end of each. @internal */
export function rows(paths: Buffer, ends: number[]): EntryPath[] {
  return ends.map((end, at) => pathOf(paths.subarray(at === 0 ? 0 : ends[at - 1], end)));
}
