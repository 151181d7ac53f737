/**
 * Lists a directory for a prompt: its first levels, and the instruction files in it.
 * @module
 */
import type { CallOptions } from "./call.js";
import { type GlobMatch, glob } from "./glob.js";
import { type Table, options as check } from "./options.js";

/** The options of `listWorkspace`. */
export interface ListWorkspaceOptions extends CallOptions {
  /** The directory. */
  path: string;
  /** Number of levels; 1 is the directory itself. */
  maxDepth: number;
  /** Include entries whose name begins with a dot, except `.git`. Default: false. */
  hidden?: boolean | undefined;
  /** Skip files that `.gitignore`, `.ignore` and `.rgignore` exclude. Default: true. */
  gitignore?: boolean | undefined;
  /** Find `AGENTS.md` files in four levels below `path`, also those that git ignores. Default: false. */
  collectAgentsMd?: boolean | undefined;
  /** Maximum number of entries. Default: 10,000. */
  maxResults?: number | undefined;
}

/** The result of `listWorkspace`. */
export interface ListWorkspaceResult {
  /** The entries in path order, each with `mtime` and `size`. */
  entries: GlobMatch[];
  /** The paths of `AGENTS.md` files below `path`, in path order, at most 200; empty unless `collectAgentsMd` is set. */
  agentsMdFiles: string[];
  /** True if a limit was reached. */
  truncated: boolean;
}

const LIST: Table = {
  path: "string!", maxDepth: "u32!", hidden: "boolean", gitignore: "boolean", collectAgentsMd: "boolean", maxResults: "u32", timeoutMs: "u32", signal: "signal",
};
const AGENTS_LEVELS = 4;
const MOST_AGENTS = 200;

/**
 * Lists the first levels of a directory, for the prompt of an agent. `node_modules` is skipped.
 *
 * @param options The directory and limits.
 * @returns The entries, each with its time and size.
 * @throws `TypeError` or `RangeError` for an option of the wrong type or range; `ENOENT`; `AbortError` or `TimeoutError` if the call was stopped.
 * @example
 * ```js
 * import { listWorkspace } from "@sinew/natives";
 * const { entries, truncated } = await listWorkspace({ path: ".", maxDepth: 2 });
 * console.log(entries.map(({ path }) => path), truncated);
 * ```
 */
export async function listWorkspace(options: ListWorkspaceOptions): Promise<ListWorkspaceResult> {
  const request = check("listWorkspace", LIST, options) as unknown as ListWorkspaceOptions;
  const { path, maxDepth, hidden = false, gitignore = true, collectAgentsMd = false, maxResults = 10_000, timeoutMs, signal } = request;
  const common = { path, hidden, timeoutMs, signal };
  const [listed, agents] = await Promise.all([
    // `sortByMtime` is set because it also returns times and sizes. Without a level the call still fails if the directory does not exist.
    maxDepth === 0 ? glob({ ...common, pattern: "*", recursive: false, maxResults: 0 }) : glob({ ...common, pattern: "**", gitignore, maxDepth, sortByMtime: true }),
    collectAgentsMd ? glob({ ...common, pattern: "*/**/AGENTS.md", gitignore: false, maxDepth: AGENTS_LEVELS + 1, maxResults: MOST_AGENTS, onlyFiles: true }) : undefined,
  ]);
  // Cut in path order, so that the list does not depend on modification times.
  const entries = listed.matches.sort((a, b) => (a.path < b.path ? -1 : 1));
  return {
    entries: entries.slice(0, maxResults),
    agentsMdFiles: agents?.matches.map((match) => match.path) ?? [],
    truncated: entries.length > maxResults || Boolean(agents?.limitReached),
  };
}
