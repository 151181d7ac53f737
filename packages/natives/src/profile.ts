/**
 * A profile of the calls that this package ran lately.
 * @module
 */
import { native } from "./loader.js";
import { rangeError, typeError } from "./options.js";

/** The result of `getWorkProfile`. */
export interface WorkProfile {
  /** One line per kind of call: its name, a blank, its microseconds. Input for flame-graph tools. */
  folded: string;
  /** A Markdown table, the longest in all first. */
  summary: string;
  /** A flame graph; `null` when there is nothing to draw. */
  svg: string | null;
  /** The time of all calls together, in milliseconds; calls that ran at once count each. */
  totalMs: number;
  /** The number of calls. */
  sampleCount: number;
}

/**
 * Sums up the calls that returned a promise and ended within the last seconds. The last 10,000 calls of the process are
 * remembered, those of all its worker threads.
 *
 * @param lastSeconds How far to look back, in seconds; `Infinity` takes all.
 * @returns The sums as text, as a table and as a picture.
 * @throws `TypeError` or `RangeError` when `lastSeconds` is not a number from 0 on.
 * @example
 * ```js
 * import { getWorkProfile, glob } from "@sinew/natives";
 * await glob({ pattern: "*.json", path: "." });
 * console.log(getWorkProfile(60).summary);
 * ```
 */
export function getWorkProfile(lastSeconds: number): WorkProfile {
  if (typeof lastSeconds !== "number") throw typeError("getWorkProfile: lastSeconds", "a number", lastSeconds);
  if (!(lastSeconds >= 0)) throw rangeError("getWorkProfile: lastSeconds", "0 or more", lastSeconds);
  const { svg, ...rest } = native.getWorkProfile(lastSeconds);
  return { ...rest, svg: svg ?? null };
}
