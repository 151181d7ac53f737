/**
 * Checkpoints of a directory: remember it, compare two moments, restore it.
 * @module
 */
import { relative, resolve } from "node:path";
import { type CallOptions, called, underSignal } from "./call.js";
import { native } from "./loader.js";
import type { CheckpointAnswer, CheckpointsHandle, PlanAnswer, RestoreRequest } from "./native.js";
import { type Table, illegal, options as check, text, typeError } from "./options.js";

/** The options of `Checkpoints.open`. */
export interface CheckpointsOptions extends CallOptions {
  /**
   * The folder of the store, which may serve many directories. It is created if it is missing, and must not lie in the directory. Default:
   * `.sinew/checkpoints` in the user's home.
   */
  store?: string | undefined;
  /** The largest file that is copied, in bytes. Default: 5,000,000. */
  maxFileBytes?: number | undefined;
  /** The most bytes that one checkpoint copies. Default: 256,000,000. */
  maxCheckpointBytes?: number | undefined;
  /** The most bytes that `gc` leaves to one session. Default: 512,000,000. */
  maxSessionBytes?: number | undefined;
  /** The most bytes that `gc` leaves to one directory. Default: 2,000,000,000. */
  maxDirectoryBytes?: number | undefined;
  /** The most bytes that `gc` leaves to all directories of a store. Default: 4,000,000,000. */
  maxTotalBytes?: number | undefined;
}

/** The options of `Checkpoints.take`. */
export interface TakeOptions extends CallOptions {
  /** A text for lists. Default: none. */
  label?: string | undefined;
  /** The reason: work starts, work ended, or somebody asked for it. Default: `"manual"`. */
  kind?: "manual" | "start" | "end" | undefined;
  /** The session that the checkpoint belongs to; `maxSessionBytes` counts by it. Default: none. */
  session?: string | undefined;
  /**
   * Directories below the root whose entries may have changed, for a caller that watches them: `""` is the root. Everything else is
   * assumed to be as it was at the latest checkpoint. Default: the whole directory is scanned.
   */
  changed?: (string | Uint8Array)[] | undefined;
}

/** The options of `Checkpoints.note`. */
export interface NoteOptions extends CallOptions {
  /** The session that is about to write. Default: none. */
  session?: string | undefined;
}

/** The options of `Checkpoints.plan` and `Checkpoints.restore`. */
export interface RestoreOptions extends CallOptions {
  /** The ids of the checkpoints at the start and the end of each stretch of work: only changes inside them are undone. Default: everything since. */
  spans?: (readonly [string, string])[] | undefined;
  /** Paths, absolute or from the root: only they and what is below them are restored. Default: all. */
  paths?: (string | Uint8Array)[] | undefined;
  /** Restores kept paths all the same: every one, or these and what is below them. Default: false. */
  force?: boolean | (string | Uint8Array)[] | undefined;
}

/** A checkpoint. */
export interface Checkpoint {
  /** The name by which other calls know it. Names sort by age. */
  id: string;
  /** Milliseconds since the epoch. */
  time: number;
  /** The reason: as given to `take`, or `note`, or made by a restore before its first write (`redo`) and after its last (`restored`). */
  kind: "manual" | "start" | "end" | "note" | "redo" | "restored";
  /** The text that was given. */
  label?: string;
  /** The session that was given. */
  session?: string;
  /** `"full"`, or what could not be kept: `12 files over 5 MB`, `store is read-only`. Not known in lists. */
  coverage: string;
}

/** The path of an entry. */
export interface EntryPath {
  /** The path below the root, with `/` between names; bytes that are not UTF-8 are shown as U+FFFD. */
  path: string;
  /** The path as the system knows it, where it is not UTF-8. */
  bytes?: Buffer;
}

/** What happened to an entry. */
export type ChangeKind = "created" | "deleted" | "modified" | "renamed" | "mode" | "link" | "directory";
/** The type of an entry. */
export type CheckpointEntryType = "file" | "directory" | "link" | "special" | "repository";

/** A difference between two checkpoints. */
export interface CheckpointChange extends EntryPath {
  /** What happened. `link`: its target, or whether it shares its content; `directory`: a directory took the place of something else, or the reverse. */
  change: ChangeKind;
  /** The type afterwards; before, if the entry is gone. */
  type: CheckpointEntryType;
  /** The path before a rename. */
  from?: string;
}

/** The result of `Checkpoints.changes`. */
export interface CheckpointChanges {
  /** In path order, at most 100,000. */
  entries: CheckpointChange[];
  /** True if there are more. */
  truncated: boolean;
  /** `"full"`, or what either checkpoint could not keep. */
  coverage: string;
}

