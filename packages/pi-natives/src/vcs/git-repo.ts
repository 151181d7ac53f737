/**
 * A git checkout.
 * @module
 */
import { cpSync, existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { git, output } from "./command.js";
import { isVcsError } from "./error.js";
import { GitReads } from "./git-reads.js";
import { type VcsHunkSelection, selectHunks } from "./hunks.js";
import type { VcsApplyOptions, VcsCleanOptions, VcsCommitOptions, VcsPushOptions, VcsRestoreOptions, VcsWorktreeAddOptions, VcsWorktreeAddResult } from "./options.js";

function applyArguments({ cached, reverse, threeWay }: VcsApplyOptions): string[] {
  return [...(cached ? ["--cached"] : []), ...(reverse ? ["--reverse"] : []), ...(threeWay ? ["--3way"] : []), "--whitespace=nowarn", "-"];
}

const withIndex = (indexPath: string | null | undefined): Record<string, string> => (indexPath ? { GIT_INDEX_FILE: resolve(indexPath) } : {});

/** A git checkout. Every method runs the program git. */
export class VcsGitRepo extends GitReads {
  async #do(args: string[], signal?: unknown): Promise<undefined> {
    await git(this.root, args, { signal });
    return undefined;
  }

  configSet(key: string, value: string, signal?: unknown): Promise<undefined> {
    return this.#do(["config", key, value], signal);
  }

  remoteAdd(name: string, url: string, signal?: unknown): Promise<undefined> {
    return this.#do(["remote", "add", name, url], signal);
  }

  /** Adds a working tree. With `keepChanges`, uncommitted changes and untracked files are copied to it. */
  async worktreeAdd(path: string, refName: string, options: VcsWorktreeAddOptions, signal?: unknown): Promise<VcsWorktreeAddResult> {
    await this.#do(["worktree", "add", "--quiet", ...(options.detach ? ["--detach"] : []), path, refName], signal);
    if (options.keepChanges) await this.#copyChanges(path, signal);
    return {};
  }

  async #copyChanges(path: string, signal: unknown): Promise<void> {
    const [staged, changed] = [await this.diffText({ cached: true, binary: true }, signal), await this.diffText({ binary: true }, signal)];
    if (staged) await git(path, ["apply", "--index", "--whitespace=nowarn", "-"], { stdin: staged, signal });
    if (changed) await git(path, ["apply", "--whitespace=nowarn", "-"], { stdin: changed, signal });
    for (const name of await this.lsFiles(true, true, signal)) cpSync(join(this.root, name), join(path, name), { recursive: true });
  }

  /** Removes a working tree. Returns false if there is none at this path. */
  async worktreeRemove(path: string, force: boolean, signal?: unknown): Promise<boolean> {
    const known = (await this.worktrees(signal)).some((each) => each.path === resolve(path));
    if (known) await this.#do(["worktree", "remove", ...(force ? ["--force", "--force"] : []), path], signal);
    return known;
  }

  worktreePrune(signal?: unknown): Promise<undefined> {
    return this.#do(["worktree", "prune"], signal);
  }

  stageFiles(files: string[], signal?: unknown): Promise<undefined> {
    return this.#do(["add", "--all", "--", ...(files.length ? files : ["."])], signal);
  }

  unstage(files: string[], signal?: unknown): Promise<undefined> {
    return this.#do(["reset", "--quiet", "--", ...files], signal);
  }

  /** Stages the selected hunks of a patch, by default of the unstaged changes. */
  async stageHunks(selections: VcsHunkSelection[], rawDiff?: string | null, signal?: unknown): Promise<undefined> {
    const patch = selectHunks(rawDiff ?? (await this.diffText({ binary: true }, signal)), selections);
    return this.applyPatch(patch, { cached: true }, signal);
  }

  /** Creates a commit and returns it. The message is unchanged: lines with `#` are not comments. */
  async commitCreate(message: string, { author, allowEmpty, amend, files = [] }: VcsCommitOptions, signal?: unknown): Promise<string> {
    const who = author ? [`--author=${author.name} <${author.email}>`, ...(author.date ? [`--date=${author.date}`] : [])] : [];
    const args = ["commit", "--quiet", "--cleanup=verbatim", "--allow-empty-message", "--file=-", ...who, ...(allowEmpty ? ["--allow-empty"] : []), ...(amend ? ["--amend"] : [])];
    await git(this.root, [...args, ...(files.length ? ["--", ...files] : [])], { stdin: message, signal });
    return (await output(this.root, ["rev-parse", "HEAD"], { signal })).trim();
  }

  checkout(rev: string, signal?: unknown): Promise<undefined> {
    return this.#do(["checkout", "--quiet", rev, "--"], signal);
  }

  createBranch(name: string, start: string, force: boolean, signal?: unknown): Promise<undefined> {
    return this.#do(["branch", ...(force ? ["--force"] : []), name, start], signal);
  }

  /** Deletes a branch. Returns false if it does not exist. */
  async deleteBranch(name: string, force: boolean, signal?: unknown): Promise<boolean> {
    if (!(await this.refExists(`refs/heads/${name}`, signal))) return false;
    await this.#do(["branch", "--quiet", force ? "-D" : "-d", name], signal);
    return true;
  }

  checkoutNewBranch(name: string, signal?: unknown): Promise<undefined> {
    return this.#do(["checkout", "--quiet", "-b", name], signal);
  }

  restore({ source, staged, worktree, files = [] }: VcsRestoreOptions, signal?: unknown): Promise<undefined> {
    const what = [...(source ? [`--source=${source}`] : []), ...(staged ? ["--staged"] : []), ...(worktree ? ["--worktree"] : [])];
    return this.#do(["restore", "--quiet", ...what, "--", ...(files.length ? files : ["."])], signal);
  }

  /** Resets; `mode` is `"soft"`, `"mixed"` or `"hard"`. */
  reset(mode: string, target?: string | null, signal?: unknown): Promise<undefined> {
    return this.#do(["reset", "--quiet", `--${mode}`, target ?? "HEAD"], signal);
  }

  clean({ ignoredOnly, includeIgnored, paths = [] }: VcsCleanOptions, signal?: unknown): Promise<undefined> {
    return this.#do(["clean", "--quiet", "--force", "-d", ...(ignoredOnly ? ["-X"] : includeIgnored ? ["-x"] : []), "--", ...paths], signal);
  }

  async readTree(treeish: string, indexPath?: string | null, signal?: unknown): Promise<undefined> {
    await git(this.root, ["read-tree", treeish], { env: withIndex(indexPath), signal });
    return undefined;
  }

  async writeTree(indexPath?: string | null, signal?: unknown): Promise<string> {
    return (await output(this.root, ["write-tree"], { env: withIndex(indexPath), signal })).trim();
  }

  async applyPatch(patch: string, options: VcsApplyOptions, signal?: unknown): Promise<undefined> {
    await git(this.root, ["apply", ...applyArguments(options)], { stdin: patch, env: withIndex(options.indexPath), signal, failure: "PatchFailed" });
    return undefined;
  }

  async canApplyPatch(patch: string, options: VcsApplyOptions, signal?: unknown): Promise<boolean> {
    try {
      await git(this.root, ["apply", "--check", ...applyArguments({ ...options, threeWay: false })], { stdin: patch, env: withIndex(options.indexPath), signal, failure: "PatchFailed" });
      return true;
    } catch (error) {
      if (isVcsError(error) && error.code !== "Canceled" && error.code !== "Cli") return false;
      throw error;
    }
  }

  cherryPick(rev: string, signal?: unknown): Promise<undefined> {
    return this.#do(["cherry-pick", rev], signal);
  }

  cherryPickAbort(signal?: unknown): Promise<undefined> {
    return this.#ifPicking(["cherry-pick", "--abort"], signal);
  }

  cherryPickSkip(signal?: unknown): Promise<undefined> {
    return this.#ifPicking(["cherry-pick", "--skip"], signal);
  }

  async #ifPicking(args: string[], signal: unknown): Promise<undefined> {
    if (existsSync(join(this.info().gitDir, "CHERRY_PICK_HEAD"))) await this.#do(args, signal);
    return undefined;
  }

  /** Stashes changes and untracked files. Returns false if there are none. */
  async stashPush(message?: string | null, signal?: unknown): Promise<boolean> {
    if (!(await this.isDirty(signal))) return false;
    await this.#do(["stash", "push", "--quiet", "--include-untracked", ...(message ? ["--message", message] : [])], signal);
    return true;
  }

  /** Restores the last stash. If there is none or it conflicts, returns false and changes nothing. */
  async stashTryPop(reinstateIndex: boolean, signal?: unknown): Promise<boolean> {
    if (!(await this.refExists("refs/stash", signal))) return false;
    const patch = await output(this.root, ["stash", "show", "--patch", "--binary", "--include-untracked"], { signal });
    if (patch && !(await this.canApplyPatch(patch, {}, signal))) return false;
    await this.#do(["stash", "pop", "--quiet", ...(reinstateIndex ? ["--index"] : [])], signal);
    return true;
  }

  async push({ remote, refspec, forceWithLease }: VcsPushOptions, signal?: unknown): Promise<void> {
    const target = refspec ? [remote ?? "origin", refspec] : remote ? [remote] : [];
    await git(this.root, ["push", "--quiet", ...(forceWithLease ? ["--force-with-lease"] : []), ...target], { signal, failure: "Cli" });
  }

  async fetch(remote: string, source: string, target: string, timeoutMs?: number | null, signal?: unknown): Promise<void> {
    await git(this.root, ["fetch", "--quiet", remote, `${source}:${target}`], { signal, failure: "Cli", timeoutMs: timeoutMs ?? undefined });
  }
}

/** Clones a repository and checks out a branch, tag or commit. */
export async function clone(url: string, target: string, options: { refName?: string; sha?: string; timeoutMs?: number }, signal?: unknown): Promise<void> {
  const { refName, sha, timeoutMs } = options;
  const path = resolve(target);
  const branch = refName ? ["--branch", refName] : [];
  await git(dirname(path), ["clone", "--quiet", ...branch, ...(sha ? ["--no-checkout"] : []), "--", url, path], { signal, failure: "Cli", timeoutMs });
  if (sha) await git(path, ["checkout", "--quiet", "--detach", sha, "--"], { signal, failure: "Cli", timeoutMs });
}
