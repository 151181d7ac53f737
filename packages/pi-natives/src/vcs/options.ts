/**
 * The options and results of a repository's methods.
 * @module
 */

export interface VcsDiffOptions {
  /** Compare the index instead of the working tree. */
  cached?: boolean;
  /** The old side; default: the index, or HEAD with `cached`. */
  base?: string;
  /** The new side; default: the working tree. */
  head?: string;
  /** Only these paths. */
  files?: string[];
  /** The number of unchanged lines around each change. Default: 3. */
  context?: number;
  /** Include binary changes. */
  binary?: boolean;
  /** The maximum size of the patch in bytes; a larger one fails with `OutputTooLarge`. Default: 100,000,000. */
  maxBytes?: number;
}

export interface VcsStatusOptions {
  /** `"all"`, `"normal"` or `"no"`. Default: `"normal"`. */
  untracked?: string;
  /** Only these paths. */
  pathspecs?: string[];
  /** End rows with NUL instead of line ends. */
  nulTerminated?: boolean;
}

export interface VcsStatusSummary {
  staged: number;
  unstaged: number;
  untracked: number;
}

export interface VcsNumstatEntry {
  path: string;
  /** Absent for binary files. */
  added?: number;
  /** Absent for binary files. */
  removed?: number;
}

export interface VcsCommitAuthor {
  name: string;
  email: string;
  date?: string;
}

export interface VcsCommitDetails {
  sha: string;
  parents: string[];
  author: VcsCommitAuthor;
  message: string;
}

export interface VcsCommitOptions {
  author?: VcsCommitAuthor;
  allowEmpty?: boolean;
  amend?: boolean;
  files?: string[];
}

export interface VcsApplyOptions {
  /** Change only the index. */
  cached?: boolean;
  /** The index to change instead of the checkout's own. */
  indexPath?: string;
  reverse?: boolean;
  threeWay?: boolean;
}

export interface VcsRestoreOptions {
  source?: string;
  staged?: boolean;
  worktree?: boolean;
  files?: string[];
}

export interface VcsCleanOptions {
  ignoredOnly?: boolean;
  includeIgnored?: boolean;
  paths?: string[];
}

export interface VcsPushOptions {
  remote?: string;
  refspec?: string;
  forceWithLease?: boolean;
}

export interface VcsCloneOptions {
  refName?: string;
  sha?: string;
  timeoutMs?: number;
}

export interface VcsShowResult {
  data: Buffer;
  /** True if `data` contains only the beginning. */
  truncated: boolean;
}

export interface VcsLinkedWorktree {
  root: string;
  primaryRoot: string;
}

export interface VcsWorktreeAddOptions {
  detach: boolean;
  /** Has no effect, because git writes the files. */
  clone: boolean;
  backend?: number;
  /** Copy the uncommitted changes. The new working tree must be at HEAD. */
  keepChanges?: boolean;
}

export interface VcsWorktreeAddResult {
  clonedWith?: number;
  cloneError?: string;
}

export interface VcsWorktreeEntry {
  path: string;
  head?: string;
  branch?: string;
  detached: boolean;
}
