/**
 * A folder in view: searches that answer what the plain ones answer at that moment, with less work.
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

/** The options of a search in a workspace: `path` is taken from the root, which is its default. */
export type Below<T extends { path: string }> = Omit<T, "path" | "cache"> & { path?: string | undefined };

/** The options of `Workspace.open`. */
export interface WorkspaceOptions extends CallOptions {
  /**
   * The time at which files are read into the index unasked: `"auto"` from 5,000 files or 32 MB on, in the background, at the second `grep`;
   * `"always"` at the first one, also in the user's home and above it; `"never"`. Default: `"auto"`.
   */
  index?: "auto" | "always" | "never" | undefined;
  /** `"sweep"` looks at every file's times in each call, whatever the system announces. Default: `"auto"`. */
  freshness?: "auto" | "sweep" | undefined;
  /** The folder of all indexes; `null` keeps this one in memory. Default: `SINEW_HOME`, or `sinew` in the user's folder of caches. */
  cacheDir?: string | null | undefined;
  /** The most bytes of the index on disk; what does not fit is searched. Default: 2 GiB; the most is 4 GiB. */
  maxIndexBytes?: number | undefined;
  /** The most bytes of the index in memory, without a folder; what does not fit is searched. Default: 32 MiB. */
  maxMemoryBytes?: number | undefined;
  /** The most watches; folders without one are looked at in each call. Default: 65,536, or half of what the system grants. */
  maxWatches?: number | undefined;
}

/** The options of `Workspace.list`. */
export interface ListOptions extends CallOptions {
  /** The folder. Default: the root. */
  path?: string | undefined;
  /** Also what lies in folders below. Default: true. */
  recursive?: boolean | undefined;
  /** Also names that begin with a dot. Default: false. */
  hidden?: boolean | undefined;
  /** At most this many entries. Default: all. */
  maxResults?: number | undefined;
}

/** The files that a person has in mind; paths are taken from the root, or absolute. */
export interface Boost {
  /** The file that is worked on: its neighbours and its tests come sooner. */
  current?: string | undefined;
  /** Files that were committed lately. */
  recent?: string[] | undefined;
}

/** The result of `Workspace.changes`. */
export interface WorkspaceChanges {
  /** Stands for this moment when it is given to the next call. */
  token: string;
  /** More may have changed than `paths` names. */
  all: boolean;
  /** Files and folders below the root that may have changed, come or gone, sorted; a folder stands for all that lies below it. */
  paths: string[];
}

/** The progress of reading. */
export interface Progress {
  /** The step: the folder is listed, files are read, what was read becomes part of the index. */
  phase: "list" | "read" | "merge";
  /** Files that were read. */
  files: number;
  /** Files that are to be read; 0 until they are listed. */
  totalFiles: number;
  /** Bytes that were read. */
  bytes: number;
}

/** The options of `Workspace.ready`. */
export interface ReadyOptions extends CallOptions {
  /** Is told how far the reading has come, at most ten times a second, and at its end. What it throws ends the call, which rejects with that. Default: none. */
  onProgress?: ((progress: Progress) => void) | undefined;
}

