/**
 * The places where an addon may be, in the order in which they are tried.
 * @module
 */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { EMBEDDED } from "./embedded.js";
import { dataFolder, extract, privateTemporary } from "./loader-extract.js";
import { VERSION } from "./loader-version.js";
import type { Variant } from "./variant.js";

/** One place to look in. @internal */
export interface Candidate {
  /** The file or module, for the report. */
  readonly what: string;
  /** The file's path. Throws the reason where there is none. */
  readonly find: () => string;
}

/** This file; a bundle as an ES module has no `__filename`, then it is the program's. */
const HERE = typeof __filename === "string" ? __filename : (process.argv[1] ?? process.execPath);

/** `require` as this file sees it: what the runtime and its package manager resolve. @internal */
export const load: NodeJS.Require = createRequire(HERE);

/** Inside a program compiled by Bun every module's path begins with one of these. */
const BUN_ROOTS = ["/$bunfs/", "B:\\~BUN\\", "B:/~BUN/"];

function isNodeProgram(): boolean {
  try {
    return (load("node:sea") as { isSea(): boolean }).isSea();
  } catch {
    // Runtimes without the module compile no such program.
    return false;
  }
}

/** Whether package and host are one executable. */
function isCompiled(env: NodeJS.ProcessEnv): boolean {
  return Boolean(env["SINEW_COMPILED"]) || BUN_ROOTS.some((root) => HERE.startsWith(root)) || (EMBEDDED.length > 0 && isNodeProgram());
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
      const files = EMBEDDED.filter((each) => each.name === name || each.name === companionName(process.platform));
      if (files.some((each) => each.name === name)) extract(folder, files);
      return file(what).find();
    },
  };
}

/** The file name of the program under which shells and terminals run. @internal */
export function companionName(platform: string): string {
  return platform === "win32" ? "sinew-shell-host.exe" : "sinew-shell-host";
}

/**
 * All candidates for a tag and its variants (none where the platform has one build).
 * @internal
 */
export function* candidates(tag: string, variants: readonly Variant[], env: NodeJS.ProcessEnv): Generator<Candidate> {
  const names = variants.length ? variants.map((variant) => `sinew_natives.${tag}-${variant}.node`) : [`sinew_natives.${tag}.node`];
  const root = join(dirname(HERE), "..");
  const folders = [join(root, "native"), join(root, "..", "..", "native", "build")];
  if (env["SINEW_DEV"]) for (const folder of folders) yield file(join(folder, "sinew_natives.dev.node"));
  if (isCompiled(env)) {
    const data = () => join(dataFolder(process.platform, env), "sinew");
    for (const name of names) yield extracted(name, data);
    // Only what the host carries goes there; nothing is taken that somebody else may have put there.
    for (const name of names) if (EMBEDDED.some((each) => each.name === name)) yield extracted(name, privateTemporary);
  }
  for (const name of names) {
    const module = `@sinew/natives-${tag}/${name}`;
    yield { what: module, find: () => load.resolve(module) };
  }
  for (const folder of folders) for (const name of names) yield file(join(folder, name));
  for (const name of names) yield file(join(dirname(process.execPath), name));
}
