/**
 * Which of the two x64 builds this CPU can run, without starting a program.
 * @module
 */
import { readFileSync } from "node:fs";

/** `modern` is x86-64-v3 (AVX2 and its companions), `baseline` x86-64-v2. */
export type Variant = "modern" | "baseline";

/** What x86-64-v3 asks for beyond v2, in the words of `/proc/cpuinfo` (`abm` is LZCNT). */
const V3 = ["avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"];

/** The environment's `SINEW_NATIVE_VARIANT`; another value is ignored. @internal */
export function forcedVariant(env: NodeJS.ProcessEnv): Variant | undefined {
  const value = env["SINEW_NATIVE_VARIANT"];
  return value === "modern" || value === "baseline" ? value : undefined;
}

/**
 * The variants to try, best first; none where the platform has only one build. On Linux the CPU is read from
 * `/proc/cpuinfo`; elsewhere the baseline addon itself knows (`cpuSupportsModern()`), so it comes first.
 * @internal
 */
export function variants(arch: string, platform: string, env: NodeJS.ProcessEnv): Variant[] {
  if (arch !== "x64") return [];
  const forced = forcedVariant(env);
  if (forced) return forced === "modern" ? ["modern", "baseline"] : ["baseline"];
  return platform === "linux" && linuxSupportsModern() ? ["modern", "baseline"] : ["baseline"];
}

function linuxSupportsModern(): boolean {
  try {
    const flags = /^flags\s*:(.*)$/m.exec(readFileSync("/proc/cpuinfo", "latin1"))?.[1];
    const has = new Set(flags?.trim().split(/\s+/));
    return V3.every((flag) => has.has(flag));
  } catch {
    // A sandbox may hide /proc: then the build that runs everywhere is the right one.
    return false;
  }
}
