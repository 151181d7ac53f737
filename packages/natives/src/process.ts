/**
 * Processes: whole trees of them, and handles that never mean another process.
 * @module
 */
import { constants } from "node:os";
import { type CallOptions, called, underSignal } from "./call.js";
import { native } from "./loader.js";
import type { Abort, ProcessHandle } from "./native.js";
import { type Table, illegal, options as check } from "./options.js";

/** The options of ending a process. */
export interface TerminateOptions {
  /** The time that processes have to obey `SIGTERM` before they are killed, in milliseconds; 0 kills at once. Default: 2000. */
  gracefulMs?: number | undefined;
  /** The longest wait in all, in milliseconds. When it is not longer than `gracefulMs`, nothing is killed. Default: 5000. */
  timeoutMs?: number | undefined;
  /** End the other members of its process group too. Default: false. */
  group?: boolean | undefined;
}

/** The outcome for a process and its tree. */
export interface Termination {
  /** The number of processes that got a signal. */
  signalled: number;
  /** The number of those that have ended. */
  exited: number;
  /** The pids of those that still run. */
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
 * Sends a signal to a process and to everything that descends from it, also in other sessions: children first, the
 * process itself last. Each process is checked against its start time, so that no other one with the same number is hit.
 * With `SIGKILL` the tree is stopped before it is killed, so that nothing escapes by being born meanwhile.
 * Numbers 0 and 1 mean no tree. Takes a few milliseconds. Windows knows no signals and ends the processes.
 *
 * @param pid The root of the tree.
 * @param signal A number, or a name such as `"SIGTERM"`; 0 only counts.
 * @returns How many processes were signalled: 0 for a pid that does not exist, and for arguments that mean nothing. Never throws.
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
 * The pids of all living processes that descend from a process, parents before their children.
 *
 * @param pid The root of the tree; not part of the answer.
 * @returns The pids; none for a pid that does not exist. Never throws.
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
 * One process, and never another one that gets its number later (by a pidfd on Linux).
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
  /** The waits under way; undefined once it is closed. */
  #waits: Set<Abort> | undefined = new Set();

  private constructor(handle: ProcessHandle) {
    if (!(handle instanceof native.ProcessHandle)) throw illegal("Process", "Process.fromPid(pid)");
    this.#handle = handle;
  }

  #open(): Set<Abort> {
    if (this.#waits) return this.#waits;
    throw Object.assign(new Error(`Process ${this.#handle.pid} is closed; Process.fromPid gives another one`), { code: "ERR_INVALID_STATE" });
  }

  /**
   * The process that has this number now.
   * @param pid Its number.
   * @returns The process; `null` when none runs. Never throws.
   */
  static fromPid(pid: number): Process | null {
    const handle = isPid(pid) ? native.processFromPid(pid) : null;
    return handle ? new Process(handle) : null;
  }

  /** Its number. */
  get pid(): number {
    return this.#handle.pid;
  }

  /**
   * The number of its parent.
   * @returns The number now; `null` once the process is over.
   */
  ppid(): number | null {
    this.#open();
    return this.#handle.ppid() ?? null;
  }

  /**
   * Its command line, the program's name first.
   * @returns What it was started with, or has put there since; `null` once the process is over, where it may not be read, and
   *   off Linux. Between the start of a process and that of its program it is the parent's.
   */
  args(): string[] | null {
    this.#open();
    return this.#handle.args() ?? null;
  }

  /**
   * Its living children.
   * @returns Them in the order of their numbers; none once the process is over.
   */
  children(): Process[] {
    this.#open();
    return this.#handle.children().map((handle) => new Process(handle));
  }

  /**
   * Returns whether it runs.
   * @returns `"running"` also while it sleeps or is stopped.
   */
  status(): "running" | "exited" {
    this.#open();
    return this.#handle.running() ? "running" : "exited";
  }

  /**
   * Ends it and all that descends from it: `SIGTERM`, and `SIGKILL` for those that are left after the grace, and for what
   * they started meanwhile. The calling process is never part of it.
   * @param options How long to wait for what.
   * @returns What became of them, as soon as all are over or the time is up. Zeros for a process that is over.
   * @throws `TypeError` or `RangeError` for an option of the wrong type or range.
   */
  async terminate(options: TerminateOptions | null = {}): Promise<Termination> {
    this.#open();
    const request = check("Process.terminate", TERMINATE, options ?? {});
    return called(() => this.#handle.terminate(request));
  }

  /**
   * Waits until it is over.
   * @param options What may end the wait.
   * @throws `AbortError` or `TimeoutError` when the wait was ended; `close` ends it with an `AbortError`.
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
   * Lets go of the process, which goes on: waits that are under way end with an `AbortError`, and every later call but `pid`
   * and `close` throws `ERR_INVALID_STATE`. An object that is not closed holds no resource of the system between calls.
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
