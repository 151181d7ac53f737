// Tests the binding of checkpoints and the checks of their options.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { temporary } from "./host.mjs";

const { Checkpoints } = createRequire(import.meta.url)("..");

const unix = { skip: process.platform === "win32" && "needs Linux or macOS" };

/** Creates a directory with some files, and opens its checkpoints. */
async function opened(t, options = {}) {
  const folder = temporary(t);
  const project = join(folder, "project");
  mkdirSync(join(project, "src"), { recursive: true });
  for (const name of ["a", "b", "c"]) writeFileSync(join(project, "src", name), `${name}\n`);
  const store = join(folder, "store");
  const checkpoints = await Checkpoints.open(project, { store, ...options });
  const read = (path) => (existsSync(join(project, path)) ? readFileSync(join(project, path), "utf8") : null);
  const write = (path, text) => writeFileSync(join(project, path), text);
  return { checkpoints, project, store, read, write };
}

test("a span is compared, planned, undone and redone", unix, async (t) => {
  const { checkpoints, project, read, write } = await opened(t);
  const before = await checkpoints.take({ label: "before the agent", kind: "start", session: "s" });
  assert.deepEqual({ ...before, id: "", time: 0 }, { id: "", time: 0, kind: "start", label: "before the agent", session: "s", coverage: "full" });
  assert.ok(Math.abs(before.time - Date.now()) < 60_000);
  write("src/a", "changed\n");
  rmSync(join(project, "src/b"));
  write("src/new", "new\n");
  const after = await checkpoints.take({ kind: "end" });
  write("src/c", "somebody else's\n");

  const { entries, coverage, truncated } = await checkpoints.changes(before.id, after.id);
  assert.deepEqual(entries, [
    { path: "src/a", change: "modified", type: "file" },
    { path: "src/b", change: "deleted", type: "file" },
    { path: "src/new", change: "created", type: "file" },
  ]);
  assert.deepEqual([coverage, truncated], ["full", false]);

  const options = { spans: [[before.id, after.id]] };
  const plan = await checkpoints.plan(before.id, options);
  assert.deepEqual(plan, {
    entries: [
      { path: "src/a", action: "restore", change: "modified", type: "file" },
      { path: "src/b", action: "restore", change: "deleted", type: "file" },
      { path: "src/new", action: "delete", change: "created", type: "file" },
    ],
    repositories: [],
    coverage: "full",
  });
  assert.equal(read("src/a"), "changed\n", "a plan writes nothing");

  const { redo, ...done } = await checkpoints.restore(before.id, options);
  assert.deepEqual(done, { ...plan, done: 3, planned: 3 });
  assert.deepEqual(["a", "b", "c", "new"].map((name) => read(`src/${name}`)), ["a\n", "b\n", "somebody else's\n", null]);
  await checkpoints.restore(redo);
  assert.deepEqual(["a", "b", "c", "new"].map((name) => read(`src/${name}`)), ["changed\n", null, "somebody else's\n", "new\n"]);
  const kinds = (await checkpoints.list()).map(({ kind }) => kind);
  assert.deepEqual(kinds, ["start", "end", "redo", "restored", "redo", "restored"]);
});

test("what somebody changed since is kept, named, and restored by force", unix, async (t) => {
  const { checkpoints, read, write } = await opened(t);
  const before = await checkpoints.take();
  write("src/a", "agent\n");
  const after = await checkpoints.take();
  write("src/a", "mine\n");
  const spans = [[before.id, after.id]];
  const kept = await checkpoints.restore(before.id, { spans });
  assert.deepEqual(kept.entries, [{ path: "src/a", action: "keep", reason: "changed since", change: "modified", type: "file" }]);
  assert.deepEqual([kept.redo, kept.done, kept.planned, read("src/a")], [null, 0, 0, "mine\n"]);
  const forced = await checkpoints.restore(before.id, { spans, force: ["src/a"] });
  assert.deepEqual([forced.done, read("src/a")], [1, "a\n"]);
});

