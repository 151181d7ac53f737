// The program's own files, which hold keys, settings, hooks, servers and sessions, are denied to every tool.
import assert from "node:assert/strict";
import { linkSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
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

/** Calls that name a folder, or no path of a file. */
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
  ["bash", { command: "cat ~/.sinew/agent/auth.json", background: true }],
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
