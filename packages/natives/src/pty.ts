/**
 * Programs that need a terminal.
 * @module
 */
import { type CallOptions, withCallback } from "./call.js";
import { native, supervisor } from "./loader.js";
import type { PtyHandle } from "./native.js";
import { type Table, bytes, options as check, count, typeError } from "./options.js";

/** A program to run and the terminal to run it on. */
export interface PtyOptions extends CallOptions {
  /** The command line that the shell runs. */
  command: string;
  /** The shell, run as `SHELL -lc COMMAND`. Default: `"sh"`. */
  shell?: string | undefined;
  /** The working directory. Default: that of the process. */
  cwd?: string | undefined;
  /** Variables beside those of the process; they beat them. `TERM` is `xterm-256color` where neither has one. Default: none. */
  env?: Record<string, string> | undefined;
  /** Columns of the terminal, clamped to 20–400. Default: 120. */
  cols?: number | undefined;
  /** Rows of the terminal, clamped to 5–200. Default: 40. */
  rows?: number | undefined;
}

/** The end of a session. */
export interface PtyResult {
  /** The program's exit code, 128 and the signal's number when a signal ended it; `undefined` when the session ended it. */
  exitCode?: number | undefined;
  /** True when it was killed, by `kill()` or by the signal. */
  cancelled: boolean;
  /** True when the time limit ended it. */
  timedOut: boolean;
}

const PTY: Table = {
  command: "string!", shell: "string", cwd: "string", env: "env", cols: "u32", rows: "u32", timeoutMs: "u32", signal: "signal",
};

/** Those that run: one that nobody holds any more must not be collected under its program. */
const running = new Set<PtySession>();

function environment(extra: Record<string, string> | undefined): Record<string, string> {
  const all: Record<string, string> = { TERM: "xterm-256color" };
  for (const [name, value] of Object.entries(process.env)) if (value !== undefined) all[name] = value;
  return Object.assign(all, extra);
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
  #starts = 0;

  /**
   * Starts a program. `write`, `resize` and `kill` work as soon as this has returned its promise.
   *
   * A timeout and a signal end the program and resolve, as `kill` does; they do not reject. A signal that is aborted
   * already starts nothing.
   *
   * @param options A program to run and the terminal to run it on.
   * @param onChunk Gets the output, decoded, at most once per 8 ms or 64 KiB; all of it before the promise settles. A
   *   promise that it returns is awaited before the next chunk. While it runs the program may have to wait. When it throws or
   *   its promise rejects, the program is ended and the call rejects with that.
   * @returns How it ended.
   * @throws `PTY session already running`; a folder or a shell that is not there (`ENOENT`); `TypeError` or `RangeError` for
   *   an option of the wrong type or range.
   */
  async start(options: PtyOptions, onChunk?: ((chunk: string) => void | Promise<void>) | null): Promise<PtyResult> {
    const { signal, env, ...rest } = check("PtySession.start", PTY, options) as PtyOptions;
    if (onChunk !== undefined && onChunk !== null && typeof onChunk !== "function") {
      throw typeError("PtySession.start: onChunk", "a function", onChunk);
    }
    if (signal?.aborted) return { exitCode: undefined, cancelled: true, timedOut: false };
    const file = supervisor();
    const request = { ...rest, env: environment(env), ...(file === undefined ? {} : { supervisor: file }) };
    running.add(this);
    this.#starts++;
    try {
      const { exitCode, cancelled, timedOut } = await withCallback({ signal, timeoutMs: rest.timeoutMs }, onChunk ?? (() => {}), false, (abort, deliver) =>
        this.#pty.start(request, onChunk ? deliver : undefined, abort),
      );
      return { exitCode: exitCode ?? undefined, cancelled, timedOut };
    } finally {
      // A start that was refused must not let go of the one that runs.
      if (--this.#starts === 0) running.delete(this);
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
  }

  /** The number of bytes that wait to be typed; 0 without a program. */
  get pendingBytes(): number {
    return this.#pty.pendingBytes;
  }
}
