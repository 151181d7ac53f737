/**
 * Selects one of the two x64 builds by the features of this CPU, without starting a program.
 * @module
 */
import { closeSync, openSync, readSync } from "node:fs";

/** `modern` is x86-64-v3 (AVX2 and related features), `baseline` x86-64-v2. */
export type Variant = "modern" | "baseline";

/** The features of x86-64-v3 that v2 lacks, as named in `/proc/cpuinfo` (`abm` is LZCNT). */
const V3 = ["avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"];

/** Returns the variable `SINEW_NATIVE_VARIANT`; other values are ignored. @internal */
export function forcedVariant(env: NodeJS.ProcessEnv): Variant | undefined {
  const value = env["SINEW_NATIVE_VARIANT"];
  return value === "modern" || value === "baseline" ? value : undefined;
}

/**
 * Returns the variants to try, best first; none if the platform has only one build. `undefined` if only the baseline
 * addon can detect the features of the CPU (`cpuSupportsModern()`).
 * @internal
 */
export function variants(arch: string, platform: string, env: NodeJS.ProcessEnv): Variant[] | undefined {
  if (arch !== "x64") return [];
  const forced = forcedVariant(env);
  const modern = forced ? forced === "modern" : platform === "linux" ? linuxSupportsModern() : undefined;
  if (modern === undefined) return undefined;
  return modern ? ["modern", "baseline"] : ["baseline"];
}

/** Reads `/proc/cpuinfo`; undefined if a sandbox hides it. */
function linuxSupportsModern(): boolean | undefined {
  let text: string;
  try {
    text = head("/proc/cpuinfo");
  } catch {
    return undefined;
  }
  const flags = /^flags\s*:(.*)\n/m.exec(text)?.[1];
  if (flags === undefined) return undefined;
  const has = new Set(flags.trim().split(/\s+/));
  return V3.every((flag) => has.has(flag));
}

/**
 * Returns the part about the first processor. The system generates 1–2 KiB per processor, and queries the speed of
 * each.
 */
function head(path: string): string {
  const bytes = Buffer.alloc(8192);
  const fd = openSync(path, "r");
  try {
    let size = 0;
    for (let got = -1; got !== 0 && size < bytes.length && !bytes.includes("\n\n"); size += got) got = readSync(fd, bytes, size, bytes.length - size, null);
    return bytes.toString("latin1", 0, size);
  } finally {
    closeSync(fd);
  }
}
