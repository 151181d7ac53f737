/**
 * Methods that read a git checkout.
 * @module
 */
import { existsSync } from "node:fs";
import { relative, resolve } from "node:path";
import { git, line, lines, names, output } from "./command.js";
import { type VcsGitRepoInfo, type VcsHeadState, headState, primaryRoot } from "./discover.js";
import { isVcsError, vcsError } from "./error.js";
import type {
  VcsCommitDetails, VcsDiffOptions, VcsLinkedWorktree, VcsNumstatEntry, VcsShowResult, VcsStatusOptions, VcsStatusSummary, VcsWorktreeEntry,
} from "./options.js";

/** Returns the arguments of `git diff` that select both sides and the paths. */
function sides({ cached, base, head, files = [] }: VcsDiffOptions): string[] {
  const revisions = [base, head].filter((each) => each !== undefined);
  return [...(cached ? ["--cached"] : []), ...revisions, "--", ...files];
}

/** The exit code with which `git tag` reports that an object does not exist. */
const UNKNOWN_OBJECT = 129;

/** The read-only methods of a checkout. */
export class GitReads {
  readonly #info: VcsGitRepoInfo;

  constructor(info: VcsGitRepoInfo) {
    this.#info = info;
  }

  protected get root(): string {
    return this.#info.repoRoot;
  }

