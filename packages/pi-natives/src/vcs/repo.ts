/**
 * A repository of any kind.
 * @module
 */
import { primaryRoot } from "./discover.js";
import { vcsError } from "./error.js";
import type { VcsGitRepo } from "./git-repo.js";
import type { VcsCommitDetails, VcsDiffOptions, VcsNumstatEntry, VcsStatusOptions, VcsStatusSummary } from "./options.js";

/** The features that some kinds of repositories lack. git has both. */
const FEATURES = ["stagedDiff", "revDiff"];

/** A repository. Only git is supported, so each is a git checkout. */
export class VcsRepo {
  readonly #git: VcsGitRepo;

  constructor(git: VcsGitRepo) {
    this.#git = git;
  }

  kind(): string {
    return "git";
  }

  root(): string {
    return this.#git.info().repoRoot;
  }

  primaryRoot(): string {
    return primaryRoot(this.#git.info());
  }

  prefixOf(dir: string): string | null {
    return this.#git.prefixOf(dir);
  }

  /** The file that changes with HEAD. */
  watchTarget(): string {
    return this.#git.info().headPath;
  }

  supports(feature: string): boolean {
    if (!FEATURES.includes(feature)) throw vcsError("Backend", `supports: unknown feature "${feature}"; use ${FEATURES.join(" or ")}`);
    return true;
  }

  asGit(): VcsGitRepo | null {
    return this.#git;
  }

  asJj(): null {
    return null;
  }

  /** Returns the branch; null without one. */
  label(signal?: unknown): Promise<string | null> {
    return this.#git.currentBranch(signal);
  }

  headId(signal?: unknown): Promise<string | null> {
    return this.#git.headSha(signal);
  }

  statusSummary(signal?: unknown): Promise<VcsStatusSummary> {
    return this.#git.statusSummary(signal);
  }

  statusPorcelain(options: VcsStatusOptions, signal?: unknown): Promise<string> {
    return this.#git.statusPorcelain(options, signal);
  }

  diffText(options: VcsDiffOptions, signal?: unknown): Promise<string> {
    return this.#git.diffText(options, signal);
  }

  changedFiles(options: VcsDiffOptions, signal?: unknown): Promise<string[]> {
    return this.#git.changedFiles(options, signal);
  }

  numstat(options: VcsDiffOptions, signal?: unknown): Promise<VcsNumstatEntry[]> {
    return this.#git.numstat(options, signal);
  }

  /** Returns the staged and unstaged changes since the last commit, without untracked files. */
  async uncommittedDiff(files: string[], signal?: unknown): Promise<string> {
    return (await this.#git.headSha(signal)) === null ? this.#git.diffText({ cached: true, files }, signal) : this.#git.diffText({ base: "HEAD", files }, signal);
  }

  logSubjects(count: number, signal?: unknown): Promise<string[]> {
    return this.#git.logSubjects(count, signal);
  }

  logOnelines(count: number, signal?: unknown): Promise<string[]> {
    return this.#git.logOnelines(count, signal);
  }

  commitDetails(rev: string, signal?: unknown): Promise<VcsCommitDetails> {
    return this.#git.commitDetails(rev, signal);
  }

  lsFiles(others: boolean, excludeStandard: boolean, signal?: unknown): Promise<string[]> {
    return this.#git.lsFiles(others, excludeStandard, signal);
  }
}
