// Tests Windows paths as people write them, with the same table as the crates.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ROOT } from "./host.mjs";

const { fuzzyFind, glob, grep } = createRequire(import.meta.url)("..");
const table = JSON.parse(readFileSync(join(ROOT, "crates", "sinew-search", "tests", "all", "windows_paths.json"), "utf8"));
const windows = { skip: process.platform !== "win32" && "Windows only" };

function tree(t) {
  const root = mkdtempSync(join(tmpdir(), "Tree"));
  t.after(() => rmSync(root, { recursive: true }));
  mkdirSync(join(root, "Sub"));
  for (const [name, text] of [["a.txt", "one\r\ntwo\r\n"], ["Sub/B.log", "two one\r\n"], ["Sub/c.txt", "one\n"]]) writeFileSync(join(root, name), text);
  const other = root.replace(/[a-z]/gi, (letter) => (letter < "a" ? letter.toLowerCase() : letter.toUpperCase()));
  const forms = { R: root, r: other, "/": root.replaceAll("\\", "/"), D: root.slice(0, 2) };
  return { root, filled: (text) => text.replace(/\{([Rr/D])\}/g, (_, form) => forms[form]) };
}

/** Replaces the doubled backslashes of some messages. */
const plain = (text) => text.replace(/\\+/g, "\\");

const SEARCHES = {
  glob: async (path) => (await glob({ path, pattern: "**/*.txt" })).matches.map((hit) => hit.path),
  grep: async (path) => (await grep({ path, pattern: "one$" })).matches.map((hit) => `${hit.path}:${hit.lineNumber}:${hit.line}`),
  find: async (path) => (await fuzzyFind({ path, query: "b.log" })).matches.map((hit) => hit.path),
};

test("a folder is found however it is written, and what is none is named", windows, async (t) => {
  const { filled } = tree(t);
  for (const [name, search] of Object.entries(SEARCHES)) {
    for (const root of table.roots) assert.deepEqual(await search(filled(root)), table.finds[name], `${name} ${filled(root)}`);
    for (const path of table.fails) await assert.rejects(search(filled(path)), (error) => plain(error.message).includes(`"${plain(filled(path))}"`), `${name} ${filled(path)}`);
  }
});

test("patterns begin with a folder however it is written", windows, async (t) => {
  const { root, filled } = tree(t);
  for (const [pattern, expect] of table.patterns) {
    const found = glob({ path: root, pattern: filled(pattern) });
    if (Array.isArray(expect)) assert.deepEqual((await found).matches.map((hit) => hit.path), expect, pattern);
    else await assert.rejects(found, (error) => error.message.includes(filled(expect)), pattern);
  }
});
