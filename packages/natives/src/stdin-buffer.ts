/**
 * Splits terminal input into complete sequences.
 * @module
 */
import { EventEmitter } from "node:events";
import { native } from "./loader.js";
import type { InputBuffer } from "./native.js";
import { count, typeError } from "./options.js";

/** The options of a {@link StdinBuffer}. */
export interface StdinBufferOptions {
  /** Time after which an incomplete sequence is emitted as it is, in milliseconds: a single ESC is then a key. Default 10. */
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
 * Collects terminal input and emits complete sequences and characters, wherever a chunk was split. Pastes are separate events.
 *
 * An incomplete sequence ends after `timeout` milliseconds, at 256 bytes (1 MiB for a control string such as a clipboard reply), or when an
 * ESC starts another one. Its timer does not keep the process alive.
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

  /** @throws TypeError or RangeError for a `timeout` that is not a whole number from 0. */
  constructor(options: StdinBufferOptions = {}) {
    super();
    const timeout = options?.timeout;
    this.#timeout = timeout === undefined || timeout === null ? 10 : count("StdinBuffer: timeout", timeout);
  }

  /**
   * Processes a chunk and emits what is complete. Bytes may end inside of a character.
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
   * Announces that you asked the terminal for the cursor position (`CSI 6 n`): the next `CSI row ; column R` is emitted as `cursorReport`.
   * Otherwise it is a key, F3 with modifiers.
   */
  awaitCursorReport(): void {
    this.#buffer.awaitCursorReport();
  }

  /** Returns the pending input without emitting it, and clears it. */
  flush(): string[] {
    this.#stop();
    return this.#buffer.flush().map((input) => input.slice(1));
  }

  /** The pending input. */
  getBuffer(): string {
    return this.#buffer.pending();
  }

  /** Clears the pending input, an unfinished paste, and announced cursor reports. */
  clear(): void {
    this.#stop();
    this.#buffer.clear();
  }

  /** Clears everything, including the event handlers. */
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
