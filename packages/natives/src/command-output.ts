/**
 * The collected output of a command, and its failure.
 * @module
 */
import type { ShellRunResult } from "./shell.js";

/** A piece of output. @internal */
export type Data = string | Uint8Array;

const LIMIT = 100_000_000;

/** The maximum number of characters of standard error in a message. */
const SHOWN = 2000;

type Name = "stdout" | "stderr" | "all";

/** Collects the streams of a command, up to a limit. @internal */
export class OutputBuffer {
  readonly #text = { stdout: "", stderr: "", all: "" };
  readonly #bytes: Record<Name, Uint8Array[]> = { stdout: [], stderr: [], all: [] };
  readonly #size = { stdout: 0, stderr: 0 };
  readonly #binary: boolean;
  readonly #limit: number;

  constructor(binary: boolean, limit = LIMIT) {
    this.#binary = binary;
    this.#limit = limit;
  }

  /** Stores a piece. If it exceeds the limit, stores the part that fits and throws an error with the stored output. */
  push(stream: "stdout" | "stderr", data: Data, strip: boolean): void {
    const room = this.#limit - this.#size[stream];
    const isOver = data.length > room;
    this.#keep(stream, isOver ? cut(data, room) : data);
    if (isOver) {
      const message = `${stream} is longer than maxBuffer (${this.#limit}): raise it, or read the output as it arrives with onChunk and buffer: false`;
      throw Object.assign(new RangeError(message), { code: "ERR_CHILD_PROCESS_STDIO_MAXBUFFER", ...this.result(strip) });
    }
  }

  #keep(stream: "stdout" | "stderr", data: Data): void {
    this.#size[stream] += data.length;
    for (const name of [stream, "all"] as const) {
      if (typeof data === "string") this.#text[name] += data;
      else this.#bytes[name].push(data);
    }
  }

  /** Returns the collected output. */
  result(strip: boolean): Record<Name, Data> {
    const of = (name: Name) => (this.#binary ? stripBytes(Buffer.concat(this.#bytes[name]), strip) : stripText(this.#text[name], strip));
    return { stdout: of("stdout"), stderr: of("stderr"), all: of("all") };
  }
}

/** Returns the beginning of a piece, without an incomplete character at its end. */
function cut(data: Data, length: number): Data {
  if (typeof data !== "string") return data.subarray(0, length);
  const last = data.charCodeAt(length - 1);
  return data.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length);
}

function stripText(text: string, strip: boolean): string {
  if (!strip || !text.endsWith("\n")) return text;
  return text.slice(0, text.endsWith("\r\n") ? -2 : -1);
}

function stripBytes(bytes: Uint8Array, strip: boolean): Uint8Array {
  if (!strip || bytes.at(-1) !== 10) return bytes;
  return bytes.subarray(0, bytes.at(-2) === 13 ? -2 : -1);
}

/** Describes how a command ended. */
function ending({ exitCode, signal, timedOut, cancelled }: ShellRunResult): string {
  if (timedOut) return "Command timed out";
  if (cancelled) return "Command was cancelled";
  return exitCode === undefined ? `Command was ended by ${signal ?? "a signal"}` : `Command failed with exit code ${exitCode}`;
}

function textOf(data: unknown): string {
  return typeof data === "string" ? data : data instanceof Uint8Array ? Buffer.from(data).toString() : "";
}

/**
 * The failure of a command that was run with `reject: true`. Its `name` is `"CommandError"`, or `"TimeoutError"` or
 * `"AbortError"` if the time limit or the signal stopped the command. Its `code` is `"ERR_COMMAND_FAILED"`,
 * `"ERR_TIMEOUT"` or `"ABORT_ERR"`.
 *
 * @example
 * ```js
 * import { CommandError, run } from "@sinew/natives";
 * try {
 *   await run(["sh", "-c", "echo oops >&2; exit 2"], { reject: true });
 * } catch (error) {
 *   console.log(error instanceof CommandError, error.exitCode, error.stderr); // true 2 oops
 * }
 * ```
 */
export class CommandError extends Error {
  /** The kind of the failure. */
  readonly code: "ERR_COMMAND_FAILED" | "ERR_TIMEOUT" | "ABORT_ERR";
  /** The command, quoted for a shell. */
  readonly command: string;
  /** The exit code; `undefined` if there is none. */
  readonly exitCode: number | undefined;
  /** The signal that ended the command; `undefined` if there was none. */
  readonly signal: string | undefined;
  /** True if the signal of the call stopped it. */
  readonly cancelled: boolean;
  /** True if the time limit stopped it. */
  readonly timedOut: boolean;
  /** Its standard output, if it was collected. */
  readonly stdout: string | Uint8Array | undefined;
  /** Its standard error, if it was collected. */
  readonly stderr: string | Uint8Array | undefined;
  /** Both, if they were collected. */
  readonly all: string | Uint8Array | undefined;

  /**
   * @param command The command.
   * @param result How it ended.
   * @param reason Why it was cancelled, which becomes the `cause`.
   */
  constructor(command: string, result: ShellRunResult & Partial<Record<Name, string | Uint8Array>>, reason?: unknown) {
    const errors = textOf(result.stderr).slice(-SHOWN);
    super(`${ending(result)}: ${command}${errors && `\n${errors}`}`, result.cancelled && reason !== undefined ? { cause: reason } : undefined);
    this.name = result.timedOut ? "TimeoutError" : result.cancelled ? "AbortError" : "CommandError";
    this.code = result.timedOut ? "ERR_TIMEOUT" : result.cancelled ? "ABORT_ERR" : "ERR_COMMAND_FAILED";
    this.command = command;
    this.exitCode = result.exitCode;
    this.signal = result.signal;
    this.cancelled = result.cancelled;
    this.timedOut = result.timedOut;
    this.stdout = result.stdout;
    this.stderr = result.stderr;
    this.all = result.all;
  }
}
