/**
 * Output to a terminal that may be slow, stopped or gone.
 * @module
 */
import { native } from "./loader.js";
import type { TtyWriterHandle } from "./native.js";
import { rangeError, text } from "./options.js";

const MOST_MS = 0xffff_ffff;

function limit(name: string, value: number): number {
  if (!(value >= 0)) throw rangeError(`TtyWriter.${name}: timeoutMs`, "milliseconds, 0 or more", value);
  return Math.min(Math.ceil(value), MOST_MS);
}

/**
 * Writes to a terminal from a thread of its own: `write` returns at once, whatever the terminal does, and what was written comes in order. A
 * writer of `process.stdout` blocks the event loop where a terminal is slow; this one never does.
 *
 * The descriptor is duplicated. What waits lies in memory: look at what `write` returns, and draw less while it grows. The thread does
 * not keep the process alive, so call `stop` before it ends. Unix only.
 *
 * @example
 * ```js
 * import { TtyWriter } from "@sinew/natives";
 * const terminal = new TtyWriter(1);
 * terminal.write("\x1b[1mhello\x1b[0m\n");
 * terminal.stop(1000);
 * ```
 */
export class TtyWriter {
  readonly #handle: TtyWriterHandle;

  /**
   * @param fd An open descriptor: 1 is standard output.
   * @throws `Error` where it is not open, and on Windows.
   */
  constructor(fd: number) {
    if (!Number.isInteger(fd) || fd < 0 || fd > 0x7fff_ffff) throw rangeError("TtyWriter: fd", "the number of an open descriptor", fd);
    this.#handle = native.openTtyWriter(fd);
  }

  /** Puts text behind what waits; the number of bytes that wait now. After `stop`, or when the terminal is gone, it is dropped. */
  write(data: string): number {
    return this.#handle.write(text("TtyWriter.write: data", data));
  }

  /** The number of bytes that the terminal has not taken yet. */
  pending(): number {
    return this.#handle.pending();
  }

  /** Tells whether a write failed: the terminal is gone, and what waited was dropped. */
  get dead(): boolean {
    return this.#handle.isDead();
  }

  /** Blocks this thread until everything is written, or for `timeoutMs`; tells whether everything is. For the end of a program. */
  flushSync(timeoutMs: number): boolean {
    return this.#handle.flush(limit("flushSync", timeoutMs));
  }

  /** Flushes for at most `timeoutMs`, drops what is left, and ends the thread. Later calls do nothing. */
  stop(timeoutMs: number): void {
    this.#handle.stop(limit("stop", timeoutMs));
  }
}
