/**
 * Shells, terminals and processes, with the callbacks and result shapes of pi-natives.
 * @module
 */
import { readFileSync, readdirSync, readlinkSync } from "node:fs";
import * as natives from "@sinew/natives";
import { type Callback, valueOf } from "./callback.js";

export { TtyWriter } from "@sinew/natives";
export type { ShellRunResult } from "@sinew/natives";

/** The options of a shell; its variables are added to those of this process. `minimizer` has no effect. */
export interface ShellOptions {
  /** Variables of the session. */
  sessionEnv?: Record<string, string>;
  /** A script that is read before the first command. */
  snapshotPath?: string;
  /** Has no effect: output is not rewritten. */
  minimizer?: unknown;
}

/** The options of a run. */
export interface ShellRunOptions {
  /** The script. */
  command: string;
  /** The working directory. */
  cwd?: string;
  /** Variables of this run. */
  env?: Record<string, string>;
  /** The time limit. */
  timeoutMs?: number;
  /** Stops the run. */
  signal?: AbortSignal;
}

/** The options of one command in a separate shell. */
export interface ShellExecuteOptions extends ShellRunOptions, ShellOptions {}

const session = ({ sessionEnv, snapshotPath }: ShellOptions): natives.ShellOptions => ({
  sessionEnv: sessionEnv && { ...(process.env as Record<string, string>), ...sessionEnv },
  snapshotPath,
});

const once = ({ command, cwd, env, timeoutMs, signal }: ShellRunOptions): natives.ShellRunOptions => ({ command, cwd, env, timeoutMs, signal });

/** Runs one command in a separate shell. */
export function executeShell(options: ShellExecuteOptions, onChunk?: Callback<string>): Promise<natives.ShellRunResult> {
  return natives.executeShell({ ...once(options), ...session(options) }, valueOf(onChunk));
}

/** A shell that keeps its state between runs. */
export class Shell {
  readonly #shell: natives.Shell;

  constructor(options?: ShellOptions | null) {
    this.#shell = new natives.Shell(session(options ?? {}));
  }

  /** Runs a command. */
  run(options: ShellRunOptions, onChunk?: Callback<string>): Promise<natives.ShellRunResult> {
    return this.#shell.run(once(options), valueOf(onChunk));
  }

  /** Stops the running command. */
  abort(): Promise<void> {
    return this.#shell.abort();
  }

  /** Returns the number of running background jobs. */
  async liveBackgroundJobCount(): Promise<number> {
    return (await this.#shell.jobs()).length;
  }
}

/** The options of a terminal. */
export interface PtyStartOptions extends ShellRunOptions {
  /** The number of columns. */
  cols?: number;
  /** The number of rows. */
  rows?: number;
  /** The shell. */
  shell?: string;
}

/** The options of a program in a terminal. */
export interface PtyArgvStartOptions extends Omit<PtyStartOptions, "command" | "shell"> {
  /** The program. */
  application: string;
  /** Its arguments. */
  args: string[];
}

/** Limits a size to those of the original. */
function sizeOf(cols: number, rows: number): { cols: number; rows: number } {
  return { cols: Math.min(Math.max(cols, 20), 400), rows: Math.min(Math.max(rows, 5), 200) };
}

/** A program in a terminal. */
export class PtySession {
  readonly #session = new natives.PtySession();

  /** Starts a shell command; `onStart` receives its process id. */
  start({ command, shell, ...options }: PtyStartOptions, onChunk?: Callback<string>, onStart?: Callback<number>): Promise<natives.PtyResult> {
    return this.#start({ ...options, command, shell }, onChunk, onStart);
  }

  /** Starts a program without a shell. */
  startArgv({ application, args, ...options }: PtyArgvStartOptions, onChunk?: Callback<string>, onStart?: Callback<number>): Promise<natives.PtyResult> {
    return this.#start({ ...options, argv: [application, ...args] }, onChunk, onStart);
  }

  #start(options: natives.PtyOptions, onChunk: Callback<string>, onStart: Callback<number>): Promise<natives.PtyResult> {
    const { cols = 120, rows = 40 } = options;
    const ended = this.#session.start({ ...options, ...sizeOf(cols, rows) }, valueOf(onChunk));
    if (!onStart) return ended;
    // A failed start also rejects `ended`, which the caller awaits.
    const told = this.#session.spawned().then((pid) => onStart(null, pid), () => {});
    return ended.then((result) => told.then(() => result));
  }

  /** Writes input. */
  write(data: string): void {
    this.#session.write(data);
  }

