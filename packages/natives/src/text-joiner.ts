/**
 * Joins texts that were split inside a surrogate pair.
 * @module
 */

/** Replaces half a surrogate pair whose other half is missing. */
const REPLACEMENT = "\ufffd";

/** Holds the first half of a surrogate pair at the end of a text until the next text. @internal */
export class TextJoiner {
  #half = "";

  /** Returns the text with the half that was held back before it, and without a half at its end. */
  join(text: string): string {
    const whole = this.#half + text;
    const last = whole.charCodeAt(whole.length - 1);
    this.#half = last >= 0xd800 && last <= 0xdbff ? whole.slice(-1) : "";
    return this.#half ? whole.slice(0, -1) : whole;
  }

  /** Returns U+FFFD if a half is held back, and drops it; otherwise returns an empty text. */
  end(): string {
    const left = this.#half ? REPLACEMENT : "";
    this.#half = "";
    return left;
  }

  /** True if a half is held back. */
  get isOpen(): boolean {
    return this.#half !== "";
  }
}
