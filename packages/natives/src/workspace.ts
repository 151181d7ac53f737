/**
 * Searches a directory with an index that follows its changes.
 * @module
 */
import { isAbsolute, sep } from "node:path";
import { type CallOptions, called, tied, underSignal } from "./call.js";
import { type FuzzyFindOptions, type FuzzyFindResult, fuzzyFindBy } from "./find.js";
import { type GlobMatch, type GlobOptions, type GlobResult, globBy } from "./glob.js";
import { type GrepMatch, type GrepOptions, type GrepResult, grepBy } from "./grep.js";
import { native } from "./loader.js";
import type { Abort, BoostRequest, FindRequest, UseKind, WorkspaceHandle, WorkspaceRequest, WorkspaceState } from "./native.js";
import { type Table, options as check, illegal, rangeError, text, typeError } from "./options.js";

/** The options of a search in a workspace. `path` is relative to the root, which is its default. */
export type Below<T extends { path: string }> = Omit<T, "path" | "cache"> & { path?: string | undefined };

/** The options of `Workspace.open`. */
export interface WorkspaceOptions extends CallOptions {
  /**
   * When the index is built without a call of `ready`. `"auto"`: in the background, at the second `grep` of a tree of at least 5,000 files or 32 MB.
   * `"always"`: at the first `grep`, also in the home directory and above it. `"never"`: not at all. Default: `"auto"`.
   */
  index?: "auto" | "always" | "never" | undefined;
  /** `"sweep"` checks the times of every file in each call, whatever the system reports. Default: `"auto"`. */
  freshness?: "auto" | "sweep" | undefined;
  /** The directory of all indexes; `null` keeps this index in memory. Default: below `SINEW_HOME`, or `sinew` in the user's cache directory. */
  cacheDir?: string | null | undefined;
  /** Limit of the index on disk, in bytes. Files that do not fit are searched directly. Default: 2 GiB; at most 4 GiB. */
  maxIndexBytes?: number | undefined;
  /** Limit of an index in memory, in bytes. Files that do not fit are searched directly. Default: 32 MiB. */
  maxMemoryBytes?: number | undefined;
  /** Limit of inotify watches. Directories without one are checked in each call. Default: 65,536, or half of the system's limit. */
  maxWatches?: number | undefined;
}

/** The options of `Workspace.list`. */
export interface ListOptions extends CallOptions {
  /** The directory to list. Default: the root. */
  path?: string | undefined;
  /** Include the entries of subdirectories. Default: true. */
  recursive?: boolean | undefined;
  /** Include names that begin with a dot. Default: false. */
  hidden?: boolean | undefined;
  /** At most this many entries. Default: all. */
  maxResults?: number | undefined;
}

/** The files that the user is working with. Paths are relative to the root, or absolute. */
export interface Boost {
  /** The current file: files near it and its tests are ranked higher. */
  current?: string | undefined;
  /** Files of recent commits. */
  recent?: string[] | undefined;
}

/** The result of `Workspace.changes`. */
export interface WorkspaceChanges {
  /** Pass it to the next call to get the changes since this one. */
  token: string;
  /** True if more may have changed than `paths` lists. */
  all: boolean;
  /** Files and directories below the root that may have been changed, created or deleted, sorted. A directory means everything below it. */
  paths: string[];
}

/** The progress of building the index. */
export interface Progress {
  /** The current step: the directory is listed, files are read, or the index is written. */
  phase: "list" | "read" | "merge";
  /** Number of files that were read. */
  files: number;
  /** Number of files to read; 0 until they are listed. */
  totalFiles: number;
  /** Number of bytes that were read. */
  bytes: number;
}

/** The options of `Workspace.ready`. */
export interface ReadyOptions extends CallOptions {
  /** Receives the progress at most ten times a second, and at the end. If it throws, the call stops and rejects with that error. Default: none. */
  onProgress?: ((progress: Progress) => void) | undefined;
}

