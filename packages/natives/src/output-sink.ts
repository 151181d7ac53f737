/**
 * Output of any size within a limit.
 * @module
 */
import { native } from "./loader.js";
import type { OutputSink as NativeSink } from "./native.js";
import { type Table, bytes, options as check } from "./options.js";

/** The options of a sink. */
export interface OutputSinkOptions {
  /** The number of bytes of the end that stay in memory. Default: 51200. */
  tailBytes?: number | undefined;
  /**
   * The file that gets everything once there is more than `tailBytes`. It is created then, for its owner alone, and what
   * stood in it is lost; deleting it is the caller's. Default: none.
   */
  spillPath?: string | undefined;
}

/** The state of a sink. */
export interface OutputDump {
  /** The end of the output; all of it when not `truncated`. Begins with a whole character; what is not UTF-8 is U+FFFD. */
  text: string;
  /** True when `text` lacks the beginning. */
  truncated: boolean;
  /** True when `text` begins inside a line. */
  partialLine: boolean;
  /** The number of bytes in all. */
  totalBytes: number;
  /** The number of lines in all; a last one without a line end counts. */
  totalLines: number;
  /** The number of bytes of the output that `text` shows. */
  shownBytes: number;
  /** The number of lines of `text`. */
  shownLines: number;
  /** The file with the whole output; absent where there is none. */
  spillPath?: string;
  /** The reason why the whole output is not in the file that was asked for (a full disk); absent when it is there. */
  spillError?: string;
}

const SINK: Table = { tailBytes: "u32", spillPath: "string" };

/**
 * Takes output of any size, keeps its end in memory and, if asked, all of it in a file. Memory stays below twice
 * `tailBytes` and one push. A file that cannot be written loses the file, never the end.
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

  /**
   * An empty sink; it touches no file yet.
   * @param options What to keep, and where.
   * @throws `TypeError` or `RangeError` for an option of the wrong type or range.
   */
  constructor(options: OutputSinkOptions | null = {}) {
    this.#sink = new native.OutputSink(check("OutputSink", SINK, options ?? {}));
  }

  /**
   * Takes in more output, cut anywhere, also inside a character.
   * @param data Text or bytes.
   * @throws `TypeError` for anything else.
   */
  push(data: string | Uint8Array): void {
    this.#sink.push(typeof data === "string" ? data : bytes("OutputSink.push: data", data));
  }

  /**
   * The end of the output and the facts about the rest. May be called any number of times, between pushes too.
   * @returns What there is now.
   */
  dump(): OutputDump {
    return this.#sink.dump();
  }
}