  /** Changes the size of the terminal. */
  resize(cols: number, rows: number): void {
    const size = sizeOf(cols, rows);
    this.#session.resize(size.cols, size.rows);
  }

  /** Stops the program and everything that it started. */
  kill(): void {
    this.#session.kill();
  }
}

/** The states of a process. */
export const ProcessStatus = { Running: "running", Exited: "exited" } as const;
/** The states of a process. */
export type ProcessStatus = (typeof ProcessStatus)[keyof typeof ProcessStatus];

/** The options of `Process.terminate`. */
export interface ProcessTerminateOptions {
  /** Stop its process group too. */
  group?: boolean;
  /** The time between SIGTERM and SIGKILL in milliseconds; a negative value means 0. Default: 1000. */
  gracefulMs?: number;
  /** The time to wait after that, in milliseconds. */
  timeoutMs?: number;
}

/** The options of `Process.waitForExit`. */
export interface ProcessWaitOptions {
  /** The maximum waiting time in milliseconds. */
  timeoutMs?: number;
  /** Stops waiting. */
  signal?: AbortSignal;
}

const SIGKILL = 9;
const GRACE_MS = 1000;
const REAP_MS = 5000;

/** Returns the program of a Linux process; undefined if it has ended or belongs to another user. */
function programOf(pid: string): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/exe`);
  } catch {
    return undefined;
  }
}

/** Returns the line of a process in `/proc`; empty if it has ended. */
function statOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return "";
  }
}

/** A process. It never refers to another process that gets the same id later. */
export class Process {
  readonly #process: natives.Process;

  private constructor(found: natives.Process) {
    this.#process = found;
  }

  /** Returns the process with an id. */
  static fromPid(pid: number): Process | null {
    const found = natives.Process.fromPid(pid);
    return found && new Process(found);
  }

  /** Returns the processes whose program is at a path. Empty on systems other than Linux. */
  static fromPath(path: string): Process[] {
    if (process.platform !== "linux") return [];
    const pids = readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name) && programOf(name) === path);
    return pids.map((pid) => Process.fromPid(Number(pid))).filter((found) => found !== null);
  }

  /** Returns the id of its process group; null on systems other than Linux, and after its end. */
  groupId(): number | null {
    if (process.platform !== "linux" || this.status() === ProcessStatus.Exited) return null;
    const group = /\) \S \d+ (\d+) /.exec(statOf(this.pid))?.[1];
    return group === undefined ? null : Number(group);
  }

  get pid(): number {
    return this.#process.pid;
  }

  get ppid(): number | null {
    return this.#process.ppid();
  }

  /** Returns its command line; empty if it cannot be read. */
  args(): string[] {
    return this.#process.args() ?? [];
  }

  /** Signals it and its descendants, children first. Returns the number of signalled processes. */
  killTree(signal?: number | null): number {
    return this.status() === ProcessStatus.Running ? natives.killTree(this.pid, signal ?? SIGKILL) : 0;
  }

  /** Terminates it and its descendants. Returns true if all have ended. */
  async terminate(options?: ProcessTerminateOptions | null): Promise<boolean> {
    const { group, gracefulMs = GRACE_MS, timeoutMs = REAP_MS } = options ?? {};
    const grace = Math.max(0, gracefulMs);
    const { survivors } = await this.#process.terminate({ group, gracefulMs: grace, timeoutMs: grace + timeoutMs });
    return survivors.length === 0;
  }

  /** Waits for its end. Returns false after a timeout. */
  async waitForExit(options?: ProcessWaitOptions | null): Promise<boolean> {
    try {
      await this.#process.waitForExit({ timeoutMs: options?.timeoutMs, signal: options?.signal });
      return true;
    } catch (error) {
      if ((error as Error).name === "TimeoutError") return false;
      throw error;
    }
  }

  /** Returns its running children. */
  children(): Process[] {
    return this.#process.children().map((child) => new Process(child));
  }

  /** Returns whether it is running. */
  status(): ProcessStatus {
    return this.#process.status();
  }
}

/** A lock on a file, which is held until it is released or the process ends. */
export class FileLock {
  readonly #lock: natives.FileLock | null;

  private constructor(lock: natives.FileLock | null) {
    this.#lock = lock;
  }

  /** Tries to acquire the lock of a file, which is created if it is missing. */
  static tryAcquire(path: string): FileLock {
    return new FileLock(natives.FileLock.tryAcquireSync(path));
  }

  /** True if this object holds the lock. */
  get acquired(): boolean {
    return this.#lock?.held ?? false;
  }

  /** Releases the lock. */
  release(): void {
    this.#lock?.release();
  }
}