/** The state of a workspace as of its last call. */
export interface WorkspaceStatus {
  /** The state: `plain` (each call walks), not listed yet, files are being read, ready, or closed. */
  state: "plain" | "listing" | "building" | "ready" | "closed";
  /** How changes are found: reported by the system, by checking the times of each file, or by walking in each call. */
  mode: "watch" | "sweep" | "plain";
  /** Why changes are not reported, or not in all directories. */
  reason?: string;
  /** Number of files in the tree. */
  files: number;
  /** Number of directories in the retained tree. */
  folders: number;
  /** Number of indexed files that are unchanged. */
  indexed: number;
  /** Number of indexed files that were changed or deleted since they were read. */
  changed: number;
  /** Number of files that were not read yet. */
  pending: number;
  /** Number of files that are always searched directly: UTF-16, random data, larger than 128 MiB, or with names that suggest a secret. */
  odd: number;
  /** Number of binary files, which are not opened. */
  binary: number;
  /** Size of the indexed files, in bytes. */
  textBytes: number;
  /** Size of the index, in bytes. */
  indexBytes: number;
  /** The part of it that is in memory, in bytes. */
  memoryBytes: number;
  /** Number of inotify watches. */
  watches: number;
  /** Number of directories whose changes are not reported. */
  unwatched: number;
  /** True if this process writes the index. */
  writer: boolean;
  /** True if the index is on disk. */
  persisted: boolean;
  /** True if a size limit was reached, so that some files are searched directly. */
  full: boolean;
  /** How often every file was checked. */
  sweeps: number;
  /** How often the system lost events. Each time every file was checked. */
  overflows: number;
  /** Number of changes that were found without an event. */
  surprises: number;
  /**
   * The last `grep`: the byte sequences that its pattern needs, the indexed files that contain them (0 if a match can span lines), the files
   * that were opened, the time for finding changes, and the reason if it walked.
   */
  last?: { plan: string; documents: number; candidates: number; barrierMicros: number; why?: string };
}

const OPEN: Table = {
  index: ["auto", "always", "never"], freshness: ["auto", "sweep"], cacheDir: "string", maxIndexBytes: "u32",
  maxMemoryBytes: "u32", maxWatches: "u32", timeoutMs: "u32", signal: "signal",
};
const BOOST: Table = { current: "string", recent: "strings" };
const USES = ["read", "edit", "pick"] as const;
const CALL: Table = { timeoutMs: "u32", signal: "signal" };
const READY: Table = { ...CALL, onProgress: "function" };
/** Time between two progress reports, in milliseconds. */
const REPORT = 100;

function statusOf(state: WorkspaceState): WorkspaceStatus {
  const { plan, documents, candidates, barrierMicros, why, reason, ...rest } = state;
  const status: WorkspaceStatus = rest;
  if (reason != null) status.reason = reason;
  if (plan || why != null) status.last = { plan, documents, candidates, barrierMicros, ...(why != null && { why }) };
  return status;
}

/** Only `Workspace.open` can create an object. */
const OPENED = Symbol("opened");

/**
 * A directory with an index. `grep`, `glob`, `fuzzyFind` and `list` return the same rows as the plain functions; `path` is relative to the
 * root. Every call sees all changes that were made before it.
 *
 * On Linux a workspace keeps the list of files, receives changes from the system, and keeps an index of the contents, on disk or in memory,
 * so that files which cannot contain a match are not opened. Files whose state is not certain are searched. On other systems each call walks.
 *
 * Ignored files are never indexed, nor are files whose names suggest a secret. Two workspaces of one directory share their index. Nothing
 * runs between calls, except a build in the background, and nothing keeps the event loop alive.
 *
 * @example
 * ```js
 * import { Workspace } from "@sinew/natives";
 * const workspace = await Workspace.open(".", { cacheDir: null });
 * const { matches } = await workspace.grep({ pattern: "TODO", glob: "*.ts" });
 * for (const { path, lineNumber } of matches) console.log(path, lineNumber);
 * await workspace.close();
 * ```
 */
