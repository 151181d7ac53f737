/**
 * The locations of the addon, in the order in which they are tried.
 * @module
 */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { EMBEDDED } from "./embedded.js";
import type * as Extract from "./loader-extract.js";
import { VERSION } from "./loader-version.js";
import type { Variant } from "./variant.js";

/** One location. @internal */
export interface Candidate {
  /** The file or module, for the report. */
  readonly what: string;
  /** Returns the file's path. Throws the reason if there is none. */
  readonly find: () => string;
}

/** Inside a program compiled by Bun, the path of every module begins with one of these. */
const BUN_ROOTS = ["/$bunfs/", "B:\\~BUN\\", "B:/~BUN/"];

/**
 * True if Bun compiled the program. Uses the main module, because bundlers replace `__filename` by paths of their
 * machine.
 */
const IN_BUN_PROGRAM = BUN_ROOTS.some((root) => (globalThis as { Bun?: { main?: string } }).Bun?.main?.startsWith(root));

/** This file, or the bundle that contains it; undefined inside a compiled program, and if a bundler hides it. */
const HERE = [typeof __filename === "string" ? __filename : undefined, process.argv[1]].find(
  (path) => !IN_BUN_PROGRAM && path !== undefined && existsSync(path),
);

/** The bundle that contains this code; undefined in the package itself and inside a compiled program. @internal */
export const BUNDLE: string | undefined = HERE !== undefined && !existsSync(join(dirname(HERE), "loader-extract.js")) ? HERE : undefined;

/** The `require` of this file, which resolves like the runtime and its package manager. @internal */
export const load: NodeJS.Require = createRequire(HERE ?? process.execPath);

function isNodeProgram(): boolean {
  try {
    return (load("node:sea") as { isSea(): boolean }).isSea();
  } catch {
    // Runtimes without this module cannot compile such programs.
    return false;
  }
}

/** Returns true if the package and the host are one executable. @internal */
export function isCompiled(env: NodeJS.ProcessEnv): boolean {
  return Boolean(env["SINEW_COMPILED"]) || IN_BUN_PROGRAM || (EMBEDDED.length > 0 && isNodeProgram());
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

/** Loaded only in compiled hosts, because its imports would add 4 ms to every other start. */
function extraction(): typeof Extract {
  return require("./loader-extract.js") as typeof Extract;
}

/** Returns a file in a directory of Sinew, after the embedded files were extracted there. */
function extracted(name: string, base: () => string): Candidate {
  let what = `${name} (embedded)`;
  return {
    get what() {
      return what;
    },
    find: () => {
      const folder = join(base(), "natives", VERSION);
      what = join(folder, name);
      const files = EMBEDDED.filter((each) => each.name === name || each.name === supervisorName(process.platform));
      if (files.some((each) => each.name === name)) extraction().extract(folder, files);
      return file(what).find();
    },
  };
}

/** Returns the file name of the supervisor program of shells and terminals. @internal */
export function supervisorName(platform: string): string {
  return platform === "win32" ? "sinew-shell-host.exe" : "sinew-shell-host";
}

/**
 * Yields all candidates for a tag and its variants (none if the platform has only one build).
 * @internal
 */
export function* candidates(tag: string, variants: readonly Variant[], env: NodeJS.ProcessEnv): Generator<Candidate> {
  const names = variants.length ? variants.map((variant) => `sinew_natives.${tag}-${variant}.node`) : [`sinew_natives.${tag}.node`];
  const root = HERE === undefined ? undefined : join(dirname(HERE), "..");
  const folders = root === undefined ? [] : [join(root, "native"), join(root, "..", "..", "native", "build")];
  if (env["SINEW_DEV"]) for (const folder of folders) yield file(join(folder, "sinew_natives.dev.node"));
  if (isCompiled(env)) {
    const data = () => join(extraction().dataFolder(process.platform, env), "sinew");
    for (const name of names) yield extracted(name, data);
    // Only embedded files are used from there, because other users may have created other files.
    for (const name of names) if (EMBEDDED.some((each) => each.name === name)) {
      yield extracted(name, () => extraction().privateTemporary());
    }
  }
  for (const name of names) {
    const module = `@sinew/natives-${tag}/${name}`;
    yield { what: module, find: () => load.resolve(module) };
  }
  if (BUNDLE !== undefined) for (const name of names) yield file(join(dirname(BUNDLE), name));
  for (const folder of folders) for (const name of names) yield file(join(folder, name));
  for (const name of names) yield file(join(dirname(process.execPath), name));
}
