// Tests `listWorkspace`: its entries, and directories that do not exist.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { listWorkspace } from "@sinew/natives";
import { tree } from "./tree.mjs";

test("lists the first levels in path order, with times and sizes", async () => {
  const path = tree({ "a.txt": "12345", "d/b.txt": "", "d/AGENTS.md": "x" });
  const { entries, agentsMdFiles, truncated } = await listWorkspace({ path, maxDepth: 1, collectAgentsMd: true });
  assert.deepEqual(entries.map((entry) => entry.path), ["a.txt", "d"]);
  assert.deepEqual([entries[0].size, typeof entries[0].mtime], [5, "number"]);
  assert.deepEqual([agentsMdFiles, truncated], [["d/AGENTS.md"], false]);
  assert.deepEqual(await listWorkspace({ path, maxDepth: 0 }), { entries: [], agentsMdFiles: [], truncated: false });
});

test("a missing directory is an error, whatever is listed", async () => {
  const path = join(tree({}), "none");
  for (const options of [{ maxDepth: 2 }, { maxDepth: 0 }, { maxDepth: 0, collectAgentsMd: true }, { maxDepth: 1, maxResults: 0 }]) {
    await assert.rejects(listWorkspace({ path, ...options }), { code: "ENOENT" }, JSON.stringify(options));
  }
});
