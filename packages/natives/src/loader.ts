/**
 * Finds the addon for this platform, loads it and checks that it is whole and of this version.
 * @module
 */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { EXPORTS } from "./native-exports.js";
import type * as Native from "./native.js";
import { forcedVariant, variants } from "./variant.js";

/** Every platform that a release has an addon for. */
const SUPPORTED = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64", "win32-x64"];

/** One place to look in: a file, or a module that the runtime resolves. */
interface Candidate {
  readonly what: string;
  /** The file, or why there is none. */
  readonly find: () => string;
}

const load = createRequire(__filename);

/** The version of this package; the addon must carry the same. */
const VERSION: string = (load("../package.json") as { version: string }).version;

function dev(): boolean {
  return Boolean(process.env["SINEW_DEV"]);
}

function fileNames(tag: string): string[] {
  const list = variants(process.arch, process.platform, process.env).map((variant) => `sinew_natives.${tag}-${variant}.node`);
  return list.length ? list : [`sinew_natives.${tag}.node`];
}

function file(path: string): Candidate {
  return {
    what: path,
    find: () => {
      if (!existsSync(path)) throw new Error("no such file");
      return path;
    },
  };
}

/** All candidates, in the order in which they are tried. */
function* candidates(tag: string): Generator<Candidate> {
  const root = join(__dirname, "..");
  const folders = [join(root, "native"), join(root, "..", "..", "native", "build")];
  if (dev()) for (const folder of folders) yield file(join(folder, "sinew_natives.dev.node"));
  const names = fileNames(tag);
  for (const name of names) {
    const module = `@sinew/natives-${tag}/${name}`;
    yield { what: module, find: () => load.resolve(module) };
  }
  for (const folder of folders) for (const name of names) yield file(join(folder, name));
  const program = dirname(process.execPath);
  for (const name of names) yield file(join(program, name));
}

/** Why an addon that loaded cannot serve, or nothing. */
function fault(addon: Partial<typeof Native>): string | undefined {
  const version = typeof addon.nativeVersion === "function" ? addon.nativeVersion() : undefined;
  if (version === undefined) return "not an addon of Sinew, or a broken one: it tells no version";
  if (version !== VERSION) return `stale: it is of version ${version}, the package of ${VERSION}; install or build it again`;
  const missing = EXPORTS.filter((name) => !(name in addon));
  if (missing.length) return `stale: it lacks ${missing.join(", ")}; build it again`;
  return undefined;
}

function libc(): string {
  if (process.platform !== "linux") return "";
  const report = process.report?.getReport() as { header?: { glibcVersionRuntime?: string } } | undefined;
  const version = report?.header?.glibcVersionRuntime;
  return version ? ` (glibc ${version})` : " (no glibc: musl is not supported yet)";
}

/** The first line says what happened; a file that is there but will not load says more than one that is not. */
function reason(cause: unknown): string {
  const error = cause as NodeJS.ErrnoException;
  if (error?.code === "MODULE_NOT_FOUND" || error?.code === "ERR_MODULE_NOT_FOUND") return "not installed";
  return String(error?.message ?? cause).split("\n")[0] ?? "";
}

function find(): typeof Native {
  const tag = `${process.platform}-${process.arch}`;
  if (!SUPPORTED.includes(tag)) {
    throw new Error(`@sinew/natives: no addon for ${tag}; supported are ${SUPPORTED.join(", ")}`);
  }
  const tried: string[] = [];
  for (const candidate of candidates(tag)) {
    try {
      const path = candidate.find();
      const addon = load(path) as typeof Native;
      const problem = fault(addon);
      if (problem) throw new Error(problem);
      if (dev()) process.stderr.write(`@sinew/natives: loaded ${path}\n`);
      folder = dirname(path);
      return addon;
    } catch (cause) {
      tried.push(`  ${candidate.what}: ${reason(cause)}`);
    }
  }
  const forced = forcedVariant(process.env);
  throw new Error(
    [
      `@sinew/natives: found no addon for ${tag}${forced ? `, variant ${forced}` : ""}${libc()}. Tried:`,
      ...tried,
      `To mend it, install the package again with optional dependencies (npm install --include=optional @sinew/natives-${tag}), or in a checkout run: npm run build`,
    ].join("\n"),
  );
}

let folder = "";

/** The addon. @internal */
export const native: typeof Native = find();

/** The program under which shells and terminals run: beside the addon. Undefined where it is missing. @internal */
export function companion(): string | undefined {
  const path = join(folder, process.platform === "win32" ? "sinew-shell-host.exe" : "sinew-shell-host");
  return existsSync(path) ? path : undefined;
}
