/**
 * The places where an addon may be, in the order in which they are tried.
 * @module
 */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { EMBEDDED } from "./embedded.js";
import type * as Extract from "./loader-extract.js";
import { VERSION } from "./loader-version.js";
import type { Variant } from "./variant.js";

/** One place to look in. @internal */
export interface Candidate {
  /** The file or module, for the report. */
  readonly what: string;
  /** The file's path. Throws the reason where there is none. */
  readonly find: () => string;
}

/** Inside a program compiled by Bun the path of every module begins with one of these. */
const BUN_ROOTS = ["/$bunfs/", "B:\\~BUN\\", "B:/~BUN/"];

/** True when Bun compiled the program. The main module tells: a bundler writes the paths of its own machine for `__filename`. */
const IN_BUN_PROGRAM = BUN_ROOTS.some((root) => (globalThis as { Bun?: { main?: string } }).Bun?.main?.startsWith(root));

/** This file, or the bundle that holds it; undefined inside a compiled program and where a bundler hid it. */
const HERE = [typeof __filename === "string" ? __filename : undefined, process.argv[1]].find(
  (path) => !IN_BUN_PROGRAM && path !== undefined && existsSync(path),
);

/** The bundle that holds this code; undefined in the package itself and inside a compiled program. @internal */
export const BUNDLE: string | undefined = HERE !== undefined && !existsSync(join(dirname(HERE), "loader-extract.js")) ? HERE : undefined;

/** `require` as this file sees it: what the runtime and its package manager resolve. @internal */
export const load: NodeJS.Require = createRequire(HERE ?? process.execPath);

function isNodeProgram(): boolean {
  try {
    return (load("node:sea") as { isSea(): boolean }).isSea();
  } catch {
    // Runtimes without the module compile no such program.
    return false;
  }
}

/** Returns whether package and host are one executable. @internal */
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

/** Loaded where a host is compiled: its imports would cost everybody else 4 ms. */
function extraction(): typeof Extract {
  return require("./loader-extract.js") as typeof Extract;
}

/** A file of a folder of ours, after what the host carries was written there. */
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

/** The file name of the program under which shells and terminals run. @internal */
export function supervisorName(platform: string): string {
  return platform === "win32" ? "sinew-shell-host.exe" : "sinew-shell-host";
}

/**
 * All candidates for a tag and its variants (none where the platform has one build).
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
    // Only what the host carries goes there; nothing is taken that somebody else may have put there.
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
