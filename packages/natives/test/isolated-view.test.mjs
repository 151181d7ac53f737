import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { IsolatedView, PtySession, Sandbox, Shell, executeShell, run } from "../dist/index.js";

const unix = { skip: process.platform === "win32" && "views need a Unix system" };

/** Calls `use` with a project that has a file, and a home. Both are removed afterwards. */
async function withProject(use) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "view-")));
  const [project, home] = [join(folder, "project"), join(folder, "home")];
  mkdirSync(project);
  mkdirSync(home);
  writeFileSync(join(project, "a.txt"), "one\ntwo\nthree\n");
  try {
    await use({ project, home, read: (name) => readFileSync(join(project, name), "utf8") });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function git(project, ...args) {
  const own = { GIT_CONFIG_NOSYSTEM: "1", HOME: project, PATH: process.env.PATH };
  return execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd: project, env: own, encoding: "utf8" });
}

test("changes in a view are listed, merged and removed", unix, () =>
  withProject(async ({ project, home, read }) => {
    const view = await IsolatedView.open(project, { home, label: "one" });
    assert.deepEqual([view.root, view.mode, view.missing], [project, "copy", []]);
    await run(["sh", "-c", "sed s/two/TWO/ a.txt > t; mv t a.txt; echo x > made; chmod 700 made"], { view });
    const { entries, patch, truncated } = await view.changes();
    assert.deepEqual(entries.map(({ path, change }) => [path, change]), [["a.txt", "changed"], ["made", "added"]]);
    assert.equal(entries[1].newMode & 0o777, 0o700);
    assert.ok(!("oldMode" in entries[1]) && !truncated);
    assert.match(patch.toString(), /^-two\n\+TWO$/m);
    assert.equal(read("a.txt"), "one\ntwo\nthree\n");
    writeFileSync(join(project, "a.txt"), "one\ntwo\nthree\nfour\n");
    const { files, conflicts, applied } = await view.apply();
    assert.deepEqual(files.map(({ path, outcome }) => [path, outcome]), [["a.txt", "merged"], ["made", "created"]]);
    assert.deepEqual([conflicts, applied, read("a.txt")], [[], true, "one\nTWO\nthree\nfour\n"]);
    // The second time there is nothing to do.
    assert.deepEqual((await view.apply()).files, []);
    await view.discard();
    await view.discard();
    assert.ok(!existsSync(view.path));
    await assert.rejects(view.changes(), { code: "ERR_INVALID_STATE" });
  }));

test("a conflict changes nothing of its file, and with stop nothing at all", unix, () =>
  withProject(async ({ project, home, read }) => {
    const view = await IsolatedView.open(project, { home });
    await run(["sh", "-c", "sed s/two/THEIRS/ a.txt > t; mv t a.txt; echo x > made"], { view });
    writeFileSync(join(project, "a.txt"), "one\nMINE\nthree\n");
    const stopped = await view.apply({ onConflict: "stop" });
    assert.deepEqual([stopped.applied, stopped.conflicts.length, existsSync(join(project, "made"))], [false, 1, false]);
    const { applied, conflicts } = await view.apply();
    assert.deepEqual([applied, conflicts[0].path, read("a.txt"), read("made")], [true, "a.txt", "one\nMINE\nthree\n", "x\n"]);
    assert.match(readFileSync(conflicts[0].merged, "utf8"), /MINE[^]*THEIRS/);
    await view.discard();
  }));

test("a worktree has a git directory of its own", unix, () =>
  withProject(async ({ project, home }) => {
    git(project, "init", "-q", "-b", "main");
    git(project, "add", "-A");
    git(project, "commit", "-qm", "base");
    writeFileSync(join(project, "new"), "not committed\n");
    const view = await IsolatedView.open(project, { home, mode: "worktree" });
    const { stdout } = await run(["git", "status", "--porcelain"], { view });
    assert.equal(stdout, "?? new");
    await run(["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qam", "theirs", "--allow-empty"], { view, reject: true });
    const { remainder } = await view.changes();
    assert.deepEqual(remainder.commits.map(({ subject }) => subject), ["theirs"]);
    assert.equal(git(project, "log", "--format=%s").trim(), "base");
    assert.equal(git(project, "worktree", "list").trim().split("\n").length, 1);
    await view.discard();
  }));

