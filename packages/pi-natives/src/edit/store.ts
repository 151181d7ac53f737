/**
 * The versions of files, and the lines of each version that a session has shown.
 * @module
 */
import { readFileSync, statSync } from "node:fs";
import { hashlineFileHash } from "./hashline.js";

interface Snapshot {
  text: string;
  seen: Set<number> | undefined;
}

/** The number of versions kept per file. */
const VERSIONS = 16;
/** The maximum size of a file that is recorded from disk, in bytes. */
const LARGEST = 4 * 1024 * 1024;

/** The versions of files by tag, the lines of each that were shown, and the cut texts that can be pasted. */
export class EditStore {
  /** The versions by path, oldest first. */
  readonly #files = new Map<string, Map<string, Snapshot>>();
  /** Cut texts by name; "" is the unnamed one. @internal */
  readonly registers: Map<string, string[]> = new Map();

  /** Records the current text of a file, and returns its tag. */
  recordSnapshot(absolutePath: string, text: string, seenLines?: number[] | null): string {
    const tag = hashlineFileHash(text);
    const versions = this.#files.get(absolutePath) ?? new Map<string, Snapshot>();
    const known = versions.get(tag)?.seen;
    versions.delete(tag);
    versions.set(tag, { text: text.replaceAll("\r\n", "\n"), seen: seenLines || known ? new Set([...(known ?? []), ...(seenLines ?? [])]) : undefined });
    for (const old of [...versions.keys()].slice(0, -VERSIONS)) versions.delete(old);
    this.#files.set(absolutePath, versions);
    return tag;
  }

  /** Records a file from disk. Returns null if it cannot be read or is larger than 4 MiB. */
  recordSnapshotFile(absolutePath: string, seenLines?: number[] | null): string | null {
    try {
      if (statSync(absolutePath).size > LARGEST) return null;
      return this.recordSnapshot(absolutePath, readFileSync(absolutePath, "utf8"), seenLines);
    } catch {
      return null;
    }
  }

  /** Records more shown lines of a version. */
  recordSeenLines(absolutePath: string, tag: string, lines: number[]): void {
    const version = this.#version(absolutePath, tag);
    if (version) version.seen = new Set([...(version.seen ?? []), ...lines]);
  }

  /** Records the shown lines of a version from the rows `NUMBER:LINE` of a text. */
  recordSeenLinesFromBody(absolutePath: string, tag: string, body: string): void {
    const numbers = [...body.matchAll(/^[ *]?(\d+):/gm)].map(([, number]) => Number(number));
    if (numbers.length) this.recordSeenLines(absolutePath, tag, numbers);
  }

  headText(absolutePath: string): string | null {
    return [...(this.#files.get(absolutePath)?.values() ?? [])].at(-1)?.text ?? null;
  }

  headHash(absolutePath: string): string | null {
    return [...(this.#files.get(absolutePath)?.keys() ?? [])].at(-1) ?? null;
  }

  byHashText(absolutePath: string, hash: string): string | null {
    return this.#version(absolutePath, hash)?.text ?? null;
  }

  /** Returns the shown lines of a version, in order; null if they were not recorded. */
  seenLines(absolutePath: string, hash: string): number[] | null {
    const seen = this.#version(absolutePath, hash)?.seen;
    return seen ? [...seen].sort((a, b) => a - b) : null;
  }

  /** Forgets a file. */
  invalidate(absolutePath: string): void {
    this.#files.delete(absolutePath);
  }

  /** Records that a file was moved. */
  relocate(from: string, to: string): void {
    const versions = this.#files.get(from);
    if (!versions) return;
    this.#files.delete(from);
    this.#files.set(to, versions);
  }

  /** Forgets everything. */
  clear(): void {
    this.#files.clear();
    this.registers.clear();
  }

  #version(absolutePath: string, tag: string): Snapshot | undefined {
    return this.#files.get(absolutePath)?.get(tag.toUpperCase());
  }
}
