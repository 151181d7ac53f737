/**
 * Shells, terminals and processes, with the callbacks and result shapes of pi-natives.
 * @module
 */
import { readFileSync, readdirSync, readlinkSync } from "node:fs";
import * as natives from "@sinew/natives";
import { type Callback, valueOf } from "./callback.js";

export { TtyWriter } from "@sinew/natives";
export type { ShellRunResult } from "@sinew/natives";

/** The options of a shell; variables are put over those of this process. `minimizer` has no effect. */
export interface ShellOptions {
  /** Variables of the session. */
  sessionEnv?: Record<string, string>;
  /** A script that is read first. */
  snapshotPath?: string;
  /** No output is rewritten here. */
  minimizer?: unknown;
}

/** The options of a run. */
export interface ShellRunOptions {
  /** The script. */
  command: string;
  /** Its directory. */
  cwd?: string;
  /** Variables of this run. */
  env?: Record<string, string>;
  /** The time limit. */
  timeoutMs?: number;
  /** Ends the run. */
  signal?: AbortSignal;
}

/** The options of one command in a shell of its own. */
export interface ShellExecuteOptions extends ShellRunOptions, ShellOptions {}

const session = ({ sessionEnv, snapshotPath }: ShellOptions): natives.ShellOptions => ({
  sessionEnv: sessionEnv && { ...(process.env as Record<string, string>), ...sessionEnv },
  snapshotPath,
});

const once = ({ command, cwd, env, timeoutMs, signal }: ShellRunOptions): natives.ShellRunOptions => ({ command, cwd, env, timeoutMs, signal });

/** Runs one command in a shell of its own. */
export function executeShell(options: ShellExecuteOptions, onChunk?: Callback<string>): Promise<natives.ShellRunResult> {
  return natives.executeShell({ ...once(options), ...session(options) }, valueOf(onChunk));
}

/** A shell that keeps its state from run to run. */
export class Shell {
  readonly #shell: natives.Shell;

  constructor(options?: ShellOptions | null) {
    this.#shell = new natives.Shell(session(options ?? {}));
  }

  /** Runs a command. */
  run(options: ShellRunOptions, onChunk?: Callback<string>): Promise<natives.ShellRunResult> {
    return this.#shell.run(once(options), valueOf(onChunk));
  }

  /** Stops what runs. */
  abort(): Promise<void> {
    return this.#shell.abort();
  }

  /** The number of background jobs that live. */
  async liveBackgroundJobCount(): Promise<number> {
    return (await this.#shell.jobs()).length;
  }
}

/** The options of a terminal. */
export interface PtyStartOptions extends ShellRunOptions {
  /** Cells in a row. */
  cols?: number;
  /** Rows. */
  rows?: number;
  /** The shell. */
  shell?: string;
}

/** The options of a program on a terminal. */
export interface PtyArgvStartOptions extends Omit<PtyStartOptions, "command" | "shell"> {
  /** The program. */
  application: string;
  /** Its arguments. */
  args: string[];
}

/** A program on a terminal. */
export class PtySession {
  readonly #session = new natives.PtySession();

  /** Starts a command of a shell; `onStart` gets its process id. */
  start({ command, shell, ...options }: PtyStartOptions, onChunk?: Callback<string>, onStart?: Callback<number>): Promise<natives.PtyResult> {
    return this.#start({ ...options, command, shell }, onChunk, onStart);
  }

  /** Starts a program without a shell. */
  startArgv({ application, args, ...options }: PtyArgvStartOptions, onChunk?: Callback<string>, onStart?: Callback<number>): Promise<natives.PtyResult> {
    return this.#start({ ...options, argv: [application, ...args] }, onChunk, onStart);
  }

  #start(options: natives.PtyOptions, onChunk: Callback<string>, onStart: Callback<number>): Promise<natives.PtyResult> {
    const ended = this.#session.start(options, valueOf(onChunk));
    if (!onStart) return ended;
    // A start that fails rejects `ended` too, which is where the caller hears of it.
    const told = this.#session.spawned().then((pid) => onStart(null, pid), () => {});
    return ended.then((result) => told.then(() => result));
  }

