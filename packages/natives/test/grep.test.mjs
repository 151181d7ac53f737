import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { grep, hasMatch, search, searchContent } from "@sinew/natives";
import { tree } from "./tree.mjs";


// More pieces than fit into the queue of a callback, so that the search is still running when the first one arrives.
const FILES = 2000;
const many = () => tree(Object.fromEntries(Array.from({ length: FILES }, (_, n) => [`d${n % 7}/f${n}`, "hay\nneedle ä😀\nneedle\n"])));

test("rows have the shape of the contract", async () => {
  const path = tree({ "a.txt": "one\nä😀 needle\nthree\n", "b.txt": "hay\n", "c.bin": "needle\0" });
  const result = await grep({ pattern: "needle", path, context: 1 });
  assert.deepEqual(result, {
    matches: [
      {
        path: "a.txt",
        lineNumber: 2,
        line: "ä😀 needle",
        column: 4,
        byteOffset: 11,
        contextBefore: [{ lineNumber: 1, line: "one" }],
        contextAfter: [{ lineNumber: 3, line: "three" }],
      },
    ],
    totalMatches: 1,
    filesWithMatches: 1,
    filesSearched: 2,
    skipped: { binary: 1, tooLarge: 0, unreadable: 0 },
  });
});

test("every option arrives", async () => {
  const path = tree({ "a.rs": "Needle needle\nneedle.\n", "b.js": "needle\n", ".h.rs": "needle\n", "i.rs": "needle\n", ".ignore": "i.rs\n" });
  const paths = async (options) => (await grep({ pattern: "needle", path, mode: "filesWithMatches", ...options })).matches.map((row) => row.path);
  assert.deepEqual(await paths({}), [".h.rs", "a.rs", "b.js"]);
  assert.deepEqual(await paths({ hidden: false }), ["a.rs", "b.js"]);
  assert.deepEqual(await paths({ gitignore: false }), [".h.rs", "a.rs", "b.js", "i.rs"]);
  assert.deepEqual(await paths({ glob: "*.js" }), ["b.js"]);
  assert.deepEqual(await paths({ glob: ["*.js"] }), ["b.js"]);
  assert.deepEqual(await paths({ glob: ["*", "!*.js", "no, name"] }), (await paths({})).filter((each) => !each.endsWith(".js")));
  assert.deepEqual(await paths({ glob: [] }), []);
  await assert.rejects(paths({ glob: [1] }), TypeError);
  assert.deepEqual(await paths({ type: "rust", cache: true }), [".h.rs", "a.rs"]);
  assert.deepEqual(await paths({ pattern: "needle.", literal: true }), ["a.rs"]);
  assert.deepEqual(await paths({ pattern: "NEEDLE\\.", ignoreCase: true }), ["a.rs"]);
  assert.deepEqual(await paths({ pattern: "needle\\nneedle", multiline: true }), ["a.rs"]);
  assert.deepEqual(await paths({ offset: 1, maxCount: 1 }), ["a.rs"]);
  const counted = await grep({ pattern: "needle", path, glob: "a.rs", mode: "count", maxCountPerFile: 1 });
  assert.deepEqual(counted.matches, [{ path: "a.rs", lineNumber: 0, line: "", column: 0, byteOffset: 0, matchCount: 1 }]);
  const cut = await grep({ pattern: "needle\\.", path: join(path, "a.rs"), contextBefore: 1, contextAfter: 0, maxColumns: 7 });
  assert.equal(cut.matches[0].path, join(path, "a.rs").replaceAll("\\", "/"));
  assert.equal(cut.matches[0].contextBefore[0].line, "Need...");
  const wide = await grep({ pattern: "needle$", path: tree({ a: `${"x".repeat(99)}needle` }), maxColumns: 12 });
  assert.deepEqual([wide.matches[0].line, wide.matches[0].truncated, wide.matches[0].column], ["...xxxneedle", true, 100]);
});

