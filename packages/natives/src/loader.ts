/**
 * Finds the addon for this platform, loads it, and checks that it is complete and has this version.
 * @module
 */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { binaryFault } from "./loader-binary.js";
import { BUNDLE, candidates, isCompiled, load, supervisorName } from "./loader-candidates.js";
import { SUPPORTED, libc, platformTag } from "./loader-platform.js";
import { VERSION } from "./loader-version.js";
import { EXPORTS } from "./native-exports.js";
import type * as Native from "./native.js";
import { forcedVariant, variants, type Variant } from "./variant.js";

/** A usable addon and its path. */
interface Found {
  readonly addon: typeof Native;
  readonly path: string;
}

/** The locations that were tried, each with the reason why it failed. */
type Tried = Map<string, string>;

/** Returns the reason why a loaded addon cannot be used; undefined if there is none. */
function fault(addon: Partial<typeof Native>): string | undefined {
  const version = typeof addon.nativeVersion === "function" ? addon.nativeVersion() : undefined;
  if (version === undefined) return "not an addon of Sinew, or damaged: it has no version";
  if (version !== VERSION) return `stale: the addon has version ${version}, the package ${VERSION}; install or build the addon again`;
  const missing = EXPORTS.filter((name) => !(name in addon));
  if (missing.length) return `stale: it lacks ${missing.join(", ")}; install or build it again`;
  return undefined;
}

/** Adds the probable cause to an error message of the system. */
function hint(message: string): string {
  if (/GLIBC_\d|libc\.musl|\blibc\.so: |ld-linux|Error relocating/.test(message)) return `wrong libc${libc()}: ${message}`;
  if (/operation not permitted|failed to map segment/i.test(message)) return `${message}; is its folder mounted noexec?`;
  if (/specified module could not be found/i.test(message)) return `${message} A library that the addon needs is missing: install the Microsoft Visual C++ runtime`;
  return message;
}

/** Returns the first line of an error message. */
function reason(cause: unknown): string {
  const { code, message } = cause as NodeJS.ErrnoException;
  if (code === "MODULE_NOT_FOUND" || code === "ERR_MODULE_NOT_FOUND") return "not installed";
  return hint(String(message ?? cause).split("\n")[0] ?? "");
}

/** Returns the first candidate that can be loaded and used. */
function first(tag: string, wanted: readonly Variant[], tried: Tried): Found | undefined {
  for (const candidate of candidates(tag, wanted, process.env)) {
    try {
      const path = candidate.find();
      const before = binaryFault(path, tag);
      if (before) throw new Error(before);
      const addon = load(path) as typeof Native;
      const problem = fault(addon);
      if (problem) throw new Error(problem);
      return { addon, path };
    } catch (cause) {
      tried.set(candidate.what, reason(cause));
    }
  }
  return undefined;
}

/**
 * Returns the addon for this CPU. If only the baseline addon can detect the CPU's features, it decides about `modern`.
 */
function forThisCpu(tag: string, tried: Tried): Found | undefined {
  const wanted = variants(process.arch, process.platform, process.env);
  if (wanted) return first(tag, wanted, tried);
  const baseline = first(tag, ["baseline"], tried);
  if (!baseline?.addon.cpuSupportsModern()) return baseline;
  return first(tag, ["modern"], new Map()) ?? baseline;
}

/** Returns instructions for a missing addon, which depend on how the program was built. */
function remedy(tag: string, variant: string): string {
  const install = `npm install --include=optional @sinew/natives-${tag}@${VERSION}`;
  if (isCompiled(process.env)) return `This program is one executable without an addon for ${tag}: run npx sinew-embed --tag ${tag} before you compile it.`;
  if (BUNDLE !== undefined) {
    const files = `sinew_natives.${tag}${variant}.node and ${supervisorName(process.platform)}`;
    return `This code was bundled into ${BUNDLE}: install @sinew/natives-${tag} where the bundle runs (${install}), or copy ${files} from that package to ${dirname(BUNDLE)}.`;
  }
  return `To fix this, install the package with its optional dependencies (${install}), or in a checkout run: npm run build`;
}

function find(): Found {
  const tag = platformTag();
  if (!SUPPORTED.includes(tag)) {
    throw new Error(`@sinew/natives: no addon for ${tag}; supported are ${SUPPORTED.join(", ")}`);
  }
  const tried: Tried = new Map();
  const found = forThisCpu(tag, tried);
  if (found) {
    if (process.env["SINEW_DEV"]) process.stderr.write(`@sinew/natives: loaded ${found.path}\n`);
    return found;
  }
  const forced = forcedVariant(process.env);
  throw new Error(
    [
      `@sinew/natives: found no addon for ${tag}${forced ? `, variant ${forced}` : ""}${libc()}. Tried:`,
      ...[...tried].map(([what, why]) => `  ${what}: ${why}`),
      remedy(tag, forced ? `-${forced}` : process.arch === "x64" ? "-*" : ""),
    ].join("\n"),
  );
}

const found: Found = find();

/** The addon. @internal */
export const native: typeof Native = found.addon;

/** Returns the supervisor program of shells and terminals, next to the addon; undefined if it is missing. @internal */
export function supervisor(): string | undefined {
  const path = join(dirname(found.path), supervisorName(process.platform));
  return existsSync(path) ? path : undefined;
}