  info(): VcsGitRepoInfo {
    return { ...this.#info };
  }

  /** Returns the root of the main working tree. */
  primaryRoot(): string {
    return primaryRoot(this.#info);
  }

  /** Returns the roots of a linked working tree and of the main one; null for the main one. */
  linkedWorktree(): VcsLinkedWorktree | null {
    return this.#info.gitDir === this.#info.commonDir ? null : { root: this.root, primaryRoot: this.primaryRoot() };
  }

  headSync(): VcsHeadState {
    return headState(this.#info);
  }

  /** Returns the path of a directory below the root, with a trailing `/`; null if it is outside the working tree. */
  prefixOf(dir: string): string | null {
    const path = relative(this.root, resolve(dir)).replaceAll("\\", "/");
    if (path === "") return "";
    return path.startsWith("..") ? null : `${path}/`;
  }

  async head(signal?: unknown): Promise<VcsHeadState> {
    const state = this.headSync();
    const commit = state.commit ?? (await this.headSha(signal));
    return commit ? { ...state, commit } : state;
  }

  headSha(signal?: unknown): Promise<string | null> {
    return this.resolveRef("HEAD", signal);
  }

  async currentBranch(_signal?: unknown): Promise<string | null> {
    return this.headSync().branch ?? null;
  }

  /** Returns the default branch of the remote `origin`; null if it is unknown. */
  async defaultBranch(signal?: unknown): Promise<string | null> {
    const name = await line(this.root, ["symbolic-ref", "--quiet", "refs/remotes/origin/HEAD"], { signal, answers: [1] });
    return name?.replace("refs/remotes/origin/", "") ?? null;
  }

  /** Returns the object of a name, which is a tag for an annotated one; null if there is none. */
  resolveRef(name: string, signal?: unknown): Promise<string | null> {
    return line(this.root, ["rev-parse", "--verify", "--quiet", "--end-of-options", name], { signal, answers: [1, 128] });
  }

  async refExists(name: string, signal?: unknown): Promise<boolean> {
    return (await this.resolveRef(name, signal)) !== null;
  }

  /** Returns the tags of a commit; none if it does not exist. */
  tagsAt(rev: string, signal?: unknown): Promise<string[]> {
    return lines(this.root, ["tag", "--points-at", rev], { signal, answers: [UNKNOWN_OBJECT] });
  }

  /** Returns the branches in the order of their names; with `all`, also those of remotes, as `remotes/REMOTE/NAME`. */
  async listBranches(all: boolean, signal?: unknown): Promise<string[]> {
    const found = await lines(this.root, ["for-each-ref", "--format=%(refname)", "refs/heads", ...(all ? ["refs/remotes"] : [])], { signal });
    return found.map((name) => name.replace(/^refs\/(?:heads\/)?/, "")).sort();
  }

  async isDirty(signal?: unknown): Promise<boolean> {
    return (await this.statusPorcelain({ nulTerminated: true }, signal)) !== "";
  }

  statusPorcelain({ untracked = "normal", pathspecs = [], nulTerminated }: VcsStatusOptions, signal?: unknown): Promise<string> {
    return output(this.root, ["--no-optional-locks", "status", "--porcelain=v1", `--untracked-files=${untracked}`, ...(nulTerminated ? ["-z"] : []), "--", ...pathspecs], { signal });
  }

  async statusSummary(signal?: unknown): Promise<VcsStatusSummary> {
    const summary = { staged: 0, unstaged: 0, untracked: 0 };
    for (const row of (await this.statusPorcelain({}, signal)).split("\n")) {
      if (row.startsWith("??")) summary.untracked += 1;
      else if (row !== "") {
        if (row[0] !== " ") summary.staged += 1;
        if (row[1] !== " ") summary.unstaged += 1;
      }
    }
    return summary;
  }

  configGet(key: string, signal?: unknown): Promise<string | null> {
    return line(this.root, ["config", "--get", key], { signal, answers: [1] });
  }

  remoteList(signal?: unknown): Promise<string[]> {
    return lines(this.root, ["remote"], { signal });
  }

  remoteUrl(name: string, signal?: unknown): Promise<string | null> {
    return this.configGet(`remote.${name}.url`, signal);
  }

  async worktrees(signal?: unknown): Promise<VcsWorktreeEntry[]> {
    const blocks = (await output(this.root, ["worktree", "list", "--porcelain"], { signal })).split("\n\n").filter((block) => block.trim() !== "");
    return blocks.map((block) => {
      const field = (name: string) => new RegExp(`^${name} (.+)$`, "m").exec(block)?.[1];
      const [head, branch] = [field("HEAD"), field("branch")];
      return { path: field("worktree") ?? "", detached: /^detached$/m.test(block), ...(head ? { head } : {}), ...(branch ? { branch } : {}) };
    });
  }

  logSubjects(count: number, signal?: unknown): Promise<string[]> {
    return lines(this.root, ["log", "--format=%s", `--max-count=${count}`], { signal });
  }

  logOnelines(count: number, signal?: unknown): Promise<string[]> {
    return lines(this.root, ["log", "--format=%h %s", `--max-count=${count}`], { signal });
  }

  /** Returns the commits that are in `head` but not in `base`, oldest first. */
  revListRange(base: string, head: string, signal?: unknown): Promise<string[]> {
    return lines(this.root, ["rev-list", "--reverse", "--end-of-options", `${base}..${head}`], { signal });
  }

  mergeBase(a: string, b: string, signal?: unknown): Promise<string | null> {
    return line(this.root, ["merge-base", "--end-of-options", a, b], { signal, answers: [1] });
  }

  revListTouching(rev: string, file: string, limit: number, signal?: unknown): Promise<string[]> {
    return lines(this.root, ["rev-list", `--max-count=${limit}`, "--end-of-options", rev, "--", file], { signal });
  }

  async commitDetails(rev: string, signal?: unknown): Promise<VcsCommitDetails> {
    const text = await output(this.root, ["show", "--no-patch", "--format=%H%x00%P%x00%an%x00%ae%x00%aI%x00%B", "--end-of-options", `${rev}^{commit}`], { signal });
    const [sha = "", parents = "", name = "", email = "", date = "", message = ""] = text.split("\0");
    return { sha, parents: parents.split(" ").filter(Boolean), author: { name, email, date: date.replace(/Z$/, "+00:00") }, message: message.replace(/\n+$/, "") };
  }

  lsFiles(others: boolean, excludeStandard: boolean, signal?: unknown): Promise<string[]> {
    return names(this.root, ["ls-files", "-z", ...(others ? ["--others"] : []), ...(excludeStandard ? ["--exclude-standard"] : [])], { signal });
  }

  lsTree(rev: string, paths: string[], signal?: unknown): Promise<string[]> {
    return names(this.root, ["ls-tree", "-r", "-z", "--name-only", "--full-tree", "--end-of-options", rev, ...paths], { signal });
  }

  async submodulePaths(signal?: unknown): Promise<string[]> {
    const entries = await names(this.root, ["ls-files", "--stage", "-z"], { signal });
    return entries.filter((entry) => entry.startsWith("160000 ")).map((entry) => entry.slice(entry.indexOf("\t") + 1));
  }

  /** Returns the bytes of `REVISION:PATH`, or of `:PATH` in the index. */
  async showBlob(spec: string, maxBytes?: number | null, signal?: unknown): Promise<VcsShowResult> {
    try {
      return await this.#bytes(["cat-file", "blob", spec], maxBytes, signal);
    } catch (error) {
      throw isVcsError(error) && error.exitCode === 128 ? vcsError("ObjectNotFound", `object not found: ${spec}`) : error;
    }
  }

  /** Returns a commit with its patch, as `git show` prints it. */
  showCommit(rev: string, maxBytes?: number | null, signal?: unknown): Promise<VcsShowResult> {
    return this.#bytes(["show", "--no-ext-diff", "--end-of-options", `${rev}^{commit}`], maxBytes, signal);
  }

  async #bytes(args: string[], maxBytes: number | null | undefined, signal: unknown): Promise<VcsShowResult> {
    const data = Buffer.from((await git(this.root, args, { signal })).bytes);
    const limit = maxBytes ?? data.length;
    return { data: data.subarray(0, limit), truncated: data.length > limit };
  }

  async lfsMediaDir(_signal?: unknown): Promise<string | null> {
    return resolve(this.#info.commonDir, "lfs", "objects");
  }

  async diffText(options: VcsDiffOptions, signal?: unknown): Promise<string> {
    const { context, binary, maxBytes } = options;
    const patch = await output(this.root, ["diff", "--no-ext-diff", ...(context === undefined ? [] : [`--unified=${context}`]), ...(binary ? ["--binary"] : []), ...sides(options)], { signal, maxBuffer: maxBytes });
    if (maxBytes !== undefined && Buffer.byteLength(patch) > maxBytes) throw vcsError("OutputTooLarge", `diffText: the patch exceeds ${maxBytes} bytes`);
    return patch;
  }

  /** Compares two files or directories, which may be outside the repository. One that is missing counts as empty. */
  async diffNoIndex(left: string, right: string, binary: boolean, signal?: unknown): Promise<string> {
    // git also exits with 1 if it cannot read one of them.
    const [from, to] = [left, right].map((path) => (existsSync(resolve(this.root, path)) ? this.#below(path) : "/dev/null"));
    if (from === to) return "";
    return output(this.root, ["diff", "--no-index", "--no-ext-diff", ...(binary ? ["--binary"] : []), "--", from as string, to as string], { signal, answers: [1] });
  }

  /** Returns a path relative to the root, as in patches; paths outside are unchanged. */
  #below(path: string): string {
    const inside = relative(this.root, path);
    return inside === "" || inside.startsWith("..") ? path : inside;
  }

  changedFiles(options: VcsDiffOptions, signal?: unknown): Promise<string[]> {
    return names(this.root, ["diff", "--name-only", "-z", ...sides(options)], { signal });
  }

  /** Returns the numbers of changed lines of each file; a renamed file has its new path. */
  async numstat(options: VcsDiffOptions, signal?: unknown): Promise<VcsNumstatEntry[]> {
    const rows = await names(this.root, ["diff", "--numstat", "--find-renames", "-z", ...sides(options)], { signal });
    const entries: VcsNumstatEntry[] = [];
    for (let at = 0; at < rows.length; at += 1) {
      const [added, removed, ...rest] = (rows[at] as string).split("\t");
      // The two names of a renamed file follow its numbers.
      const path = rest.join("\t") || (rows[(at += 2)] as string);
      entries.push(added === "-" ? { path } : { path, added: Number(added), removed: Number(removed) });
    }
    return entries;
  }

  async hasDiff(options: VcsDiffOptions, signal?: unknown): Promise<boolean> {
    return (await git(this.root, ["diff", "--quiet", ...sides(options)], { signal, answers: [1] })).exitCode === 1;
  }

  diffTree(base: string, head: string, binary: boolean, signal?: unknown): Promise<string> {
    return output(this.root, ["diff-tree", "-r", "-p", ...(binary ? ["--binary"] : []), base, head], { signal });
  }
}
