/**
 * Runs programs in a pseudo-terminal.
 * @module
 */
import { constants } from "node:os";
import { type CallOptions, called, withCallback } from "./call.js";
import type { IsolatedView } from "./isolated-view.js";
import { native, supervisor } from "./loader.js";
import type { PtyHandle, PtyPair, PtyRequest, PtyTerminal } from "./native.js";
import { handleOf } from "./sandbox-handle.js";
import type { Sandbox } from "./sandbox.js";
import { type Table, bytes, options as check, count, text, typeError } from "./options.js";
import { TextJoiner } from "./text-joiner.js";
import { inPlace } from "./view-place.js";

/** The program to run, and its terminal. */
export interface PtyOptions extends CallOptions {
  /** The shell command to run. Default: none. `argv` overrides it, and one of the two is required. */
  command?: string | undefined;
  /** A program (a name on `PATH`, or a path) and its arguments, run without a shell. Default: none. */
  argv?: readonly string[] | undefined;
  /** The shell, run as `SHELL -lc COMMAND`. Default: `"sh"`. */
  shell?: string | undefined;
  /** Let the shell read its login files first (`-lc`); false runs `SHELL -c COMMAND`. Default: true. */
  login?: boolean | undefined;
  /** `"buffer"` returns the output as bytes (`Uint8Array`). Default: `"utf8"`; invalid UTF-8 becomes U+FFFD. */
  encoding?: "utf8" | "buffer" | undefined;
  /** The working directory. Default: that of the process. */
  cwd?: string | undefined;
  /**
   * Environment variables that are added to those of this process or replace them; `undefined` removes one. `TERM` is `xterm-256color`
   * if it is not set. Login files of the shell cannot replace `PATH` and what is named here. Default: none.
   */
  env?: Record<string, string | undefined> | undefined;
  /** Columns of the terminal, clamped to 1–65,535. Default: 120. */
  cols?: number | undefined;
  /** Rows of the terminal, clamped to 1–65,535. Default: 40. */
  rows?: number | undefined;
  /** Limits the program and everything that it starts. Default: none. */
  sandbox?: Sandbox | undefined;
  /** Runs the program in this view: in its directory, unless `cwd` is given, with its variables. Default: none. */
  view?: IsolatedView | undefined;
}

/** How a session ended. */
export interface PtyResult {
  /** The exit code of the program; 128 plus the number of the signal that ended it; `undefined` if the session ended it. */
  exitCode?: number | undefined;
  /** The signal that ended the program (`"SIGHUP"`); absent if there was none, and if the session ended it. */
  signal?: string;
  /** True if it was stopped by `kill()` or by the signal. */
  cancelled: boolean;
  /** True if the time limit stopped it. */
  timedOut: boolean;
}

const PTY: Table = {
  command: "string", argv: "strings", shell: "string", login: "boolean", encoding: ["utf8", "buffer"], cwd: "string", env: "environ", cols: "u32", rows: "u32", sandbox: "sandbox", view: "view", timeoutMs: "u32", signal: "signal",
};

/** The running sessions. The references prevent the garbage collector from ending their programs. */
const running = new Set<PtySession>();

function environment(extra: Record<string, string | undefined> | undefined): Record<string, string> {
  const all: Record<string, string> = {};
  for (const [name, value] of Object.entries({ TERM: "xterm-256color", ...process.env, ...extra })) if (value !== undefined) all[name] = value;
  return all;
}

/** Returns the name of a signal. */
function signalName(number: number): string {
  return Object.entries(constants.signals).find(([, value]) => value === number)?.[0] ?? `signal ${number}`;
}

type OnChunk<T> = ((chunk: T) => void | Promise<void>) | null | undefined;

/** Queues the values for a callback while it is paused. */
class Gate {
  #open: (() => void) | undefined;
  #opened: Promise<void> | undefined;

  close(): void {
    this.#opened ??= new Promise((open) => (this.#open = open));
  }

  open(): void {
    this.#open?.();
    this.#opened = this.#open = undefined;
  }

