// Tests oh-my-pi from npm under Bun with @sinew/pi-natives.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { PtySession, sanitizeText } from "@sinew/natives";
import { run, runtimes } from "../../packages/natives/test/host.mjs";
import { importsOf, unsupportedImports } from "../../packages/pi-natives/test/exports.mjs";
import { installedAgents } from "./agents.mjs";
import { textsOf, serveModel } from "./model.mjs";

const { bun } = runtimes();
const agents = installedAgents("oh-my-pi");
const VERSIONS = { "omp-18": "18.2.3", "omp-17": "17.3.5" };
const program = (agent) => join(agents, agent, "dist", "cli.js");

/** Creates a home with a project that is a repository, and a model at `url`. */
async function home(t, url) {
  const folder = mkdtempSync(join(tmpdir(), "overrides-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const cwd = join(folder, "project");
  mkdirSync(join(folder, ".omp", "agent"), { recursive: true });
  mkdirSync(join(cwd, "src"), { recursive: true });
  const model = { id: "m", name: "m", contextWindow: 100_000, maxTokens: 8000 };
  const providers = { local: { baseUrl: `${url}/v1`, api: "openai-completions", apiKey: "none", models: [model] } };
  writeFileSync(join(folder, ".omp", "agent", "models.yml"), JSON.stringify({ providers }));
  writeFileSync(join(folder, ".omp", "agent", "config.yml"), JSON.stringify({ startup: { quiet: true, checkUpdate: false }, setupVersion: 2, task: { isolation: { mode: "auto" } } }));
  writeFileSync(join(cwd, "src", "a.txt"), "one\ntwo\nthree\n");
  const env = { PATH: process.env.PATH, HOME: folder, TERM: "xterm-256color", GIT_AUTHOR_NAME: "a", GIT_AUTHOR_EMAIL: "a@b", GIT_COMMITTER_NAME: "a", GIT_COMMITTER_EMAIL: "a@b" };
  for (const args of [["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "first"]]) await run("git", args, { cwd, env });
  return { cwd, env };
}

/** Runs an agent to its end. */
function play(agent, args, { cwd, env }) {
  return new Promise((done, fail) => {
    const child = spawn(bun, [program(agent), ...args], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
    let [out, err] = ["", ""];
    child.stdout.on("data", (data) => (out += data));
    child.stderr.on("data", (data) => (err += data));
    child.on("error", fail).on("close", (code) => done({ code, out, err }));
  });
}

/** The time limit of a program, so that a program that waits does not block the test. */
const LIMIT = 60_000;

/** The tool calls, and what the result of each must contain. */
const SCRIPT = [
  { call: ["read", { path: "src/a.txt:1-3" }], shows: /\[src\/a\.txt#[0-9A-F]{4}\]\n1:one\n2:two\n3:three/ },
  { call: ["write", { path: "src/b.txt", content: "needle in b\n" }], shows: /b\.txt/ },
  { call: ["bash", { command: "cat src/b.txt; pwd" }], shows: /needle in b\n.*project/ },
  { call: ["grep", { pattern: "needle", path: "src" }], shows: /b\.txt[^]*needle in b/ },
  { call: ["glob", { path: "src/*.txt" }], shows: /(?=[^]*a\.txt)[^]*b\.txt/ },
  { call: ["todo", { op: "init", list: [{ phase: "one", items: ["a task"] }] }], shows: /a task/ },
  { call: ["read", { path: "PAGES/page" }], shows: /A heading[^]*\*\*some text\*\*/ },
  { call: ["eval", { language: "js", code: "6 * 7", title: "t" }], shows: /42/ },
];

/** A page that is long enough to be recognized as an article. */
const PAGE = `<html><head><title>T</title></head><body><article><h1>A heading</h1>${"<p>This is <b>some text</b> of a page, with enough words to be read.</p>".repeat(20)}</article></body></html>`;

/** All source files of a folder. */
function sources(folder) {
  const entries = existsSync(folder) ? readdirSync(folder, { recursive: true, withFileTypes: true }) : [];
  return entries.filter((entry) => entry.isFile() && entry.name.endsWith(".ts")).map((entry) => readFileSync(join(entry.parentPath ?? entry.path, entry.name), "utf8"));
}

/** The folders of an agent's own packages: next to it in `node_modules`, or below it if versions differ. */
function packagesOf(agent) {
  const inside = join(agents, agent, "node_modules", "@oh-my-pi");
  const scope = existsSync(inside) ? inside : join(agents, "@oh-my-pi");
  return [join(agents, agent), ...readdirSync(scope).filter((name) => name !== "pi-natives").map((name) => join(scope, name))];
}

/** Calls a tool with an intent, which most of them require. */
const withIntent = ([name, args]) => [name, name === "eval" ? args : { i: "test", ...args }];

const table = JSON.parse(readFileSync(new URL("../../packages/pi-natives/test/exports.json", import.meta.url), "utf8"));

for (const [agent, version] of Object.entries(VERSIONS)) {
  test(`oh-my-pi ${version} imports nothing that is missing`, () => {
    const imports = packagesOf(agent).flatMap((folder) => sources(join(folder, "src"))).flatMap(importsOf);
    assert.ok(imports.length > 50, `${imports.length} imports`);
    assert.deepEqual(unsupportedImports(table, imports), []);
  });

  test(`oh-my-pi ${version} answers --version and --help`, async (t) => {
    const at = await home(t, "http://127.0.0.1:1");
    const said = await play(agent, ["--version"], at);
    assert.deepEqual([said.code, said.out.trim(), said.err], [0, `omp/${version}`, ""]);
    const help = await play(agent, ["--help"], at);
    assert.deepEqual([help.code, help.out.includes("--approval-mode"), help.err], [0, true, ""]);
  });

  test(`oh-my-pi ${version} plays a session with its tools`, { timeout: LIMIT }, async (t) => {
    const edit = (request) => {
      const tag = /\[src\/a\.txt#([0-9A-F]{4})\]/.exec(textsOf("tool", request)[0])[1];
      return [withIntent(["edit", { input: `[src/a.txt#${tag}]\nPUT 2.=2:\n+TWO\n` }])];
    };
    let url = "";
    const turns = SCRIPT.map(({ call: [name, args] }) => () => [withIntent([name, JSON.parse(JSON.stringify(args).replace("PAGES", url))])]);
    const task = [withIntent(["task", { context: "c", tasks: [{ task: "say hello from a task", agent: "task", isolated: true }] }])];
    const ofTask = (request) => textsOf("user", request).some((text) => text.includes("say hello from a task"));
    const made = () => join(at.cwd, "src", "task.txt");
    let isolated = false;
    const aside = (request) => {
      if (!ofTask(request)) return undefined;
      const [written] = textsOf("tool", request);
      if (written === undefined) return [withIntent(["write", { path: "src/task.txt", content: "by the task\n" }])];
      isolated ||= !existsSync(made());
      return "hello from the task";
    };
    const model = await serveModel([...turns, edit, task, [withIntent(["hub", { op: "wait" }])]], { pages: { "/page": PAGE }, aside });
    t.after(model.close);
    ({ url } = model);
    const at = await home(t, url);
    const { code, out, err } = await play(agent, ["--model", "local/m", "--auto-approve", "--mode", "json", "-p", "go"], at);
    assert.equal(code, 0, err);
    const events = out.split("\n").filter(Boolean).map((line) => JSON.parse(line));
    const ended = events.filter(({ type }) => type === "tool_execution_end");
    const text = ({ result }) => result.content.map((part) => part.text ?? "").join("");
    assert.deepEqual(ended.map(({ toolName, isError }) => [toolName, isError]).slice(0, SCRIPT.length + 3), [...SCRIPT.map(({ call }) => [call[0], false]), ["edit", false], ["task", false], ["hub", false]], ended.map(text).join("\n---\n"));
    SCRIPT.forEach(({ call, shows }, number) => assert.match(text(ended[number]), shows, call[0]));
    assert.ok(isolated, "the task writes to its own files");
    assert.equal(readFileSync(made(), "utf8"), "by the task\n");
    assert.deepEqual(readdirSync(join(at.env.HOME, ".omp", "wt")), []);
    assert.equal(readFileSync(join(at.cwd, "src", "a.txt"), "utf8"), "one\nTWO\nthree\n");
  });
}

for (const [agent, version] of Object.entries(VERSIONS)) {
  test(`oh-my-pi ${version} shows its screen, and runs a command on a terminal`, { timeout: LIMIT, skip: process.platform === "win32" && "Unix only" }, async (t) => {
    const command = ["bash", { i: "test", command: "test -t 1 && echo on-$((40 + 2))-a-terminal", pty: true }];
    const model = await serveModel([[command], "that was all", "a second answer"]);
    t.after(model.close);
    const { cwd, env } = await home(t, model.url);
    const terminal = new PtySession();
    let over = false;
    // Stops it at the end of the test and at the time limit.
    t.signal.addEventListener("abort", () => over || terminal.kill());
    let seen = "";
    let check = () => {};
    const shows = (text) => new Promise((found) => {
      check = () => sanitizeText(seen).replace(/\s+/g, " ").includes(text) && found();
      check();
    });
    const argv = [bun, program(agent), "--model", "local/m", "--auto-approve", "go"];
    const ended = terminal.start({ argv, cwd, env, cols: 120, rows: 40 }, (chunk) => {
      seen += chunk;
      check();
    });
    const failed = ended.then(({ exitCode }) => {
      const expected = over;
      over = true;
      if (!expected) assert.fail(`ended with ${exitCode}:\n${sanitizeText(seen)}`);
    });
    await Promise.race([shows("on-42-a-terminal"), failed]);
    await Promise.race([shows("that was all"), failed]);
    // Keys that are typed before the answer may arrive before the editor reads them.
    terminal.write("again\r");
    await Promise.race([shows("a second answer"), failed]);
    over = true;
    terminal.kill();
    // It writes to its home until it ends.
    await ended;
  });
}
