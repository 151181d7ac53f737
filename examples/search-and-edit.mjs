#!/usr/bin/env node
// Replaces a text in the files of a directory, and shows the diff first.
//
//   node examples/search-and-edit.mjs TEXT REPLACEMENT [DIRECTORY] [--write]
//
// Files that git ignores are left alone. Without --write nothing changes.
import { readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { Workspace, unifiedDiff } from "@sinew/natives";

const { values, positionals } = parseArgs({ allowPositionals: true, options: { write: { type: "boolean" } } });
const [text, replacement, directory = "."] = positionals;
if (!text || replacement === undefined) {
  console.error("usage: search-and-edit.mjs TEXT REPLACEMENT [DIRECTORY] [--write]");
  process.exit(2);
}

const root = resolve(directory);
// A workspace searches with an index and sees every change that was made before a call. The index stays in memory.
const workspace = await Workspace.open(root, { cacheDir: null });
const search = () => workspace.grep({ pattern: text, literal: true, mode: "filesWithMatches", timeoutMs: 10_000 });
try {
  const found = await search();
  for (const warning of found.warnings ?? []) console.error(`warning: ${warning}`);
  for (const { path } of found.matches) {
    const before = await readFile(join(root, path), "utf8");
    const after = before.replaceAll(text, replacement);
    process.stdout.write(await unifiedDiff(before, after, { oldName: `a/${path}`, newName: `b/${path}` }));
    if (values.write) await writeFile(join(root, path), after);
  }
  const count = found.matches.length;
  const files = count === 1 ? "1 file" : `${count} files`;
  if (count === 0) console.log("no matches");
  else if (!values.write) console.log(`${files} would change: add --write to change them`);
  else console.log(`${files} changed, ${(await search()).matches.length} still contain the text`);
} finally {
  await workspace.close();
}
