/**
 * `strip-ansi`: a text without its escape sequences.
 * @module
 */
import { stripEscapes } from "./escapes.js";

/**
 * `text` without escape sequences; line ends and other controls stay.
 *
 * @throws TypeError when `text` is not a string.
 */
export default function stripAnsi(text: string): string {
  if (typeof text !== "string") throw new TypeError(`Expected a \`string\`, got \`${typeof text}\``);
  return stripEscapes(text);
}
