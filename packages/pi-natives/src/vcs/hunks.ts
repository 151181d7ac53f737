/**
 * Selects hunks of a patch.
 * @module
 */
import { vcsError } from "./error.js";

/** A selection of a file's hunks: all of them, some by number from 1, or those in a line range of the new file. */
export interface VcsHunkSelection {
  path: string;
  /** `"all"`, `"indices"` or `"lines"`. */
  kind: string;
  indices?: number[];
  start?: number;
  end?: number;
}

/** An error about a selection that contains no hunk. */
export interface VcsHunkSelectionError {
  path: string;
  message: string;
}

interface FileDiff {
  path: string;
  /** The header before the first hunk. */
  header: string;
  hunks: { text: string; start: number; end: number }[];
}

/** Parses the output of `git diff` into files and hunks. */
function parse(diff: string): FileDiff[] {
  return diff.split(/^(?=diff --git )/m).filter((part) => part.startsWith("diff --git ")).map((part) => {
    const [header = "", ...bodies] = part.split(/^(?=@@ -)/m);
    const [, renamed] = /^(?:\+\+\+ b\/|rename to )(.+?)\t?$/m.exec(header) ?? [];
    const [, old] = /^--- a\/(.+?)\t?$/m.exec(header) ?? [];
    const [, both] = /^diff --git a\/(.+) b\/\1$/m.exec(header) ?? [];
    const hunks = bodies.map((text) => {
      const [, first, count] = /^@@ -\S+ \+(\d+)(?:,(\d+))? @@/.exec(text) ?? [];
      const start = Number(first);
      return { text, start, end: start + Math.max(Number(count ?? 1), 1) - 1 };
    });
    return { path: renamed ?? old ?? both ?? "", header, hunks };
  });
}

function selected(file: FileDiff, selection: VcsHunkSelection): FileDiff["hunks"] {
  const { kind, indices = [], start = 1, end = Number.POSITIVE_INFINITY } = selection;
  if (kind === "indices") return file.hunks.filter((_, at) => indices.includes(at + 1));
  if (kind === "lines") return file.hunks.filter((hunk) => hunk.start <= end && hunk.end >= start);
  return file.hunks;
}

/** Returns an error for each selection that contains no hunk of its file. */
export function validateHunkSelections(rawDiff: string, selections: VcsHunkSelection[]): VcsHunkSelectionError[] {
  const files = parse(rawDiff);
  return selections.flatMap((selection) => {
    const file = files.find(({ path }) => path === selection.path);
    const empty = file !== undefined && selection.kind !== "all" && selected(file, selection).length === 0;
    return empty ? [{ path: selection.path, message: `No hunks selected for ${selection.path}` }] : [];
  });
}

/**
 * Returns the patch with only the selected hunks.
 * @throws VcsError if a file is not in the patch, or a selection selects nothing.
 */
export function selectHunks(rawDiff: string, selections: VcsHunkSelection[]): string {
  const files = parse(rawDiff);
  return selections.map((selection) => {
    const file = files.find(({ path }) => path === selection.path);
    if (!file) throw vcsError("PatchFailed", `${selection.path} is not in the patch`);
    const hunks = selected(file, selection);
    if (hunks.length === 0 && file.hunks.length > 0) throw vcsError("PatchFailed", `No hunks selected for ${selection.path}`);
    return file.header + hunks.map(({ text }) => text).join("");
  }).join("");
}

/** Joins patches, and ends each with a line end. */
export function joinPatches(parts: string[]): string {
  return parts.map((part) => (part.endsWith("\n") ? part : `${part}\n`)).join("");
}
