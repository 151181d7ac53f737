/**
 * Finds repositories by reading files, without running git.
 * @module
 */
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";

/** The paths of a checkout. */
export interface VcsGitRepoInfo {
  /** The root of the working tree. */
  repoRoot: string;
  /** Its `.git`, a directory or a file. */
  gitEntryPath: string;
  /** The directory with this checkout's HEAD and index. */
  gitDir: string;
  /** The directory with objects and branches, which linked working trees share. */
  commonDir: string;
  /** The file with HEAD. */
  headPath: string;
  /** True if branches are stored in a reftable. */
  isReftable: boolean;
}

/** The current commit or branch. */
export interface VcsHeadState {
  /** `"ref"` on a branch, `"detached"` otherwise. */
  kind: string;
  /** The full name of the branch, if there is one. */
  refName?: string;
  /** Its short name. */
  branch?: string;
  /** The commit; absent before the first commit. */
  commit?: string;
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8").trim();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR" || code === "EISDIR") return undefined;
    throw error;
  }
}

/** Yields a directory and its parents. */
export function* ancestors(dir: string): Generator<string> {
  for (let at = resolve(dir), above = ""; at !== above; at = dirname(at)) {
    yield at;
    above = dirname(at) === at ? at : "";
  }
}

function gitDirOf(entry: string): string | undefined {
  if (statSync(entry).isDirectory()) return existsSync(join(entry, "HEAD")) ? entry : undefined;
  const [, target] = /^gitdir: (.+)$/m.exec(read(entry) ?? "") ?? [];
  if (!target) return undefined;
  const found = isAbsolute(target) ? target : resolve(dirname(entry), target);
  return existsSync(join(found, "HEAD")) ? found : undefined;
}

/** Returns the checkout that contains a directory; null if there is none. */
export function gitInfo(dir: string): VcsGitRepoInfo | null {
  for (const repoRoot of ancestors(dir)) {
    const gitEntryPath = join(repoRoot, ".git");
    const gitDir = existsSync(gitEntryPath) ? gitDirOf(gitEntryPath) : undefined;
    if (!gitDir) continue;
    const shared = read(join(gitDir, "commondir"));
    const commonDir = shared === undefined ? gitDir : resolve(gitDir, shared);
    return { repoRoot, gitEntryPath, gitDir, commonDir, headPath: join(gitDir, "HEAD"), isReftable: existsSync(join(commonDir, "reftable")) };
  }
  return null;
}

/** Returns whether a Jujutsu workspace is nearer than any git checkout, so that git must not be used. */
export function isPureJj(dir: string): boolean {
  for (const at of ancestors(dir)) {
    if (existsSync(join(at, ".git"))) return false;
    if (existsSync(join(at, ".jj", "repo"))) return true;
  }
  return false;
}

/** Returns the root of the main working tree; for the main working tree, its own root. */
export function primaryRoot(info: VcsGitRepoInfo): string {
  return info.commonDir === info.gitDir || !info.commonDir.endsWith("/.git") ? info.repoRoot : dirname(info.commonDir);
}

/** Returns the state of HEAD. Branches in a reftable have no `commit`, because only git can read them. */
export function headState(info: VcsGitRepoInfo): VcsHeadState {
  const head = read(info.headPath) ?? "";
  const [, refName] = /^ref: (.+)$/.exec(head) ?? [];
  if (!refName) return { kind: "detached", commit: head };
  const branch = refName.replace(/^refs\/heads\//, "");
  const packed = () => new RegExp(`^([0-9a-f]{40,64}) ${refName.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`, "m").exec(read(join(info.commonDir, "packed-refs")) ?? "")?.[1];
  const commit = read(join(info.gitDir, refName)) ?? read(join(info.commonDir, refName)) ?? packed();
  return { kind: "ref", refName, branch, ...(commit === undefined ? {} : { commit }) };
}