/** An entry of a plan. */
export interface PlanEntry extends EntryPath {
  /** It becomes what it was; it is deleted, because it did not exist; it stays unless it is forced; it stays. */
  action: "restore" | "delete" | "keep" | "cannot";
  /** The reason why it stays. */
  reason?: string;
  /** What happened to it since, which is undone. */
  change: ChangeKind;
  /** The type that it had; the type that it has, if it did not exist. */
  type: CheckpointEntryType;
  /** A remark: `shared with a file outside`. */
  note?: string;
}

/** A repository whose HEAD or index moved. Its data is never written: the command moves it back. */
export interface RepositoryMove extends EntryPath {
  /** Branch and commit before; absent if it did not exist. */
  from?: string;
  /** Branch and commit now; absent if it is gone. */
  to?: string;
  /** True if what is staged changed. */
  index: boolean;
  /** The command, for a shell. Absent if there is none. */
  command?: string;
}

/** The result of `Checkpoints.plan`. */
export interface RestorePlan {
  /** In path order. */
  entries: PlanEntry[];
  /** The repositories that moved; `path` is that of their data: `.git`, `vendor/lib/.git`. */
  repositories: RepositoryMove[];
  /** `"full"`, or what the checkpoint could not keep. */
  coverage: string;
}

/** The result of `Checkpoints.restore`: the plan as it was carried out. */
export interface RestoreResult extends RestorePlan {
  /** The checkpoint that undoes this restore; `null` if nothing was to be done. */
  redo: string | null;
  /** The entries that were restored or deleted. */
  done: number;
  /** The entries that were to be. */
  planned: number;
}

/** The result of `Checkpoints.usage`. */
export interface CheckpointUsage {
  /** The checkpoints of this directory. */
  checkpoints: number;
  /** The bytes of its store. */
  directoryBytes: number;
  /** The bytes of the stores of all directories. */
  totalBytes: number;
}

/** The result of `Checkpoints.gc`. */
export interface CollectedCheckpoints {
  /** The ids of the checkpoints that were removed, oldest first. */
  removed: string[];
  /** The bytes that were freed. */
  freedBytes: number;
}

const CALL: Table = { timeoutMs: "u32", signal: "signal" };
const BYTES = ["maxFileBytes", "maxCheckpointBytes", "maxSessionBytes", "maxDirectoryBytes", "maxTotalBytes"] as const;
const OPEN: Table = { ...CALL, store: "string" };
const TAKE: Table = { ...CALL, label: "string", kind: ["manual", "start", "end"], session: "string" };
const NOTE: Table = { ...CALL, session: "string" };

/** Passes paths on as bytes, relative to the root. A path outside of it names nothing in it. */
function pathList(where: string, value: unknown, root: string): Buffer[] {
  if (!Array.isArray(value)) throw typeError(where, "an array of paths", value);
  return value.map((path: unknown, at) => {
    if (path instanceof Uint8Array) return Buffer.from(path);
    return Buffer.from(relative(root, resolve(root, text(`${where}[${at}]`, path))));
  });
}

/** A whole number of bytes from 0 on, which may be more than 32 bits hold. */
function byteCount(where: string, value: unknown): number {
  if (typeof value !== "number") throw typeError(where, "a number", value);
  if (!(value >= 0) || !(Number.isInteger(value) || value === Infinity)) {
    throw Object.assign(new RangeError(`${where} must be a whole number from 0 on, not ${value}`), { code: "ERR_OUT_OF_RANGE" });
  }
  return Math.min(value, Number.MAX_SAFE_INTEGER);
}

function requestOf(call: string, given: RestoreOptions, root: string): { request: RestoreRequest; signal: AbortSignal | undefined } {
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
  if (paths !== undefined && paths !== null) request.paths = pathList(`${call}: paths`, paths, root);
  if (Array.isArray(force)) request.forcePaths = pathList(`${call}: force`, force, root);
  else if (force !== undefined && force !== null && typeof force !== "boolean") throw typeError(`${call}: force`, "a boolean or an array of paths", force);
  return { request, signal };
}

/** The path of some bytes, with the bytes where text cannot hold them. */
function pathOf(bytes: Buffer): EntryPath {
  const path = bytes.toString("utf8");
  // A copy: the column holds the paths of all rows.
  return path.includes("\ufffd") && !Buffer.from(path).equals(bytes) ? { path, bytes: Buffer.from(bytes) } : { path };
}

