import { native } from "./loader.js";

/** The time in milliseconds in which any rest is expected after the start of a sequence was emitted as a key. */
const NEAR = 250;
/** The time in milliseconds in which a rest is expected that comes as one chunk, which a person does not type. */
const FAR = 1000;
/** The time in milliseconds after which the character that begins a rest was typed. */
const TYPED = 250;
/** The same for `O`, which a person may type after an ESC, with a letter after it: in an editor like vi it opens a line. */
const TYPED_LETTER = 120;

/**
 * Matches what follows the start of a sequence, if it is one: whole, or as far as it has arrived. Control strings have the forms in which terminals
 * reply, so that a word such as `Program` is none.
 */
const REST = new RegExp(
  "^\\x1b(?:" +
    "\\[(?:M|\\[|\\d+\\$|[0-?]*[ -/]*(?:[@-~\\x1b]|$))" +
    "|O[\\d;]*(?:[@-~\\x1b]|$)" +
    "|(?:\\](?=\\d+(?:[;\\x07\\x1b]|$)|$)|P(?=[<-?]|\\d*(?:[!-/]|$))|_(?=G|$))[^\\x00-\\x1f]*(?:[\\x07\\x1b]|$)" +
    "|[\\]_][^\\x00-\\x1f]*\\x07|[\\]P_^X][^\\x00-\\x1f]*\\x1b\\\\)",
);
/** Matches an unfinished sequence whose characters may have been typed. */
const TYPEABLE = /^\x1b(?:[[O\]P_]|\[\[)$/;
/** Matches the keys that are also the start of a sequence. */
const START = /^\x1b?(\x1b[[O\]P_^X]?)$/;

/** True if `text` begins with a sequence, or with a part of one. */
export function isRest(text: string): boolean {
  return REST.test(text);
}

/** Returns the characters of an unfinished sequence that were typed: those after `start`, which was emitted before. */
export function typedPart(sequence: string, start: string): string {
  return TYPEABLE.test(sequence) ? sequence.slice(start.length) : "";
}

/** Returns the time in milliseconds after which {@link typedPart} was typed; 0 if no part of the sequence can be. */
export function typedAfter(sequence: string): number {
  return TYPEABLE.test(sequence) ? (sequence.endsWith("O") ? TYPED_LETTER : TYPED) : 0;
}

/** Returns a chunk as text with one character per byte or code unit. */
export function units(chunk: string | Uint8Array): string {
  return typeof chunk === "string" ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length).toString("latin1");
}

/** Remembers for a time that the start of a sequence was emitted as a key, and tells its rest from input that was typed. */
export class LateRest {
  #start = "";
  #isNear = false;
  #timer: NodeJS.Timeout | undefined;

  /** Expects the rest of a sequence. */
  expect(start: string): void {
    this.forget();
    this.#start = start;
    this.#isNear = true;
    this.#after(NEAR, () => {
      this.#isNear = false;
      this.#after(FAR - NEAR, () => this.forget());
    });
  }

  /** Expects the rest of a sequence if the key that was emitted may be the start of one. */
  expectAfterKey(key: string): void {
    const start = START.exec(key)?.[1];
    if (start) this.expect(start);
  }

  forget(): void {
    clearTimeout(this.#timer);
    this.#start = "";
  }

  /** Returns the start of the sequence whose rest `chunk` begins with, or an empty text. Nothing is expected after that. */
  take(chunk: string | Uint8Array): string {
    const start = this.#start;
    if (!start) return "";
    this.forget();
    return isRest(start + units(chunk)) && (this.#isNear || isOneRest(start, chunk)) ? start : "";
  }

  #after(milliseconds: number, then: () => void): void {
    this.#timer = setTimeout(then, milliseconds);
    this.#timer.unref?.();
  }
}

/** True if a chunk of several characters is one rest and nothing else, or begins with a paste. */
function isOneRest(start: string, chunk: string | Uint8Array): boolean {
  if (chunk.length < 2) return false;
  const buffer = new native.InputBuffer();
  buffer.feed(start);
  const found = buffer.feed(chunk);
  return found[0]?.startsWith("p") || found.length + Number(buffer.isWaiting()) <= 1;
}
