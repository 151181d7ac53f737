/**
 * `strip-ansi`: removes the escape sequences from a text.
 * @module
 */
import { stripEscapes } from "./escapes.js";

/**
 * Returns `text` without escape sequences; line ends and other controls are kept.
 *
 * @throws TypeError if `text` is not a string.
 */
export default function stripAnsi(text: string): string {
  if (typeof text !== "string") throw new TypeError(`Expected a \`string\`, got \`${typeof text}\``);
  return stripEscapes(text);
}
