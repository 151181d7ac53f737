/**
 * Locks on files, by which processes take turns.
 * @module
 */
import { resolve } from "node:path";
import { type CallOptions, called, underSignal } from "./call.js";
import { native } from "./loader.js";
import type { FileLockHandle } from "./native.js";
import { type Table, illegal, options as check, text } from "./options.js";

/** The kind of a lock. */
export interface FileLockMode {
  /** Hold it together with others that share it, as readers do; one that is not shared waits for all of them. Default: false. */
  shared?: boolean | undefined;
}

/** The options of waiting for a lock. */
export interface FileLockOptions extends FileLockMode, CallOptions {}

const TRY: Table = { shared: "boolean" };
const ACQUIRE: Table = { ...TRY, timeoutMs: "u32", signal: "signal" };

/** Those that are held: one that nobody refers to any more must not be collected, and so released. */
const held = new Set<FileLock>();

/**
 * An advisory lock on a file: it keeps out those that ask for it, in this process, its workers and others, and nobody else. The system
 * releases it when the process ends, however that happens, so that nothing stale is left behind. It is the lock of `flock(2)`, with which the program
 * `flock` and others that use it take turns (on Windows `LockFileEx`, which also keeps others from reading the file).
 *
 * The file is created where it is missing, is never changed, and stays: who deletes it takes the lock from the next who asks.
 * A lock may lie on the data itself, or on a file beside it where that is replaced by renaming.
 *
 * @example
 * ```js
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 * import { FileLock } from "@sinew/natives";
 * const path = join(tmpdir(), `example-${process.pid}.lock`);
 * const lock = await FileLock.acquire(path, { timeoutMs: 5000 });
 * try {
 *   console.log(await FileLock.tryAcquire(path)); // null
 * } finally {
 *   lock.release();
 * }
 * ```
 */
export class FileLock {
  readonly #handle: FileLockHandle;
  readonly #path: string;

  private constructor(handle: FileLockHandle, path: string) {
    if (!(handle instanceof native.FileLockHandle)) throw illegal("FileLock", "FileLock.acquire(path)");
    this.#handle = handle;
    this.#path = path;
    held.add(this);
  }

  /**
   * Waits until the lock is free, and takes it. Those that wait get it in no particular order. The system is asked after pauses of 1 to 50 ms; a
   * signal ends a pause at once.
   *
   * @param path The file.
   * @param options Whether it is shared, and what may end the wait; a `timeoutMs` of 0 is one attempt.
   * @returns The lock, which is held until `release`.
   * @throws `ENOENT` where the folder is missing, `EACCES`, `ERR_INVALID_ARG_VALUE` for what is no regular file; `AbortError` or
   *   `TimeoutError` when the wait was ended; `TypeError` or `RangeError` for an argument of the wrong type or range.
   */
  static async acquire(path: string, options: FileLockOptions | null = {}): Promise<FileLock> {
    const file = resolve(text("FileLock.acquire: path", path));
    const { shared = false, timeoutMs, signal } = check("FileLock.acquire", ACQUIRE, options ?? {}) as FileLockOptions;
    return new FileLock(await underSignal(signal, (abort) => native.acquireFileLock(file, shared, timeoutMs, abort)), file);
  }

  /**
   * Takes the lock if it is free.
   *
   * @param path The file.
   * @param options Whether it is shared.
   * @returns The lock; `null` where others hold it.
   * @throws As `acquire`.
   */
  static async tryAcquire(path: string, options: FileLockMode | null = {}): Promise<FileLock | null> {
    const file = resolve(text("FileLock.tryAcquire: path", path));
    const { shared = false } = check("FileLock.tryAcquire", TRY, options ?? {}) as FileLockMode;
    const handle = await called(() => native.tryFileLock(file, shared));
    return handle ? new FileLock(handle, file) : null;
  }

  /**
   * Takes the lock if it is free, and blocks the event loop for the few calls of the system that this takes.
   *
   * @param path The file.
   * @param options Whether it is shared.
   * @returns The lock; `null` where others hold it.
   * @throws As `acquire`.
   */
  static tryAcquireSync(path: string, options: FileLockMode | null = {}): FileLock | null {
    const file = resolve(text("FileLock.tryAcquireSync: path", path));
    const { shared = false } = check("FileLock.tryAcquireSync", TRY, options ?? {}) as FileLockMode;
    const handle = native.tryFileLockSync(file, shared);
    return handle ? new FileLock(handle, file) : null;
  }

  /** The file, as an absolute path. */
  get path(): string {
    return this.#path;
  }

  /** True until `release`. */
  get held(): boolean {
    return held.has(this);
  }

  /** Lets go of the lock. Does nothing to one that is released. */
  release(): void {
    held.delete(this);
    this.#handle.release();
  }

  /** The same as `release`, for `using`. */
  [Symbol.dispose](): void {
    this.release();
  }
}