test("names that are not UTF-8 cross as bytes", { skip: process.platform !== "linux" && "Linux only" }, async (t) => {
  const { checkpoints, project } = await opened(t);
  const bytes = Buffer.concat([Buffer.from("caf"), Buffer.from([0xe9])]);
  const before = await checkpoints.take();
  const path = Buffer.concat([Buffer.from(`${project}/`), bytes]);
  writeFileSync(path, "x");
  writeFileSync(join(project, "other"), "x");
  const after = await checkpoints.take();
  const { entries } = await checkpoints.changes(before.id, after.id);
  assert.deepEqual(entries.map(({ path, bytes }) => [path, bytes?.toString("latin1")]), [["caf\ufffd", "caf\u00e9"], ["other", undefined]]);
  const { done } = await checkpoints.restore(before.id, { paths: [bytes] });
  assert.deepEqual([done, existsSync(path), existsSync(join(project, "other"))], [1, false, true]);
});

test("paths are absolute or taken from the root", unix, async (t) => {
  const { checkpoints, project, write, read } = await opened(t);
  for (const path of ["src/a", "./src/a", "src/", join(project, "src", "a"), "src/../src/a", ".", ""]) {
    const { id } = await checkpoints.take();
    write("src/a", `${path}!`);
    const plan = await checkpoints.plan(id, { paths: [path] });
    assert.deepEqual(plan.entries.map(({ path }) => path), ["src/a"], path);
    await checkpoints.restore(id, { paths: [path] });
    assert.equal(read("src/a"), "a\n", path);
  }
  assert.deepEqual((await checkpoints.plan((await checkpoints.take()).id, { paths: ["..", "sr"] })).entries, []);
});

test("absolute paths can lead through a link to the root", unix, async (t) => {
  const { project, store, read, write } = await opened(t);
  const alias = join(project, "..", "alias");
  symlinkSync("project", alias);
  const checkpoints = await Checkpoints.open(alias, { store });
  for (const path of [join(alias, "src", "a"), join(project, "src", "a"), `${alias}/./src/`, alias]) {
    const { id } = await checkpoints.take();
    write("src/a", `${path}!`);
    await checkpoints.restore(id, { paths: [path] });
    assert.equal(read("src/a"), "a\n", path);
  }
  const { id } = await checkpoints.note([join(alias, "src", "b")]);
  write("src/b", "changed\n");
  assert.equal((await checkpoints.restore(id)).done, 1);
});

test("what changed while two sessions worked is kept", unix, async (t) => {
  const { checkpoints, project, store, write, read } = await opened(t);
  const other = await Checkpoints.open(project, { store });
  const start = await checkpoints.take({ kind: "start", session: "one" });
  await other.take({ kind: "start", session: "two" });
  await checkpoints.note(["src/a"], { session: "one" });
  write("src/a", "one\n");
  write("src/new", "two\n");
  await other.take({ kind: "end", session: "two" });
  const end = await checkpoints.take({ kind: "end", session: "one" });
  const { entries, done } = await checkpoints.restore(start.id, { spans: [[start.id, end.id]] });
  assert.deepEqual(entries.map(({ path, action, reason }) => [path, action, reason]), [
    ["src/a", "restore", undefined],
    ["src/new", "keep", "two were at work"],
  ]);
  assert.deepEqual([done, read("src/a"), read("src/new")], [1, "a\n", "two\n"]);
});

test("a repository that moved is named and not written", unix, async (t) => {
  const { checkpoints, project, write } = await opened(t);
  const git = (...args) => execFileSync("git", ["-c", "user.name=N", "-c", "user.email=e@example.com", ...args], { cwd: project });
  git("init", "-q", "-b", "main");
  git("add", "-A");
  git("commit", "-qm", "one");
  const before = await checkpoints.take();
  write("src/a", "changed\n");
  git("commit", "-qam", "two");
  const { repositories } = await checkpoints.restore(before.id);
  assert.equal(repositories.length, 1);
  const [{ path, from, to, index, command }] = repositories;
  assert.deepEqual([path, index], [".git", true]);
  assert.match(`${from} ${to}`, /^main at [0-9a-f]{12} main at [0-9a-f]{12}$/);
  execFileSync("sh", ["-c", command]);
  assert.equal(git("status", "--porcelain").toString(), "");
});

