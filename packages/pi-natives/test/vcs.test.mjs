// Tests version control on real repositories, with git as the oracle.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import * as vcs from "@sinew/pi-natives/vcs";

const IDENTITY = { GIT_AUTHOR_NAME: "A", GIT_AUTHOR_EMAIL: "a@b.c", GIT_COMMITTER_NAME: "A", GIT_COMMITTER_EMAIL: "a@b.c" };
Object.assign(process.env, IDENTITY);

function folder(t) {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "pi-vcs-")));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

const lines = (count) => Array.from({ length: count }, (_, at) => `line ${at + 1}\n`).join("");

/** Creates a repository with two commits, a staged change, an unstaged change, and an untracked file. */
function repository(t) {
  const root = join(folder(t), "repo");
  mkdirSync(join(root, "sub", "deep"), { recursive: true });
  const git = (...args) => execFileSync("git", args, { cwd: root, encoding: "utf8" });
  const write = (name, text) => writeFileSync(join(root, name), text);
  git("init", "-q", "-b", "main");
  write("f.txt", lines(30));
  write("sub/g.txt", "x\n");
  git("add", ".");
  git("commit", "-qm", "first\n\nbody");
  git("tag", "v1");
  write("f.txt", lines(30).replace("line 2\n", "LINE 2\n"));
  git("commit", "-qam", "second");
  write("f.txt", lines(30).replace("line 2\n", "LINE 2\n").replace("line 5\n", "LINE 5\n").replace("line 25\n", "LINE 25\n"));
  write("sub/staged.txt", "s\n");
  git("add", "sub/staged.txt");
  write("un tracked.txt", "new\n");
  return { root, git, write, read: (name) => readFileSync(join(root, name), "utf8"), repo: vcs.requireGit(root) };
}

test("outside of a repository there is none, and a required one is an error with a code", (t) => {
  const root = folder(t);
  assert.deepEqual([vcs.git(root), vcs.repo(root), vcs.repoForDisplay(root), vcs.gitInfo(root), vcs.jj(root), vcs.isPureJj(root)], [null, null, null, null, null, false]);
  for (const call of [() => vcs.require(root), () => vcs.requireGit(root)]) {
    assert.throws(call, (error) => vcs.isVcsError(error) && error.code === "NotARepository" && error.exitCode === 1 && error.message.includes(root));
  }
  mkdirSync(join(root, ".jj"));
  assert.equal(vcs.isPureJj(root), false);
  mkdirSync(join(root, ".jj", "repo"));
  assert.deepEqual([vcs.isPureJj(root), vcs.repo(root)], [true, null]);
});

test("a repository is found from below, with its paths and its head", (t) => {
  const { root, git, repo } = repository(t);
  const found = vcs.git(join(root, "sub", "deep"));
  const gitDir = join(root, ".git");
  assert.deepEqual(found.info(), { repoRoot: root, gitEntryPath: gitDir, gitDir, commonDir: gitDir, headPath: join(gitDir, "HEAD"), isReftable: false });
  const commit = git("rev-parse", "HEAD").trim();
  assert.deepEqual(found.headSync(), { kind: "ref", refName: "refs/heads/main", branch: "main", commit });
  git("pack-refs", "--all");
  assert.equal(repo.headSync().commit, commit);
  assert.deepEqual([repo.prefixOf(join(root, "sub")), repo.prefixOf(root), repo.prefixOf(tmpdir())], ["sub/", "", null]);
  const either = vcs.require(root, "stagedDiff", "revDiff");
  assert.deepEqual([either.kind(), either.root(), either.asGit() instanceof found.constructor, either.asJj()], ["git", root, true, null]);
  assert.throws(() => either.supports("flying"), { code: "Backend", message: /"flying"; use stagedDiff or revDiff/ });
});

/** Reads that must equal the output of git. */
const READS = [
  ["headSha", [], ["rev-parse", "HEAD"]],
  ["resolveRef", ["v1"], ["rev-parse", "v1^{commit}"]],
  ["currentBranch", [], ["branch", "--show-current"]],
  ["mergeBase", ["v1", "HEAD"], ["merge-base", "v1", "HEAD"]],
  ["tagsAt", ["HEAD~1"], ["tag", "--points-at", "HEAD~1"]],
  ["listBranches", [true], ["branch", "-a", "--format=%(refname:short)"]],
  ["logSubjects", [5], ["log", "--format=%s", "-5"]],
  ["logOnelines", [5], ["log", "--format=%h %s", "-5"]],
  ["revListRange", ["v1", "HEAD"], ["rev-list", "v1..HEAD"]],
  ["revListTouching", ["HEAD", "f.txt", 5], ["rev-list", "HEAD", "--", "f.txt"]],
  ["lsFiles", [false, true], ["ls-files"]],
  ["lsFiles", [true, true], ["ls-files", "--others", "--exclude-standard"]],
  ["lsTree", ["HEAD", ["sub"]], ["ls-tree", "-r", "--name-only", "HEAD", "sub"]],
  ["lsTree", ["HEAD", []], ["ls-tree", "-r", "--name-only", "HEAD"]],
  ["statusPorcelain", [{}], ["status", "--porcelain"]],
  ["statusPorcelain", [{ untracked: "no" }], ["status", "--porcelain", "-uno"]],
  ["diffText", [{}], ["diff"]],
  ["diffText", [{ cached: true }], ["diff", "--cached"]],
  ["diffText", [{ base: "v1", head: "HEAD", context: 0, files: ["f.txt"] }], ["diff", "-U0", "v1", "HEAD", "--", "f.txt"]],
  ["changedFiles", [{ base: "v1" }], ["diff", "--name-only", "v1"]],
  ["diffTree", ["v1", "HEAD", false], ["diff-tree", "-p", "v1", "HEAD"]],
];

