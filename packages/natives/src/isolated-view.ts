/**
 * Isolated views of a directory: programs change a copy, and the changes are merged back or discarded.
 * @module
 */
import { resolve } from "node:path";
import { type CallOptions, called, underSignal } from "./call.js";
import { type EntryPath, rows } from "./entry-path.js";
import { native } from "./loader.js";
import type { LeftoverAnswer, RemainderAnswer, ViewHandle, ViewRequest } from "./native.js";
import { type Table, illegal, options as check, text } from "./options.js";
import { keepPlace } from "./view-place.js";

/** How a view isolates programs. `auto` uses a worktree in a git checkout, and a copy elsewhere. */
export type ViewMode = "auto" | "overlay" | "worktree" | "copy";

/** The options of calls that look for views. */
export interface ViewHomeOptions extends CallOptions {
  /** The program's own folder; views are stored in its folder `isolated`. Default: `.sinew` in the user's home. */
  home?: string | undefined;
}

/** The options of `IsolatedView.open`. */
export interface ViewOptions extends ViewHomeOptions {
  /** Default: `"auto"`. `"overlay"` is not supported yet. */
  mode?: ViewMode | undefined;
  /** A text for `leftovers`, for example the id of an agent. Default: none. */
  label?: string | undefined;
  /** The maximum number of entries of the directory. Default: 500,000. */
  maxEntries?: number | undefined;
}

/** The options of `changes`. */
export interface ViewChangesOptions extends CallOptions {
  /** Include files that were created in the view and that ignore rules exclude. Default: false. */
  ignored?: boolean | undefined;
  /** The maximum size of the patch in bytes. Default: 1,000,000. */
  maxPatchBytes?: number | undefined;
}

/** The options of `apply`. */
export interface ViewApplyOptions extends CallOptions {
  /** `"merge"` applies the files without conflicts, `"stop"` nothing if there is a conflict. Default: `"merge"`. */
  onConflict?: "merge" | "stop" | undefined;
  /** Also apply files that were created in the view and that ignore rules exclude. Default: false. */
  ignored?: boolean | undefined;
}

/** A difference between a view and its directory. */
export interface ViewChange extends EntryPath {
  /** What happened. `mode`: only the permissions changed. */
  change: "added" | "changed" | "deleted" | "mode";
  /** The type after the change; before it if the entry was deleted. */
  type: "file" | "directory" | "link" | "special" | "repository";
  /** The permissions before; absent for an entry that was added. */
  oldMode?: number;
  /** The permissions after; absent for an entry that was deleted. */
  newMode?: number;
  /** True if the content is binary or too large for a patch. */
  binary: boolean;
}

/** A commit that was created in a view. */
export interface ViewCommit {
  /** The reference from which it was found, such as `refs/heads/main` or `HEAD`. */
  reference: string;
  /** The id in hexadecimal. */
  id: string;
  /** The first line of the message; empty if the commit is in a pack. */
  subject: string;
}

/** The changes that `apply` leaves in the view. */
export interface ViewRemainder {
  /** New entries that ignore rules exclude; a directory stands for everything below it. At most 1,000. */
  ignored: EntryPath[];
  /** The number of pipes, sockets and devices. */
  special: number;
  /** The data of repositories that were created in the view. */
  repositories: EntryPath[];
  /** The commits that were created in the view, at most 100. */
  commits: ViewCommit[];
}

/** The result of `changes`. */
export interface ViewChanges {
  /** In path order. */
  entries: ViewChange[];
  /** The changes as a unified diff with git's headers, as bytes: files need not be UTF-8. */
  patch: Buffer;
  /** True if the patch lacks files because of its limit. */
  truncated: boolean;
  /** What `apply` would leave in the view. */
  remainder: ViewRemainder;
}

/** What happened to an entry. */
export interface ViewFile extends EntryPath {
  /** `unchanged`: the directory already has the change. `kept`: a directory was not deleted. */
  outcome: "created" | "replaced" | "merged" | "deleted" | "unchanged" | "kept" | "conflict";
  /** Why it was kept or conflicts. */
  reason?: string;
  /** For a conflict of texts: a file with both versions between conflict markers, in the view's folder. */
  merged?: string;
}

/** The result of `apply`. */
export interface ViewResult {
  /** Every change of the view, in path order. */
  files: ViewFile[];
  /** The files with conflicts. */
  conflicts: ViewFile[];
  /** False only if `onConflict: "stop"` met a conflict: nothing was changed, and `files` says what would happen. */
  applied: boolean;
  /** What stays in the view. */
  remainder: ViewRemainder;
}

