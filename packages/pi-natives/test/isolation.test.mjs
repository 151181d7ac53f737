// Tests isolated tasks on real directories and repositories, with git as the oracle.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import * as natives from "@sinew/pi-natives";
import * as vcs from "@sinew/pi-natives/vcs";

const { Rcopy } = natives.IsoBackendKind;
const { Added, Modified, Removed } = natives.IsoChangeKind;
const unix = { skip: process.platform === "win32" && "views need a Unix system" };
const module = JSON.stringify(import.meta.resolve("@sinew/pi-natives"));

function git(cwd, ...args) {
  const env = { PATH: process.env.PATH, HOME: cwd, GIT_CONFIG_NOSYSTEM: "1" };
  return execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.quotePath=false", ...args], { cwd, env, encoding: "utf8" });
}

/** Creates a project, and the folder of a task with a file of its owner. The task's directory does not exist yet. */
function fixture(t, files = { "a.txt": "one\ntwo\nthree\n" }) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "pi-isolation-")));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const [project, base] = [join(root, "project"), join(root, "tasks", "t1")];
  mkdirSync(project);
  mkdirSync(base, { recursive: true });
  writeFileSync(join(base, "owner.json"), "{}");
  for (const [name, content] of Object.entries(files)) writeFileSync(join(project, name), content);
  return { root, project, base, merged: join(base, "m") };
}

/** Makes the project a repository with one commit. */
function commit(project) {
  git(project, "init", "-q", "-b", "main");
  git(project, "add", "-A");
  git(project, "commit", "-qm", "first");
}

/** Runs a script in another process, which then waits until it is killed, at the latest at the end of the test. */
async function elsewhere(t, script) {
  const child = spawn(process.execPath, ["--input-type=module", "-e", `import * as natives from ${module};\n${script}\nconsole.log("ready");\nprocess.stdin.resume();`], { stdio: ["pipe", "pipe", "inherit"] });
  t.after(() => child.kill("SIGKILL"));
  const ended = new Promise((done) => child.once("close", done));
  const said = await Promise.race([new Promise((done) => child.stdout.once("data", done)), ended]);
  assert.equal(String(said), "ready\n");
  return { ended, kill: () => child.kill("SIGKILL") };
}

test("only copies are available, and other backends are replaced or refused as unavailable", async (t) => {
  const { project, merged } = fixture(t);
  assert.deepEqual([natives.isoBackend(), natives.isoProbe(), natives.isoResolve()], [Rcopy, { available: true, kind: Rcopy }, { kind: Rcopy, candidates: [Rcopy], fellBack: false }]);
  for (const [name, kind] of Object.entries(natives.IsoBackendKind)) {
    const { available, reason } = natives.isoProbe(kind);
    assert.deepEqual([available, reason === undefined], [kind === Rcopy, kind === Rcopy]);
    if (available) continue;
    assert.equal(reason, `${name} is not supported; use Rcopy`);
    assert.deepEqual(natives.isoResolve(kind), { kind: Rcopy, candidates: [Rcopy], fellBack: true, reason });
    await assert.rejects(natives.isoStart(kind, project, merged), (error) => natives.isoIsUnavailableError(error.message) && error.message === `ISO_UNAVAILABLE: ${reason}`);
  }
  assert.deepEqual([existsSync(merged), natives.isoIsUnavailableError("ENOENT: unavailable"), natives.isoIsUnavailableError("Error: ISO_UNAVAILABLE: Btrfs")], [false, false, true]);
});

test("a task changes its own files", async (t) => {
  const { project, base, merged } = fixture(t);
  mkdirSync(join(project, "sub"));
  writeFileSync(join(project, "sub", "b.txt"), "b\n");
  await natives.isoStart(null, project, merged);
  assert.deepEqual([statSync(merged).isDirectory(), readFileSync(join(merged, "sub", "b.txt"), "utf8")], [true, "b\n"]);
  writeFileSync(join(merged, "sub", "b.txt"), "changed\n");
  assert.equal(readFileSync(join(project, "sub", "b.txt"), "utf8"), "b\n");
  await natives.isoStop(Rcopy, merged);
  await natives.isoStop(Rcopy, merged);
  assert.deepEqual(readdirSync(base), ["owner.json"]);
  assert.deepEqual(readdirSync(project), ["a.txt", "sub"]);
});

