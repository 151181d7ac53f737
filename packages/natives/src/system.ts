/**
 * Facts about the machine.
 * @module
 */
import { native } from "./loader.js";

/** The result of `getSystemInfo`. A fact that the system does not tell is `""` or 0. */
export interface SystemInfo {
  /** The system's family, as `process.platform` names it. */
  platform: string;
  /** The processor's family, as `process.arch` names it. */
  arch: string;
  /** The system's name and version: `Debian GNU/Linux 12 (bookworm)`. */
  osVersion: string;
  /** The kernel's version. */
  kernelVersion: string;
  /** The machine's name in the network. */
  hostName: string;
  /** The processor's name. */
  cpuBrand: string;
  /** The number of threads that the processors run at once. */
  logicalCores: number;
  /** The number of their cores. */
  physicalCores: number;
  /** Memory, in bytes. */
  totalMemory: number;
  /** Memory that programs can have without swapping, in bytes. */
  availableMemory: number;
}

/**
 * Asks the system for facts about the machine, as a bug report needs them. Takes about a millisecond; never throws.
 *
 * @returns The facts, asked for anew at each call.
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
