/**
 * Checkpoints of a directory: save its state, compare two states, restore one.
 * @module
 */
import { isAbsolute, relative, resolve, sep } from "node:path";
import { type CallOptions, Limit, called, underSignal } from "./call.js";
import { type EntryPath, pathOf, rows } from "./entry-path.js";
import { native } from "./loader.js";
import type { CheckpointAnswer, CheckpointsHandle, PlanAnswer, RestoreRequest } from "./native.js";
import { type Table, illegal, options as check, text, typeError } from "./options.js";

export type { EntryPath } from "./entry-path.js";

/** The options of `Checkpoints.open`. */
export interface CheckpointsOptions extends CallOptions {
  /**
   * The directory of the store, which many directories can share. It is created if it is missing, and must not be
   * inside the directory. Default: `.sinew/checkpoints` in the user's home.
   */
  store?: string | undefined;
  /** The maximum size of a file that is copied, in bytes. Default: 5,000,000. */
  maxFileBytes?: number | undefined;
  /** The maximum number of bytes that one checkpoint copies. Default: 256,000,000. */
  maxCheckpointBytes?: number | undefined;
  /** The maximum number of bytes of one session. Default: 512,000,000. */
  maxSessionBytes?: number | undefined;
  /** The maximum number of bytes of one directory. Default: 2,000,000,000. */
  maxDirectoryBytes?: number | undefined;
  /** The maximum number of bytes of all directories of a store. Default: 4,000,000,000. */
  maxTotalBytes?: number | undefined;
}

/** The options of `Checkpoints.take`. */
export interface TakeOptions extends CallOptions {
  /** A text that `list` returns. Default: none. */
  label?: string | undefined;
  /** The reason: the start of work, its end, or a request of the user. Default: `"manual"`. */
  kind?: "manual" | "start" | "end" | undefined;
  /**
   * The session that the checkpoint belongs to, for the limit `maxSessionBytes`. With `kind` `"start"` and `"end"`, the
   * session works in between: a restore of another session's spans keeps what changed meanwhile. Default: none.
   */
  session?: string | undefined;
  /**
   * Directories below the root whose entries may have changed, if you watch them yourself; `""` is the root. Everything
   * else counts as unchanged since the latest checkpoint. Default: the whole directory is scanned.
   */
  changed?: (string | Uint8Array)[] | undefined;
}

/** The options of `Checkpoints.note`. */
export interface NoteOptions extends CallOptions {
  /** The session that is about to write; a restore of its spans undoes these paths even if others worked too. Default: none. */
  session?: string | undefined;
}

/** The options of `Checkpoints.plan` and `Checkpoints.restore`. */
export interface RestoreOptions extends CallOptions {
  /**
   * Pairs of checkpoint ids, the start and the end of each span of work. Only changes within the spans are undone.
   * Default: all changes since the checkpoint.
   */
  spans?: (readonly [string, string])[] | undefined;
  /** Paths, absolute or relative to the root. Only these and everything below them are restored. Default: all. */
  paths?: (string | Uint8Array)[] | undefined;
  /** Restore paths that would be kept: all of them, or these and everything below them. Default: false. */
  force?: boolean | (string | Uint8Array)[] | undefined;
}

/** A checkpoint. */
export interface Checkpoint {
  /** The id for other calls. Ids sort by age. */
  id: string;
  /** The time in milliseconds since the epoch. */
  time: number;
  /**
   * The reason: as passed to `take`; `note`; or created by a restore before its first write (`redo`) and after its last
   * (`restored`).
   */
  kind: "manual" | "start" | "end" | "note" | "redo" | "restored";
  /** The label that was passed. */
  label?: string;
  /** The session that was passed. */
  session?: string;
  /** `"full"`, or what was not saved: `12 files over 5 MB`, `store is read-only`. Unknown in lists. */
  coverage: string;
}

/** The kind of a change. */
export type ChangeKind = "created" | "deleted" | "modified" | "renamed" | "mode" | "link" | "directory";
/** The type of an entry. */
export type CheckpointEntryType = "file" | "directory" | "link" | "special" | "repository";

