/**
 * Callbacks with an error and a value, as in pi-natives.
 * @module
 */

/** Receives an error or null, and a value. The error is always null here, because errors reject the call. */
export type Callback<T> = ((error: Error | null, value: T) => void) | null | undefined;

/** Converts a callback to one of `@sinew/natives`, which receives only the value. */
export function valueOf<T>(callback: Callback<T>): ((value: T) => void) | undefined {
  return callback ? (value) => callback(null, value) : undefined;
}
