/**
 * Chooses between the two x64 builds by what this CPU can run, without starting a program.
 * @module
 */
import { closeSync, openSync, readSync } from "node:fs";

/** `modern` is x86-64-v3 (AVX2 and what came with it), `baseline` x86-64-v2. */
export type Variant = "modern" | "baseline";

/** The features of x86-64-v3 beyond v2, in the words of `/proc/cpuinfo` (`abm` is LZCNT). */
const V3 = ["avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"];

/** The environment's `SINEW_NATIVE_VARIANT`; another value is ignored. @internal */
export function forcedVariant(env: NodeJS.ProcessEnv): Variant | undefined {
  const value = env["SINEW_NATIVE_VARIANT"];
  return value === "modern" || value === "baseline" ? value : undefined;
}

/**
 * The variants to try, best first; none where the platform has only one build. `undefined` where only the baseline
 * addon can tell what the CPU has (`cpuSupportsModern()`).
 * @internal
 */
export function variants(arch: string, platform: string, env: NodeJS.ProcessEnv): Variant[] | undefined {
  if (arch !== "x64") return [];
  const forced = forcedVariant(env);
  const modern = forced ? forced === "modern" : platform === "linux" ? linuxSupportsModern() : undefined;
  if (modern === undefined) return undefined;
  return modern ? ["modern", "baseline"] : ["baseline"];
}

/** Reads `/proc/cpuinfo`; undefined where a sandbox hides it. */
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

/** The first processor's part: the system writes one of 1–2 KiB for each, and asks each processor for its speed. */
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
