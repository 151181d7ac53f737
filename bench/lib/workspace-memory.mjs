// node --expose-gc workspace-memory.mjs TREE CACHE: prints how many bytes a workspace on the kept index of a tree takes after one
// search and one question for a name. A process of its own, because one that worked before has memory left from that.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const THIS = fileURLToPath(import.meta.url);

/** The bytes that a workspace on the index in `cacheDir` takes, asked of another process. */
export const workspaceMemory = (path, cacheDir) => Number(execFileSync(process.execPath, ["--expose-gc", THIS, path, cacheDir]));

/** The bytes of this process that are not of files. */
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
