/**
 * Programs that need a terminal.
 * @module
 */
import { constants } from "node:os";
import { type CallOptions, called, withCallback } from "./call.js";
import { native, supervisor } from "./loader.js";
import type { PtyHandle, PtyPair, PtyRequest, PtyTerminal } from "./native.js";
import { handleOf } from "./sandbox-handle.js";
import type { Sandbox } from "./sandbox.js";
import { type Table, bytes, options as check, count, text, typeError } from "./options.js";

/** A program to run and the terminal to run it on. */
export interface PtyOptions extends CallOptions {
  /** The command line that the shell runs. Default: none; `argv` beats it, and one of them has to be there. */
  command?: string | undefined;
  /** A program, a name on `PATH` or a path, and its arguments, run without a shell. Default: none. */
  argv?: readonly string[] | undefined;
  /** The shell, run as `SHELL -lc COMMAND`. Default: `"sh"`. */
  shell?: string | undefined;
  /** The shell reads its login files first (`-lc`); false runs `SHELL -c COMMAND`. Default: true. */
  login?: boolean | undefined;
  /** `"buffer"` gives the output as bytes (`Uint8Array`). Default: `"utf8"`, text; what is not UTF-8 becomes U+FFFD. */
  encoding?: "utf8" | "buffer" | undefined;
  /** The working directory. Default: that of the process. */
  cwd?: string | undefined;
  /**
   * Variables beside those of the process; they beat them, and `undefined` takes one away. `TERM` is `xterm-256color` where
   * neither has one. Default: none.
   */
  env?: Record<string, string | undefined> | undefined;
  /** Columns of the terminal, clamped to 20–400. Default: 120. */
  cols?: number | undefined;
  /** Rows of the terminal, clamped to 5–200. Default: 40. */
  rows?: number | undefined;
  /** Limits the program and everything that it starts. Default: none. */
  sandbox?: Sandbox | undefined;
}

/** The end of a session. */
export interface PtyResult {
  /** The program's exit code, 128 and the signal's number when a signal ended it; `undefined` when the session ended it. */
  exitCode?: number | undefined;
  /** The signal that ended the program (`"SIGHUP"`); absent where none did, and where the session ended it. */
  signal?: string;
  /** True when it was killed, by `kill()` or by the signal. */
  cancelled: boolean;
  /** True when the time limit ended it. */
  timedOut: boolean;
}

const PTY: Table = {
  command: "string", argv: "strings", shell: "string", login: "boolean", encoding: ["utf8", "buffer"], cwd: "string", env: "environ", cols: "u32", rows: "u32", sandbox: "sandbox", timeoutMs: "u32", signal: "signal",
};

/** Those that run: one that nobody holds any more must not be collected under its program. */
const running = new Set<PtySession>();

function environment(extra: Record<string, string | undefined> | undefined): Record<string, string> {
  const all: Record<string, string> = {};
  for (const [name, value] of Object.entries({ TERM: "xterm-256color", ...process.env, ...extra })) if (value !== undefined) all[name] = value;
  return all;
}

/** The name of a signal's number. */
function signalName(number: number): string {
  return Object.entries(constants.signals).find(([, value]) => value === number)?.[0] ?? `signal ${number}`;
}

type OnChunk<T> = ((chunk: T) => void | Promise<void>) | null | undefined;