test("a checkout keeps its state, and has a repository of its own", unix, async (t) => {
  const { root, project, merged } = fixture(t, { "a.txt": "one\ntwo\nthree\n", "staged.txt": "x\n", ".gitignore": "*.log\n" });
  commit(project);
  writeFileSync(join(project, "a.txt"), "one\nTWO\nthree\n");
  writeFileSync(join(project, "staged.txt"), "y\n");
  git(project, "add", "staged.txt");
  writeFileSync(join(project, "untracked.txt"), "new\n");
  const status = git(project, "status", "--porcelain");
  await natives.isoStart(natives.isoResolve().kind, project, merged);
  assert.equal(git(merged, "status", "--porcelain"), status);
  assert.equal(await vcs.detachGitDir(merged, join(project, ".git")), "independent");
  assert.deepEqual(await natives.isoDiff(project, merged), { files: [] });

  writeFileSync(join(merged, "a.txt"), "one\nTWO\nthree\nfour\n");
  writeFileSync(join(merged, "debug.log"), "ignored\n");
  git(merged, "commit", "-qam", "of the task");
  rmSync(join(merged, "untracked.txt"));
  const { files } = await natives.isoDiff(project, merged);
  assert.deepEqual(files.map(({ path, op }) => [path, op]), [["a.txt", Modified], ["untracked.txt", Removed]]);
  assert.deepEqual(files[0].diff.split("\n").slice(0, 4), ["diff --git a/a.txt b/a.txt", "--- a/a.txt", "+++ b/a.txt", "@@ -1,3 +1,4 @@"]);
  assert.deepEqual([git(project, "log", "--format=%s"), git(project, "status", "--porcelain")], ["first\n", status]);
  assert.equal(git(project, "worktree", "list").trim().split("\n").length, 1);
  git(project, "fetch", "-q", merged, "HEAD:refs/heads/task");
  await natives.isoStop(Rcopy, merged);
  assert.deepEqual([git(project, "log", "--format=%s", "task"), existsSync(join(root, "tasks", "t1", "m"))], ["of the task\nfirst\n", false]);
});

/** What a task does, and the changes that it makes. */
const CHANGES = [
  ["added.txt", Added, (at) => writeFileSync(at, "added\n")],
  ["empty.txt", Added, (at) => writeFileSync(at, "")],
  ["gone.txt", Removed, (at) => rmSync(at)],
  ["link", Added, (at) => symlinkSync("a.txt", at)],
  ["link to file", Modified, (at) => (rmSync(at), writeFileSync(at, "a file now\n"))],
  ["no newline", Modified, (at) => writeFileSync(at, "one\ntwo")],
  ['quote".txt', Modified, (at) => writeFileSync(at, "after\n")],
  // The text of a patch, and a line that begins after a carriage return.
  ["patch.txt", Modified, (at) => writeFileSync(at, "diff --git a/x b/x\ntext\rdiff --git a/y b/y\n")],
  ["program.sh", Modified, (at) => chmodSync(at, 0o755)],
  ["tab\t\\ é.txt", Modified, (at) => writeFileSync(at, "after\n")],
  ["folder/file b/x", Added, (at) => writeFileSync(at, "x\n")],
];

test("the patches of changed files make the same files of the original", unix, async (t) => {
  const before = { "a.txt": "a\n", "gone.txt": "gone\n", "no newline": "one\n", 'quote".txt': "before\n", "patch.txt": "diff --git a/patch.txt b/patch.txt\n", "program.sh": "#!/bin/sh\n", "tab\t\\ é.txt": "before\n" };
  const { root, project, merged } = fixture(t, before);
  symlinkSync("a.txt", join(project, "link to file"));
  commit(project);
  const original = join(root, "original");
  cpSync(project, original, { recursive: true, verbatimSymlinks: true });
  await natives.isoStart(Rcopy, project, merged);
  mkdirSync(join(merged, "folder", "file b"), { recursive: true });
  for (const [name, , change] of CHANGES) change(join(merged, name));
  const { files } = await natives.isoDiff(project, merged);
  const byPath = (one, two) => Buffer.compare(Buffer.from(one[0]), Buffer.from(two[0]));
  assert.deepEqual(files.map(({ path, op }) => [path, op]), CHANGES.map(([path, op]) => [path, op]).sort(byPath));
  for (const { diff } of files) execFileSync("git", ["apply", "-"], { cwd: original, input: diff, stdio: ["pipe", "ignore", "inherit"] });
  const view = realpathSync(merged);
  rmSync(join(original, ".git"), { recursive: true });
  rmSync(join(view, ".git"), { recursive: true });
  assert.equal(git(root, "diff", "--no-index", original, view), "");
  await natives.isoStop(Rcopy, merged);
});

test("binary files have no patch, and bytes that are not UTF-8 are replaced in it", unix, async (t) => {
  const { project, merged } = fixture(t, { "a.bin": "a\0b", "latin1.txt": Buffer.from("caf\xe9\n", "latin1"), "mode.txt": "x\n" });
  await natives.isoStart(Rcopy, project, merged);
  writeFileSync(join(merged, "a.bin"), "a\0c");
  writeFileSync(join(merged, "b.bin"), "\0");
  writeFileSync(join(merged, "latin1.txt"), Buffer.from("CAF\xc9\n", "latin1"));
  // git records no change of these permissions.
  chmodSync(join(merged, "mode.txt"), 0o600);
  mkdirSync(join(merged, "empty"));
  const [changed, added, text, ...more] = (await natives.isoDiff(project, merged)).files;
  assert.deepEqual([changed, added, more], [{ path: "a.bin", op: Modified }, { path: "b.bin", op: Added }, []]);
  assert.match(text.diff, /^-caf\ufffd\n\+CAF\ufffd$/m);
  await natives.isoStop(Rcopy, merged);
});

