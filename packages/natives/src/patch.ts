/**
 * Patches on the files of a directory.
 * @module
 */
import { resolve } from "node:path";
import { type CallOptions, underSignal } from "./call.js";
import { native } from "./loader.js";
import { type Table, bytes, options as check } from "./options.js";

/** The options of `applyPatch`. */
export interface ApplyPatchOptions extends CallOptions {
  /** The directory below which files may change. Paths in the patch are relative to it. */
  root: string;
  /** Check everything and return the same result, but write nothing. Default: false. */
  dryRun?: boolean | undefined;
  /**
   * The number of context lines at each end of a unified diff's hunk that may differ. Removed lines must match.
   * Default: 0.
   */
  fuzz?: number | undefined;
}

/** Where a hunk was applied. */
export interface PatchedHunk {
  /** The first line of the hunk in the new text, from 1. */
  line: number;
  /** The distance in lines from the position in the patch; negative above it. 0 in the Begin Patch form. */
  offset: number;
  /** The number of context lines at each end that differed. 0 in the Begin Patch form. */
  fuzz: number;
}

/** The change of one file. */
export interface PatchedFile {
  /** What happened to the file. */
  action: "created" | "modified" | "deleted" | "renamed" | "copied";
  /** The path below `root`, with `/` between its parts. */
  path: string;
  /** The path before a rename, or of the file that was copied; absent otherwise. */
  from?: string;
  /** The number of added lines. */
  added: number;
  /** The number of removed lines. */
  removed: number;
  /** Where each hunk was applied, in the order of the patch. */
  hunks: PatchedHunk[];
}

/** The result of `applyPatch`. */
export interface ApplyPatchResult {
  /** One entry for each file of the patch, in its order. A file that the patch names twice has two. */
  files: PatchedFile[];
}

const APPLY: Table = { root: "string!", dryRun: "boolean", fuzz: "u32", timeoutMs: "u32", signal: "signal" };

/**
 * Applies a patch to the files below `root`. All of them are changed or none.
 *
 * Two forms are supported: unified diffs, with git's headers for created, deleted, renamed and copied files and for
 * modes; and the `*** Begin Patch` form that language models write. Unified diffs follow the rules of `git apply`.
 * Chunks of the other form may differ from the file in blanks around a line and in typographic quotes and dashes.
 * Binary patches are refused.
 *
 * No symbolic link below `root` is followed, and no file of `.git` or another version control system is changed.
 * Changed files keep their permissions. `signal` and `timeoutMs` can stop the call until the first file is renamed into
 * place.
 *
 * @param text The patch; bytes for a patch of files that are not UTF-8. At most 64 MiB.
 * @param options The directory, and how the patch is applied.
 * @returns The change of each file.
 * @throws `ERR_INVALID_DATA` for a text that is not a patch, or a damaged one; `ERR_INVALID_STATE` for a hunk that does
 *   not match, with the nearest line in the message, and for a file that exists or was changed in the meantime;
 *   `ENOENT` for a missing file; `EACCES` for a path that leads out of `root`, through a link or into the data of a
 *   repository; `ERR_UNSUPPORTED` on Windows; `AbortError` or `TimeoutError` if the call was stopped.
 * @example
 * ```js
 * import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 * import { applyPatch, unifiedDiff } from "@sinew/natives";
 * const root = mkdtempSync(join(tmpdir(), "patch-"));
 * writeFileSync(join(root, "hello.txt"), "hello\nworld\n");
 * const patch = await unifiedDiff("hello\nworld\n", "hello\nyou\n", { oldName: "a/hello.txt", newName: "b/hello.txt" });
 * const { files } = await applyPatch(patch, { root });
 * files[0].action; // "modified"
 * readFileSync(join(root, "hello.txt"), "utf8"); // "hello\nyou\n"
 * ```
 */
export async function applyPatch(text: string | Uint8Array, options: ApplyPatchOptions): Promise<ApplyPatchResult> {
  const patch = typeof text === "string" ? text : bytes("applyPatch: text", text);
  const { signal, ...rest } = check("applyPatch", APPLY, options);
  const request = { ...rest, root: resolve(rest.root) };
  const files = await underSignal(signal, (abort) => native.applyPatch(patch, request, abort));
  return { files: files as PatchedFile[] };
}
