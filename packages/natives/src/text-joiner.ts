/**
 * Joins texts that were cut between the two halves of a character.
 * @module
 */

/** Replaces half a character whose other half never came. */
const REPLACEMENT = "\ufffd";

/** Holds the first half of a surrogate pair at the end of a text until the next text. @internal */
export class TextJoiner {
  #half = "";

  /** The text with the half that was held before it, and without one at its own end. */
  join(text: string): string {
    const whole = this.#half + text;
    const last = whole.charCodeAt(whole.length - 1);
    this.#half = last >= 0xd800 && last <= 0xdbff ? whole.slice(-1) : "";
    return this.#half ? whole.slice(0, -1) : whole;
  }

  /** U+FFFD if a half is held, which is then forgotten; otherwise an empty text. */
  end(): string {
    const left = this.#half ? REPLACEMENT : "";
    this.#half = "";
    return left;
  }

  /** True if a half is held. */
  get isOpen(): boolean {
    return this.#half !== "";
  }
}