function rows(paths: Buffer, ends: number[]): EntryPath[] {
  return ends.map((end, at) => pathOf(paths.subarray(at === 0 ? 0 : ends[at - 1], end)));
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

/** Lets `Checkpoints.open` alone make one. */
const OPENED = Symbol("opened");

/**
 * The checkpoints of a directory. `take` remembers everything below it: contents, permissions, links, empty directories, ignored files; with
 * or without git. `restore` undoes what changed since, whoever did it, and never touches what somebody else changed meanwhile, unless forced.
 *
 * No program is started. Nothing inside `.git` or the data of another version control system is ever written; the plan names the
 * repositories that moved. The store lies outside of the directory and serves all processes.
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

  /** @internal */
  constructor(opened: symbol, handle: CheckpointsHandle) {
    if (opened !== OPENED) throw illegal("Checkpoints", "Checkpoints.open");
    this.#handle = handle;
    this.root = handle.root();
  }

  /**
   * Opens the checkpoints of a directory, and cleans up after a restore that was killed.
   *
   * @param root The directory.
   * @param options The store and its limits.
   * @throws `ENOENT` or `ENOTDIR` for the directory, `ERR_INVALID_ARG_VALUE` for a store inside it. A store that cannot be written is no
   *   error: `coverage` says so.
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
    return new Checkpoints(OPENED, await underSignal(signal, (abort) => native.openCheckpoints(request, abort)));
  }

  /**
   * Remembers the directory as it is now. If nothing changed since the latest checkpoint, nothing is written, and the result has its id.
   *
   * @param options A label, the reason, the session.
   * @throws `AbortError` or `TimeoutError`; nothing is written then.
   */
  async take(options: TakeOptions | null = {}): Promise<Checkpoint> {
    const { signal, ...request } = check("Checkpoints.take", TAKE, options ?? {}) as Omit<TakeOptions, "changed">;
    const changed = options?.changed;
    const columns = changed ? { changed: pathList("Checkpoints.take: changed", changed, this.root) } : {};
    return checkpointOf(await underSignal(signal, (abort) => this.#handle.take({ ...request, ...columns }, abort)));
  }

  /**
   * Remembers some paths right before the caller writes to them. Only their directories are read.
   *
   * @param paths Paths, absolute or from the root; a `Buffer`, from the root, for names that are not UTF-8.
   * @param options The session.
   * @throws As `take`.
   */
  async note(paths: (string | Uint8Array)[], options: NoteOptions | null = {}): Promise<Checkpoint> {
    const { session, timeoutMs, signal } = check("Checkpoints.note", NOTE, options ?? {}) as NoteOptions;
    const list = pathList("Checkpoints.note: paths", paths, this.root);
    return checkpointOf(await underSignal(signal, (abort) => this.#handle.note(list, session, timeoutMs, abort)));
  }

  /**
   * Returns all checkpoints of the directory, oldest first.
   *
   * @throws The system's error if the store cannot be read.
   */
  async list(): Promise<Checkpoint[]> {
    return (await called(() => this.#handle.list())).map(checkpointOf);
  }

  /**
   * Returns what changed between two checkpoints.
   *
   * @param from The id of the earlier one.
   * @param to The id of the later one.
   * @throws `ENOENT` for one that is not in the store any more; `AbortError` or `TimeoutError`.
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
   * Returns what `restore` would do. Nothing is written.
   *
   * @param id The checkpoint.
   * @param options What is undone.
   * @throws `ENOENT` for a checkpoint that is not in the store any more; `AbortError` or `TimeoutError`.
   */
  async plan(id: string, options: RestoreOptions | null = {}): Promise<RestorePlan> {
    const checkpoint = text("Checkpoints.plan: id", id);
    const { request, signal } = requestOf("Checkpoints.plan", options ?? {}, this.root);
    return planOf(await underSignal(signal, (abort) => this.#handle.plan(checkpoint, request, abort)));
  }

  /**
   * Undoes changes since a checkpoint: all of them, or those inside the spans. For the `redo` of an earlier restore: what that restore
   * changed. A signal or time limit ends it between two entries; the result says which were not done.
   *
   * @param id The checkpoint.
   * @param options What is undone.
   * @throws As `plan`; also if the store cannot be written, because nothing could be redone then.
   */
  async restore(id: string, options: RestoreOptions | null = {}): Promise<RestoreResult> {
    const checkpoint = text("Checkpoints.restore: id", id);
    const { request, signal } = requestOf("Checkpoints.restore", options ?? {}, this.root);
    const { plan, redo, done, planned } = await underSignal(signal, (abort) => this.#handle.restore(checkpoint, request, abort));
    return { ...planOf(plan), redo: redo ?? null, done, planned };
  }

  /**
   * Returns what the store holds.
   *
   * @throws The system's error if the store cannot be read.
   */
  async usage(): Promise<CheckpointUsage> {
    return called(() => this.#handle.usage());
  }

  /**
   * Brings the store within its limits: removes the oldest checkpoints, and contents that no other needs. The newest checkpoint stays.
   *
   * @throws `AbortError` or `TimeoutError`; the store is whole then.
   */
  async gc(options: CallOptions | null = {}): Promise<CollectedCheckpoints> {
    const { timeoutMs, signal } = check("Checkpoints.gc", CALL, options ?? {}) as CallOptions;
    return underSignal(signal, (abort) => this.#handle.gc(timeoutMs, abort));
  }
}