test("a byte offset is one in the file, behind a byte order mark too", async () => {
  const path = tree({ bom: "\ufeffx needle\n", plain: "x needle\n" });
  const { matches } = await grep({ pattern: "needle", path });
  assert.deepEqual(matches.map((match) => [match.path, match.column, match.byteOffset]), [["bom", 3, 5], ["plain", 3, 2]]);
});

test("limits tell whether there is more", async () => {
  const path = many();
  const limited = await grep({ pattern: "needle", path, maxCount: 3 });
  assert.deepEqual([limited.matches.length, limited.totalMatches, limited.limitReached], [3, 3, true]);
  const whole = await grep({ pattern: "needle", path });
  assert.deepEqual([whole.matches.length, whole.limitReached], [2 * FILES, undefined]);
  assert.deepEqual(whole.matches.slice(5, 9), (await grep({ pattern: "needle", path, offset: 5, maxCount: 4 })).matches);
  assert.deepEqual((await grep({ pattern: "needle", path, maxCount: 0 })).matches, []);
  for (const [maxCountPerFile, mode, total, limitReached] of [[1, "content", FILES, true], [2, "content", 2 * FILES, undefined], [1, "count", FILES, true], [1, "filesWithMatches", FILES, undefined]]) {
    const each = await grep({ pattern: "needle", path, maxCountPerFile, mode });
    assert.deepEqual([each.matches.length, each.totalMatches, each.limitReached], [maxCountPerFile * FILES, total, limitReached], mode);
  }
});

test("rows stream in the order of the result, all before the promise settles", async () => {
  const streamed = [];
  const result = await grep({ pattern: "needle", path: many() }, (match) => streamed.push(match));
  assert.deepEqual(streamed, result.matches);
  assert.equal(streamed.length, 2 * FILES);
});

test("a callback that throws rejects the call with its error", async () => {
  let calls = 0;
  const error = new Error("enough");
  const call = grep({ pattern: "needle", path: many() }, () => {
    calls++;
    throw error;
  });
  await assert.rejects(call, (thrown) => thrown === error);
  assert.equal(calls, 1);
});

test("aborts and deadlines reject", async () => {
  const path = many();
  const aborted = AbortSignal.abort(new Error("why"));
  await assert.rejects(grep({ pattern: "needle", path, signal: aborted }), { name: "AbortError", code: "ABORT_ERR", message: "Aborted: Signal" });
  const controller = new AbortController();
  const call = grep({ pattern: "needle", path, signal: controller.signal }, () => controller.abort("stop"));
  await assert.rejects(call, { name: "AbortError", cause: "stop" });
  await assert.rejects(grep({ pattern: "needle", path, timeoutMs: 0 }), { name: "TimeoutError", code: "ERR_TIMEOUT", message: "Aborted: Timeout" });
});

test("mistakes are named", async () => {
  const path = tree({});
  await assert.rejects(grep({ path }), { name: "TypeError", message: "grep: pattern must be a string, not undefined" });
  await assert.rejects(grep({ pattern: "x", path: 1 }), { name: "TypeError", message: "grep: path must be a string, not 1" });
  await assert.rejects(grep({ pattern: "x", path, maxCount: -1 }), { name: "RangeError" });
  await assert.rejects(grep({ pattern: "x", path, maxCount: NaN }), { name: "RangeError" });
  await assert.rejects(grep({ pattern: "x", path, mode: "all" }), { name: "TypeError" });
  await assert.rejects(grep({ pattern: "x", path }, 7), { name: "TypeError", message: "grep: onMatch must be a function, not 7" });
  await assert.rejects(grep({ pattern: "(?=x", path }), { code: "ERR_INVALID_ARG_VALUE", message: /^grep: invalid regex "\(\?=x": .*literal: true/ });
  await assert.rejects(grep({ pattern: "x", path, type: "pyton" }), { code: "ERR_INVALID_ARG_VALUE", message: /similar types: python/ });
  await assert.rejects(grep({ pattern: "x", path, glob: "[a" }), { code: "ERR_INVALID_ARG_VALUE", message: /^grep: / });
  await assert.rejects(grep({ pattern: "x", path: join(path, "none") }), { code: "ENOENT" });
  const nulls = await grep({ pattern: "x", path, glob: null, maxCount: null, signal: null, mode: null });
  assert.deepEqual(nulls.matches, []);
  const repaired = await grep({ pattern: "${x}", path });
  assert.match(repaired.warnings[0], /taken literally/);
});

