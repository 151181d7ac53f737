/**
 * Terminal input, cut into whole sequences.
 * @module
 */
import { EventEmitter } from "node:events";
import { native } from "./loader.js";
import type { InputBuffer } from "./native.js";
import { count, typeError } from "./options.js";

/** The options of a {@link StdinBuffer}. */
export interface StdinBufferOptions {
  /** Milliseconds after which an unfinished sequence comes out as it is: a lone ESC is a key then. Default 10. */
  timeout?: number | undefined;
}

/** The events of a {@link StdinBuffer}. */
export interface StdinBufferEvents {
  /** One character or one whole escape sequence. */
  data: [sequence: string];
  /** The pasted text, without the marks of bracketed paste. */
  paste: [text: string];
  /** The cursor's position, counted from 1: the report announced by {@link StdinBuffer.awaitCursorReport}. */
  cursorReport: [row: number, column: number];
}

/**
 * Collects terminal input until sequences and characters are whole, wherever a chunk was split, and tells pastes apart.
 *
 * An unfinished sequence is given up after `timeout` milliseconds, at 256 bytes (a control string such as a clipboard
 * reply: 1 MiB), or when an ESC starts another. Its timer does not keep the process alive.
 *
 * @example
 * ```js
 * import { StdinBuffer, parseKey } from "@sinew/natives";
 * const input = new StdinBuffer();
 * input.on("data", (sequence) => console.log(parseKey(sequence)));
 * input.on("paste", (text) => console.log(text.length));
 * process.stdin.on("data", (chunk) => input.process(chunk));
 * ```
 */
export class StdinBuffer extends EventEmitter<StdinBufferEvents> {
  readonly #buffer: InputBuffer = new native.InputBuffer();
  readonly #timeout: number;
  #timer: NodeJS.Timeout | undefined;

  /** @throws TypeError or RangeError for a `timeout` that is no whole number from 0 on. */
  constructor(options: StdinBufferOptions = {}) {
    super();
    const timeout = options?.timeout;
    this.#timeout = timeout === undefined || timeout === null ? 10 : count("StdinBuffer: timeout", timeout);
  }

  /**
   * Takes the next chunk and emits what is whole. Bytes may end inside a character.
   * @throws TypeError when `chunk` is neither string nor bytes.
   */
  process(chunk: string | Uint8Array): void {
    if (typeof chunk !== "string" && !(chunk instanceof Uint8Array)) {
      throw typeError("StdinBuffer.process: chunk", "a string or a Uint8Array", chunk);
    }
    this.#stop();
    const inputs = this.#buffer.feed(chunk);
    // Before the handlers run: one of them may throw, or feed more.
    this.#wait();
    for (const input of inputs) this.#emitInput(input);
  }

  /**
   * Tells that the terminal was asked where the cursor is (`CSI 6 n`): the next `CSI row ; column R` is emitted as
   * `cursorReport`. Without a question it is a key, F3 with modifiers.
   */
  awaitCursorReport(): void {
    this.#buffer.awaitCursorReport();
  }

  /** Gives up waiting and returns what was pending, without emitting it. */
  flush(): string[] {
    this.#stop();
    return this.#buffer.flush().map((input) => input.slice(1));
  }

  /** The input that is not complete yet. */
  getBuffer(): string {
    return this.#buffer.pending();
  }

  /** Forgets what is pending, a paste under way and questions too. */
  clear(): void {
    this.#stop();
    this.#buffer.clear();
  }

  /** Forgets everything, handlers too. */
  destroy(): void {
    this.clear();
    this.removeAllListeners();
  }

  #emitInput(input: string): void {
    const text = input.slice(1);
    if (input[0] === "s") this.emit("data", text);
    else if (input[0] === "p") this.emit("paste", text);
    else {
      const [row, column] = text.split(";").map(Number);
      this.emit("cursorReport", row!, column!);
    }
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #wait(): void {
    if (!this.#buffer.isWaiting()) return;
    this.#timer = setTimeout(() => {
      for (const sequence of this.flush()) this.emit("data", sequence);
    }, this.#timeout);
    this.#timer.unref?.();
  }
}
