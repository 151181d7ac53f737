/**
 * Splits terminal input into complete sequences.
 * @module
 */
import { EventEmitter } from "node:events";
import { LateRest, isRest, typedAfter, typedPart, units } from "./late-rest.js";
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
/** Matches the part of the end mark that has arrived at the end of a paste. */
const PART_OF_PASTE_END = /\x1b(?:\[(?:2(?:01?)?)?)?$/;

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
 * - A single ESC is a key after `timeout` milliseconds, and `ESC [` and the like are a key with alt after 250 ms.
 * - The rest of a sequence that arrives up to 250 ms after such a key is dropped, in however many parts. One that arrives in one chunk is dropped up to
 *   a second after the key. A paste whose start mark was cut like this is a paste.
 * - So the characters that begin such a rest, such as `[`, wait for 250 ms when they follow the key that fast, and `O` waits for 120 ms. Then they were
 *   typed.
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
  readonly #rest = new LateRest();
  /** The first characters of the pending sequence if they were already emitted as a key, else empty. */
  #late = "";

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
    this.#stop();
    const typed = this.#joinLate(chunk);
    const inputs = [...(typed ? this.#feed(typed) : []), ...this.#withoutLate(this.#feed(chunk))];
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

  /**
   * Puts the start that was emitted as a key before a chunk that continues it. Returns the characters of the pending rest that turn out to have been
   * typed, because the chunk does not continue it.
   */
  #joinLate(chunk: string | Uint8Array): string {
    if (!chunk.length) return "";
    if (!this.#late) {
      this.#late = this.#rest.take(chunk);
      if (this.#late) this.#buffer.feed(this.#late);
      return "";
    }
    // Long input is not examined again for every chunk.
    if (this.#length > LONGEST_KEY || isRest(this.#buffer.pending() + units(chunk))) return "";
    const typed = this.#buffer.pending().slice(this.#late.length);
    this.#late = "";
    this.#buffer.flush();
    return typed;
  }

  /** Returns inputs without a sequence whose start was emitted as a key. */
  #withoutLate(inputs: string[]): string[] {
    const start = this.#late;
    if (!start || (!inputs.length && this.#buffer.isWaiting())) return inputs;
    this.#late = "";
    const [first, ...others] = inputs;
    // A paste, or the report of a cursor.
    if (!first?.startsWith("s")) return inputs;
    const isWhole = new native.InputBuffer().feed(first.slice(1)).length > 0;
    return isWhole ? others : [...Array.from(typedPart(first.slice(1), start), (each) => `s${each}`), ...others];
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
    for (const input of inputs) {
      const mark = input.startsWith("p") ? (PART_OF_PASTE_END.exec(input)?.[0] ?? "") : "";
      if (mark) this.#rest.expect(mark);
      this.#emitInput(input.slice(0, input.length - mark.length));
    }
    return true;
  }

  /** Returns the pending input without emitting it, and clears it. */
  flush(): string[] {
    this.#stop();
    const found = this.#withoutLate(this.#lostHalf()).map((input) => input.slice(1));
    const start = this.#late;
    this.#late = "";
    const pending = this.#isPasting() ? undefined : this.#buffer.flush()[0]?.slice(1);
    this.#length = 0;
    if (pending === undefined) return found;
    if (start) return [...found, ...typedPart(pending, start)];
    this.#rest.expectAfterKey(pending);
    // Two presses of ESC, not one with alt, which would be followed by more.
    return [...found, ...(pending === "\x1b\x1b" ? ["\x1b", "\x1b"] : [pending])];
  }

  /** The pending input. */
  getBuffer(): string {
    return this.#buffer.pending().slice(this.#late.length);
  }

  /** Clears the pending input, an unfinished paste, and announced cursor reports. */
  clear(): void {
    this.#stop();
    this.#joiner.end();
    this.#length = 0;
    this.#late = "";
    this.#rest.forget();
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
    if (this.#late) {
      this.#start(typedAfter(pending) || REPLY_TIMEOUT, () => this.#expire());
      return;
    }
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
    for (const sequence of this.flush()) this.emit("data", sequence);
  }
}
