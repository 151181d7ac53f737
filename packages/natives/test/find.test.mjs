import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fuzzyFind } from "@sinew/natives";
import { tree as treeOf } from "./tree.mjs";

const tree = (names) => treeOf(Object.fromEntries(names.map((name) => [name, ""])));

const paths = async (options) => (await fuzzyFind(options)).matches.map((match) => match.path);

test("matches have the shape of the contract", async () => {
  const path = tree(["src/main.rs", "docs/guide.md"]);
  const result = await fuzzyFind({ query: "main", path });
  assert.deepEqual({ ...result, matches: [{ ...result.matches[0], score: 0 }] }, {
    matches: [{ path: "src/main.rs", isDirectory: false, score: 0, positions: [4, 5, 6, 7] }],
    totalMatches: 1,
  });
  assert.ok(Number.isInteger(result.matches[0].score));
  assert.deepEqual((await fuzzyFind({ query: "docs", path })).matches[0].isDirectory, true);
});

test("positions are indices of the string also behind characters outside of the base plane", async () => {
  const path = tree(["ä😀/x-needle.txt"]);
  const [match] = (await fuzzyFind({ query: "needle", path })).matches;
  assert.equal(match.positions.map((at) => match.path[at]).join(""), "needle");
});

test("every option arrives", async () => {
  const path = tree(["src/index.ts", ".config/index.ts", "out/index.ts"]);
  writeFileSync(join(path, ".ignore"), "out\n");
  assert.deepEqual(await paths({ query: "index", path }), ["src/index.ts"]);
  assert.deepEqual(await paths({ query: "index", path, hidden: true }), ["src/index.ts", ".config/index.ts"]);
  assert.deepEqual(await paths({ query: "index", path, gitignore: false, cache: true }), ["src/index.ts", "out/index.ts"]);
  assert.deepEqual(await paths({ query: "", path, maxResults: 1 }), ["src"]);
  assert.equal((await fuzzyFind({ query: "", path, maxResults: 0 })).totalMatches, 2);
});

test("stops by signal and by time, and names what is wrong", async () => {
  const path = tree(["a"]);
  await assert.rejects(fuzzyFind({ query: "a", path, signal: AbortSignal.abort() }), { name: "AbortError", code: "ABORT_ERR" });
  await assert.rejects(fuzzyFind({ query: "a", path, timeoutMs: 0 }), { name: "TimeoutError", code: "ERR_TIMEOUT" });
  await assert.rejects(fuzzyFind({ path }), { name: "TypeError", message: /fuzzyFind: query/ });
  await assert.rejects(fuzzyFind({ query: "a", path, maxResults: 1.5 }), { name: "RangeError", message: /maxResults/ });
  await assert.rejects(fuzzyFind({ query: "a", path: join(path, "none") }), { code: "ENOENT" });
});

test("lone surrogates in a query do no harm", async () => {
  const path = tree(["a"]);
  assert.equal((await fuzzyFind({ query: "\ud800", path })).totalMatches, 0);
});