/** A difference between two checkpoints. */
export interface CheckpointChange extends EntryPath {
  /**
   * The kind of the change. `link`: the target changed, or whether it shares its content; `directory`: a directory
   * replaced something else, or the reverse.
   */
  change: ChangeKind;
  /** The type after the change; for a deleted entry, the type before. */
  type: CheckpointEntryType;
  /** The path before a rename. */
  from?: string;
}

/** The result of `Checkpoints.changes`. */
export interface CheckpointChanges {
  /** The changes in path order, at most 100,000. */
  entries: CheckpointChange[];
  /** True if there are more changes. */
  truncated: boolean;
  /** `"full"`, or what one of the checkpoints did not save. */
  coverage: string;
}

/** An entry of a plan. */
export interface PlanEntry extends EntryPath {
  /**
   * `restore`: the entry gets its earlier state. `delete`: it is deleted, because it did not exist. `keep`: it stays
   * unless `force` is set. `cannot`: it stays.
   */
  action: "restore" | "delete" | "keep" | "cannot";
  /** Why the entry stays. */
  reason?: string;
  /** The change since then, which is undone. */
  change: ChangeKind;
  /** The earlier type; the current type if it did not exist. */
  type: CheckpointEntryType;
  /** A note, such as `shared with a file outside`. */
  note?: string;
}

/** A repository whose HEAD or index changed. Its data is never written; you can run the command to move it back. */
export interface RepositoryMove extends EntryPath {
  /** The branch and commit before; absent if the repository did not exist. */
  from?: string;
  /** The current branch and commit; absent if the repository was deleted. */
  to?: string;
  /** True if the staged content changed. */
  index: boolean;
  /** The shell command that moves it back; absent if there is none. */
  command?: string;
}

/** The result of `Checkpoints.plan`. */
export interface RestorePlan {
  /** The entries in path order. */
  entries: PlanEntry[];
  /** The repositories that changed; `path` is the path of their data: `.git`, `vendor/lib/.git`. */
  repositories: RepositoryMove[];
  /** `"full"`, or what the checkpoint did not save. */
  coverage: string;
}

/** The result of `Checkpoints.restore`: the executed plan. */
export interface RestoreResult extends RestorePlan {
  /** The checkpoint that undoes this restore; `null` if there was nothing to restore. */
  redo: string | null;
  /** The number of entries that were restored or deleted. */
  done: number;
  /** The number of entries that were planned. */
  planned: number;
}

/** The result of `Checkpoints.usage`. */
export interface CheckpointUsage {
  /** The number of checkpoints of this directory. */
  checkpoints: number;
  /** The size of its store in bytes. */
  directoryBytes: number;
  /** The size of the stores of all directories in bytes. */
  totalBytes: number;
}

/** The result of `Checkpoints.gc`. */
export interface CollectedCheckpoints {
  /** The ids of the deleted checkpoints, oldest first. */
  removed: string[];
  /** The number of freed bytes. */
  freedBytes: number;
}

const CALL: Table = { timeoutMs: "u32", signal: "signal" };
const BYTES = ["maxFileBytes", "maxCheckpointBytes", "maxSessionBytes", "maxDirectoryBytes", "maxTotalBytes"] as const;
const OPEN: Table = { ...CALL, store: "string" };
const TAKE: Table = { ...CALL, label: "string", kind: ["manual", "start", "end"], session: "string" };
const NOTE: Table = { ...CALL, session: "string" };

/** The directory with all links resolved, and as the caller named it. */
type Roots = readonly [string, string];

/** Returns a path relative to the root. An absolute path can lead through either name of the root. */
function below(roots: Roots, path: string): string {
  const candidates = isAbsolute(path) ? roots.map((root) => relative(root, path)) : [];
  const inside = candidates.find((found) => found !== ".." && !found.startsWith(`..${sep}`) && !isAbsolute(found));
  return inside ?? relative(roots[0], resolve(roots[0], path));
}

