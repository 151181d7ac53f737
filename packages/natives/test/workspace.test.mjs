// Tests that a workspace gives the same results as the plain functions, whatever changes between two calls.
import assert from "node:assert/strict";
import { appendFileSync, existsSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { FileType, Workspace, fuzzyFind, glob, grep } from "@sinew/natives";
import { tree } from "./tree.mjs";


const FILES = {
  ".gitignore": "left\n", ".git/HEAD": "ref: refs/heads/main\n", "left/out.txt": "needle\n", ".hidden/a.txt": "needle\n",
  "src/main.rs": "fn main() {\n    needle();\n}\n", "src/lib/ä.ts": "const Needle = 1;\nneedle\n", "src/lib/b.ts": "hay\n",
  "src/binary": "needle\0", "docs/read me.md": "hay\r\nneedle\r\n", "node_modules/x/index.js": "needle\n",
};

/** The result of a call, or the error with which it rejects. */
async function outcome(call) {
  const rows = [];
  try {
    return { result: await call((row) => void rows.push(row)), rows };
  } catch (error) {
    // On Windows errors contain a path as it was given, with either separator.
    return { name: error.name, code: error.code, message: error.message.replaceAll(/\\+/g, "/"), rows };
  }
}

const GREPS = [
  { pattern: "needle" }, { pattern: "needle", path: "src" }, { pattern: "needle", path: "src/main.rs" }, { pattern: "" },
  { pattern: "NEEDLE", ignoreCase: true, context: 1 }, { pattern: "n.*e", glob: "*.ts" }, { pattern: "needle", type: "rust", mode: "count" },
  { pattern: "needle", maxCount: 1, offset: 1 }, { pattern: "needle", hidden: false, mode: "filesWithMatches" }, { pattern: "zq_not_there" },
  { pattern: "needle", gitignore: false }, { pattern: "a\\nneedle|hay\\r\\nneedle", multiline: true }, { pattern: "x{", maxColumns: 10 },
  { pattern: "(" }, { pattern: "x", path: "none" }, { pattern: "x", glob: "{" }, { pattern: "x", timeoutMs: 0 }, { pattern: 7 }, { pattern: "x", path: 7 },
  { pattern: "x", signal: AbortSignal.abort("no") }, {}, null,
];
const GLOBS = [
  {}, { pattern: "*.ts" }, { pattern: "**/lib/*", path: "src" }, { fileType: FileType.Dir, hidden: true }, { pattern: ["*.md", "!docs/**"] },
  { pattern: "*", sortByMtime: true, maxResults: 3 }, { pattern: "*", absolute: true, path: "src" }, { includeNodeModules: true }, { maxDepth: 1 },
  { pattern: "[" }, { path: "none" }, { path: "src/main.rs", absolute: true }, { ignore: "src/**" }, { pattern: [] },
];
const FINDS = [{ query: "main" }, { query: "ml", path: "src" }, { query: "" }, { query: "read", hidden: true, maxResults: 1 }, { query: "x", path: "none" }, {}, null];

/** Makes all calls both ways and compares the results. */
async function compare(workspace, root) {
  const plain = (options) => (options === null || typeof options.path === "number" ? options : { ...options, path: options.path ? join(root, options.path) : root });
  for (const [name, search, questions] of [["grep", grep, GREPS], ["glob", glob, GLOBS], ["fuzzyFind", fuzzyFind, FINDS]]) {
    for (const options of questions) {
      const kept = await outcome((onMatch) => workspace[name](options, onMatch));
      assert.deepEqual(kept, await outcome((onMatch) => search(plain(options), onMatch)), `${name} ${JSON.stringify(options)}`);
    }
  }
  for (const options of [{}, { path: "src", recursive: false, hidden: true, maxResults: 2 }]) {
    const kept = await outcome(() => workspace.list(options));
    assert.deepEqual(kept, await outcome(() => glob(plain({ ...options, pattern: "*" }))), `list ${JSON.stringify(options)}`);
  }
}

for (const options of [{ cacheDir: null }, { cacheDir: null, freshness: "sweep" }, { cacheDir: null, index: "never", maxWatches: 1 }]) {
  test(`a workspace answers as the plain functions, before and after it is built: ${JSON.stringify(options)}`, async () => {
    const root = tree(FILES);
    const workspace = await Workspace.open(root, options);
    assert.equal(workspace.root, root);
    await compare(workspace, root);
    await workspace.ready();
    await compare(workspace, root);
    appendFileSync(join(root, "src/lib/b.ts"), "needle\n");
    renameSync(join(root, "docs"), join(root, "src", "docs"));
    writeFileSync(join(root, ".gitignore"), "*.rs\n");
    await compare(workspace, root);
    rmSync(join(root, "src"), { recursive: true });
    await compare(workspace, root);
    await workspace.close();
  });
}

test("on Linux files that cannot match are not opened, and what changed is", { skip: process.platform !== "linux" && "indexes are only supported on Linux" }, async () => {
  const root = tree({ "a.txt": "alpha\n", "b.txt": "beta\n" });
  const workspace = await Workspace.open(root, { cacheDir: null });
  assert.equal(workspace.status().state, "listing");
  const { indexed, persisted, mode } = await workspace.ready();
  // If the file system of the temporary folder cannot be trusted, each call walks the tree.
  if (mode !== "plain") {
    assert.deepEqual([indexed, persisted], [2, false]);
    await workspace.grep({ pattern: "needle" });
    assert.equal(workspace.status().last.candidates, 0);
    appendFileSync(join(root, "a.txt"), "needle\n");
    assert.equal((await workspace.grep({ pattern: "needle" })).totalMatches, 1);
    assert.equal(workspace.status().last.candidates, 1);
    await workspace.grep({ pattern: "needle", gitignore: false });
    assert.equal(workspace.status().last.why, "the index does not contain these files");
  }
  await workspace.close();
});

test("the status explains what is held, and a call says how far it has come", async () => {
  const files = Object.fromEntries(Array.from({ length: 40 }, (_, file) => [`d${file % 3}/f${file}.txt`, `text ${file}\n`]));
  const root = tree({ ...files, "binary": "a\0b", ".env.local": "SECRET=1\n", ".ignore": "out\n", "out/left": "x\n" });
  const workspace = await Workspace.open(root, { cacheDir: null });
  // A rule file that changed within one clock tick is read again at each call.
  while (Date.now() - statSync(join(root, ".ignore")).ctimeMs < 100);
  const told = [];
  const status = await workspace.ready({ onProgress: (progress) => void told.push(progress) });
  if (status.mode === "plain") return assert.match(status.reason, /./);
  const { phase, files: read, totalFiles, bytes } = told.at(-1);
  assert.deepEqual([phase, read, totalFiles, bytes], ["merge", 43, 43, 40 * 7 + 30 + 3 + 4]);
  const { state, files: held, folders, indexed, changed, pending, odd, binary, textBytes, persisted, last, surprises } = status;
  assert.deepEqual([state, held, folders, indexed, changed, pending, odd, binary], ["ready", 43, 4, 41, 0, 0, 1, 1]);
  assert.deepEqual([textBytes, persisted, last, surprises], [40 * 7 + 30 + 4, false, undefined, 0]);
  assert.ok(status.indexBytes > 0 && status.memoryBytes === status.indexBytes);
  appendFileSync(join(root, "d0/f0.txt"), "more\n");
  writeFileSync(join(root, "new"), "more\n");
  assert.equal((await workspace.grep({ pattern: "more" })).totalMatches, 2);
  const after = workspace.status();
  assert.deepEqual([after.files, after.indexed, after.changed, after.pending], [44, 40, 1, 1]);
  assert.deepEqual([after.last.candidates, after.last.documents], [3, 0]);
  assert.ok(after.last.plan && Number.isInteger(after.last.barrierMicros));
  const fault = new Error("no more");
  await assert.rejects(workspace.ready({ onProgress: () => { throw fault; } }), fault);
  await assert.rejects(workspace.ready({ onProgress: 7 }), { code: "ERR_INVALID_ARG_TYPE" });
  await assert.rejects(workspace.ready({ onProgress() {}, signal: AbortSignal.abort() }), { name: "AbortError" });
  await workspace.close();
});

test("changes since a token are named, and a token of elsewhere means all", async () => {
  const root = tree({ "a.txt": "alpha\n", "src/b.txt": "beta\n" });
  const workspace = await Workspace.open(root, { cacheDir: null });
  const first = await workspace.changes();
  assert.deepEqual([first.all, first.paths], [true, []]);
  appendFileSync(join(root, "a.txt"), "more\n");
  rmSync(join(root, "src/b.txt"));
  const second = await workspace.changes(first.token);
  if (workspace.status().mode === "watch") assert.deepEqual([second.all, second.paths], [false, ["a.txt", "src/b.txt"]]);
  else assert.equal(second.all, true);
  assert.equal((await workspace.changes("of elsewhere")).all, true);
  await assert.rejects(workspace.changes(7), { code: "ERR_INVALID_ARG_TYPE", message: "Workspace.changes: since must be a string, not 7" });
  await assert.rejects(workspace.changes(first.token, { signal: AbortSignal.abort() }), { name: "AbortError" });
  await workspace.close();
  await assert.rejects(workspace.changes(), { code: "ERR_INVALID_STATE" });
});

test("a boost changes the order of what is found and nothing else", async () => {
  const root = tree({ "app/view.ts": "x\n", "lib/view.ts": "x\n", "sub/view.ts": "x\n", "view": "x\n" });
  const workspace = await Workspace.open(root, { cacheDir: null });
  const paths = async (boost) => (await workspace.fuzzyFind({ query: "view", boost })).matches.filter(({ isDirectory }) => !isDirectory).map(({ path }) => path);
  const plain = await paths();
  assert.deepEqual(plain, ["view", "app/view.ts", "lib/view.ts", "sub/view.ts"]);
  assert.deepEqual(await paths(null), plain);
  workspace.note("lib/view.ts", "edit");
  workspace.note(join(root, "lib/view.ts"), "read", Date.now());
  assert.deepEqual(await paths({}), ["view", "lib/view.ts", "app/view.ts", "sub/view.ts"]);
  assert.deepEqual(await paths({ recent: ["sub/view.ts"], current: "sub/other.ts" }), ["view", "sub/view.ts", "lib/view.ts", "app/view.ts"]);
  assert.deepEqual(await paths(), plain);
  await assert.rejects(paths({ current: 7 }), { code: "ERR_INVALID_ARG_TYPE" });
  assert.throws(() => workspace.note("a", "seen"), { message: 'Workspace.note: use must be one of "read", "edit", "pick", not "seen"' });
  assert.throws(() => workspace.note("a", "read", -1), { code: "ERR_OUT_OF_RANGE" });
  await workspace.close();
});

test("an index on disk lies in its folder alone and can be removed", async () => {
  const root = tree({ "root/a.txt": "alpha\n" });
  const cacheDir = join(root, "cache");
  const workspace = await Workspace.open(join(root, "root"), { cacheDir });
  const { persisted } = await workspace.ready();
  assert.equal(existsSync(join(cacheDir, "index")), persisted);
  await workspace.close();
  assert.equal(await Workspace.remove(join(root, "root"), { cacheDir }), persisted);
  assert.equal(await Workspace.remove(join(root, "root"), { cacheDir }), false);
  assert.deepEqual(readdirSync(join(root, "root")), ["a.txt"]);
});

test("a closed workspace says so, and closing it again does nothing", async () => {
  const workspace = await Workspace.open(tree({ a: "x\n" }), { cacheDir: null });
  await workspace.grep({ pattern: "x" });
  await workspace.close();
  await workspace.close();
  const closed = { code: "ERR_INVALID_STATE", message: "Workspace is closed: open it again" };
  for (const call of [() => workspace.grep({ pattern: "x" }), () => workspace.glob(), () => workspace.fuzzyFind({ query: "x" }), () => workspace.list(), () => workspace.ready()]) {
    await assert.rejects(call, closed);
  }
  assert.equal(workspace.status().state, "closed");
});

test("open says what cannot be opened", async () => {
  const root = tree({ file: "x\n" });
  await assert.rejects(Workspace.open(join(root, "none")), { code: "ENOENT", message: /^Workspace\.open: failed to read / });
  await assert.rejects(Workspace.open(join(root, "file")), { code: "ERR_INVALID_ARG_VALUE", message: /^Workspace\.open: .* is not a folder$/ });
  await assert.rejects(Workspace.open(7), { code: "ERR_INVALID_ARG_TYPE" });
  await assert.rejects(Workspace.open(root, { index: "sometimes" }), { code: "ERR_INVALID_ARG_TYPE" });
  await assert.rejects(Workspace.open(root, { signal: AbortSignal.abort() }), { name: "AbortError" });
  assert.throws(() => new Workspace(), { code: "ERR_ILLEGAL_CONSTRUCTOR" });
});
