/**
 * Callbacks that get an error or a value, as pi-natives calls them.
 * @module
 */

/** Gets a value, or an error in front of it. None is ever given here: an error rejects the call. */
export type Callback<T> = ((error: Error | null, value: T) => void) | null | undefined;

/** The same as a callback of `@sinew/natives`, which gets the value alone. */
export function valueOf<T>(callback: Callback<T>): ((value: T) => void) | undefined {
  return callback ? (value) => callback(null, value) : undefined;
}
