import assert from "node:assert/strict";
import { symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { FileType, glob, invalidateFsScanCache } from "@sinew/natives";
import { tree as treeOf } from "./tree.mjs";

const tree = (names) => treeOf(Object.fromEntries(names.map((name) => [name, "12345"])));

const paths = async (options) => (await glob(options)).matches.map((match) => match.path);

test("matches have the shape of the contract", async () => {
  const path = tree(["a.txt", "d/ä😀.txt", "d/b.js"]);
  assert.deepEqual(await glob({ pattern: "*.txt", path }), {
    matches: [{ path: "a.txt", fileType: FileType.File }, { path: "d/ä😀.txt", fileType: FileType.File }],
    totalMatches: 2,
  });
  utimesSync(join(path, "a.txt"), 1, 1_000_000_000.5);
  utimesSync(join(path, "d/ä😀.txt"), 1, 2_000_000_000);
  assert.deepEqual(await glob({ pattern: "*.txt", path, sortByMtime: true, maxResults: 1 }), {
    matches: [{ path: "d/ä😀.txt", fileType: FileType.File, mtime: 2_000_000_000_000, size: 5 }],
    totalMatches: 2,
    limitReached: true,
  });
});

test("every option arrives", async () => {
  const path = tree(["a.ts", ".h.ts", "d/b.ts", "node_modules/m/c.ts", "i.ts"]);
  writeFileSync(join(path, ".ignore"), "i.ts\n");
  symlinkSync("a.ts", join(path, "link.ts"));
  assert.deepEqual(await paths({ path, pattern: "*.ts" }), ["a.ts", "d/b.ts", "link.ts"]);
  assert.deepEqual(await paths({ path, pattern: "*.ts", recursive: false }), ["a.ts", "link.ts"]);
  assert.deepEqual(await paths({ path, pattern: "*.ts", hidden: true }), [".h.ts", "a.ts", "d/b.ts", "link.ts"]);
  assert.deepEqual(await paths({ path, pattern: "i.ts", gitignore: false }), ["i.ts"]);
  assert.deepEqual(await paths({ path, pattern: "*.ts", includeNodeModules: true }), ["a.ts", "d/b.ts", "link.ts", "node_modules/m/c.ts"]);
  assert.deepEqual(await paths({ path, fileType: FileType.Symlink }), ["link.ts"]);
  assert.deepEqual(await paths({ path, fileType: FileType.Dir }), ["d"]);
  assert.deepEqual(await paths({ path, pattern: null, signal: null, maxResults: Infinity }), await paths({ path }));
});

test("a callback gets every match before the promise settles, and ends the call by throwing", async () => {
  const path = tree(["a", "b", "c"]);
  const seen = [];
  const { matches } = await glob({ path }, (match) => seen.push(match));
  assert.deepEqual(seen, matches);
  const thrown = new Error("mine");
  await assert.rejects(glob({ path }, () => { throw thrown; }), (error) => error === thrown);
  const controller = new AbortController();
  await assert.rejects(glob({ path, signal: controller.signal }, () => controller.abort()), { name: "AbortError" });
});

test("stops by signal and by time", async () => {
  const path = tree(Array.from({ length: 300 }, (_, n) => `d${n}/f`));
  await assert.rejects(glob({ path, signal: AbortSignal.abort() }), { name: "AbortError", code: "ABORT_ERR", message: /^Aborted: Signal/ });
  // A single call may be done before the signal arrives, but not each of many.
  let stopped;
  for (let call = 0; call < 100 && !stopped; call++) {
    const controller = new AbortController();
    const running = glob({ path, signal: controller.signal });
    controller.abort();
    stopped = await running.then(() => undefined, (error) => error);
  }
  assert.equal(stopped?.name, "AbortError");
  await assert.rejects(glob({ path, timeoutMs: 0 }), { name: "TimeoutError", code: "ERR_TIMEOUT", message: /^Aborted: Timeout/ });
});

test("bad requests name the key or the value", async () => {
  const path = tree(["a"]);
  await assert.rejects(glob({ path: 1 }), { name: "TypeError", message: /glob: path/ });
  await assert.rejects(glob({ path, maxResults: -1 }), { name: "RangeError", message: /maxResults/ });
  await assert.rejects(glob({ path, maxResults: NaN }), { name: "RangeError", message: /maxResults/ });
  await assert.rejects(glob({ path, fileType: 4 }), { name: "RangeError", message: /fileType/ });
  await assert.rejects(glob({ path }, 5), { name: "TypeError", message: /onMatch/ });
  await assert.rejects(glob({ path, pattern: "[a" }), { code: "ERR_INVALID_ARG_VALUE", message: /glob: invalid pattern "\[a"/ });
  await assert.rejects(glob({ path: join(path, "none") }), { code: "ENOENT" });
});

test("a kept scan is used until it is dropped", async () => {
  const path = tree(["a"]);
  const count = async (cache) => (await glob({ path, cache })).totalMatches;
  assert.equal(await count(true), 1);
  writeFileSync(join(path, "b"), "");
  assert.equal(await count(false), 2);
  invalidateFsScanCache(join(path, "b"));
  assert.equal(await count(true), 2);
  writeFileSync(join(path, "c"), "");
  invalidateFsScanCache();
  assert.equal(await count(true), 3);
  assert.throws(() => invalidateFsScanCache(5), { name: "TypeError" });
});

test("two thousand calls at once are all answered", async () => {
  const path = tree(["a", "b/c"]);
  const all = await Promise.all(Array.from({ length: 2_000 }, (_, n) => glob({ path, cache: n % 2 === 0 })));
  assert.ok(all.every((result) => result.totalMatches === 3));
});
