/**
 * A profile of the recent calls of this package.
 * @module
 */
import { native } from "./loader.js";
import { rangeError, typeError } from "./options.js";

/** The result of `getWorkProfile`. */
export interface WorkProfile {
  /** One line per kind of call: its name, a space, its microseconds. Input for flame graph tools. */
  folded: string;
  /** A Markdown table, the longest total time first. */
  summary: string;
  /** A flame graph as SVG; `null` if there are no calls. */
  svg: string | null;
  /** Total time of all calls, in milliseconds; parallel calls are added up. */
  totalMs: number;
  /** The number of calls. */
  sampleCount: number;
}

/**
 * Summarizes the calls that returned a promise and ended within the last seconds. The last 10,000 calls of the process are recorded, including
 * those of its worker threads.
 *
 * @param lastSeconds How far to look back, in seconds; `Infinity` includes all calls.
 * @returns The sums as text, as a table and as a flame graph.
 * @throws `TypeError` or `RangeError` if `lastSeconds` is not a number from 0.
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