test("programs of every kind work in a view", unix, () =>
  withProject(async ({ project, home }) => {
    const view = await IsolatedView.open(project, { home });
    const { stdout } = await executeShell({ command: "pwd; echo $GIT_CEILING_DIRECTORIES", view, buffer: true });
    assert.deepEqual(stdout.split("\n"), [view.path, view.env.GIT_CEILING_DIRECTORIES]);
    const shell = new Shell({ view });
    const said = [];
    const say = (chunk) => said.push(chunk);
    await shell.run({ command: "pwd; echo $GIT_CEILING_DIRECTORIES; mkdir -p below; cd below" }, say);
    const { workingDir } = await shell.run({ command: "pwd" }, say);
    assert.deepEqual(said.join("").trim().split("\n"), [view.path, view.env.GIT_CEILING_DIRECTORIES, join(view.path, "below")]);
    assert.equal(workingDir, join(view.path, "below"));
    await shell.close();
    const beside = new Shell({ view, cwd: home, sessionEnv: { GIT_CEILING_DIRECTORIES: "/own", PATH: process.env.PATH } });
    said.length = 0;
    await beside.run({ command: "pwd; echo $GIT_CEILING_DIRECTORIES" }, say);
    assert.deepEqual(said.join("").trim().split("\n"), [home, "/own"]);
    await beside.close();
    const chunks = [];
    await new PtySession().start({ command: "pwd", view, cols: 400 }, (chunk) => chunks.push(chunk));
    assert.ok(chunks.join("").includes(view.path));
    const elsewhere = await run(["pwd"], { view, cwd: home });
    assert.equal(elsewhere.stdout, home);
    await assert.rejects(run(["pwd"], { view: { path: "/" } }), { code: "ERR_INVALID_ARG_TYPE" });
    await view.discard();
  }));

test("a sandbox closes the directory to programs in its view", { skip: process.platform !== "linux" && "the sandbox of Linux" }, () =>
  withProject(async ({ project, home, read }) => {
    const view = await IsolatedView.open(project, { home });
    const sandbox = await Sandbox.create({ mode: "rules", denyWrite: [project] });
    const ran = await run(["sh", "-c", `echo x > made; echo x > ${project}/outside; echo x >> ${project}/a.txt`], { view, sandbox });
    assert.notEqual(ran.exitCode, 0);
    assert.deepEqual([existsSync(join(project, "outside")), read("a.txt"), existsSync(join(view.path, "made"))], [false, "one\ntwo\nthree\n", true]);
    await view.discard();
  }));

test("a view that a killed process left is found and opened again", unix, () =>
  withProject(async ({ project, home, read }) => {
    const script = `
      const { IsolatedView } = await import(${JSON.stringify(new URL("../dist/index.js", import.meta.url).href)});
      const view = await IsolatedView.open(${JSON.stringify(project)}, { home: ${JSON.stringify(home)}, label: "lost" });
      (await import("node:fs")).writeFileSync(view.path + "/made", "x");
      process.kill(process.pid, "SIGKILL");
    `;
    await run([process.execPath, "--input-type=module", "-e", script]);
    const [left, ...others] = await IsolatedView.leftovers({ home });
    assert.deepEqual([left.label, left.root, left.new, others.length], ["lost", project, true, 0]);
    assert.equal((await IsolatedView.leftovers({ home }))[0].new, false);
    const view = await IsolatedView.reopen(left.id, { home });
    await assert.rejects(IsolatedView.reopen(left.id, { home }), { code: "ERR_INVALID_STATE" });
    await view.apply();
    assert.equal(read("made"), "x");
    await view.discard();
    assert.deepEqual(await IsolatedView.leftovers({ home }), []);
  }));

test("bad calls say what is wrong", unix, () =>
  withProject(async ({ project, home }) => {
    await assert.rejects(IsolatedView.open(join(project, "nowhere"), { home }), { code: "ENOENT" });
    await assert.rejects(IsolatedView.open(join(project, "a.txt"), { home }), { code: "ENOTDIR" });
    await assert.rejects(IsolatedView.open(project, { home, mode: "worktree" }), /git/);
    await assert.rejects(IsolatedView.open(project, { home, mode: "overlay" }), { code: "ERR_UNSUPPORTED" });
    await assert.rejects(IsolatedView.open(project, { home, mode: "fast" }), { code: "ERR_INVALID_ARG_TYPE" });
    await assert.rejects(IsolatedView.reopen("nothing", { home }), { code: "ENOENT" });
    await assert.rejects(IsolatedView.open(project, { home, signal: AbortSignal.abort() }), { name: "AbortError" });
    assert.deepEqual(await IsolatedView.leftovers({ home }), []);
    assert.throws(() => new IsolatedView(), { code: "ERR_ILLEGAL_CONSTRUCTOR" });
  }));