export class Workspace implements AsyncDisposable {
  readonly #handle: WorkspaceHandle;
  /** The absolute path of the directory. */
  readonly root: string;

  /** @internal */
  constructor(opened: symbol, handle: WorkspaceHandle) {
    if (opened !== OPENED) throw illegal("Workspace", "Workspace.open");
    this.#handle = handle;
    this.root = handle.root();
  }

  /**
   * Opens a directory. Nothing is read yet.
   *
   * @param root The directory, or a link to one.
   * @param options Freshness, limits, and the location of the index.
   * @throws `ENOENT`, `EACCES`, or `ERR_INVALID_ARG_VALUE` if it is not a directory.
   */
  static async open(root: string, options: WorkspaceOptions | null = {}): Promise<Workspace> {
    const { signal, freshness, ...rest } = check("Workspace.open", OPEN, options ?? {}) as WorkspaceOptions;
    const request = { ...rest, root: text("Workspace.open: root", root), sweep: freshness === "sweep", inMemory: options?.cacheDir === null };
    const handle = await underSignal(signal, (abort) => native.openWorkspace(request as WorkspaceRequest, abort));
    return new Workspace(OPENED, handle);
  }

  /**
   * Deletes the index of a directory on disk. Returns false if it has none.
   *
   * @param root The directory; it need not exist any more.
   * @param options The location of the indexes, if it is not the default of `open`.
   * @throws If the index is in use.
   */
  static async remove(root: string, options: { cacheDir?: string | undefined } | null = {}): Promise<boolean> {
    const { cacheDir } = check("Workspace.remove", { cacheDir: "string" }, options ?? {});
    return called(() => native.removeWorkspace(text("Workspace.remove: root", root), cacheDir));
  }

