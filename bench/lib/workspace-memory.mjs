// node --expose-gc workspace-memory.mjs TREE CACHE: prints how many bytes a workspace with the saved index of a tree
// takes after one search and one search for a name. It is a separate process, because earlier work leaves memory
// behind.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const THIS = fileURLToPath(import.meta.url);

/** The bytes that a workspace with the index in `cacheDir` takes, measured in another process. */
export const workspaceMemory = (path, cacheDir) => Number(execFileSync(process.execPath, ["--expose-gc", THIS, path, cacheDir]));

/** The resident bytes of this process that are not mapped from files. */
const resident = () => Number(/RssAnon:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))[1]) * 1024;

if (process.argv[1] === THIS) {
  const { Workspace } = createRequire(THIS)(join(import.meta.dirname, "..", "..", "packages", "natives"));
  const [path, cacheDir] = process.argv.slice(2);
  gc();
  const before = resident();
  const workspace = await Workspace.open(path, { cacheDir });
  await workspace.ready();
  await workspace.grep({ pattern: "zq_not_there_42" });
  await workspace.fuzzyFind({ query: "merstoka9", maxResults: 20 });
  gc();
  process.stdout.write(String(resident() - before));
}
