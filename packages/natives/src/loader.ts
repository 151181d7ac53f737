/**
 * Finds the addon for this platform, loads it and checks that it is whole and of this version.
 * @module
 */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { binaryFault } from "./loader-binary.js";
import { candidates, companionName, load } from "./loader-candidates.js";
import { VERSION } from "./loader-version.js";
import { EXPORTS } from "./native-exports.js";
import type * as Native from "./native.js";
import { forcedVariant, variants, type Variant } from "./variant.js";

/** Every platform that a release has an addon for. */
const SUPPORTED = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64", "win32-x64"];

/** An addon that serves, and where it lies. */
interface Found {
  readonly addon: typeof Native;
  readonly path: string;
}

/** What was tried: the place, and why it does not serve. */
type Tried = Map<string, string>;

/** Why an addon that loaded cannot serve, or nothing. */
function fault(addon: Partial<typeof Native>): string | undefined {
  const version = typeof addon.nativeVersion === "function" ? addon.nativeVersion() : undefined;
  if (version === undefined) return "not an addon of Sinew, or a broken one: it tells no version";
  if (version !== VERSION) return `stale: it is of version ${version}, the package of ${VERSION}; install or build it again`;
  const missing = EXPORTS.filter((name) => !(name in addon));
  if (missing.length) return `stale: it lacks ${missing.join(", ")}; install or build it again`;
  return undefined;
}

/** What a system's message leaves out. */
function hint(message: string): string {
  if (/GLIBC_\d|libc\.musl|ld-linux|Error relocating/.test(message)) return `wrong libc${libc()}: ${message}`;
  if (/operation not permitted|failed to map segment/i.test(message)) return `${message}; is its folder mounted noexec?`;
  if (/specified module could not be found/i.test(message)) return `${message} A library that it needs is missing: install the Microsoft Visual C++ runtime`;
  return message;
}

/** The first line says what happened. */
function reason(cause: unknown): string {
  const { code, message } = cause as NodeJS.ErrnoException;
  if (code === "MODULE_NOT_FOUND" || code === "ERR_MODULE_NOT_FOUND") return "not installed";
  return hint(String(message ?? cause).split("\n")[0] ?? "");
}

/** The C library of this process; asked for only when something failed, since a report takes milliseconds. */
function libc(): string {
  const report = process.report;
  if (process.platform !== "linux" || !report) return "";
  // Without this a report looks up the name of every open connection.
  const before = (report as { excludeNetwork?: boolean }).excludeNetwork;
  Object.assign(report, { excludeNetwork: true });
  const { header } = report.getReport() as { header?: { glibcVersionRuntime?: string } };
  Object.assign(report, { excludeNetwork: before });
  return header?.glibcVersionRuntime ? ` (glibc ${header.glibcVersionRuntime})` : " (no glibc here; musl is not supported)";
}

/** The first candidate that loads and passes. */
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

/** The addon for this CPU. Where only the baseline addon knows what the CPU has, it is asked, and gives way to `modern`. */
function forThisCpu(tag: string, tried: Tried): Found | undefined {
  const wanted = variants(process.arch, process.platform, process.env);
  if (wanted) return first(tag, wanted, tried);
  const baseline = first(tag, ["baseline"], tried);
  if (!baseline?.addon.cpuSupportsModern()) return baseline;
  return first(tag, ["modern"], new Map()) ?? baseline;
}

function find(): Found {
  const tag = `${process.platform}-${process.arch}`;
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
      `To mend it, install the package again with optional dependencies (npm install --include=optional @sinew/natives-${tag}@${VERSION}), or in a checkout run: npm run build`,
    ].join("\n"),
  );
}

const found: Found = find();

/** The addon. @internal */
export const native: typeof Native = found.addon;

/** The program under which shells and terminals run: beside the addon. Undefined where it is missing. @internal */
export function companion(): string | undefined {
  const path = join(dirname(found.path), companionName(process.platform));
  return existsSync(path) ? path : undefined;
}
