// Creates a folder for temporary files whose parent folders do not affect searches in it.
import { chmodSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

/** Names that search tools look for in every parent folder. */
const LOOKED_FOR = [".git", ".gitignore", ".ignore", ".rgignore"];

/** The first such file in `folder` or above it; undefined if there is none. */
export function ignoreFileAbove(folder) {
  for (let at = resolve(folder); ; at = dirname(at)) {
    const name = LOOKED_FOR.find((each) => existsSync(join(at, each)));
    if (name) return join(at, name);
    if (at === dirname(at)) return undefined;
  }
}

/**
 * Creates a folder for one run, sets TMPDIR to it for this process and its children, and deletes it when this process
 * ends. If another program has left a repository in the usual folder, uses another one.
 */
export function useTemporaryFolder() {
  const bases = [tmpdir(), "/var/tmp", "/dev/shm"].filter((base) => existsSync(base));
  const base = bases.find((each) => ignoreFileAbove(each) === undefined);
  if (base === undefined) {
    throw new Error(`${ignoreFileAbove(bases[0])} changes what searches below ${bases[0]} find: remove it, or set TMPDIR to another folder`);
  }
  const folder = mkdtempSync(join(base, "sinew-run-"));
  // The same mode as the usual folder, because some tests start programs of another user in it.
  chmodSync(folder, 0o1777);
  process.env.TMPDIR = folder;
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