/** A view whose process ended without discarding it. */
export interface LeftoverView {
  /** The id, for `IsolatedView.reopen`. */
  id: string;
  /** The directory that the view was opened on. */
  root: string;
  /** The mode of the view. */
  mode: "worktree" | "copy";
  /** When it was opened, in milliseconds since the epoch. */
  time: number;
  /** The label that was given. */
  label?: string;
  /** True if this call completed an interrupted `apply`. */
  recovered: boolean;
  /** True if no earlier call listed the view. */
  new: boolean;
}

const CALL: Table = { timeoutMs: "u32", signal: "signal" };
const HOME: Table = { ...CALL, home: "string" };
const OPEN: Table = { ...HOME, mode: ["auto", "overlay", "worktree", "copy"], label: "string", maxEntries: "u32" };
const CHANGES: Table = { ...CALL, ignored: "boolean", maxPatchBytes: "u32" };
const APPLY: Table = { ...CALL, onConflict: ["merge", "stop"], ignored: "boolean" };

function remainderOf({ ignored, ignoredEnds, special, repositories, repositoryEnds, commits }: RemainderAnswer): ViewRemainder {
  const found: ViewCommit[] = [];
  for (let at = 0; at + 2 < commits.length; at += 3) {
    const [reference, id, subject] = commits.slice(at, at + 3) as [string, string, string];
    found.push({ reference, id, subject });
  }
  return { ignored: rows(ignored, ignoredEnds), special, repositories: rows(repositories, repositoryEnds), commits: found };
}

function leftoverOf({ label, mode, ...known }: LeftoverAnswer): LeftoverView {
  return { ...known, mode: mode as LeftoverView["mode"], ...(label != null && { label }) };
}

/** Only `IsolatedView.open` and `reopen` can create an object. */
const OPENED = Symbol("opened");

/**
 * A copy of a directory in which programs work; their changes are merged back by `apply`, or removed by `discard`.
 *
 * In the mode `worktree` the copy has its own git directory, which borrows the objects of the repository: nothing is registered in the
 * repository, and uncommitted and untracked files are included. No hook, filter or other program of the user runs when a view is opened,
 * read or applied. A program in a view can still write to the original directory by its path; a `Sandbox` prevents that.
 *
 * Works on Linux and macOS. On Windows `open` fails with `ERR_UNSUPPORTED`.
 *
 * @example
 * ```js
 * import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 * import { IsolatedView, run } from "@sinew/natives";
 * const project = mkdtempSync(join(tmpdir(), "project-"));
 * writeFileSync(join(project, "a.txt"), "one\n");
 * const view = await IsolatedView.open(project, { home: mkdtempSync(join(tmpdir(), "home-")) });
 * await run(["sh", "-c", "echo two >> a.txt"], { view });
 * console.log(readFileSync(join(project, "a.txt"), "utf8")); // one
 * const { conflicts } = await view.apply();
 * console.log(conflicts.length, readFileSync(join(project, "a.txt"), "utf8")); // 0 one two
 * await view.discard();
 * ```
 */
export class IsolatedView {
  readonly #handle: ViewHandle;
  /** The id, for `reopen`. */
  readonly id: string;
  /** The directory in which programs work. */
  readonly path: string;
  /** The directory that the view was opened on, all links resolved. */
  readonly root: string;
  /** The mode. */
  readonly mode: "worktree" | "copy";
  /** Entries that the view lacks: ignored files whose data cannot be shared, and files that cannot be read. */
  readonly missing: readonly string[];
  /** Remarks, one sentence each: links to the original directory, and why it is a copy. */
  readonly notes: readonly string[];
  /** Variables for programs in the view. */
  readonly env: Readonly<Record<string, string>>;

  /** @internal */
  constructor(opened: symbol, handle: ViewHandle) {
    if (opened !== OPENED) throw illegal("IsolatedView", "IsolatedView.open");
    this.#handle = handle;
    const { id, path, root, mode, missing, notes, environment } = handle.facts();
    const env: Record<string, string> = {};
    for (let at = 0; at + 1 < environment.length; at += 2) env[environment[at] as string] = environment[at + 1] as string;
    [this.id, this.path, this.root, this.mode] = [id, path, root, mode as IsolatedView["mode"]];
    [this.missing, this.notes, this.env] = [missing, notes, env];
    keepPlace(this, { path, env });
  }

