/**
 * Locks on files between processes.
 * @module
 */
import { resolve } from "node:path";
import { type CallOptions, called, underSignal } from "./call.js";
import { native } from "./loader.js";
import type { FileLockHandle } from "./native.js";
import { type Table, illegal, options as check, text } from "./options.js";

/** The kind of a lock. */
export interface FileLockMode {
  /** Share the lock with other shared owners, such as readers. An exclusive lock waits for all of them. Default: false. */
  shared?: boolean | undefined;
}

/** The options of waiting for a lock. */
export interface FileLockOptions extends FileLockMode, CallOptions {}

const TRY: Table = { shared: "boolean" };
const ACQUIRE: Table = { ...TRY, timeoutMs: "u32", signal: "signal" };

/** The locks that are held. The references prevent the garbage collector from releasing them. */
const held = new Set<FileLock>();

/**
 * An advisory lock on a file: it excludes others that request the lock, in this process, its workers and other
 * processes, and does not affect anyone else. The system releases it when the process ends in any way, so there are no
 * stale locks. It is the lock of `flock(2)`, which the program `flock` also uses (on Windows `LockFileEx`, which also
 * prevents others from reading the file).
 *
 * The file is created if it is missing. It is never changed or deleted, because deleting it would break the lock for
 * others that wait. Lock the data file itself or, if that file is replaced by renaming, a separate file next to it.
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
   * Waits until the lock is free, and acquires it. The order of waiters is not defined. The lock is polled every 1 to 50 ms; a signal ends a
   * pause at once.
   *
   * @param path The file.
   * @param options Whether the lock is shared, time limit and signal; a `timeoutMs` of 0 makes one attempt.
   * @returns The lock, which is held until `release`.
   * @throws `ENOENT` if the directory is missing, `EACCES`, `ERR_INVALID_ARG_VALUE` if `path` is not a regular file; `AbortError` or
   *   `TimeoutError` if the wait was stopped; `TypeError` or `RangeError` for an argument of the wrong type or range.
   */
  static async acquire(path: string, options: FileLockOptions | null = {}): Promise<FileLock> {
    const file = resolve(text("FileLock.acquire: path", path));
    const { shared = false, timeoutMs, signal } = check("FileLock.acquire", ACQUIRE, options ?? {}) as FileLockOptions;
    return new FileLock(await underSignal(signal, (abort) => native.acquireFileLock(file, shared, timeoutMs, abort)), file);
  }

  /**
   * Acquires the lock if it is free.
   *
   * @param path The file.
   * @param options Whether the lock is shared.
   * @returns The lock; `null` if it is not free.
   * @throws Like `acquire`.
   */
  static async tryAcquire(path: string, options: FileLockMode | null = {}): Promise<FileLock | null> {
    const file = resolve(text("FileLock.tryAcquire: path", path));
    const { shared = false } = check("FileLock.tryAcquire", TRY, options ?? {}) as FileLockMode;
    const handle = await called(() => native.tryFileLock(file, shared));
    return handle ? new FileLock(handle, file) : null;
  }

  /**
   * Acquires the lock if it is free, without a promise. Blocks the event loop for a few system calls.
   *
   * @param path The file.
   * @param options Whether the lock is shared.
   * @returns The lock; `null` if it is not free.
   * @throws Like `acquire`.
   */
  static tryAcquireSync(path: string, options: FileLockMode | null = {}): FileLock | null {
    const file = resolve(text("FileLock.tryAcquireSync: path", path));
    const { shared = false } = check("FileLock.tryAcquireSync", TRY, options ?? {}) as FileLockMode;
    const handle = native.tryFileLockSync(file, shared);
    return handle ? new FileLock(handle, file) : null;
  }

  /** The absolute path of the file. */
  get path(): string {
    return this.#path;
  }

  /** True until `release`. */
  get held(): boolean {
    return held.has(this);
  }

  /** Releases the lock. Does nothing if it is released already. */
  release(): void {
    held.delete(this);
    this.#handle.release();
  }

  /** The same as `release`, for `using`. */
  [Symbol.dispose](): void {
    this.release();
  }
}
