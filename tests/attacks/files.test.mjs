// Tests that rules that deny files work for tools, and in the sandbox for commands.
import assert from "node:assert/strict";
import { existsSync, linkSync, readFileSync, symlinkSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { PROGRAM, createStage, hasRun, isRefused, openAgent, skip } from "./agent.mjs";

const { files: known } = JSON.parse(readFileSync(new URL("known.json", import.meta.url), "utf8"));

/** Why scenes that need a sandbox of the system are skipped; false if they are not. */
function skipSandbox() {
  if (skip) return skip;
  const { stdout } = spawnSync(PROGRAM, ["doctor", "--sandbox", "rules"], { cwd: tmpdir(), encoding: "utf8", env: { PATH: process.env.PATH, HOME: tmpdir(), SINEW_HOME: join(tmpdir(), "sinew-attacks-doctor") } });
  return /sandbox\s+rules: read is (enforced|partial)/.test(stdout) ? false : "the system enforces no sandbox";
}

/** A text that no result may contain. */
const WORD = "word-of-a-denied-file";

const bash = (command) => ["bash", { command }];

/**
 * Each has the denied rules, the files of the project, and calls of which none may show the word or change a file.
 *
 * `absent` are files that must not exist at the end; files of `linked` are other names of a file; `refused` says that each call ends with a refusal.
 */
const SCENES = {
  "a denied file is not read by tools": {
    deny: ["read(.env*)", "read(private/**)"],
    project: { ".env": WORD, "sub/.env.local": WORD, "private/a": WORD },
    hard: { other: ".env" },
    soft: { link: ".env", folder: "private" },
    refused: true,
    calls: [
      ["read", { path: ".env" }],
      ["read", { path: "sub/.env.local" }],
      ["read", { path: "link" }],
      ["read", { path: "other" }],
      ["read", { path: "folder/a" }],
      ["grep", { pattern: "word", path: "other" }],
      ["grep", { pattern: "word", path: "folder" }],
      ["ls", { path: "folder" }],
      ["edit", { path: ".env", oldText: WORD, newText: "x" }],
      ["edit", { path: "other", oldText: WORD, newText: "x" }],
      ["edit", { path: "link", oldText: "none", newText: "x" }],
    ],
  },
  "an edit of a denied file does not say what is in it": {
    deny: ["read(.env)"],
    project: { ".env": WORD },
    same: true,
    calls: [
      ["edit", { path: ".env", oldText: WORD, newText: "x" }],
      ["edit", { path: ".env", oldText: "not there", newText: "x" }],
      ["edit", { path: ".env", oldText: "word-of", newText: "word-of" }],
      ["edit", { path: ".env", oldText: "x", newText: WORD }],
    ],
  },
  "a search leaves denied files out": {
    deny: ["read(.env*)", "read(private/**)"],
    project: { ".env": WORD, "sub/.env.local": WORD, "private/a": WORD, "a.txt": "word" },
    calls: [["grep", { pattern: "word" }], ["grep", { pattern: "word", path: "." }], ["grep", { pattern: "word", glob: "**/.env*" }]],
  },
  "a denied file is not read by commands": {
    sandbox: true,
    deny: ["read(.env*)", "read(private/**)"],
    project: { ".env": WORD, "sub/.env.local": WORD, "private/a": WORD },
    hard: { other: ".env" },
    soft: { link: ".env" },
    calls: [
      bash("cat .env sub/.env.local private/a link other"),
      bash("cp .env copy; cat copy"),
      bash("read -r x < .env; echo \"$x\""),
      bash("n=.e; cat ${n}nv"),
      bash("cd sub && cat .env.l*"),
      bash("mv .env moved; cat moved"),
      bash("ln .env third; cat third"),
      bash("grep -r word ."),
      bash("tar c . | tr -d '\\0'"),
      ["bash", { command: "cat .env.local", cwd: "sub" }],
    ],
  },
  "a file that must not be written stays": {
    sandbox: true,
    deny: ["write(kept.txt)", "write(kept/**)"],
    project: { "kept.txt": "old", "kept/a": "old", "sub/kept.txt": "old" },
    soft: { link: "kept.txt" },
    calls: [
      ["write", { path: "kept.txt", content: "x" }],
      ["write", { path: "link", content: "x" }],
      ["write", { path: "kept/new", content: "x" }],
      ["edit", { path: "sub/kept.txt", oldText: "old", newText: "x" }],
      bash("echo x > kept.txt"),
      bash("echo x >> link"),
      bash("rm -f kept.txt; rm -rf kept"),
      bash("mv kept gone; echo x > sub/kept.txt"),
      bash("sed -i s/old/x/ kept.txt kept/a"),
      bash("echo x > kept/new; cp kept/a kept/b"),
    ],
    absent: ["kept/new", "kept/b", "gone"],
  },
  "a missing file that must not be written, by a path": {
    sandbox: true,
    deny: ["write(./made.txt)"],
    calls: [bash("echo x > made.txt"), bash("touch made.txt"), ["write", { path: "made.txt", content: "x" }]],
    absent: ["made.txt"],
  },
  "a missing file that must not be written, by its name": {
    sandbox: true,
    deny: ["write(made.txt)"],
    calls: [bash("echo x > made.txt"), bash("touch made.txt"), ["write", { path: "made.txt", content: "x" }]],
    absent: ["made.txt"],
  },
  "a missing file that must not be written, by its name, in a folder below": {
    sandbox: true,
    deny: ["write(made.txt)"],
    project: { "sub/a": "a" },
    calls: [bash("echo x > sub/made.txt"), ["write", { path: "sub/made.txt", content: "x" }]],
    absent: ["sub/made.txt"],
  },
};

/** Plays a scene. Returns what went wrong. */
async function play({ deny, project = {}, hard = {}, soft = {}, calls, absent = [], refused, same }) {
  const stage = await createStage({ settings: { permissions: { deny }, fileGuard: "off" }, project });
  for (const [name, target] of Object.entries(hard)) linkSync(join(stage.cwd, target), join(stage.cwd, name));
  for (const [name, target] of Object.entries(soft)) symlinkSync(target, join(stage.cwd, name));
  const agent = await openAgent(stage);
  try {
    const { results } = await agent.play(calls.map((call) => [call]));
    const wrong = [];
    results.forEach(({ text }, index) => text.includes(WORD) && wrong.push(`${JSON.stringify(calls[index])} shows the word: ${text}`));
    if (refused) results.forEach((result, index) => (isRefused(result) && !hasRun(result)) || wrong.push(`${JSON.stringify(calls[index])} is not refused: ${result.text}`));
    if (same) results.forEach((result) => (isRefused(result) && result.text === results[0].text) || wrong.push(`the results differ: ${result.text}`));
    await agent.close();
    for (const [path, text] of Object.entries(project)) {
      const at = join(stage.cwd, path);
      if (!existsSync(at) || readFileSync(at, "utf8") !== text) wrong.push(`${path} changed`);
    }
    absent.forEach((path) => existsSync(join(stage.cwd, path)) && wrong.push(`${path} exists`));
    if (results.length !== calls.length) wrong.push(`${results.length} results of ${calls.length} calls`);
    return wrong;
  } finally {
    await agent.close();
    await stage.close();
  }
}

test("rules that deny files hold on the disk", { skip, concurrency: 2 }, async (t) => {
  const without = skipSandbox();
  const tests = Object.entries(SCENES).map(([name, scene]) => t.test(name, { skip: scene.sandbox && without }, async () => {
    const wrong = await play(scene);
    if (name in known) assert.notDeepEqual(wrong, [], `it fits now: remove it from known.json ("${known[name]}")`);
    else assert.deepEqual(wrong, []);
  }));
  await Promise.all(tests);
});