/** Returns paths as bytes, relative to the root. Paths outside the root match nothing. */
function pathList(where: string, value: unknown, roots: Roots): Buffer[] {
  if (!Array.isArray(value)) throw typeError(where, "an array of paths", value);
  return value.map((path: unknown, at) => {
    if (path instanceof Uint8Array) return Buffer.from(path);
    return Buffer.from(below(roots, text(`${where}[${at}]`, path)));
  });
}

/** Runs a native call that only reads. Its result is dropped if a signal or time limit ends the call first. */
async function limited<T>(call: string, options: CallOptions | null, start: () => Promise<T>): Promise<T> {
  const limit = new Limit(check(call, CALL, options ?? {}) as CallOptions);
  const before = limit.reached();
  if (before) throw before;
  const work = called(start);
  const left = await limit.wait(work);
  if (left) throw left;
  return work;
}

/** Checks a number of bytes: a whole number from 0, which may exceed 32 bits. */
function byteCount(where: string, value: unknown): number {
  if (typeof value !== "number") throw typeError(where, "a number", value);
  if (!(value >= 0) || !(Number.isInteger(value) || value === Infinity)) {
    throw Object.assign(new RangeError(`${where} must be a whole number from 0 on, not ${value}`), { code: "ERR_OUT_OF_RANGE" });
  }
  return Math.min(value, Number.MAX_SAFE_INTEGER);
}

function requestOf(call: string, given: RestoreOptions, roots: Roots): { request: RestoreRequest; signal: AbortSignal | undefined } {
  const { signal, timeoutMs } = check(call, { ...CALL }, given) as CallOptions;
  const { spans, paths, force } = given;
  const request: RestoreRequest = { force: force === true };
  if (timeoutMs !== undefined) request.timeoutMs = timeoutMs;
  if (spans !== undefined && spans !== null) {
    if (!Array.isArray(spans)) throw typeError(`${call}: spans`, "an array of pairs", spans);
    request.spans = spans.flatMap((span, at) => {
      if (!Array.isArray(span) || span.length !== 2) throw typeError(`${call}: spans[${at}]`, "a pair of ids", span);
      return span.map((id) => text(`${call}: spans[${at}]`, id));
    });
  }
  if (paths !== undefined && paths !== null) request.paths = pathList(`${call}: paths`, paths, roots);
  if (Array.isArray(force)) request.forcePaths = pathList(`${call}: force`, force, roots);
  else if (force !== undefined && force !== null && typeof force !== "boolean") throw typeError(`${call}: force`, "a boolean or an array of paths", force);
  return { request, signal };
}

function checkpointOf({ id, time, kind, label, session, coverage }: CheckpointAnswer): Checkpoint {
  const known = { id, time, kind: kind as Checkpoint["kind"], coverage };
  return { ...known, ...(label != null && { label }), ...(session != null && { session }) };
}

function planOf(answer: PlanAnswer): RestorePlan {
  const entries = rows(answer.paths, answer.ends).map((path, at): PlanEntry => {
    const [reason, note] = [answer.reasons[at], answer.notes[at]];
    const known = {
      action: answer.actions[at] as PlanEntry["action"],
      change: answer.changes[at] as ChangeKind,
      type: answer.kinds[at] as CheckpointEntryType,
    };
    return { ...path, ...known, ...(reason && { reason }), ...(note && { note }) };
  });
  const repositories = answer.repositories.map(({ path, from, to, index, command }): RepositoryMove => ({
    ...pathOf(path), index, ...(from != null && { from }), ...(to != null && { to }), ...(command != null && { command }),
  }));
  return { entries, repositories, coverage: answer.coverage };
}

/** Only `Checkpoints.open` can create an object. */
const OPENED = Symbol("opened");

