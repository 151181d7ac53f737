// Tests the binding of patches, its results and errors, and diffs of this package as input.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, relative } from "node:path";
import { test } from "node:test";
import { temporary } from "./host.mjs";

const { applyPatch, unifiedDiff } = createRequire(import.meta.url)("..");

const unix = { skip: process.platform === "win32" && "patches are applied on Unix only" };

function rootWith(t, files) {
  const root = temporary(t);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(root, name, ".."), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return root;
}

const begin = (...lines) => ["*** Begin Patch", ...lines, "*** End Patch", ""].join("\n");

test("a result names each file, what happened, and where", unix, async (t) => {
  const root = rootWith(t, { f: "0\na\nb\nc\n", old: "o\n" });
  const patch = [
    "--- a/f", "+++ b/f", "@@ -9,3 +9,3 @@", " a", "-b", "+B", " c",
    "diff --git a/old b/d/new", "similarity index 100%", "rename from old", "rename to d/new", "",
  ].join("\n");
  const expected = {
    files: [
      { action: "modified", path: "f", added: 1, removed: 1, hunks: [{ line: 2, offset: -7, fuzz: 0 }] },
      { action: "renamed", path: "d/new", from: "old", added: 0, removed: 0, hunks: [] },
    ],
  };
  assert.deepEqual(await applyPatch(patch, { root, dryRun: true }), expected);
  assert.equal(readFileSync(join(root, "f"), "utf8"), "0\na\nb\nc\n");
  assert.deepEqual(await applyPatch(patch, { root }), expected);
  assert.equal(readFileSync(join(root, "f"), "utf8"), "0\na\nB\nc\n");
  assert.deepEqual(readdirSync(root).sort(), ["d", "f"]);
});

test("the diff of two texts makes one of the other", unix, async (t) => {
  const [before, after] = ["one\r\ntwo\nthree", "one\ntwo\n3 \u{1f600}\n"];
  const root = rootWith(t, { "a file": before });
  const patch = await unifiedDiff(before, after, { oldName: "a/a file", newName: "b/a file" });
  await applyPatch(patch, { root: relative(process.cwd(), root) });
  assert.equal(readFileSync(join(root, "a file"), "utf8"), after);
});

test("bytes are patched as they are", unix, async (t) => {
  const root = rootWith(t, { f: Buffer.from([0x63, 0xe9, 0x0a, 0x78, 0x0a]) });
  await applyPatch(Buffer.from("--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-c\xe9\n+C\xe9\n x\n", "latin1"), { root });
  assert.deepEqual(readFileSync(join(root, "f")), Buffer.from([0x43, 0xe9, 0x0a, 0x78, 0x0a]));
});

test("fuzz leaves out context", unix, async (t) => {
  const root = rootWith(t, { f: "A\nb\nC\n" });
  const patch = "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n";
  await assert.rejects(applyPatch(patch, { root }), { code: "ERR_INVALID_STATE" });
  assert.equal((await applyPatch(patch, { root, fuzz: 1 })).files[0].hunks[0].fuzz, 1);
  assert.equal(readFileSync(join(root, "f"), "utf8"), "A\nB\nC\n");
});

test("an error names the file, the hunk and the nearest line, and nothing changes", unix, async (t) => {
  const root = rootWith(t, { a: "1\n", b: "one\ntwo\n" });
  symlinkSync("..", join(root, "up"));
  const first = ["*** Update File: a", "@@", "-1", "+2"];
  const check = (patch, code, message) => assert.rejects(applyPatch(patch, { root }), { name: "Error", code, message });
  await check(begin(...first, "*** Update File: b", "@@", " one", "-Two"), "ERR_INVALID_STATE", 'applyPatch: b: chunk 1 (line 7 of the patch) does not match; the nearest is line 2: expected "Two", found "two"');
  await check(begin(...first, "*** Update File: c", "@@", "-1"), "ENOENT", "applyPatch: c: no such file");
  await check(begin(...first, "*** Delete File: ../x"), "EACCES", /`\.\.`/);
  await check(begin(...first, "*** Add File: up/x", "+x"), "EACCES", /through the symbolic link up/);
  await check(begin(...first, "*** Add File: .git/hooks/x", "+x"), "EACCES", /repository's own folder/);
  await check("no patch", "ERR_INVALID_DATA", /contains no patch/);
  await assert.rejects(applyPatch(begin(...first), { root: join(root, "missing") }), { code: "ENOENT" });
  assert.equal(readFileSync(join(root, "a"), "utf8"), "1\n");
  assert.deepEqual(readdirSync(root).sort(), ["a", "b", "up"]);
});

test("wrong arguments are named", async () => {
  await assert.rejects(applyPatch(1, { root: "." }), { name: "TypeError", message: "applyPatch: text must be a Uint8Array, not 1" });
  await assert.rejects(applyPatch("", {}), { name: "TypeError", message: "applyPatch: root must be a string, not undefined" });
  await assert.rejects(applyPatch("", { root: ".", fuzz: -1 }), { name: "RangeError", code: "ERR_OUT_OF_RANGE" });
  await assert.rejects(applyPatch("", { root: ".", dryRun: "yes" }), { name: "TypeError" });
});

test("a call can be ended", unix, async (t) => {
  const root = rootWith(t, { a: "1\n" });
  const patch = begin("*** Delete File: a");
  await assert.rejects(applyPatch(patch, { root, signal: AbortSignal.abort("why") }), { name: "AbortError", cause: "why" });
  await assert.rejects(applyPatch(patch, { root, timeoutMs: 0 }), { name: "TimeoutError", code: "ERR_TIMEOUT" });
  assert.deepEqual(readdirSync(root), ["a"]);
});

test("two calls of one directory both take effect", unix, async (t) => {
  const names = Array.from({ length: 20 }, (_, at) => `f${at}`);
  const root = rootWith(t, Object.fromEntries(names.map((name) => [name, "a\n"])));
  await Promise.all(names.map((name) => applyPatch(begin(`*** Update File: ${name}`, "@@", "-a", "+b"), { root })));
  assert.deepEqual(names.map((name) => readFileSync(join(root, name), "utf8")), names.map(() => "b\n"));
  assert.deepEqual(readdirSync(root).sort(), names.sort());
});
