// Tests that every tool is denied the program's own files, which contain keys, settings, hooks, servers and sessions.
import assert from "node:assert/strict";
import { linkSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createStage, hasRun, isRefused, openAgent, put, skip } from "./agent.mjs";

const { ownFiles: known } = JSON.parse(readFileSync(new URL("known.json", import.meta.url), "utf8"));

/** A text that each of the files has. */
const WORD = "word-of-an-own-file";

/** The files, below the folder of the user. */
const FILES = ["auth.json", "settings.json", "hooks.json", "mcp.json", "mcp-auth.json", "models.json", "secrets.json", "secrets.key", "trust.json", ".env", "sessions/other/1.jsonl", "mcp-cache.json"];

/** Ways to write the path of a file; `agent` is the folder of the user. */
const SPELLINGS = [
  ({ file }) => `~/.sinew/agent/${file}`,
  ({ file, agent }) => `${agent}/${file}`,
  ({ file }) => `../home/.sinew/agent/${file}`,
  ({ file }) => `~/.sinew/agent/skills/../${file}`,
  ({ file }) => `~//.sinew/./agent/${file}`,
  ({ file, agent }) => `file://${agent}/${file}`,
  ({ file }) => `folder/${file}`,
  ({ file }) => `@~/.sinew/agent/${file}`,
];

/** Calls of every tool that takes a path. */
const CALLS = [
  (path) => ["read", { path }],
  (path) => ["read", { path: `${path}:1-2` }],
  (path) => ["write", { path, content: "x" }],
  (path) => ["edit", { path, oldText: WORD, newText: "x" }],
  (path) => ["grep", { pattern: "word", path }],
];

/** Calls that name a folder, or no file. */
const FOLDERS = [
  ["ls", { path: "~/.sinew/agent/sessions" }],
  ["find", { pattern: "*", path: "~/.sinew/agent/sessions" }],
  ["find", { pattern: "../home/.sinew/agent/sessions/**" }],
  ["grep", { pattern: "word", path: "~/.sinew/agent/sessions" }],
  ["read", { path: "soft" }],
  ["read", { path: "hard" }],
  ["write", { path: "soft", content: "x" }],
  ["write", { path: "hard", content: "x" }],
  ["edit", { path: "hard", oldText: WORD, newText: "x" }],
  ["grep", { pattern: "word", path: "hard" }],
];

/** Lines of bash that name an own file. */
const LINES = [
  "cat ~/.sinew/agent/auth.json",
  "cat \"$HOME/.sinew/agent/auth.json\"",
  "cat ${HOME}/.sinew/agent/auth.json",
  "cat ~/.si''new/ag\\ent/auth.json",
  "cat ~/.sinew/agent/*.json",
  "cat ~/.s*/a*/auth.json",
  "cat < ~/.sinew/agent/auth.json",
  "cat<~/.sinew/agent/auth.json",
  "echo x > ~/.sinew/agent/hooks.json",
  "echo x >~/.sinew/agent/hooks.json",
  "cp -r ~/.sinew copy",
  "tar c -C ~ .sinew/agent",
  "cd ~; cat .sinew/agent/auth.json",
  "cd ~/.sinew && cat agent/auth.json",
  "cat $x/.sinew/agent/auth.json",
  "dd if=$HOME/.sinew/agent/auth.json",
  "ln -s ~/.sinew/agent/auth.json x",
  "ln ~/.sinew/agent/auth.json x",
  "mv ~/.sinew/agent/settings.json x",
  "rm -rf ~/.sinew",
  "sed -i s/deny/allow/ ~/.sinew/agent/settings.json",
  "python3 -c 'open(\"../home/.sinew/agent/auth.json\")'",
  "bash -c 'cat ~/.sinew/agent/auth.json'",
  "cat ../home/.sinew/agent/auth.json",
  "cat folder/auth.json",
  "cat soft",
  "cat hard",
];

/** Calls of bash with more than a line. */
const MORE_CALLS = [
  ["bash", { command: "cat auth.json", cwd: "~/.sinew/agent" }],
  ["bash", { command: "cat auth.json", cwd: "folder" }],
  ["bash", { command: "cat $F", env: { F: "~/.sinew/agent/auth.json" } }],
];

/** Calls that must work. */
const HARMLESS = [
  ["read", { path: "~/.sinew/agent/AGENTS.md" }],
  ["read", { path: "~/.sinew/agent/skills/a/SKILL.md" }],
  ["write", { path: "~/.sinew/agent/commands/new.md", content: "x" }],
  ["read", { path: ".sinew/settings.json" }],
  ["write", { path: ".sinew/commands/new.md", content: "x" }],
  ["read", { path: "auth.json" }],
  ["read", { path: "settings.json" }],
  ["write", { path: "hooks.json", content: "{}" }],
  ["edit", { path: "mcp.json", oldText: "a", newText: "b" }],
  ["grep", { pattern: "sinew", path: "." }],
  ["bash", { command: "cat auth.json settings.json .sinew/settings.json" }],
  ["bash", { command: "ls ~/.sinew/agent/skills" }],
  ["bash", { command: "ls ~" }],
  ["bash", { command: "echo 'agent: read auth.json'" }],
];