/**
 * The checkpoints of a directory. `take` saves everything below it: contents, permissions, links, empty directories and
 * ignored files, with or without git. `restore` undoes the changes since then, whichever program made them. It keeps
 * files that another program changed in the meantime, unless you pass `force`.
 *
 * No program is started. Nothing inside `.git` or the data of another version control system is written; the plan lists
 * the repositories that changed. The store is outside the directory, and all processes share it.
 *
 * Works on Linux and macOS. On Windows `open` fails with `ERR_UNSUPPORTED`.
 *
 * @example
 * ```js
 * import { mkdtempSync, writeFileSync } from "node:fs";
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 * import { Checkpoints } from "@sinew/natives";
 * const project = mkdtempSync(join(tmpdir(), "project-"));
 * writeFileSync(join(project, "a.txt"), "before");
 * const checkpoints = await Checkpoints.open(project, { store: mkdtempSync(join(tmpdir(), "store-")) });
 * const before = await checkpoints.take();
 * writeFileSync(join(project, "a.txt"), "after");
 * const { done, redo } = await checkpoints.restore(before.id);
 * console.log(done); // 1
 * await checkpoints.restore(redo);
 * ```
 */
export class Checkpoints {
  readonly #handle: CheckpointsHandle;
  /** The directory, absolute, all links resolved. */
  readonly root: string;
  readonly #roots: Roots;

  /** @internal */
  constructor(opened: symbol, handle: CheckpointsHandle, named: string) {
    if (opened !== OPENED) throw illegal("Checkpoints", "Checkpoints.open");
    this.#handle = handle;
    this.root = handle.root();
    this.#roots = [this.root, named];
  }

  /**
   * Opens the checkpoints of a directory, and cleans up after an interrupted restore.
   *
   * @param root The directory.
   * @param options The store and its limits.
   * @throws `ENOENT` or `ENOTDIR` for the directory, `ERR_INVALID_ARG_VALUE` if the store is inside it. A read-only
   *   store is not an error; `coverage` reports it.
   */
  static async open(root: string, options: CheckpointsOptions | null = {}): Promise<Checkpoints> {
    const call = "Checkpoints.open";
    const given = options ?? {};
    const { store, timeoutMs, signal } = check(call, OPEN, given) as CheckpointsOptions;
    const request: Parameters<typeof native.openCheckpoints>[0] = { root: resolve(text(`${call}: root`, root)) };
    for (const key of BYTES) {
      const value = given[key];
      if (value !== undefined && value !== null) request[key] = byteCount(`${call}: ${key}`, value);
    }
    if (store !== undefined) request.store = resolve(store);
    if (timeoutMs !== undefined) request.timeoutMs = timeoutMs;
    return new Checkpoints(OPENED, await underSignal(signal, (abort) => native.openCheckpoints(request, abort)), request.root);
  }

