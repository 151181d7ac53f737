/**
 * Process trees, and handles that always refer to the same process.
 * @module
 */
import { constants } from "node:os";
import { type CallOptions, called, underSignal } from "./call.js";
import { native } from "./loader.js";
import type { Abort, ProcessHandle } from "./native.js";
import { type Table, illegal, options as check } from "./options.js";

/** The options of `terminate`. */
export interface TerminateOptions {
  /** Time between `SIGTERM` and `SIGKILL`, in milliseconds; 0 kills at once. Default: 2000. */
  gracefulMs?: number | undefined;
  /** Limit of the whole wait, in milliseconds. If it is not longer than `gracefulMs`, nothing is killed. Default: 5000. */
  timeoutMs?: number | undefined;
  /** Include the other members of the process group. Default: false. */
  group?: boolean | undefined;
}

/** The result of `terminate`. */
export interface Termination {
  /** Number of processes that received a signal. */
  signalled: number;
  /** Number of them that have ended. */
  exited: number;
  /** The process ids of those that still run. */
  survivors: number[];
}

const TERMINATE: Table = { gracefulMs: "u32", timeoutMs: "u32", group: "boolean" };
const WAIT: Table = { timeoutMs: "u32", signal: "signal" };

function isPid(pid: unknown): pid is number {
  return typeof pid === "number" && Number.isInteger(pid) && pid > 0 && pid <= 0xffff_ffff;
}

function signalNumber(signal: unknown): number {
  const number = typeof signal === "string" ? constants.signals[signal as NodeJS.Signals] : signal;
  return typeof number === "number" && Number.isInteger(number) && number >= 0 && number <= 64 ? number : -1;
}

/**
 * Sends a signal to a process and all its descendants, also in other sessions: children first, the process itself last. The start time
 * of each process is checked, so that no other process with the same id is hit. With `SIGKILL` the tree is stopped before it is killed,
 * so that no new child escapes. Ids 0 and 1 are ignored. Needs a few milliseconds. Windows has no signals; there the processes are ended.
 *
 * @param pid The root of the tree.
 * @param signal A number, or a name such as `"SIGTERM"`; 0 only counts the processes.
 * @returns The number of processes that were signalled; 0 if the pid does not exist or an argument is invalid. Never throws.
 * @example
 * ```js
 * import { spawn } from "node:child_process";
 * import { once } from "node:events";
 * import { killTree } from "@sinew/natives";
 * const child = spawn("sh", ["-c", "sleep 100 & wait"]);
 * await once(child, "spawn");
 * console.log(killTree(child.pid, "SIGKILL"));
 * ```
 */
export function killTree(pid: number, signal: number | NodeJS.Signals): number {
  const number = signalNumber(signal);
  return isPid(pid) && number >= 0 ? native.killTree(pid, number) : 0;
}

/**
 * Lists the ids of all running descendants of a process, parents before their children.
 *
 * @param pid The root of the tree, which is not part of the result.
 * @returns The ids; empty if the pid does not exist. Never throws.
 * @example
 * ```js
 * import { listDescendants } from "@sinew/natives";
 * console.log(listDescendants(process.pid));
 * ```
 */
export function listDescendants(pid: number): number[] {
  return isPid(pid) ? native.listDescendants(pid) : [];
}

/**
 * A handle to one process. It never refers to another process that gets the same id later (on Linux it uses a pidfd).
 *
 * @example
 * ```js
 * import { Process } from "@sinew/natives";
 * const self = Process.fromPid(process.pid);
 * console.log(self.status(), self.ppid() === process.ppid);
 * ```
 */
export class Process {
  readonly #handle: ProcessHandle;
  /** The pending waits; undefined once it is closed. */
  #waits: Set<Abort> | undefined = new Set();

  private constructor(handle: ProcessHandle) {
    if (!(handle instanceof native.ProcessHandle)) throw illegal("Process", "Process.fromPid(pid)");
    this.#handle = handle;
  }

  #open(): Set<Abort> {
    if (this.#waits) return this.#waits;
    throw Object.assign(new Error(`Process ${this.#handle.pid} is closed; use Process.fromPid to get another handle`), { code: "ERR_INVALID_STATE" });
  }

  /**
   * Returns the process that currently has this id.
   * @param pid The process id.
   * @returns The process; `null` if there is none. Never throws.
   */
  static fromPid(pid: number): Process | null {
    const handle = isPid(pid) ? native.processFromPid(pid) : null;
    return handle ? new Process(handle) : null;
  }

  /** The process id. */
  get pid(): number {
    return this.#handle.pid;
  }

  /**
   * Returns the id of its parent.
   * @returns The current id; `null` if the process has ended.
   */
  ppid(): number | null {
    this.#open();
    return this.#handle.ppid() ?? null;
  }

  /**
   * Returns its command line, with the name of the program first.
   * @returns The arguments that it was started with, or that it has set since; `null` if the process has ended, if they cannot be read, and on
   *   other systems than Linux. Right after its start, before it has loaded its program, a process has the command line of its parent.
   */
  args(): string[] | null {
    this.#open();
    return this.#handle.args() ?? null;
  }

  /**
   * Returns its running children.
   * @returns The children in the order of their ids; empty if the process has ended.
   */
  children(): Process[] {
    this.#open();
    return this.#handle.children().map((handle) => new Process(handle));
  }

  /**
   * Returns whether it runs.
   * @returns `"running"`, also if it sleeps or is stopped.
   */
  status(): "running" | "exited" {
    this.#open();
    return this.#handle.running() ? "running" : "exited";
  }

  /**
   * Stops it and all its descendants: `SIGTERM`, and `SIGKILL` for those that remain after `gracefulMs`, and for what they started meanwhile. The
   * calling process is never included.
   * @param options Time limits.
   * @returns The result, as soon as all have ended or the time is up. Zeros if the process has ended already.
   * @throws `TypeError` or `RangeError` for an option of the wrong type or range.
   */
  async terminate(options: TerminateOptions | null = {}): Promise<Termination> {
    this.#open();
    const request = check("Process.terminate", TERMINATE, options ?? {});
    return called(() => this.#handle.terminate(request));
  }

  /**
   * Waits until it has ended.
   * @param options Time limit and signal.
   * @throws `AbortError` or `TimeoutError` if the wait was stopped; `close` stops it with an `AbortError`.
   */
  async waitForExit(options: CallOptions | null = {}): Promise<void> {
    const waits = this.#open();
    const { signal, timeoutMs } = check("Process.waitForExit", WAIT, options ?? {}) as CallOptions;
    return underSignal(signal, async (given) => {
      const abort = given ?? new native.Abort();
      waits.add(abort);
      try {
        await this.#handle.waitForExit(timeoutMs, abort);
      } finally {
        waits.delete(abort);
      }
    });
  }

  /**
   * Releases the handle; the process continues. Pending waits reject with an `AbortError`, and later calls except `pid` and `close` throw
   * `ERR_INVALID_STATE`. A handle that is not closed uses no system resources between calls.
   */
  close(): void {
    this.#waits?.forEach((abort) => abort.abort());
    this.#waits = undefined;
  }

  /** The same as `close`, for `using`. */
  [Symbol.dispose](): void {
    this.close();
  }
}