test("look-around and backreferences are searched, with a warning", async () => {
  const path = tree({ a: "b\r\nab\r\nxx\r\n" });
  for (const [pattern, expect] of [["(?<=a)b$", [[2, 2]]], ["(\\w)\\1", [[3, 1]]], ["(?!a)^\\w", [[1, 1], [3, 1]]], ["(?=z)", []]]) {
    const { matches, warnings } = await grep({ pattern, path });
    assert.deepEqual(matches.map((match) => [match.lineNumber, match.column]), expect, pattern);
    assert.equal(warnings.length, 1);
    assert.match(warnings[0], /(look-around|a backreference), which ripgrep's engine does not support; a slower engine was used$/);
  }
  assert.equal(searchContent("ab b", { pattern: "(?<=a)b" }).matches[0].column, 2);
  assert.equal(searchContent("ab b", { pattern: "(?<=a)b" }).warnings.length, 1);
  assert.equal((await grep({ pattern: "(?=", path, literal: true })).warnings, undefined);
  assert.throws(() => hasMatch("ab", "(?<=a)b"), { code: "ERR_INVALID_ARG_VALUE", message: /look-around/ });
});

test("text in memory is searched at once", () => {
  const result = searchContent("one\r\ntwo 😀 one\n", { pattern: "one$", contextBefore: 1 });
  assert.deepEqual(result, {
    matches: [
      { lineNumber: 1, line: "one", column: 1, byteOffset: 0 },
      { lineNumber: 2, line: "two 😀 one", column: 7, byteOffset: 14 },
    ],
    matchCount: 2,
    limitReached: false,
  });
  assert.equal(search, searchContent);
  assert.equal(searchContent(Buffer.from("a\nb"), { pattern: "b" }).matches[0].lineNumber, 2);
  assert.equal(searchContent("a \ud800 b", { pattern: "b" }).matches[0].line, "a \ufffd b");
  assert.equal(searchContent("a\na\na", { pattern: "a", maxCount: 2 }).limitReached, true);
  assert.equal(searchContent("a\na\na", { pattern: "a", maxCountPerFile: 2 }).limitReached, true);
  assert.equal(searchContent("a\na\na", { pattern: "a", maxCountPerFile: 3 }).limitReached, false);
  assert.equal(searchContent("a\na\na", { pattern: "a", mode: "count" }).matchCount, 3);
  const broken = searchContent("a", { pattern: "(" });
  assert.deepEqual([broken.matches, broken.matchCount], [[], 0]);
  assert.match(broken.error, /^search: invalid regex "\(": unclosed group at character 1/);
  assert.throws(() => searchContent(1, { pattern: "a" }), { name: "TypeError" });
});

test("a text has a match or not", () => {
  assert.equal(hasMatch("const a = 1", "\\bconst\\b"), true);
  assert.equal(hasMatch("a\nB", "^b", { ignoreCase: true }), false);
  assert.equal(hasMatch("a\nB", "^b", { ignoreCase: true, multiline: true }), true);
  assert.equal(hasMatch(Buffer.from("xé"), Buffer.from("é"), null), true);
  assert.throws(() => hasMatch("a", "("), { code: "ERR_INVALID_ARG_VALUE" });
  assert.throws(() => hasMatch("a", Uint8Array.of(0xff)), { code: "ERR_INVALID_ARG_VALUE", message: /not UTF-8/ });
  assert.throws(() => hasMatch({}, "a"), { name: "TypeError" });
});
