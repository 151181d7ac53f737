/**
 * Version control with the program git.
 * @module
 */
import "./installed.js";
import { cpSync, rmSync, statSync, unwatchFile, watchFile } from "node:fs";
import { join, resolve } from "node:path";
import { git as runGit } from "./vcs/command.js";
import { type VcsGitRepoInfo, gitInfo, isPureJj } from "./vcs/discover.js";
import { vcsError } from "./vcs/error.js";
import { VcsGitRepo, clone as cloneGit } from "./vcs/git-repo.js";
import type { VcsCloneOptions } from "./vcs/options.js";
import { VcsRepo } from "./vcs/repo.js";

export { gitInfo, isPureJj };
export { isEmptyCherryPick, isVcsError } from "./vcs/error.js";
export type { VcsError, VcsErrorCode } from "./vcs/error.js";
export { joinPatches, validateHunkSelections } from "./vcs/hunks.js";

/** The features that some kinds of repositories lack. */
export type VcsFeature = "stagedDiff" | "revDiff";

/** Returns the git checkout that contains a directory; null if there is none. */
export function git(dir: string): VcsGitRepo | null {
  const info: VcsGitRepoInfo | null = gitInfo(dir);
  return info && new VcsGitRepo(info);
}

/** Returns the repository that contains a directory; null if there is none, and in a Jujutsu workspace without git. */
export function repo(dir: string): VcsRepo | null {
  const found = isPureJj(dir) ? null : git(dir);
  return found && new VcsRepo(found);
}

/** The same as {@link repo}. */
export function repoForDisplay(dir: string): VcsRepo | null {
  return repo(dir);
}

/** Returns the repository that contains a directory; throws a `VcsError` if there is none. */
export function require(dir: string, ...features: VcsFeature[]): VcsRepo {
  const found = repo(dir);
  if (!found) throw vcsError("NotARepository", `not a repository: ${dir}`);
  for (const feature of features) found.supports(feature);
  return found;
}

/** Returns the git checkout that contains a directory; throws a `VcsError` if there is none. */
export function requireGit(dir: string): VcsGitRepo {
  const found = git(dir);
  if (!found) throw vcsError("NotARepository", `not a repository: ${dir}`);
  return found;
}

/** Returns null, because Jujutsu workspaces are not supported. */
export function jj(_dir: string): null {
  return null;
}

/** Clones a repository with the program git, without password prompts. */
export function clone(url: string, target: string, options: VcsCloneOptions = {}, signal?: AbortSignal): Promise<void> {
  return cloneGit(url, target, options, signal);
}

/**
 * Makes a copied work tree independent of the original repository.
 * @returns `"no-git"` if it has no `.git`, `"independent"` if it has its own repository, `"detached"` if the shared
 *   repository was copied.
 */
export async function detachGitDir(worktreeRoot: string, sourceCommonDir: string, signal?: AbortSignal): Promise<"no-git" | "independent" | "detached"> {
  const info = gitInfo(worktreeRoot);
  if (!info || info.repoRoot !== resolve(worktreeRoot)) return "no-git";
  if (info.commonDir !== resolve(sourceCommonDir)) return "independent";
  const { stdout: head } = await runGit(worktreeRoot, ["rev-parse", "HEAD"], { signal });
  const entry = join(worktreeRoot, ".git");
  const index = join(info.gitDir, "index");
  const next = `${entry}.${process.pid}.part`;
  cpSync(info.commonDir, next, { recursive: true, filter: (path) => path !== join(info.commonDir, "worktrees") });
  cpSync(index, join(next, "index"));
  rmSync(entry, { recursive: statSync(entry).isDirectory(), force: true });
  cpSync(next, entry, { recursive: true });
  rmSync(next, { recursive: true });
  await runGit(worktreeRoot, ["update-ref", "--no-deref", "HEAD", head.trim()], { signal });
  return "detached";
}

/** The time between two checks of {@link watch}, in milliseconds. */
export const HEAD_WATCH_INTERVAL_MS = 1000;

/** Calls back when HEAD of a repository changes; returns a function that ends the watch. */
export function watch(repository: VcsRepo, onChange: () => void, intervalMs: number = HEAD_WATCH_INTERVAL_MS): () => void {
  const path = repository.watchTarget();
  const compare = (now: { mtimeMs: number; size: number; ino: number }, before: typeof now) => {
    if (now.mtimeMs !== before.mtimeMs || now.size !== before.size || now.ino !== before.ino) onChange();
  };
  watchFile(path, { interval: intervalMs }, compare).unref();
  return () => unwatchFile(path, compare);
}
