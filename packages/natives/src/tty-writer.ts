/**
 * Writes to a terminal that may be slow, stopped or closed.
 * @module
 */
import { native } from "./loader.js";
import type { TtyWriterHandle } from "./native.js";
import { rangeError, text } from "./options.js";
import { TextJoiner } from "./text-joiner.js";

const MOST_MS = 0xffff_ffff;

function limit(name: string, value: number): number {
  if (!(value >= 0)) throw rangeError(`TtyWriter.${name}: timeoutMs`, "milliseconds, 0 or more", value);
  return Math.min(Math.ceil(value), MOST_MS);
}

/**
 * Writes to a terminal from its own thread. `write` returns at once, and output stays in order. Writing to `process.stdout` blocks the event
 * loop while the terminal is slow; this class never does.
 *
 * The file descriptor is duplicated. Pending output is kept in memory: check the return value of `write`, and draw less while it grows. The
 * thread does not keep the process alive, so call `stop` before the process ends. Unix only.
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
  readonly #joiner = new TextJoiner();

  /**
   * @param fd An open file descriptor: 1 is standard output.
   * @throws `Error` if it is not open, and on Windows.
   */
  constructor(fd: number) {
    if (!Number.isInteger(fd) || fd < 0 || fd > 0x7fff_ffff) throw rangeError("TtyWriter: fd", "the number of an open descriptor", fd);
    this.#handle = native.openTtyWriter(fd);
  }

  /**
   * Queues text, and returns the number of pending bytes. After `stop`, or if the terminal is closed, the text is dropped. Half a surrogate pair
   * at its end is written with the next text, and before a flush as U+FFFD.
   */
  write(data: string): number {
    return this.#handle.write(this.#joiner.join(text("TtyWriter.write: data", data)));
  }

  #writeHalf(): void {
    const left = this.#joiner.end();
    if (left) this.#handle.write(left);
  }

  /** Returns the number of pending bytes. */
  pending(): number {
    return this.#handle.pending();
  }

  /** True after a write has failed: the terminal is closed, and pending output was dropped. */
  get dead(): boolean {
    return this.#handle.isDead();
  }

  /**
   * Blocks this thread until everything is written, for at most `timeoutMs`, at the end of a program. Returns true if
   * it was.
   */
  flushSync(timeoutMs: number): boolean {
    this.#writeHalf();
    return this.#handle.flush(limit("flushSync", timeoutMs));
  }

  /** Flushes for at most `timeoutMs`, drops the rest, and ends the thread. Later calls do nothing. */
  stop(timeoutMs: number): void {
    this.#writeHalf();
    this.#handle.stop(limit("stop", timeoutMs));
  }
}