test("a new task replaces the view and an empty directory, and nothing else", unix, async (t) => {
  const { root, project, base, merged } = fixture(t);
  mkdirSync(merged);
  await natives.isoStart(Rcopy, project, merged);
  writeFileSync(join(merged, "of the first"), "");
  await natives.isoStart(Rcopy, project, merged);
  assert.deepEqual([readdirSync(merged), readdirSync(base).length], [["a.txt"], 3]);
  await natives.isoStop(Rcopy, merged);

  const kept = join(root, "kept");
  mkdirSync(kept);
  writeFileSync(join(kept, "file"), "");
  symlinkSync(kept, merged);
  for (const path of [kept, join(kept, "file"), merged, project]) await assert.rejects(natives.isoStart(Rcopy, project, path), { code: "ERR_INVALID_STATE", message: /is not an empty directory/ });
  for (const path of [kept, join(kept, "file"), merged, join(root, "nothing", "here")]) await natives.isoStop(Rcopy, path);
  assert.deepEqual([readdirSync(root), readdirSync(kept), readdirSync(base), readdirSync(project)], [["kept", "project", "tasks"], ["file"], ["m", "owner.json"], ["a.txt"]]);
});

test("a call that fails leaves nothing behind", unix, async (t) => {
  const { root, project, base, merged } = fixture(t);
  await assert.rejects(natives.isoStart(Rcopy, join(root, "none"), merged), { code: "ENOENT" });
  await assert.rejects(natives.isoStart(Rcopy, join(project, "a.txt"), merged), { code: "ENOTDIR" });
  await assert.rejects(natives.isoDiff(project, merged), { code: "ERR_INVALID_STATE", message: /git diff --no-index/ });
  assert.deepEqual(readdirSync(base), ["owner.json"]);
  await natives.isoStart(Rcopy, project, merged);
  await assert.rejects(natives.isoDiff(root, merged), { code: "ERR_INVALID_STATE" });
  await natives.isoStop(Rcopy, merged);
});

test("callers may rename or remove the folder of a task", unix, async (t) => {
  const { project, base, merged } = fixture(t);
  await natives.isoStart(Rcopy, project, merged);
  writeFileSync(join(merged, "made"), "by the task\n");
  const retained = `${base}.retained`;
  renameSync(base, retained);
  assert.equal(readFileSync(join(retained, "m", "made"), "utf8"), "by the task\n");
  await natives.isoStop(Rcopy, merged);
  assert.equal(readFileSync(join(retained, "m", "made"), "utf8"), "by the task\n");

  await natives.isoStart(Rcopy, project, merged);
  rmSync(base, { recursive: true });
  await natives.isoStart(Rcopy, project, merged);
  assert.deepEqual(readdirSync(merged), ["a.txt"]);
  rmSync(base, { recursive: true });
  await natives.isoStop(Rcopy, merged);
  assert.ok(!existsSync(base));
});

test("the view of a killed process can be compared and discarded", unix, async (t) => {
  const { project, base, merged } = fixture(t);
  const owner = await elsewhere(t, `await natives.isoStart(null, ${JSON.stringify(project)}, ${JSON.stringify(merged)});`);
  writeFileSync(join(merged, "made"), "x\n");
  await assert.rejects(natives.isoStop(Rcopy, merged), { code: "ERR_INVALID_STATE", message: /another process uses the view/ });
  await assert.rejects(natives.isoStart(Rcopy, project, merged), { code: "ERR_INVALID_STATE", message: /another process uses the view/ });
  await assert.rejects(natives.isoDiff(project, merged), { code: "ERR_INVALID_STATE" });
  owner.kill();
  await owner.ended;
  assert.deepEqual((await natives.isoDiff(project, merged)).files.map(({ path, op }) => [path, op]), [["made", Added]]);
  await natives.isoStop(Rcopy, merged);
  assert.deepEqual(readdirSync(base), ["owner.json"]);
});

test("several tasks of one directory do not see each other", unix, async (t) => {
  const { project, base } = fixture(t);
  const paths = ["one", "two", "three"].map((name) => join(base, name));
  await Promise.all(paths.map((path) => natives.isoStart(Rcopy, project, path)));
  paths.forEach((path, number) => writeFileSync(join(path, `made by ${number}`), ""));
  for (const [number, path] of paths.entries()) assert.deepEqual((await natives.isoDiff(project, path)).files.map((file) => file.path), [`made by ${number}`]);
  await Promise.all(paths.map((path) => natives.isoStop(Rcopy, path)));
  assert.deepEqual(readdirSync(base), ["owner.json"]);
});