  /** Types text. */
  write(data: string): void {
    this.#session.write(data);
  }

  /** Gives the terminal another size. */
  resize(cols: number, rows: number): void {
    this.#session.resize(cols, rows);
  }

  /** Ends the program and what it started. */
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
  /** End its process group too. */
  group?: boolean;
  /** The grace; a negative one is none. Default: 1000. */
  gracefulMs?: number;
  /** The wait behind the grace. */
  timeoutMs?: number;
}

/** The options of `Process.waitForExit`. */
export interface ProcessWaitOptions {
  /** The longest wait. */
  timeoutMs?: number;
  /** Ends the wait. */
  signal?: AbortSignal;
}

const SIGKILL = 9;
const GRACE_MS = 1000;
const REAP_MS = 5000;

/** The program of a process of Linux; undefined if it ended or belongs to another user. */
function programOf(pid: string): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/exe`);
  } catch {
    return undefined;
  }
}

/** The line of a process in `/proc`; empty if it ended meanwhile. */
function statOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return "";
  }
}

/** A process that is never mistaken for another with its number. */
export class Process {
  readonly #process: natives.Process;

  private constructor(found: natives.Process) {
    this.#process = found;
  }

  /** The process of a number. */
  static fromPid(pid: number): Process | null {
    const found = natives.Process.fromPid(pid);
    return found && new Process(found);
  }

  /** The processes whose program is at a path. Only Linux lists them; others return an empty list. */
  static fromPath(path: string): Process[] {
    if (process.platform !== "linux") return [];
    const pids = readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name) && programOf(name) === path);
    return pids.map((pid) => Process.fromPid(Number(pid))).filter((found) => found !== null);
  }

  /** The number of its process group; null where it cannot be read: outside of Linux, and after its end. */
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

  /** Its command line; empty where it cannot be read. */
  args(): string[] {
    return this.#process.args() ?? [];
  }

  /** Signals it and its descendants, children first; how many were signalled. */
  killTree(signal?: number | null): number {
    return this.status() === ProcessStatus.Running ? natives.killTree(this.pid, signal ?? SIGKILL) : 0;
  }

  /** Ends it and its descendants; tells whether all are over. */
  async terminate(options?: ProcessTerminateOptions | null): Promise<boolean> {
    const { group, gracefulMs = GRACE_MS, timeoutMs = REAP_MS } = options ?? {};
    const grace = Math.max(0, gracefulMs);
    const { survivors } = await this.#process.terminate({ group, gracefulMs: grace, timeoutMs: grace + timeoutMs });
    return survivors.length === 0;
  }

  /** Waits for its end; false when the time was up. */
  async waitForExit(options?: ProcessWaitOptions | null): Promise<boolean> {
    try {
      await this.#process.waitForExit({ timeoutMs: options?.timeoutMs, signal: options?.signal });
      return true;
    } catch (error) {
      if ((error as Error).name === "TimeoutError") return false;
      throw error;
    }
  }

  /** Its living children. */
  children(): Process[] {
    return this.#process.children().map((child) => new Process(child));
  }

  /** Tells whether it runs. */
  status(): ProcessStatus {
    return this.#process.status();
  }
}

/** A lock on a file, until it is released or the process ends. */
export class FileLock {
  readonly #lock: natives.FileLock | null;

  private constructor(lock: natives.FileLock | null) {
    this.#lock = lock;
  }

  /** Tries to take the lock of a file; the file is created where it is missing. */
  static tryAcquire(path: string): FileLock {
    return new FileLock(natives.FileLock.tryAcquireSync(path));
  }

  /** Tells whether this object holds the lock. */
  get acquired(): boolean {
    return this.#lock?.held ?? false;
  }

  /** Lets go of the lock. */
  release(): void {
    this.#lock?.release();
  }
}
