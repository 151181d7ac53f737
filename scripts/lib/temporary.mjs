// A folder for temporary files whose parents do not change what a search in it finds.
import { chmodSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

/** Names that search tools look for in every parent folder. */
const LOOKED_FOR = [".git", ".gitignore", ".ignore", ".rgignore"];

/** The first such file in `folder` or above it; undefined where there is none. */
export function ignoreFileAbove(folder) {
  for (let at = resolve(folder); ; at = dirname(at)) {
    const name = LOOKED_FOR.find((each) => existsSync(join(at, each)));
    if (name) return join(at, name);
    if (at === dirname(at)) return undefined;
  }
}

/**
 * Makes a folder for one run, sets TMPDIR to it for this process and those that it starts, and deletes it when this process ends.
 * Another program may have left a repository in the usual folder; then another one is taken.
 */
export function useTemporaryFolder() {
  const bases = [tmpdir(), "/var/tmp", "/dev/shm"].filter((base) => existsSync(base));
  const base = bases.find((each) => ignoreFileAbove(each) === undefined);
  if (base === undefined) {
    throw new Error(`${ignoreFileAbove(bases[0])} changes what searches below ${bases[0]} find: remove it, or set TMPDIR to another folder`);
  }
  const folder = mkdtempSync(join(base, "sinew-run-"));
  // As the usual one: some tests start programs of another user in it.
  chmodSync(folder, 0o1777);
  process.env.TMPDIR = folder;
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
