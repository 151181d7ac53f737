// Tests the binding of diffs, strings that only JavaScript can hold, and that git can read the written patches.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { temporary } from "./host.mjs";

const { diff, unifiedDiff } = createRequire(import.meta.url)("..");

const side = (changes, missing) => changes.filter(({ kind }) => kind !== missing).map(({ text }) => text).join("");

async function holds(before, after, options) {
  const changes = await diff(before, after, options);
  assert.equal(side(changes, "added"), before);
  assert.equal(side(changes, "removed"), after);
  return changes;
}

test("lines and words are told apart", async () => {
  assert.deepEqual(await diff("a\nb\n", "a\nc\n"), [
    { kind: "equal", text: "a\n" },
    { kind: "removed", text: "b\n" },
    { kind: "added", text: "c\n" },
  ]);
  assert.deepEqual((await diff("a b", "a c", { unit: "word" })).map(({ text }) => text), ["a ", "b", "c"]);
  assert.deepEqual(await diff("", "", null), []);
  assert.deepEqual(await diff("x", "x"), [{ kind: "equal", text: "x" }]);
});

test("changes are pieces of the strings that were given, whatever these hold", async () => {
  for (const unit of ["line", "word"]) {
    await holds("ä 中 😀 \ud83d x\n", "ä 国 😁 \ud83d y", { unit });
    await holds("a\r\nb\r\n", "a\nb\n", { unit });
    await holds("\0\u2028\r", "", { unit });
    await holds("x".repeat(1_000_000), `${"x".repeat(1_000_000)}y`, { unit });
  }
  // UTF-8 has no lone surrogates: they are equal to each other, and lengths after them stay correct.
  assert.deepEqual(await diff("\ud800 a", "\udfff b", { unit: "word" }), [
    { kind: "equal", text: "\udfff " },
    { kind: "removed", text: "a" },
    { kind: "added", text: "b" },
  ]);
});

test("git makes the new text of the old one", async (t) => {
  const folder = temporary(t);
  const before = "one\r\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n";
  const after = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n8 \ud83d\ude00";
  writeFileSync(join(folder, "a file"), before);
  const patch = await unifiedDiff(before, after, { oldName: "a/a file", newName: "b/a file", context: 1 });
  assert.equal(patch.split("\n").filter((line) => line.startsWith("@@")).length, 2);
  writeFileSync(join(folder, "x.patch"), patch);
  const { GIT_DIR, ...outer } = process.env;
  const env = { ...outer, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null", GIT_CEILING_DIRECTORIES: dirname(folder) };
  execFileSync("git", ["apply", "--whitespace=nowarn", "x.patch"], { cwd: folder, env });
  assert.equal(readFileSync(join(folder, "a file"), "utf8"), after);
  assert.equal(await unifiedDiff(after, after), "");
  assert.match(await unifiedDiff("\ud83d", "b"), /^--- a\n\+\+\+ b\n@@ -1 \+1 @@\n-\ufffd\n/);
});

test("wrong arguments are named", async () => {
  await assert.rejects(diff(1, ""), { name: "TypeError", message: "diff: before must be a string, not 1" });
  await assert.rejects(diff("", undefined), { name: "TypeError", message: /^diff: after must be a string/ });
  await assert.rejects(diff("", "", { unit: "letter" }), { name: "TypeError", message: 'diff: unit must be "line" or "word", not "letter"' });
  await assert.rejects(unifiedDiff("", "", { context: -1 }), { name: "RangeError", code: "ERR_OUT_OF_RANGE" });
  await assert.rejects(diff("", "\n".repeat(4_000_001)), { code: "ERR_OUT_OF_RANGE", message: /more than 4000000 lines/ });
});

test("a call can be ended", async () => {
  await assert.rejects(diff("a", "b", { signal: AbortSignal.abort("why") }), { name: "AbortError", code: "ABORT_ERR", cause: "why" });
  await assert.rejects(unifiedDiff("a", "b", { timeoutMs: 0 }), { name: "TimeoutError", code: "ERR_TIMEOUT" });
});