/** The state of a workspace as of its last call. */
export interface WorkspaceStatus {
  /** The stage: each call walks; not listed yet; files are read; the list of files is held and the index is as whole as it was asked to be; closed. */
  state: "plain" | "listing" | "building" | "ready" | "closed";
  /** The way in which it is kept fresh: by what the system announces, by a look at each file's times, or each call walks. */
  mode: "watch" | "sweep" | "plain";
  /** The reason why changes are not announced, or not in all folders. */
  reason?: string;
  /** Files of the tree. */
  files: number;
  /** Folders that are held. */
  folders: number;
  /** Texts in the index that are as they were when they were read. */
  indexed: number;
  /** Files in the index that changed or went since they were read. */
  changed: number;
  /** Files that were not read yet. */
  pending: number;
  /** Files that are always searched: UTF-16, noise, larger than 128 MiB, or whose names say that they hold secrets. */
  odd: number;
  /** Binary files: they are not opened. */
  binary: number;
  /** Bytes of the texts in the index. */
  textBytes: number;
  /** Bytes of the index. */
  indexBytes: number;
  /** Of these, bytes in memory. */
  memoryBytes: number;
  /** Watches. */
  watches: number;
  /** Folders whose changes are announced by nobody. */
  unwatched: number;
  /** This process is the one that writes the index. */
  writer: boolean;
  /** The index lies on disk. */
  persisted: boolean;
  /** A limit of bytes was reached: some files stay searched. */
  full: boolean;
  /** Times that every file was looked at. */
  sweeps: number;
  /** Times that the system lost events, each of which led to such a look. */
  overflows: number;
  /** Changes that no event announced. */
  surprises: number;
  /**
   * The last `grep`: what its pattern needs, the documents of the index that have it (0 where a match may reach over lines), the files
   * that were opened, the time that it took to become current, and the reason why it walked, where it did.
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
/** The time between two reports, in milliseconds. */
const REPORT = 100;

function statusOf(state: WorkspaceState): WorkspaceStatus {
  const { plan, documents, candidates, barrierMicros, why, reason, ...rest } = state;
  const status: WorkspaceStatus = rest;
  if (reason != null) status.reason = reason;
  if (plan || why != null) status.last = { plan, documents, candidates, barrierMicros, ...(why != null && { why }) };
  return status;
}

/** Lets `Workspace.open` alone make one. */
const OPENED = Symbol("opened");

/**
 * A folder in view. `grep`, `glob`, `fuzzyFind` and `list` give what the plain functions give at that moment, row by row, with a `path`
 * that is taken from the root. What changes is seen by the next call.
 *
 * On Linux a workspace keeps the list of files, hears of changes from the system, and keeps an index of the texts, on disk or in
 * memory: then files that cannot hold a match are not opened. What is not certain is searched. On other systems each call walks.
 *
 * Never indexed: what ignore rules name, and files whose names say that they hold secrets. Two workspaces of one folder share
 * what they keep; nothing runs while nobody asks, and nothing keeps the event loop alive.
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
  /** The folder, absolute. */
  readonly root: string;

  /** @internal */
  constructor(opened: symbol, handle: WorkspaceHandle) {
    if (opened !== OPENED) throw illegal("Workspace", "Workspace.open");
    this.#handle = handle;
    this.root = handle.root();
  }

  /**
   * Opens a folder. Nothing is read yet.
   *
   * @param root The folder, or a link to one.
   * @param options Freshness, limits, and the place of the index.
   * @throws `ENOENT`, `EACCES` or `ERR_INVALID_ARG_VALUE` where it is no folder or cannot be reached.
   */
  static async open(root: string, options: WorkspaceOptions | null = {}): Promise<Workspace> {
    const { signal, freshness, ...rest } = check("Workspace.open", OPEN, options ?? {}) as WorkspaceOptions;
    const request = { ...rest, root: text("Workspace.open: root", root), sweep: freshness === "sweep", inMemory: options?.cacheDir === null };
    const handle = await underSignal(signal, (abort) => native.openWorkspace(request as WorkspaceRequest, abort));
    return new Workspace(OPENED, handle);
  }

  /**
   * Deletes the index of a folder on disk; false where there is none.
   *
   * @param root The folder; it may be gone.
   * @param options Where the indexes lie, if not where `open` puts them.
   * @throws An error where the index is in use.
   */
  static async remove(root: string, options: { cacheDir?: string | undefined } | null = {}): Promise<boolean> {
    const { cacheDir } = check("Workspace.remove", { cacheDir: "string" }, options ?? {});
    return called(() => native.removeWorkspace(text("Workspace.remove: root", root), cacheDir));
  }