test("what a repository contains is what git writes", async (t) => {
  const { git, repo } = repository(t);
  for (const [method, args, command] of READS) {
    const said = await repo[method](...args);
    const text = Array.isArray(said) ? said.map((line) => `${line}\n`).join("") : said;
    assert.equal(text.trimEnd(), git("-c", "core.quotePath=false", ...command).trimEnd(), `${method} ${JSON.stringify(args)}`);
  }
  assert.deepEqual(await repo.statusSummary(), { staged: 1, unstaged: 1, untracked: 1 });
  assert.deepEqual(await repo.numstat({}), [{ path: "f.txt", added: 2, removed: 2 }]);
  git("mv", "sub/g.txt", "sub/renamed.txt");
  assert.deepEqual(await repo.numstat({ cached: true }), [{ path: "sub/renamed.txt", added: 0, removed: 0 }, { path: "sub/staged.txt", added: 1, removed: 0 }]);
  git("mv", "sub/renamed.txt", "sub/g.txt");
  assert.deepEqual([await repo.hasDiff({}), await repo.hasDiff({ files: ["sub/g.txt"] }), await repo.isDirty()], [true, false, true]);
  const { author, parents, message } = await repo.commitDetails("v1");
  assert.deepEqual([author.name, author.email, parents, message], ["A", "a@b.c", [], "first\n\nbody"]);
  assert.deepEqual(await repo.showBlob("HEAD:f.txt", 6), { data: Buffer.from("line 1"), truncated: true });
  assert.deepEqual(await repo.showBlob("HEAD:sub/g.txt"), { data: Buffer.from("x\n"), truncated: false });
  for (const absent of [repo.resolveRef("none"), repo.configGet("a.b"), repo.remoteUrl("none"), repo.defaultBranch()]) assert.equal(await absent, null);
  assert.deepEqual(await repo.tagsAt("none"), []);
});

test("files are compared outside of the index, and a missing one counts as empty", async (t) => {
  const { root, repo } = repository(t);
  const [old, missing] = [join(root, "sub", "g.txt"), join(root, "none.txt")];
  const changed = async (from, to) => (await repo.diffNoIndex(from, to, false)).match(/^(?:--- |\+\+\+ |[+-]\w).*$/gm);
  assert.deepEqual(await changed(old, join(root, "sub", "staged.txt")), ["--- a/sub/g.txt", "+++ b/sub/staged.txt", "-x", "+s"]);
  assert.deepEqual(await changed(missing, old), ["--- /dev/null", "+++ b/sub/g.txt", "+x"]);
  assert.deepEqual(await changed("/dev/null", "sub/g.txt"), ["--- /dev/null", "+++ b/sub/g.txt", "+x"]);
  assert.deepEqual([await repo.diffNoIndex(old, old, false), await repo.diffNoIndex(missing, missing, false)], ["", ""]);
});

test("branches of remotes have the prefix remotes/, and the label of a detached head is null", async (t) => {
  const { root } = repository(t);
  const path = join(root, "..", "clone");
  await vcs.clone(root, path, {});
  const cloned = vcs.requireGit(path);
  assert.deepEqual([await cloned.listBranches(false), await cloned.listBranches(true)], [["main"], ["main", "remotes/origin/HEAD", "remotes/origin/main"]]);
  assert.deepEqual([await cloned.defaultBranch(), await vcs.repo(path).label()], ["main", "main"]);
  await cloned.checkout("v1");
  assert.equal(await vcs.repo(path).label(), null);
});

test("the message of a commit keeps its lines with #", async (t) => {
  const { git, repo } = repository(t);
  await repo.commitCreate("fix: a thing\n\n# Why\n#12 asks for it\n", {});
  assert.equal(git("log", "-1", "--format=%B"), "fix: a thing\n\n# Why\n#12 asks for it\n\n");
  const [before] = await repo.logSubjects(1);
  await repo.commitCreate("", { allowEmpty: true });
  assert.deepEqual([before, git("log", "-1", "--format=%B")], ["fix: a thing", "\n"]);
});

