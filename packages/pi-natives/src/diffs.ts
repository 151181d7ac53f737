/**
 * Differences of texts, computed by the package `diff` and returned in its form.
 * @module
 */
import { createRequire } from "node:module";

/** A run of tokens that is in both texts or in one of them. */
export interface DiffChange {
  value: string;
  /** The number of tokens. */
  count: number;
  added: boolean;
  removed: boolean;
}

/** A {@link DiffChange} without its text. */
export type DiffRun = Omit<DiffChange, "value">;

/** A hunk of a unified diff. */
export interface PatchHunk {
  oldStart: number;
  oldLines: number;
  newStart: number;
  newLines: number;
  lines: string[];
}

const require = createRequire(import.meta.url);
// Loaded on first use, so that it does not delay the start of an agent.
const jsdiff = () => require("diff") as typeof import("diff");

/** Compares lines, including their line ends. */
export function diffLines(oldText: string, newText: string): DiffChange[] {
  return jsdiff().diffLines(oldText, newText).map(({ value, count, added, removed }) => ({ value, count, added, removed }));
}

/** Compares words; differences in the whitespace around them are ignored. */
export function diffWords(oldText: string, newText: string): DiffChange[] {
  return jsdiff().diffWords(oldText, newText).map(({ value, count, added, removed }) => ({ value, count, added, removed }));
}

/** Compares lines without their line feeds, and returns only the lengths of the runs. */
export function diffLineRuns(oldText: string, newText: string): DiffRun[] {
  return jsdiff().diffArrays(oldText.split("\n"), newText.split("\n")).map(({ count, added, removed }) => ({ count, added, removed }));
}

/** Returns the hunks of a unified diff with `context` unchanged lines around each change. Default: 4. */
export function structuredPatchHunks(oldText: string, newText: string, context?: number | null): PatchHunk[] {
  const { hunks } = jsdiff().structuredPatch("", "", oldText, newText, "", "", { context: context ?? 4 });
  return hunks.map(({ oldStart, oldLines, newStart, newLines, lines }) => ({ oldStart, oldLines, newStart, newLines, lines }));
}

/** The number of unchanged lines around each change in {@link editDiffString}. */
const SHOWN_CONTEXT = 2;

/** A diff with line numbers. */
export interface EditDiffResult {
  /**
   * Rows of `+`, `-` or a space, the line number, `|` and the line. Added lines have the number in the new text, others
   * that in the old one.
   */
  diff: string;
  /** The first line of the new text that differs; absent for equal texts. */
  firstChangedLine?: number;
}

/** Compares two texts, and returns the changes with line numbers. */
export function editDiffString(oldText: string, newText: string, _path?: string | null): EditDiffResult {
  const rows: string[] = [];
  let first: number | undefined;
  for (const hunk of structuredPatchHunks(oldText, newText, SHOWN_CONTEXT)) {
    let [old, now] = [hunk.oldStart, hunk.newStart];
    for (const line of hunk.lines) {
      const sign = line[0];
      if (sign === "\\") continue;
      if (sign !== " ") first ??= now;
      rows.push(`${sign}${sign === "+" ? now : old}|${line.slice(1)}`);
      if (sign !== "+") old += 1;
      if (sign !== "-") now += 1;
    }
  }
  return { diff: rows.join("\n"), ...(first === undefined ? {} : { firstChangedLine: first }) };
}

/** The sides of a {@link DiffStream}. */
export const DiffSide = { Old: "Old", New: "New" } as const;
/** The sides of a {@link DiffStream}. */
export type DiffSide = (typeof DiffSide)[keyof typeof DiffSide];

/** The progress of a {@link DiffStream}. */
export interface DiffStreamProgress {
  oldLines: number;
  newLines: number;
  /** The number of equal lines at the beginning of both texts. */
  stableCommonLines: number;
  oldDone: boolean;
  newDone: boolean;
  /** True if a text contains a NUL character. */
  binary: boolean;
  tooLarge: boolean;
}

/** The result of a {@link DiffStream}. */
export interface DiffStreamResult {
  runs: DiffRun[];
  hunks: PatchHunk[];
  oldEndsNewline: boolean;
  newEndsNewline: boolean;
}

class Side {
  text = "";
  done = false;
  readonly decoder = new TextDecoder();

  /** Returns the lines that cannot change any more. */
  lines(): string[] {
    const lines = this.text.split("\n");
    if (!this.done || lines.at(-1) === "") lines.pop();
    return lines;
  }
}

/** Receives two texts piece by piece, and compares them at the end. */
export class DiffStream {
  readonly #sides = { Old: new Side(), New: new Side() };
  #tooLarge = false;

  /** Adds text to a side. */
  push(side: DiffSide, chunk: string): DiffStreamProgress {
    this.#sides[side].text += chunk;
    return this.progress();
  }

  /** Adds UTF-8 to a side; a character may be split between two chunks. */
  pushBytes(side: DiffSide, chunk: Uint8Array): DiffStreamProgress {
    return this.push(side, this.#sides[side].decoder.decode(chunk, { stream: true }));
  }

  /** Ends a side. */
  finishSide(side: DiffSide): DiffStreamProgress {
    const of = this.#sides[side];
    of.text += of.decoder.decode();
    of.done = true;
    return this.progress();
  }

  /** Ends a side whose text is too large to be compared. */
  markTooLarge(side: DiffSide): DiffStreamProgress {
    this.#tooLarge = true;
    return this.finishSide(side);
  }

  /** Returns the progress of both sides. */
  progress(): DiffStreamProgress {
    const { Old, New } = this.#sides;
    const [old, now] = [Old.lines(), New.lines()];
    const differs = old.findIndex((line, at) => line !== now[at]);
    return {
      oldLines: old.length, newLines: now.length, stableCommonLines: differs < 0 ? old.length : differs, oldDone: Old.done, newDone: New.done,
      binary: Old.text.includes("\0") || New.text.includes("\0"), tooLarge: this.#tooLarge,
    };
  }

  /** Returns at most `limit` complete lines from a line number on. */
  lines(side: DiffSide, from: number, limit?: number | null): string[] {
    return this.#sides[side].lines().slice(from, limit == null ? undefined : from + limit);
  }

  /** Returns the text of a side so far. */
  text(side: DiffSide): string {
    return this.#sides[side].text;
  }

  /** Reads a file into a side. One larger than `maxBytes` marks the side as too large. */
  async openFile(side: DiffSide, path: string, maxBytes?: number | null, signal?: unknown): Promise<DiffStreamProgress> {
    const { readFile, stat } = await import("node:fs/promises");
    if (maxBytes != null && (await stat(path)).size > maxBytes) return this.markTooLarge(side);
    this.pushBytes(side, await readFile(path, signal instanceof AbortSignal ? { signal } : {}));
    return this.finishSide(side);
  }

  /** Compares both texts. `context` is the number of unchanged lines around each change. Default: 3. */
  async finish(context?: number | null): Promise<DiffStreamResult> {
    const [old, now] = [this.text("Old"), this.text("New")];
    const runs = diffLines(old, now).map(({ value: _, ...run }) => run);
    return { runs, hunks: structuredPatchHunks(old, now, context ?? 3), oldEndsNewline: old.endsWith("\n"), newEndsNewline: now.endsWith("\n") };
  }
}