  async #waited<T>(value: T, callback: (value: T) => unknown): Promise<void> {
    while (this.#opened) await this.#opened;
    await callback(value);
  }

  pass<T>(value: T, callback: (value: T) => unknown): unknown {
    return this.#opened ? this.#waited(value, callback) : callback(value);
  }
}

/**
 * A pseudo-terminal that runs one program at a time. An idle session uses no CPU.
 *
 * The program and everything that it started, also in other process sessions, end with this session, and with this process, however that
 * ends (on Linux, with the help of the supervisor program).
 *
 * @example
 * ```js
 * import { PtySession } from "@sinew/natives";
 * const pty = new PtySession();
 * let output = "";
 * const ended = pty.start({ command: "read name; echo hello $name" }, (chunk) => { output += chunk; });
 * pty.write("world\n");
 * console.log((await ended).exitCode, output); // 0 "world\r\nhello world\r\n"
 * ```
 */
export class PtySession {
  readonly #pty: PtyHandle = new native.PtyHandle();
  readonly #gate = new Gate();
  readonly #joiner = new TextJoiner();
  #starts = 0;

  /**
   * Starts a program. `write`, `resize` and `kill` work as soon as this method has returned its promise.
   *
   * A timeout or a signal stops the program like `kill`, and the promise resolves. If the signal is aborted already, nothing starts.
   *
   * @param options The program and its terminal.
   * @param onChunk Receives the output, decoded unless `encoding` is `"buffer"`, at most once per 8 ms or 64 KiB, and all of it before the
   *   promise settles. If it returns a promise, the next chunk waits for it, and the program may have to wait. If it throws or its
   *   promise rejects, the program is stopped and the call rejects with that error.
   * @returns How the program ended.
   * @throws `PTY session already running`; `ENOENT` if the directory or the shell does not exist; `TypeError` or `RangeError` for an option
   *   of the wrong type or range.
   */
  async start(options: PtyOptions & { encoding: "buffer" }, onChunk?: OnChunk<Uint8Array>): Promise<PtyResult>;
  async start(options: PtyOptions, onChunk?: OnChunk<string>): Promise<PtyResult>;
  async start(options: PtyOptions, onChunk?: OnChunk<never>): Promise<PtyResult> {
    const checked = inPlace(check("PtySession.start", PTY, options) as PtyOptions);
    const { signal, env, argv, encoding, sandbox, view: _, ...rest } = checked;
    if (argv === undefined) text("PtySession.start: command", rest.command);
    if (onChunk !== undefined && onChunk !== null && typeof onChunk !== "function") {
      throw typeError("PtySession.start: onChunk", "a function", onChunk);
    }
    if (signal?.aborted) return { exitCode: undefined, cancelled: true, timedOut: false };
    const file = supervisor();
    const request: PtyRequest = { ...(rest as Omit<PtyRequest, "env">), env: environment(env), kept: ["PATH", ...Object.keys(env ?? {})], bytes: encoding === "buffer" };
    if (argv) request.args = [...argv];
    if (file !== undefined) request.supervisor = file;
    const callback = onChunk as OnChunk<string | Uint8Array>;
    const deliver = (chunk: string | Uint8Array) => callback && this.#gate.pass(chunk, callback);
    running.add(this);
    // Drops an incomplete character that was meant for the previous program.
    if (this.#starts++ === 0) this.#joiner.end();
    try {
      const end = await withCallback({ signal, timeoutMs: rest.timeoutMs }, deliver, false, (abort, deliver) =>
        this.#pty.start(request, handleOf(sandbox), callback ? deliver : undefined, abort),
      );
      const result: PtyResult = { exitCode: end.exitCode ?? undefined, cancelled: end.cancelled, timedOut: end.timedOut };
      if (end.signal != null) result.signal = signalName(end.signal);
      return result;
    } finally {
      // A refused start must not remove the reference to the running session.
      if (--this.#starts === 0) {
        running.delete(this);
        this.#gate.open();
      }
    }
  }

  /**
   * Writes input to the program. Never blocks: input that the program has not read yet is queued, up to 16 MiB. Half a surrogate pair at the
   * end of a string is written with the next string.
   * @param data Keys as a terminal sends them.
   * @throws `PTY session is not running`; `ERR_OUT_OF_RANGE` if the queue is full; `TypeError`.
   */
  write(data: string | Uint8Array): void {
    if (typeof data === "string") {
      this.#pty.write(this.#joiner.join(data));
      return;
    }
    const checked = bytes("PtySession.write: data", data);
    const left = this.#joiner.end();
    if (left) this.#pty.write(left);
    this.#pty.write(checked);
  }

  /**
   * Changes the size of the terminal; the program receives SIGWINCH. Does nothing after the program has ended.
   * @param cols Columns, clamped to 1–65,535.
   * @param rows Rows, clamped to 1–65,535.
   * @throws `PTY session is not running` if nothing was ever started; `TypeError` or `RangeError`.
   */
  resize(cols: number, rows: number): void {
    this.#pty.resize(count("PtySession.resize: cols", cols), count("PtySession.resize: rows", rows));
  }

  /**
   * Stops the program and everything that it started: `SIGHUP`, a quarter of a second later `SIGTERM` (on macOS at once), and after half a
   * second `SIGKILL`. It does not wait for queued input or a slow callback. The result of `start` is `cancelled`.
   * @throws `PTY session is not running`.
   */
  kill(): void {
    this.#pty.kill();
    this.#gate.open();
  }

  /**
   * Pauses the output: no chunk is delivered until `resume()`. The program runs until its terminal is full, and then waits. If it ends, the
   * session waits for `resume()`, `kill()`, the signal or the time limit. Does nothing after the session has ended.
   * @throws `PTY session is not running` if nothing was ever started.
   */
  pause(): void {
    this.#pty.pause(true);
    if (this.#starts > 0) this.#gate.close();
  }

  /**
   * Resumes the output. Does nothing if it is not paused.
   * @throws `PTY session is not running` if nothing was ever started.
   */
  resume(): void {
    this.#pty.pause(false);
    this.#gate.open();
  }

  /** The columns of the terminal; `undefined` if no program runs. */
  get cols(): number | undefined {
    return this.#pty.size()?.[0];
  }

  /** The rows of the terminal; `undefined` if no program runs. */
  get rows(): number | undefined {
    return this.#pty.size()?.[1];
  }

  /** The process id of the program; `undefined` until it runs ({@link PtySession.spawned} waits for that), and after its end. */
  get pid(): number | undefined {
    return this.#pty.terminal()?.pid;
  }

  /** Returns the program and its terminal; blocks until the program has started. @internal */
  terminal(): PtyTerminal | undefined {
    return this.#pty.waitTerminal() ?? undefined;
  }

  /** Opens a terminal without a program; returns the descriptors of both ends, which the caller closes. @internal */
  static open(cols: number, rows: number): PtyPair {
    return native.openPty(count("PtySession.open: cols", cols), count("PtySession.open: rows", rows));
  }

  /**
   * Waits until the program runs.
   * @returns Its process id.
   * @throws `PTY session is not running` if no program runs, or if it could not be started; the promise of `start` has the reason.
   * @example
   * ```js
   * import { Process, PtySession } from "@sinew/natives";
   * const pty = new PtySession();
   * const ended = pty.start({ argv: ["sleep", "60"], env: { LANG: undefined } });
   * console.log(Process.fromPid(await pty.spawned()).status()); // running
   * pty.kill();
   * console.log((await ended).cancelled); // true
   * ```
   */
  async spawned(): Promise<number> {
    const terminal = await called(() => this.#pty.started());
    if (!terminal) throw Object.assign(new Error("PTY session is not running"), { code: "ERR_INVALID_STATE" });
    return terminal.pid;
  }

  /** The number of queued input bytes; 0 without a program. */
  get pendingBytes(): number {
    return this.#pty.pendingBytes;
  }
}
