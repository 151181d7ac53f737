/**
 * Splits terminal input into complete sequences.
 * @module
 */
import { EventEmitter } from "node:events";
import { native } from "./loader.js";
import type { InputBuffer } from "./native.js";
import { count, typeError } from "./options.js";
import { TextJoiner } from "./text-joiner.js";

/** The time in milliseconds to wait for the rest of a sequence after `ESC` or `ESC [`, which are keys on their own. */
const PREFIX_TIMEOUT = 250;
/** The time in milliseconds without input after which an incomplete reply of the terminal is dropped. */
const REPLY_TIMEOUT = 1000;
/** The time in milliseconds after which an ESC at the end of a paste counts as the key that ends the paste. */
const PASTE_ESCAPE_TIMEOUT = 100;
/** Longer pending input is a reply. */
const LONGEST_KEY = 64;
const PASTE_END = "\x1b[201~";
/** Matches the rest of a sequence whose ESC was already emitted as a key. */
const TAIL = /^(?:\[M[^]{3}|\[[\x30-\x3f]*[\x20-\x2f]*[\x40-\x7e]|O[\d;]*[\x40-\x7e]|[\]P_^X][^\x07\x1b]*(?:\x07|\x1b\\))/;

/** The options of a {@link StdinBuffer}. */
export interface StdinBufferOptions {
  /** Time after which a single ESC is a key, in milliseconds. Default 10. */
  timeout?: number | undefined;
  /**
   * Time without input after which a paste whose end mark is missing ends by itself, in milliseconds: what has arrived is emitted as a paste, and
   * later input is keys again. Default 1000.
   */
  pasteTimeout?: number | undefined;
}

/** The events of a {@link StdinBuffer}. */
export interface StdinBufferEvents {
  /** One character or one whole escape sequence. */
  data: [sequence: string];
  /** The pasted text, without the marks of bracketed paste. One of more than 64 MiB is emitted in parts. */
  paste: [text: string];
  /** The cursor's position, counted from 1: the report announced by {@link StdinBuffer.awaitCursorReport}. */
  cursorReport: [row: number, column: number];
}

/**
 * Collects terminal input and emits complete sequences and characters, regardless of how chunks are split. Pastes are
 * separate events.
 *
 * Input may be split anywhere, and the rest may arrive late. It is never emitted as if it were typed.
 *
 * - A single ESC is a key after `timeout` milliseconds. The rest of a sequence that arrives up to 250 ms later is dropped.
 * - `ESC [` and the like are a key with alt after 250 ms.
 * - A longer part of a key waits for its rest. It ends at 256 bytes, or when an ESC starts another sequence.
 * - A control string, such as a clipboard reply, is dropped after a second without input. It ends at 1 MiB.
 * - Part of a character waits for its rest.
 *
 * The timers do not keep the process alive.
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
  readonly #joiner = new TextJoiner();
  readonly #timeout: number;
  readonly #pasteTimeout: number;
  #timer: NodeJS.Timeout | undefined;
  /** At most the length of the pending input. */
  #length = 0;
  /** When a single ESC was last emitted because nothing followed it. */
  #escaped = -Infinity;

  /** @throws TypeError or RangeError for a time that is not a whole number from 0. */
  constructor(options: StdinBufferOptions = {}) {
    super();
    const { timeout, pasteTimeout } = options ?? {};
    this.#timeout = timeout === undefined || timeout === null ? 10 : count("StdinBuffer: timeout", timeout);
    this.#pasteTimeout = pasteTimeout === undefined || pasteTimeout === null ? 1000 : count("StdinBuffer: pasteTimeout", pasteTimeout);
  }

  /**
   * Processes a chunk and emits what is complete. Bytes may end inside of a character.
   * @throws TypeError when `chunk` is neither string nor bytes.
   */
  process(chunk: string | Uint8Array): void {
    if (typeof chunk !== "string" && !(chunk instanceof Uint8Array)) {
      throw typeError("StdinBuffer.process: chunk", "a string or a Uint8Array", chunk);
    }
    const rest = this.#withoutTail(chunk);
    // An empty chunk would be an empty sequence.
    if (!rest.length && chunk.length) return;
    this.#stop();
    const inputs = this.#feed(rest);
    // Called before the handlers run, because one of them may throw or add input.
    this.#wait(chunk);
    for (const input of inputs) this.#emitInput(input);
  }

  /** Returns the inputs that a chunk completes. */
  #feed(chunk: string | Uint8Array): string[] {
    let data = chunk;
    const found: string[] = [];
    if (typeof chunk === "string") {
      data = this.#joiner.join(chunk);
      if (!data && chunk) return found;
    } else found.push(...this.#lostHalf());
    this.#length += data.length;
    for (const input of this.#buffer.feed(data)) found.push(input);
    return found;
  }

  /** Returns U+FFFD as an input if a surrogate pair was not completed. */
  #lostHalf(): string[] {
    const left = this.#joiner.end();
    return left ? this.#buffer.feed(left) : [];
  }

  /** Returns a chunk without the rest of a sequence whose ESC was emitted as a key. */
  #withoutTail(chunk: string | Uint8Array): string | Uint8Array {
    if (performance.now() - this.#escaped > PREFIX_TIMEOUT) return chunk;
    this.#escaped = -Infinity;
    const tail = TAIL.exec(typeof chunk === "string" ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length).toString("latin1"))?.[0].length ?? 0;
    return tail ? (typeof chunk === "string" ? chunk.slice(tail) : chunk.subarray(tail)) : chunk;
  }

  /**
   * Announces that you asked the terminal for the cursor position (`CSI 6 n`): the next `CSI row ; column R` is emitted as `cursorReport`.
   * Otherwise it is a key, F3 with modifiers.
   */
  awaitCursorReport(): void {
    this.#buffer.awaitCursorReport();
  }

  /**
   * Ends a paste whose end mark is missing: emits what has arrived as `paste`, without an ESC at its end. Later input is keys again.
   * @returns False if no paste is under way.
   */
  endPaste(): boolean {
    if (!this.#isPasting()) return false;
    this.#stop();
    const inputs = [...this.#lostHalf(), ...this.#buffer.feed(PASTE_END)];
    this.#length = 0;
    for (const input of inputs) this.#emitInput(input.startsWith("p") && input.endsWith("\x1b") ? input.slice(0, -1) : input);
    return true;
  }

  /** Returns the pending input without emitting it, and clears it. */
  flush(): string[] {
    this.#stop();
    const found = [...this.#lostHalf(), ...(this.#isPasting() ? [] : this.#buffer.flush())];
    this.#length = 0;
    // Two presses of ESC, not one with alt, which would be followed by more.
    return found.flatMap((input) => (input === "s\x1b\x1b" ? ["\x1b", "\x1b"] : [input.slice(1)]));
  }

  /** The pending input. */
  getBuffer(): string {
    return this.#buffer.pending();
  }

  /** Clears the pending input, an unfinished paste, and announced cursor reports. */
  clear(): void {
    this.#stop();
    this.#joiner.end();
    this.#length = 0;
    this.#escaped = -Infinity;
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

  /** True while a paste is under way. An empty chunk is an empty sequence everywhere else. */
  #isPasting(): boolean {
    return !this.#buffer.isWaiting() && this.#buffer.feed("").length === 0;
  }

  /** Starts the timer that the pending input needs; `chunk` came last. */
  #wait(chunk: string | Uint8Array): void {
    if (!this.#buffer.isWaiting()) {
      this.#length = 0;
      if (!this.#isPasting()) return;
      const ends = typeof chunk === "string" ? chunk.endsWith("\x1b") : chunk.at(-1) === 0x1b;
      this.#start(ends ? Math.min(PASTE_ESCAPE_TIMEOUT, this.#pasteTimeout) : this.#pasteTimeout, () => void this.endPaste());
      return;
    }
    // Long input is not examined again for every chunk.
    const pending = this.#length > LONGEST_KEY ? "" : this.#buffer.pending();
    const body = pending.replace(/^\x1b(?=\x1b)/, "");
    if (body === "\x1b") this.#start(this.#timeout, () => this.#expire());
    else if (/^\x1b[[O\]P_^X]$/.test(body)) this.#start(Math.max(PREFIX_TIMEOUT, this.#timeout), () => this.#expire());
    else if (pending === "" || /^\x1b[\]P_^X]/.test(body)) this.#start(REPLY_TIMEOUT, () => void this.flush());
  }

  #start(milliseconds: number, then: () => void): void {
    this.#timer = setTimeout(then, milliseconds);
    this.#timer.unref?.();
  }

  #expire(): void {
    const found = this.flush();
    if (found.length === 1 && found[0] === "\x1b") this.#escaped = performance.now();
    for (const sequence of found) this.emit("data", sequence);
  }
}