  /** The options with the path that the plain call gets. */
  #below<T extends { path: string }>(options: Below<T>): T {
    if (typeof options !== "object" || options === null) return options as T;
    const { path } = options as { path?: unknown };
    if (path === undefined || path === null || path === "") return { ...options, path: this.root } as unknown as T;
    if (typeof path !== "string" || isAbsolute(path)) return options as unknown as T;
    return { ...options, path: this.root.endsWith(sep) ? this.root + path : this.root + sep + path } as unknown as T;
  }

  /**
   * Searches files as the function `grep` does.
   *
   * @param options Those of `grep`.
   * @param onMatch Gets each row while the search runs.
   * @throws Where `grep` rejects, and when the workspace is closed.
   */
  async grep(options: Below<GrepOptions>, onMatch?: (match: GrepMatch) => void | Promise<void>): Promise<GrepResult> {
    return grepBy((request, onColumns, abort) => this.#handle.grep(request, onColumns, abort), this.#below<GrepOptions>(options), onMatch);
  }

  /**
   * Finds entries as the function `glob` does.
   *
   * @param options Those of `glob`.
   * @param onMatch Gets each match in the order of the result.
   * @throws Where `glob` rejects, and when the workspace is closed.
   */
  async glob(options: Below<GlobOptions> = {}, onMatch?: (match: GlobMatch) => void | Promise<void>): Promise<GlobResult> {
    return globBy((request, abort) => this.#handle.glob(request, abort), this.#below<GlobOptions>(options), onMatch);
  }

  /**
   * Finds what a person means, as the function `fuzzyFind` does. With `boost` the matches come in another order: what `note` was told
   * of, what changed lately on disk, what is near to the file in hand, and what was committed lately gain up to 40 points; a path or
   * name that is the query itself stays first.
   *
   * @param options Those of `fuzzyFind`, and `boost`.
   * @throws Where `fuzzyFind` rejects, and when the workspace is closed.
   */
  async fuzzyFind(options: Below<FuzzyFindOptions> & { boost?: Boost | null | undefined }): Promise<FuzzyFindResult> {
    const { boost, ...rest } = options ?? {};
    const plain = (options && rest) as Below<FuzzyFindOptions>;
    const boosted = boost == null ? undefined : (check("Workspace.fuzzyFind: boost", BOOST, boost) as Boost);
    const find = (request: FindRequest, abort?: Abort | null) => this.#handle.fuzzyFind(request, boosted as BoostRequest | undefined, abort);
    return fuzzyFindBy(find, this.#below<FuzzyFindOptions>(plain));
  }

  /**
   * Notes that a file was used, for a boosted `fuzzyFind`: an edit counts 3, a pick 2, reading 1, each half as much after three days. The
   * newest 4,096 paths are kept, in memory. Paths outside of the root are left out.
   *
   * @param path The file, from the root, or absolute.
   * @param use The way in which it was used.
   * @param at The time, in milliseconds since the epoch. Default: now.
   * @throws When the workspace is closed.
   */
  note(path: string, use: "read" | "edit" | "pick", at: number = Date.now()): void {
    const kind = USES.find((kind) => kind === use);
    if (!kind) throw typeError("Workspace.note: use", 'one of "read", "edit", "pick"', use);
    if (typeof at !== "number" || !(at >= 0)) throw rangeError("Workspace.note: at", "0 or more", at);
    this.#handle.note(text("Workspace.note: path", path), kind as UseKind, at);
  }

  /**
   * Tells what changed since an earlier call. Without its token, and where that is not known, `all` is true; so it is where changes
   * are not announced. What lies in ignored folders is not watched and never named.
   *
   * @param since The `token` of an earlier call.
   * @param options What may end the call.
   * @throws When the workspace is closed.
   */
  async changes(since?: string | null, options: CallOptions | null = {}): Promise<WorkspaceChanges> {
    const { signal, timeoutMs } = check("Workspace.changes", CALL, options ?? {}) as CallOptions;
    const token = since == null ? undefined : text("Workspace.changes: since", since);
    return underSignal(signal, (abort) => this.#handle.changes(token, timeoutMs, abort));
  }

  /**
   * Lists a folder: `glob` for `*`.
   *
   * @param options The folder and what of it.
   * @throws Where `glob` rejects, and when the workspace is closed.
   */
  async list(options: ListOptions | null = {}): Promise<GlobResult> {
    return this.glob({ ...options, pattern: "*" });
  }

  /**
   * Reads what the index does not know as it is now, on all cores, so that later searches open few files. Calls go on meanwhile.
   *
   * @param options What may end the call, and who is told how far it has come; what was read by its end is read again.
   * @returns The state after it.
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

  /** Tells the state as of the last call; waits for nothing. */
  status(): WorkspaceStatus {
    return statusOf(this.#handle.status());
  }

  /** Gives memory, watches and locks back. Calls that run are not ended; later ones reject. Closing again does nothing. */
  async close(): Promise<void> {
    await called(() => this.#handle.close());
  }

  /** The same as `close`, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