/** Holds what a callback would get, while it is paused. */
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
 * A pseudo-terminal and one program on it at a time. A session that waits uses no CPU.
 *
 * The program and all that came from it, also in other sessions, end with the session, and with this process however
 * that ends (on Linux, by the supervisor process beside the addon).
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
  #starts = 0;

  /**
   * Starts a program. `write`, `resize` and `kill` work as soon as this has returned its promise.
   *
   * A timeout and a signal end the program and resolve, as `kill` does; they do not reject. A signal that is aborted
   * already starts nothing.
   *
   * @param options A program to run and the terminal to run it on.
   * @param onChunk Gets the output, decoded unless `encoding` says otherwise, at most once per 8 ms or 64 KiB; all of it before the promise settles. A
   *   promise that it returns is awaited before the next chunk. While it runs the program may have to wait. When it throws or
   *   its promise rejects, the program is ended and the call rejects with that.
   * @returns How it ended.
   * @throws `PTY session already running`; a folder or a shell that is not there (`ENOENT`); `TypeError` or `RangeError` for
   *   an option of the wrong type or range.
   */
  async start(options: PtyOptions & { encoding: "buffer" }, onChunk?: OnChunk<Uint8Array>): Promise<PtyResult>;
  async start(options: PtyOptions, onChunk?: OnChunk<string>): Promise<PtyResult>;
  async start(options: PtyOptions, onChunk?: OnChunk<never>): Promise<PtyResult> {
    const { signal, env, argv, encoding, sandbox, ...rest } = check("PtySession.start", PTY, options) as PtyOptions;
    if (argv === undefined) text("PtySession.start: command", rest.command);
    if (onChunk !== undefined && onChunk !== null && typeof onChunk !== "function") {
      throw typeError("PtySession.start: onChunk", "a function", onChunk);
    }
    if (signal?.aborted) return { exitCode: undefined, cancelled: true, timedOut: false };
    const file = supervisor();
    const request: PtyRequest = { ...(rest as Omit<PtyRequest, "env">), env: environment(env), bytes: encoding === "buffer" };
    if (argv) request.args = [...argv];
    if (file !== undefined) request.supervisor = file;
    const callback = onChunk as OnChunk<string | Uint8Array>;
    const deliver = (chunk: string | Uint8Array) => callback && this.#gate.pass(chunk, callback);
    running.add(this);
    this.#starts++;
    try {
      const end = await withCallback({ signal, timeoutMs: rest.timeoutMs }, deliver, false, (abort, deliver) =>
        this.#pty.start(request, handleOf(sandbox), callback ? deliver : undefined, abort),
      );
      const result: PtyResult = { exitCode: end.exitCode ?? undefined, cancelled: end.cancelled, timedOut: end.timedOut };
      if (end.signal != null) result.signal = signalName(end.signal);
      return result;
    } finally {
      // A start that was refused must not let go of the one that runs.
      if (--this.#starts === 0) {
        running.delete(this);
        this.#gate.open();
      }
    }
  }

  /**
   * Types. Never blocks: what the program does not take yet is queued, up to 16 MiB.
   * @param data Keys as a terminal sends them.
   * @throws `PTY session is not running`; more than the queue holds (`ERR_OUT_OF_RANGE`); `TypeError`.
   */
  write(data: string | Uint8Array): void {
    this.#pty.write(typeof data === "string" ? data : bytes("PtySession.write: data", data));
  }

  /**
   * Changes the size of the terminal; the program gets SIGWINCH. Does nothing after the end.
   * @param cols Columns, clamped to 20–400.
   * @param rows Rows, clamped to 5–200.
   * @throws `PTY session is not running` when nothing was ever started; `TypeError` or `RangeError`.
   */
  resize(cols: number, rows: number): void {
    this.#pty.resize(count("PtySession.resize: cols", cols), count("PtySession.resize: rows", rows));
  }

  /**
   * Ends the program and all that came from it: hang-up and `SIGTERM`, half a second later `SIGKILL`. It does not wait
   * behind queued input or a slow callback. The result of `start` is `cancelled`.
   * @throws `PTY session is not running`.
   */
  kill(): void {
    this.#pty.kill();
    this.#gate.open();
  }

  /**
   * Stops taking output: no chunk is handed over before `resume()`. The program runs on until its terminal is full, and waits
   * then. A program that ends leaves its session waiting for `resume()`, `kill()`, the signal or the time limit. Does nothing
   * after the end.
   * @throws `PTY session is not running` when nothing was ever started.
   */
  pause(): void {
    this.#pty.pause(true);
    if (this.#starts > 0) this.#gate.close();
  }

  /**
   * Goes on taking output. Does nothing when it is not paused.
   * @throws `PTY session is not running` when nothing was ever started.
   */
  resume(): void {
    this.#pty.pause(false);
    this.#gate.open();
  }

  /** The process id of the program; `undefined` until it runs ({@link PtySession.spawned} waits for that), and after its end. */
  get pid(): number | undefined {
    return this.#pty.terminal()?.pid;
  }

  /** The program and its terminal; waits for its start without the event loop. @internal */
  terminal(): PtyTerminal | undefined {
    return this.#pty.waitTerminal() ?? undefined;
  }

  /** A terminal without a program: the descriptors of both ends, which the caller closes. @internal */
  static open(cols: number, rows: number): PtyPair {
    return native.openPty(count("PtySession.open: cols", cols), count("PtySession.open: rows", rows));
  }

  /**
   * Waits until the program runs.
   * @returns Its process id.
   * @throws `PTY session is not running` when none runs or it could not be started, which the promise of `start` tells more about.
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

  /** The number of bytes that wait to be typed; 0 without a program. */
  get pendingBytes(): number {
    return this.#pty.pendingBytes;
  }
}