  /**
   * Saves the current state of the directory. If nothing changed since the latest checkpoint, nothing is written and
   * the result has its id.
   *
   * @param options A label, the reason, the session.
   * @throws `AbortError` or `TimeoutError`; in this case nothing is written.
   */
  async take(options: TakeOptions | null = {}): Promise<Checkpoint> {
    const { signal, ...request } = check("Checkpoints.take", TAKE, options ?? {}) as Omit<TakeOptions, "changed">;
    const changed = options?.changed;
    const columns = changed ? { changed: pathList("Checkpoints.take: changed", changed, this.#roots) } : {};
    return checkpointOf(await underSignal(signal, (abort) => this.#handle.take({ ...request, ...columns }, abort)));
  }

  /**
   * Saves the state of some paths. Call it directly before you write to them. Only their directories are read.
   *
   * @param paths Paths, absolute or relative to the root; a `Buffer`, relative to the root, for names that are not
   *   UTF-8.
   * @param options The session.
   * @throws Like `take`.
   */
  async note(paths: (string | Uint8Array)[], options: NoteOptions | null = {}): Promise<Checkpoint> {
    const { session, timeoutMs, signal } = check("Checkpoints.note", NOTE, options ?? {}) as NoteOptions;
    const list = pathList("Checkpoints.note: paths", paths, this.#roots);
    return checkpointOf(await underSignal(signal, (abort) => this.#handle.note(list, session, timeoutMs, abort)));
  }

  /**
   * Returns all checkpoints of the directory, oldest first.
   *
   * @throws The system's error if the store cannot be read; `AbortError` or `TimeoutError`.
   */
  async list(options: CallOptions | null = {}): Promise<Checkpoint[]> {
    return (await limited("Checkpoints.list", options, () => this.#handle.list())).map(checkpointOf);
  }

  /**
   * Returns the changes between two checkpoints.
   *
   * @param from The id of the earlier one.
   * @param to The id of the later one.
   * @throws `ENOENT` for a checkpoint that is not in the store any more; `AbortError` or `TimeoutError`.
   */
  async changes(from: string, to: string, options: CallOptions | null = {}): Promise<CheckpointChanges> {
    const [start, end] = [text("Checkpoints.changes: from", from), text("Checkpoints.changes: to", to)];
    const { timeoutMs, signal } = check("Checkpoints.changes", CALL, options ?? {}) as CallOptions;
    const answer = await underSignal(signal, (abort) => this.#handle.changes(start, end, timeoutMs, abort));
    const old = rows(answer.from, answer.fromEnds);
    const entries = rows(answer.paths, answer.ends).map((path, at): CheckpointChange => {
      const known = { change: answer.changes[at] as ChangeKind, type: answer.kinds[at] as CheckpointEntryType };
      return { ...path, ...known, ...(old[at]?.path && { from: old[at].path }) };
    });
    return { entries, truncated: answer.truncated, coverage: answer.coverage };
  }

  /**
   * Returns the plan of `restore` without writing anything.
   *
   * @param id The checkpoint.
   * @param options What is undone.
   * @throws `ENOENT` for a checkpoint that is not in the store any more; `AbortError` or `TimeoutError`.
   */
  async plan(id: string, options: RestoreOptions | null = {}): Promise<RestorePlan> {
    const checkpoint = text("Checkpoints.plan: id", id);
    const { request, signal } = requestOf("Checkpoints.plan", options ?? {}, this.#roots);
    return planOf(await underSignal(signal, (abort) => this.#handle.plan(checkpoint, request, abort)));
  }

  /**
   * Undoes the changes since a checkpoint: all of them, or those within the spans. For the `redo` of an earlier
   * restore, it undoes the changes of that restore. A signal or time limit stops it between two entries; the result
   * says which were not restored.
   *
   * @param id The checkpoint.
   * @param options What is undone.
   * @throws Like `plan`, and if the store cannot be written, because the restore could not be undone.
   */
  async restore(id: string, options: RestoreOptions | null = {}): Promise<RestoreResult> {
    const checkpoint = text("Checkpoints.restore: id", id);
    const { request, signal } = requestOf("Checkpoints.restore", options ?? {}, this.#roots);
    const { plan, redo, done, planned } = await underSignal(signal, (abort) => this.#handle.restore(checkpoint, request, abort));
    return { ...planOf(plan), redo: redo ?? null, done, planned };
  }

  /**
   * Returns the size of the store.
   *
   * @throws The system's error if the store cannot be read; `AbortError` or `TimeoutError`.
   */
  async usage(options: CallOptions | null = {}): Promise<CheckpointUsage> {
    return limited("Checkpoints.usage", options, () => this.#handle.usage());
  }

  /**
   * Reduces the store to its limits: deletes the oldest checkpoints, and contents that no other checkpoint needs. The
   * newest checkpoint is kept. `take` and `restore` do the same when a limit is exceeded.
   *
   * @throws `AbortError` or `TimeoutError`; the store stays consistent.
   */
  async gc(options: CallOptions | null = {}): Promise<CollectedCheckpoints> {
    const { timeoutMs, signal } = check("Checkpoints.gc", CALL, options ?? {}) as CallOptions;
    return underSignal(signal, (abort) => this.#handle.gc(timeoutMs, abort));
  }
}
