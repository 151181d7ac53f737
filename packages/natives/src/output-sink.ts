/**
 * Keeps the end of an output of any size.
 * @module
 */
import { native } from "./loader.js";
import type { OutputSink as NativeSink } from "./native.js";
import { type Table, bytes, options as check } from "./options.js";
import { TextJoiner } from "./text-joiner.js";

/** The options of a sink. */
export interface OutputSinkOptions {
  /** Number of bytes at the end of the output to keep in memory. Default: 51200. */
  tailBytes?: number | undefined;
  /**
   * The file for the complete output, once there is more than `tailBytes`. It is created then, readable for its owner only, and overwritten if it
   * exists. The caller deletes it. Default: none.
   */
  spillPath?: string | undefined;
}

/** The state of a sink. */
export interface OutputDump {
  /** The end of the output, or all of it if it is not `truncated`. Begins with a complete character; invalid UTF-8 is U+FFFD. */
  text: string;
  /** True if the beginning of the output is missing in `text`. */
  truncated: boolean;
  /** True if `text` begins inside of a line. */
  partialLine: boolean;
  /** Total number of bytes. */
  totalBytes: number;
  /** Total number of lines, including a last one without a line end. */
  totalLines: number;
  /** Number of bytes of the output in `text`. */
  shownBytes: number;
  /** Number of lines in `text`. */
  shownLines: number;
  /** The file with the complete output; absent if there is none. */
  spillPath?: string;
  /** Why the file does not have the complete output (for example, a full disk); otherwise absent. */
  spillError?: string;
}

const SINK: Table = { tailBytes: "u32", spillPath: "string" };

/**
 * Accepts output of any size, keeps its end in memory and, if you name a file, writes all of it there. Memory use stays below twice
 * `tailBytes` plus one push. If the file cannot be written, the end of the output is still available.
 *
 * @example
 * ```js
 * import { OutputSink } from "@sinew/natives";
 * const sink = new OutputSink({ tailBytes: 8 });
 * sink.push("first line\n");
 * sink.push("last\n");
 * console.log(sink.dump()); // { text: "ne\nlast\n", truncated: true, totalLines: 2, … }
 * ```
 */
export class OutputSink {
  readonly #sink: NativeSink;
  readonly #joiner = new TextJoiner();

  /**
   * Creates an empty sink. No file is created yet.
   * @param options How much to keep, and the file.
   * @throws `TypeError` or `RangeError` for an option of the wrong type or range.
   */
  constructor(options: OutputSinkOptions | null = {}) {
    this.#sink = new native.OutputSink(check("OutputSink", SINK, options ?? {}));
  }

  /**
   * Adds output. It may be cut anywhere, even inside of a character or of a surrogate pair.
   * @param data Text or bytes.
   * @throws `TypeError` for anything else.
   */
  push(data: string | Uint8Array): void {
    if (typeof data === "string") {
      this.#sink.push(this.#joiner.join(data));
      return;
    }
    const checked = bytes("OutputSink.push: data", data);
    // Bytes do not complete a surrogate pair.
    const left = this.#joiner.end();
    if (left) this.#sink.push(left);
    this.#sink.push(checked);
  }

  /**
   * Returns the end of the output, and counts for all of it. Can be called at any time. Half a surrogate pair at the end is not part of it yet.
   * @returns The current state.
   */
  dump(): OutputDump {
    return this.#sink.dump();
  }
}