test("a note covers what the caller is about to write", unix, async (t) => {
  const { checkpoints, read, write } = await opened(t);
  await checkpoints.take();
  write("src/a", "mine\n");
  const noted = await checkpoints.note(["src/a"], { session: "s" });
  assert.deepEqual([noted.kind, noted.session], ["note", "s"]);
  write("src/a", "agent\n");
  await checkpoints.restore(noted.id);
  assert.equal(read("src/a"), "mine\n");
});

test("limits, usage and collection", unix, async (t) => {
  const { checkpoints, project, store, write } = await opened(t, { maxFileBytes: 100 });
  write("large", "x".repeat(101));
  assert.equal((await checkpoints.take()).coverage, "1 file over 100 bytes");
  for (let round = 0; round < 30; round++) {
    write("src/a", `${round}`.repeat(20));
    await checkpoints.take();
  }
  const before = await checkpoints.usage();
  const { removed, freedBytes } = await (await Checkpoints.open(project, { store, maxDirectoryBytes: 3000 })).gc();
  const after = await checkpoints.usage();
  assert.ok(removed.length > 0 && after.checkpoints === before.checkpoints - removed.length);
  assert.equal(before.directoryBytes - after.directoryBytes, freedBytes);
  assert.equal(readdirSync(store).length, 1);
  await assert.rejects(checkpoints.plan(removed[0]), { code: "ENOENT" });
});

test("a signal and a time limit end a call before it writes", unix, async (t) => {
  const { checkpoints, write } = await opened(t);
  const { id } = await checkpoints.take();
  write("src/a", "changed\n");
  const signal = AbortSignal.abort(new Error("enough"));
  for (const call of [
    (options) => checkpoints.take(options),
    (options) => checkpoints.note(["src/a"], options),
    (options) => checkpoints.changes(id, id, options),
    (options) => checkpoints.plan(id, options),
    (options) => checkpoints.restore(id, options),
    (options) => checkpoints.gc(options),
    (options) => checkpoints.list(options),
    (options) => checkpoints.usage(options),
  ]) {
    await assert.rejects(call({ signal }), { name: "AbortError" });
    await assert.rejects(call({ timeoutMs: 0 }), { name: "TimeoutError" }, `${call}`);
  }
  assert.equal((await checkpoints.list()).length, 1);
});

test("arguments of the wrong type are refused", unix, async (t) => {
  const { checkpoints, project } = await opened(t);
  assert.throws(() => new Checkpoints(), { code: "ERR_ILLEGAL_CONSTRUCTOR" });
  await assert.rejects(Checkpoints.open(project, { store: join(project, "store") }), { code: "ERR_INVALID_ARG_VALUE" });
  await assert.rejects(Checkpoints.open(join(project, "missing"), { store: join(project, "..", "s") }), { code: "ENOENT" });
  await assert.rejects(Checkpoints.open(project, { maxFileBytes: -1 }), { code: "ERR_OUT_OF_RANGE" });
  for (const options of [{ spans: "x" }, { spans: [["a"]] }, { paths: "src" }, { paths: [1] }, { force: "src" }]) {
    await assert.rejects(checkpoints.plan("x", options), { code: "ERR_INVALID_ARG_TYPE" }, JSON.stringify(options));
  }
  await assert.rejects(checkpoints.take({ kind: "redo" }), { code: "ERR_INVALID_ARG_TYPE" });
  await assert.rejects(checkpoints.restore("../../etc/passwd"), { code: "ERR_INVALID_ARG_VALUE" });
});