test("failures have the code of their cause", async (t) => {
  const { root, repo } = repository(t);
  const failures = [
    [() => repo.showBlob("HEAD:none"), "ObjectNotFound"], [() => repo.checkout("none"), "ObjectNotFound"], [() => repo.commitDetails("none"), "ObjectNotFound"],
    [() => repo.applyPatch("garbage", {}), "PatchFailed"], [() => repo.diffText({ maxBytes: 10 }), "OutputTooLarge"], [() => repo.push({ remote: join(root, "none") }), "Cli"],
    [() => repo.isDirty(AbortSignal.abort()), "Canceled"],
  ];
  for (const [call, code] of failures) await assert.rejects(call, (error) => vcs.isVcsError(error) && error.code === code, code);
  assert.equal(await repo.canApplyPatch("garbage", {}), false);
  // The last commit is in its own history already.
  await repo.reset("hard");
  await assert.rejects(repo.cherryPick("HEAD"), (error) => vcs.isEmptyCherryPick(error));
  await repo.cherryPickAbort();
});

test("hunks are selected by number and by line, and staged", async (t) => {
  const { git, repo } = repository(t);
  const diff = await repo.diffText({});
  const wrong = [{ path: "f.txt", kind: "indices", indices: [3] }, { path: "f.txt", kind: "lines", start: 12, end: 14 }];
  assert.deepEqual(vcs.validateHunkSelections(diff, [{ path: "f.txt", kind: "all" }, { path: "f.txt", kind: "indices", indices: [1, 2] }, ...wrong]), wrong.map(({ path }) => ({ path, message: `No hunks selected for ${path}` })));
  await repo.stageHunks([{ path: "f.txt", kind: "indices", indices: [2] }], diff);
  assert.deepEqual(git("diff", "--cached", "-U0", "f.txt").match(/^[+-]\w.*$/gm), ["-line 25", "+LINE 25"]);
  await repo.stageHunks([{ path: "f.txt", kind: "lines", start: 4, end: 6 }]);
  assert.equal(git("diff", "f.txt"), "");
  assert.equal(vcs.joinPatches(["a\n", "b", ""]), "a\nb\n\n");
});

test("commits, branches, stashes and work trees", async (t) => {
  const { root, git, write, read, repo } = repository(t);
  await repo.stageFiles(["f.txt"]);
  await repo.unstage(["sub/staged.txt"]);
  const made = await repo.commitCreate("third\n", { author: { name: "B", email: "b@c.d" } });
  assert.deepEqual([git("rev-parse", "HEAD").trim(), git("log", "-1", "--format=%an %ae %s").trim()], [made, "B b@c.d third"]);
  await repo.checkoutNewBranch("next");
  await repo.createBranch("other", "v1", false);
  assert.deepEqual(await repo.listBranches(false), ["main", "next", "other"]);
  assert.deepEqual([await repo.deleteBranch("other", true), await repo.deleteBranch("other", true)], [true, false]);

  write("f.txt", "changed\n");
  assert.deepEqual([await repo.stashPush("mine"), await repo.isDirty(), await repo.stashTryPop(false), read("f.txt"), await repo.stashTryPop(false)], [true, false, true, "changed\n", false]);
  const index = join(root, "..", "index");
  await repo.readTree("v1", index);
  assert.equal(await repo.writeTree(index), git("rev-parse", "v1^{tree}").trim());

  const tree = join(root, "..", "tree");
  await repo.worktreeAdd(tree, "HEAD", { detach: true, clone: false, keepChanges: true });
  assert.deepEqual([readFileSync(join(tree, "f.txt"), "utf8"), readFileSync(join(tree, "un tracked.txt"), "utf8")], ["changed\n", "new\n"]);
  const linked = vcs.requireGit(tree);
  assert.deepEqual([linked.linkedWorktree(), linked.headSync(), repo.linkedWorktree()], [{ root: tree, primaryRoot: root }, { kind: "detached", commit: made }, null]);
  assert.deepEqual((await repo.worktrees()).map(({ path, detached, branch }) => [path, detached, branch]), [[root, false, "refs/heads/next"], [tree, true, undefined]]);
  assert.equal(await vcs.detachGitDir(tree, join(root, ".git")), "detached");
  assert.deepEqual([await vcs.requireGit(tree).headSha(), vcs.requireGit(tree).linkedWorktree(), await vcs.detachGitDir(tree, join(root, ".git")), await vcs.detachGitDir(tmpdir(), root)], [made, null, "independent", "no-git"]);

  const copy = join(root, "..", "copy");
  await vcs.clone(root, copy, { sha: git("rev-parse", "v1").trim() });
  assert.equal(readFileSync(join(copy, "f.txt"), "utf8"), lines(30));
  await repo.reset("hard", "v1");
  await repo.clean({});
  assert.equal(git("status", "--porcelain"), "");
});
