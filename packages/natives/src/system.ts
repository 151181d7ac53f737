/**
 * Information about the machine.
 * @module
 */
import { native } from "./loader.js";

/** The result of `getSystemInfo`. An unknown value is `""` or 0. */
export interface SystemInfo {
  /** The operating system, as in `process.platform`. */
  platform: string;
  /** The processor architecture, as in `process.arch`. */
  arch: string;
  /** Name and version of the operating system: `Debian GNU/Linux 12 (bookworm)`. */
  osVersion: string;
  /** The kernel's version. */
  kernelVersion: string;
  /** The host name. */
  hostName: string;
  /** The processor's name. */
  cpuBrand: string;
  /** Number of hardware threads. */
  logicalCores: number;
  /** Number of cores. */
  physicalCores: number;
  /** Total memory, in bytes. */
  totalMemory: number;
  /** Memory that is available without swapping, in bytes. */
  availableMemory: number;
}

/**
 * Returns information about the machine, for example for a bug report. Needs about a millisecond; never throws.
 *
 * @returns The current values.
 * @example
 * ```js
 * import { getSystemInfo } from "@sinew/natives";
 * const { osVersion, logicalCores } = getSystemInfo();
 * console.log(`${osVersion}, ${logicalCores} threads`);
 * ```
 */
export function getSystemInfo(): SystemInfo {
  return native.getSystemInfo();
}