  /**
   * Creates a view of a directory as it is now.
   *
   * @param root The directory.
   * @param options The mode and the place of the copy.
   * @throws `ENOENT` or `ENOTDIR` for the directory; `ERR_UNSUPPORTED` for `overlay`; for `worktree`, an error if the directory is not the
   *   top of a git checkout; `AbortError` or `TimeoutError`. A call that fails leaves nothing behind.
   */
  static async open(root: string, options: ViewOptions | null = {}): Promise<IsolatedView> {
    const { signal, home, ...rest } = check("IsolatedView.open", OPEN, options ?? {}) as ViewOptions;
    const request = { root: resolve(text("IsolatedView.open: root", root)), ...rest } as ViewRequest;
    if (home !== undefined) request.home = resolve(home);
    return new IsolatedView(OPENED, await underSignal(signal, (abort) => native.openView(request, abort)));
  }

  /**
   * Opens a view that `leftovers` lists.
   *
   * @param id The id.
   * @throws `ENOENT` if there is no such view; `ERR_INVALID_STATE` if a process uses it.
   */
  static async reopen(id: string, options: ViewHomeOptions | null = {}): Promise<IsolatedView> {
    const { signal, home, timeoutMs } = check("IsolatedView.reopen", HOME, options ?? {}) as ViewHomeOptions;
    const [folder, name] = [home === undefined ? undefined : resolve(home), text("IsolatedView.reopen: id", id)];
    return new IsolatedView(OPENED, await underSignal(signal, (abort) => native.reopenView(folder, name, timeoutMs, abort)));
  }

  /**
   * Lists the views whose processes ended without discarding them, oldest first. An interrupted `apply` is completed.
   *
   * @throws The system's error; `AbortError` or `TimeoutError`.
   */
  static async leftovers(options: ViewHomeOptions | null = {}): Promise<LeftoverView[]> {
    const { signal, home, timeoutMs } = check("IsolatedView.leftovers", HOME, options ?? {}) as ViewHomeOptions;
    const folder = home === undefined ? undefined : resolve(home);
    return (await underSignal(signal, (abort) => native.leftoverViews(folder, timeoutMs, abort))).map(leftoverOf);
  }

  /**
   * Compares the view with the directory as it was when the view was opened, or after the last `apply`.
   *
   * @throws `ERR_INVALID_STATE` after `discard`; the system's error; `AbortError` or `TimeoutError`.
   */
  async changes(options: ViewChangesOptions | null = {}): Promise<ViewChanges> {
    const { ignored = false, maxPatchBytes, timeoutMs, signal } = check("IsolatedView.changes", CHANGES, options ?? {}) as ViewChangesOptions;
    const answer = await underSignal(signal, (abort) => this.#handle.changes(ignored, maxPatchBytes, timeoutMs, abort));
    const entries = rows(answer.paths, answer.ends).map((path, at): ViewChange => {
      const [oldMode, newMode] = [answer.oldModes[at] as number, answer.newModes[at] as number];
      const known = {
        change: answer.changes[at] as ViewChange["change"],
        type: answer.kinds[at] as ViewChange["type"],
        binary: answer.binary[at] as boolean,
      };
      return { ...path, ...known, ...(oldMode >= 0 && { oldMode }), ...(newMode >= 0 && { newMode }) };
    });
    return { entries, patch: answer.patch, truncated: answer.truncated, remainder: remainderOf(answer.remainder) };
  }

  /**
   * Merges the changes into the directory, file by file. Changes in other places of the same file are kept; a change that overlaps with
   * one of the directory is a conflict. All other changes are applied, or none if a step fails.
   *
   * @throws `ENOENT` if the directory no longer exists; `ERR_INVALID_STATE` after `discard`, or if programs change the view or the directory
   *   at the same time; the system's error; `AbortError` or `TimeoutError`. The directory is then unchanged.
   */
  async apply(options: ViewApplyOptions | null = {}): Promise<ViewResult> {
    const { onConflict = "merge", ignored = false, timeoutMs, signal } = check("IsolatedView.apply", APPLY, options ?? {}) as ViewApplyOptions;
    const answer = await underSignal(signal, (abort) => this.#handle.apply(onConflict, ignored, timeoutMs, abort));
    const files = rows(answer.paths, answer.ends).map((path, at): ViewFile => {
      const [reason, merged] = [answer.reasons[at], answer.merged[at]];
      return { ...path, outcome: answer.outcomes[at] as ViewFile["outcome"], ...(reason && { reason }), ...(merged && { merged }) };
    });
    const conflicts = files.filter(({ outcome }) => outcome === "conflict");
    return { files, conflicts, applied: answer.applied, remainder: remainderOf(answer.remainder) };
  }

  /**
   * Removes the view with all its changes. The directory is not changed. Does nothing the second time.
   *
   * @throws The system's error.
   */
  async discard(): Promise<void> {
    await called(() => this.#handle.discard());
  }
}