  /** Returns the options with the path for the plain call. */
  #below<T extends { path: string }>(options: Below<T>): T {
    if (typeof options !== "object" || options === null) return options as T;
    const { path } = options as { path?: unknown };
    if (path === undefined || path === null || path === "") return { ...options, path: this.root } as unknown as T;
    if (typeof path !== "string" || isAbsolute(path)) return options as unknown as T;
    return { ...options, path: this.root.endsWith(sep) ? this.root + path : this.root + sep + path } as unknown as T;
  }

  /**
   * Searches files like the function `grep`.
   *
   * @param options Those of `grep`.
   * @param onMatch Receives each row while the search runs.
   * @throws Like `grep`, and if the workspace is closed.
   */
  async grep(options: Below<GrepOptions>, onMatch?: (match: GrepMatch) => void | Promise<void>): Promise<GrepResult> {
    return grepBy((request, onColumns, abort) => this.#handle.grep(request, onColumns, abort), this.#below<GrepOptions>(options), onMatch);
  }

  /**
   * Finds files and directories like the function `glob`.
   *
   * @param options Those of `glob`.
   * @param onMatch Receives each match in the order of the result.
   * @throws Like `glob`, and if the workspace is closed.
   */
  async glob(options: Below<GlobOptions> = {}, onMatch?: (match: GlobMatch) => void | Promise<void>): Promise<GlobResult> {
    return globBy((request, abort) => this.#handle.glob(request, abort), this.#below<GlobOptions>(options), onMatch);
  }

  /**
   * Finds files like the function `fuzzyFind`. `boost` changes the order of the matches: files passed to `note`, files that changed
   * recently, files near the current one and files of recent commits gain up to 40 points. A path or name that equals the query stays
   * first.
   *
   * @param options Those of `fuzzyFind`, and `boost`.
   * @throws Like `fuzzyFind`, and if the workspace is closed.
   */
  async fuzzyFind(options: Below<FuzzyFindOptions> & { boost?: Boost | null | undefined }): Promise<FuzzyFindResult> {
    const { boost, ...rest } = options ?? {};
    const plain = (options && rest) as Below<FuzzyFindOptions>;
    const boosted = boost == null ? undefined : (check("Workspace.fuzzyFind: boost", BOOST, boost) as Boost);
    const find = (request: FindRequest, abort?: Abort | null) => this.#handle.fuzzyFind(request, boosted as BoostRequest | undefined, abort);
    return fuzzyFindBy(find, this.#below<FuzzyFindOptions>(plain));
  }

  /**
   * Records that a file was used, for `fuzzyFind` with `boost`. An edit counts 3, a pick 2, reading 1, each half as much after three
   * days. The newest 4,096 paths are kept, in memory. Paths outside of the root are ignored.
   *
   * @param path The file, relative to the root or absolute.
   * @param use How it was used.
   * @param at The time, in milliseconds since the epoch. Default: now.
   * @throws If the workspace is closed.
   */
  note(path: string, use: "read" | "edit" | "pick", at: number = Date.now()): void {
    const kind = USES.find((kind) => kind === use);
    if (!kind) throw typeError("Workspace.note: use", 'one of "read", "edit", "pick"', use);
    if (typeof at !== "number" || !(at >= 0)) throw rangeError("Workspace.note: at", "0 or more", at);
    this.#handle.note(text("Workspace.note: path", path), kind as UseKind, at);
  }

  /**
   * Returns what changed since an earlier call. `all` is true without the token of that call, if the changes are not known, and if the
   * system does not report changes. Ignored directories are not watched, and their files never listed.
   *
   * @param since The `token` of an earlier call.
   * @param options Time limit and signal.
   * @throws If the workspace is closed.
   */
  async changes(since?: string | null, options: CallOptions | null = {}): Promise<WorkspaceChanges> {
    const { signal, timeoutMs } = check("Workspace.changes", CALL, options ?? {}) as CallOptions;
    const token = since == null ? undefined : text("Workspace.changes: since", since);
    return underSignal(signal, (abort) => this.#handle.changes(token, timeoutMs, abort));
  }

  /**
   * Lists a directory, like `glob` with `*`.
   *
   * @param options The directory and filters.
   * @throws Like `glob`, and if the workspace is closed.
   */
  async list(options: ListOptions | null = {}): Promise<GlobResult> {
    return this.glob({ ...options, pattern: "*" });
  }

  /**
   * Builds or updates the index on all cores, so that later searches open few files. Other calls continue meanwhile.
   *
   * @param options Time limit, signal, and a callback for the progress. If the call is stopped, the files are read again later.
   * @returns The state afterwards.
   */
  async ready(options: ReadyOptions | null = {}): Promise<WorkspaceStatus> {
    const { signal, timeoutMs, onProgress } = check("Workspace.ready", READY, options ?? {}) as ReadyOptions;
    const read = (abort?: Abort) => this.#handle.ready(timeoutMs, abort);
    if (!onProgress || signal?.aborted) return statusOf(await underSignal(signal, read));
    const abort = new native.Abort();
    let fault: { error: unknown } | undefined;
    const report = () => {
      try {
        if (!fault) onProgress(this.#handle.progress());
      } catch (error) {
        fault = { error };
        abort.abort();
      }
    };
    const timer = setInterval(report, REPORT);
    timer.unref();
    try {
      const state = await tied(signal, abort, () => read(abort));
      report();
      if (!fault) return statusOf(state);
    } catch (error) {
      if (!fault) throw error;
    } finally {
      clearInterval(timer);
    }
    throw fault.error;
  }

  /** Returns the state as of the last call, without waiting. */
  status(): WorkspaceStatus {
    return statusOf(this.#handle.status());
  }

  /** Releases memory, watches and locks. Running calls continue; later calls reject. Closing twice does nothing. */
  async close(): Promise<void> {
    await called(() => this.#handle.close());
  }

  /** The same as `close`, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