async function openOwn(settings = {}) {
  const stage = await createStage({ settings: { fileGuard: "off", note: WORD, ...settings } });
  const { agent } = stage;
  for (const file of FILES) {
    if (file === "settings.json") continue;
    const old = file === "models.json" ? JSON.parse(readFileSync(join(agent, file), "utf8")) : {};
    const text = { "hooks.json": { hooks: [], $schema: WORD }, ".env": `NOTE=${WORD}\n`, "auth.json": { other: { type: "api_key", key: WORD } }, "secrets.json": [], "mcp-cache.json": {} }[file];
    put(agent, file, text ?? (file.endsWith(".key") || file.endsWith(".jsonl") ? WORD : { ...old, note: WORD }));
  }
  for (const text of ["AGENTS.md", "skills/a/SKILL.md"]) put(agent, text, "---\ndescription: a\n---\na text");
  for (const name of ["auth.json", "settings.json", "hooks.json", "mcp.json"]) put(stage.cwd, name, '{"a": 1}');
  put(stage.cwd, ".sinew/settings.json", {});
  symlinkSync(agent, join(stage.cwd, "folder"));
  symlinkSync(join(agent, "auth.json"), join(stage.cwd, "soft"));
  linkSync(join(agent, "auth.json"), join(stage.cwd, "hard"));
  return stage;
}

/** Covers every own file, every spelling and every tool, but not all combinations. */
function fileCalls({ agent }) {
  const all = FILES.flatMap((file, at) => CALLS.map((call, index) => call(SPELLINGS[(at + index) % SPELLINGS.length]({ file, agent }))));
  return [...all, ...SPELLINGS.flatMap((spell) => CALLS.map((call) => call(spell({ file: "auth.json", agent }))))];
}

const nameOf = ([tool, args]) => `${tool} ${JSON.stringify(args)}`.replace(/\/tmp\/sinew-attacks-\w+/, "");

/** Fails unless exactly the known calls are wrong. */
function judge(calls, wrong) {
  const names = new Map(wrong.map(([call, text]) => [nameOf(call), text]));
  const unknown = [...names].filter(([name]) => !(name in known));
  assert.deepEqual(unknown, []);
  const fixed = calls.map(nameOf).filter((name) => name in known && !names.has(name));
  assert.deepEqual(fixed, [], "these fit now: remove them from known.json");
}

/** The own files as they are on the disk. */
const contentOf = ({ agent }) => Object.fromEntries(FILES.map((file) => [file, readFileSync(join(agent, file), "utf8")]));

/** Plays calls in one answer of the model. */
async function play(stage, calls, args = []) {
  const agent = await openAgent(stage, args);
  try {
    return await agent.play([calls]);
  } finally {
    await agent.close();
  }
}

test("no tool reads or changes an own file", { skip }, async () => {
  const stage = await openOwn();
  try {
    const before = contentOf(stage);
    const calls = [...fileCalls(stage), ...FOLDERS, ...LINES.map((command) => ["bash", { command }]), ...MORE_CALLS];
    const { results, questions } = await play(stage, calls);
    assert.equal(results.length, calls.length);
    assert.equal(questions.length, 0, "a refusal asks nothing");
    const wrong = calls.map((call, index) => [call, results[index].text, isRefused(results[index]) && !hasRun(results[index])]).filter(([, , fits]) => !fits);
    judge(calls, wrong);
    assert.deepEqual(contentOf(stage), before);
    assert.ok(results.every(({ text }) => !text.includes(WORD)), "a result shows an own file");
    assert.match(results[0].text, /--allow '/, "a refusal names the way out");
  } finally {
    await stage.close();
  }
});

test("a search above the own files leaves them out", { skip }, async () => {
  const stage = await openOwn();
  try {
    const { results } = await play(stage, [
      ["grep", { pattern: "word-of", path: "~" }],
      ["grep", { pattern: "word-of", path: ".." }],
      ["find", { pattern: "**/auth.json", path: ".." }],
      ["find", { pattern: "**/*.jsonl", path: ".." }],
      ["ls", { path: "~/.sinew/agent" }],
    ]);
    for (const { text } of results.slice(0, 4)) assert.ok(!text.includes(WORD) && !/agent\/(auth\.json|sessions)/.test(text), text);
  } finally {
    await stage.close();
  }
});

test("rules for everything do not open the own files, and a rule that names one does", { skip }, async () => {
  const stage = await openOwn({ permissions: { allow: ["read", "read(**)", "bash(*)", "bash(cat *)", "write(~/**)", "read(~/.sinew/agent/trust.json)"] } });
  try {
    const args = ["--allow", "bash(cat ~/.sinew/agent/mcp-auth.json)", "--allow", "*(~/.sinew/agent/mcp.json)"];
    const refused = [
      ["read", { path: "~/.sinew/agent/auth.json" }],
      ["bash", { command: "cat ~/.sinew/agent/auth.json" }],
      ["write", { path: "~/.sinew/agent/hooks.json", content: "x" }],
      ["write", { path: "~/.sinew/agent/trust.json", content: "x" }],
    ];
    const allowed = [
      ["read", { path: "~/.sinew/agent/trust.json" }],
      ["read", { path: "~/.sinew/agent/mcp.json" }],
      ["bash", { command: "cat ~/.sinew/agent/mcp-auth.json" }],
    ];
    const { results } = await play(stage, [...refused, ...allowed], args);
    const wrong = [...refused, ...allowed].map((call, index) => [call, results[index].text, isRefused(results[index]) === (index < refused.length)]).filter(([, , fits]) => !fits);
    judge(allowed, wrong);
  } finally {
    await stage.close();
  }
});

test("texts for the model and files of other programs stay usable", { skip }, async () => {
  const stage = await openOwn();
  try {
    const { results, questions } = await play(stage, HARMLESS);
    const wrong = HARMLESS.map((call, index) => [call, results[index]?.text, results[index]?.isError === false]).filter(([, , fits]) => !fits);
    judge(HARMLESS, wrong);
    assert.equal(questions.length, 0);
  } finally {
    await stage.close();
  }
});
