// Runs the programs of examples/ as their pages show them. SINEW_BIN is the path of the agent.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { ROOT } from "../../scripts/lib/steps.mjs";

const EXAMPLES = join(ROOT, "examples");
const target = process.env.CARGO_TARGET_DIR ?? join(ROOT, "target");
const agent = process.env.SINEW_BIN ?? join(target, "debug", "sinew");
/** This example is compiled with the Rust tests. */
const search = join(target, "debug", "examples", process.platform === "win32" ? "search.exe" : "search");

const folder = mkdtempSync(join(tmpdir(), "sinew-examples-"));
after(() => rmSync(folder, { recursive: true, force: true }));

function run(program, args, env = {}) {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: "utf8", env: { ...process.env, HOME: folder, SINEW_HOME: join(folder, "home"), ...env } });
  if (error) throw error;
  return { status, stdout, stderr };
}

/** Creates a repository with a text in two files, one of them ignored. */
function project(name) {
  const path = join(folder, name);
  mkdirSync(join(path, ".git"), { recursive: true });
  writeFileSync(join(path, ".gitignore"), "ignored.js\n");
  for (const file of ["sum.js", "ignored.js"]) writeFileSync(join(path, file), "let sum = 1;\nreturn sum;\n");
  return path;
}

test("search-and-edit shows the diff and changes nothing, then changes the files that git does not ignore", () => {
  const path = project("edit");
  const text = (file) => readFileSync(join(path, file), "utf8");
  const args = [join(EXAMPLES, "search-and-edit.mjs"), "let sum = 1", "let sum = 0", path];
  const dry = run(process.execPath, args);
  assert.equal(dry.status, 0, dry.stderr);
  assert.equal(dry.stdout, "--- a/sum.js\n+++ b/sum.js\n@@ -1,2 +1,2 @@\n-let sum = 1;\n+let sum = 0;\n return sum;\n1 file would change: add --write to change them\n");
  assert.equal(text("sum.js"), "let sum = 1;\nreturn sum;\n");
  const written = run(process.execPath, [...args, "--write"]);
  assert.equal(written.status, 0, written.stderr);
  assert.match(written.stdout, /1 file changed, 0 still contain the text\n$/);
  assert.equal(text("sum.js"), "let sum = 0;\nreturn sum;\n");
  assert.equal(text("ignored.js"), "let sum = 1;\nreturn sum;\n");
  assert.equal(run(process.execPath, [...args, "--write"]).stdout, "no matches\n");
});

test("drive-agent streams the answer and runs its own tool", () => {
  const { status, stdout, stderr } = run(process.execPath, [join(EXAMPLES, "drive-agent.mjs"), "What time is it?", "--script", join(EXAMPLES, "answers.jsonl")], { SINEW_BIN: agent });
  assert.equal(status, 0, stderr);
  assert.match(stdout, /^Let me look at the clock\.\n\[current_time \{\}\]\nNow I know the time\.\n\[\d+ tokens, \$\d\.\d{4}\]\n$/);
});

test("drive-agent says why the agent cannot be started", () => {
  const { status, stderr } = run(process.execPath, [join(EXAMPLES, "drive-agent.mjs"), "Hello"], { SINEW_BIN: join(folder, "missing") });
  assert.equal(status, 1);
  assert.match(stderr, /^failed to start sinew: .*ENOENT/m);
});

test("the Rust program prints matches, or similar paths", { skip: !existsSync(search) && "cargo test has not compiled it" }, () => {
  const path = project("rust");
  const found = run(search, ["sum = \\d", path]);
  assert.deepEqual([found.status, found.stdout], [0, "sum.js:1: let sum = 1;\n"]);
  const similar = run(search, ["smjs", path]);
  assert.deepEqual([similar.status, similar.stdout], [0, "no matches in 2 files\nsimilar path: sum.js\n"]);
  assert.equal(run(search, []).status, 2);
  const wrong = run(search, ["(", path]);
  assert.equal(wrong.status, 1);
  assert.match(wrong.stdout, /grep: /);
});
