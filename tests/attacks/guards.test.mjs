// Tests that files with protective settings fail closed: if one has an error, nothing runs.
import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createStage, isRefused, openAgent, put, runProgram, skip } from "./agent.mjs";

const { guards: known, reload: unseen } = JSON.parse(readFileSync(new URL("known.json", import.meta.url), "utf8"));
const SETTINGS = "home/.sinew/agent/settings.json";
const HOOKS = "home/.sinew/agent/hooks.json";
const PROJECT_SETTINGS = "project/.sinew/settings.json";
const PROJECT_HOOKS = "project/.sinew/hooks.json";
const FLAG_HOOKS = "project/more.json";
const BASE = { defaultModel: "local/m" };

const permissions = (rules) => JSON.stringify({ ...BASE, permissions: rules });
const hooks = (...entries) => JSON.stringify({ hooks: entries });
const guard = { event: "tool_call", command: "true" };

/** Each is a file with an error, by the name of its test: path, text, and further arguments. */
const BROKEN = {
  "settings that are cut off": [SETTINGS, '{"permissions": {"deny": ["bash(canary*)"'],
  "settings that are no object": [SETTINGS, '["bash(canary*)"]'],
  "settings with a word": [SETTINGS, "deny"],
  "settings with bytes that are no text": [SETTINGS, Buffer.from('{"a": "\xff"}', "latin1")],
  "settings with two values": [SETTINGS, `${permissions({})}{}`],
  "settings with a missing comma": [SETTINGS, '{"permissions": {"deny": ["bash(a)" "bash(b)"]}}'],
  "rules that are a list": [SETTINGS, permissions(["bash(canary*)"])],
  "rules that are a text": [SETTINGS, permissions("bash(canary*)")],
  "rules that are false": [SETTINGS, permissions(false)],
  "a text in place of a list": [SETTINGS, permissions({ deny: "bash(canary*)" })],
  "an object in place of a list": [SETTINGS, permissions({ deny: { bash: "canary*" } })],
  "a number in place of a list": [SETTINGS, permissions({ ask: 1 })],
  "a rule that is a number": [SETTINGS, permissions({ deny: [1] })],
  "a rule that is null": [SETTINGS, permissions({ deny: [null] })],
  "a rule that is a list": [SETTINGS, permissions({ deny: [["bash(canary*)"]] })],
  "a rule that is not closed": [SETTINGS, permissions({ deny: ["bash(canary*"] })],
  "a rule with text behind its bracket": [SETTINGS, permissions({ deny: ["bash(canary*) x"] })],
  "a rule with empty brackets": [SETTINGS, permissions({ deny: ["bash()"] })],
  "a rule without a tool": [SETTINGS, permissions({ deny: ["(canary*)"] })],
  "an empty rule": [SETTINGS, permissions({ deny: [""] })],
  "a rule about a tool with a typo": [SETTINGS, permissions({ deny: ["bahs(canary*)"] })],
  "a rule that is a command": [SETTINGS, permissions({ deny: ["git push"] })],
  "an allow rule that is not closed": [SETTINGS, permissions({ allow: ["bash(ls"] })],
  "an ask rule about an unknown tool": [SETTINGS, permissions({ ask: ["writ(/etc/**)"] })],
  "an unknown list of rules": [SETTINGS, permissions({ denied: ["bash(canary*)"] })],
  "a list of rules in capitals": [SETTINGS, permissions({ Deny: ["bash(canary*)"] })],
  "a mode of a sandbox that does not exist": [SETTINGS, JSON.stringify({ ...BASE, sandbox: { mode: "workspaces" } })],
  "a sandbox that is a text": [SETTINGS, JSON.stringify({ ...BASE, sandbox: "workspace" })],
  "denied files that are a text": [SETTINGS, JSON.stringify({ ...BASE, sandbox: { denyRead: "**/*.pem" } })],
  "an unknown key of a sandbox": [SETTINGS, JSON.stringify({ ...BASE, sandbox: { denyReads: ["**/*.pem"] } })],
  "denied commands that are a text": [SETTINGS, JSON.stringify({ ...BASE, bashGuard: { deny: "canary" } })],
  "a denied command that is no expression": [SETTINGS, JSON.stringify({ ...BASE, bashGuard: { deny: ["canary("] } })],
  "an unknown key of denied commands": [SETTINGS, JSON.stringify({ ...BASE, bashGuard: { denied: ["canary"] } })],
  "excluded tools that are a text": [SETTINGS, JSON.stringify({ ...BASE, excludeTools: "bash" })],
  "settings of a project that are cut off": [PROJECT_SETTINGS, '{"permissions": {"deny": ["bash(canary*)"'],
  "a text in place of a list in a project": [PROJECT_SETTINGS, permissions({ deny: "bash(canary*)" })],
  "a rule that is not closed in a project": [PROJECT_SETTINGS, permissions({ deny: ["bash(canary*"] })],
  "an ask rule about an unknown tool in a project": [PROJECT_SETTINGS, permissions({ ask: ["bahs"] })],
  "an unknown list of rules in a trusted project": [PROJECT_SETTINGS, permissions({ denied: ["bash"] }), ["--trust"]],
  "hooks that are cut off": [HOOKS, '{"hooks": [{"event": "tool_call"'],
  "hooks that are a list": [HOOKS, JSON.stringify([guard])],
  "hooks that are an object": [HOOKS, JSON.stringify({ hooks: { tool_call: guard } })],
  "hooks without a list": [HOOKS, "{}"],
  "hooks with an unknown key beside the list": [HOOKS, JSON.stringify({ hooks: [], hook: [guard] })],
  "a hook with an unknown key": [HOOKS, hooks({ ...guard, matches: { tool: "bash" } })],
  "a hook with an unknown key of its match": [HOOKS, hooks({ ...guard, match: { tools: "bash" } })],
  "a hook of an unknown event": [HOOKS, hooks({ ...guard, event: "toolcall" })],
  "a hook without an event": [HOOKS, hooks({ command: "true" })],
  "a hook without a command": [HOOKS, hooks({ event: "tool_call" })],
  "a hook with an empty command": [HOOKS, hooks({ ...guard, command: "" })],
  "a hook whose command is a list": [HOOKS, hooks({ ...guard, command: ["true"] })],
  "a hook whose match is no expression": [HOOKS, hooks({ ...guard, match: { args: "(" } })],
  "a hook with a time as a text": [HOOKS, hooks({ ...guard, timeoutMs: "1000" })],
  "a hook with an unknown word for failures": [HOOKS, hooks({ ...guard, onFailure: "ignore" })],
  "a hook that is a text": [HOOKS, hooks("true")],
  "hooks of a trusted project that are cut off": [PROJECT_HOOKS, '{"hooks": [', ["--trust"]],
  "a hook of a trusted project with an unknown key": [PROJECT_HOOKS, hooks({ ...guard, on: 1 }), ["--trust"]],
  "hooks of a flag that are cut off": [FLAG_HOOKS, '{"hooks": [', ["--hook", "more.json"]],
  "hooks of a flag that are missing": [FLAG_HOOKS, undefined, ["--hook", "none.json"]],
};

/** Flags with an invalid rule, which are command-line errors. */
const BROKEN_FLAGS = [["--deny", "bash(canary*"], ["--deny", ""], ["--deny", "bahs(x)"], ["--allow", "bash(ls"], ["--allow", "git status"]];

/** Files without an error. */
const SOUND = {
  "comments and commas at ends": [SETTINGS, `{ // mine\n"defaultModel": "local/m", "permissions": {"deny": ["bash(canary*)",],},}`],
  "rules that are null": [SETTINGS, permissions({ deny: null, ask: null })],
  "no rules": [SETTINGS, permissions({})],
  "rules in another spelling": [SETTINGS, permissions({ deny: ["Bash(git push:*)", "Read(./x)", "WebFetch(domain:x.example)", "mcp__s__t", "mcp__s"] })],
  "rules about tools by pattern": [SETTINGS, permissions({ deny: ["mcp_*", "*(secret)"] })],
  "an empty file": [HOOKS, ""],
  "hooks with a comment": [HOOKS, '{"hooks": [] /* none */}'],
  "broken hooks of a project that is not trusted": [PROJECT_HOOKS, '{"hooks": ['],
};

/** Starts the program with a canary in every place that can start programs. Returns how it ended and what has run. */
async function start([path, text, args = []]) {
  const stage = await createStage();
  try {
    const canary = join(stage.folder, "canary");
    const touch = { shell: true, command: `touch '${canary}'` };
    put(stage.folder, "canary.json", { hooks: [{ event: "session_start", ...touch }, { event: "resources_discover", ...touch }, { event: "input", ...touch }] });
    put(stage.agent, "mcp.json", { mcpServers: { canary: { command: "touch", args: [canary], start: "eager" } } });
    if (text !== undefined) {
      put(stage.folder, path, "");
      writeFileSync(join(stage.folder, path), text);
    }
    const ran = await runProgram(stage, [...args, "--hook", join(stage.folder, "canary.json"), "-p", "go"]);
    return { ...ran, canary: existsSync(canary), requests: stage.model.requests.length };
  } finally {
    await stage.close();
  }
}

/** Runs the same check for each row, two at a time. Returns the messages of those that failed, by name. */
async function checkAll(rows, check) {
  const [left, failures] = [Object.entries(rows), new Map()];
  const work = async () => {
    for (let row = left.shift(); row; row = left.shift()) {
      const failure = await check(row[1], row[0]);
      if (failure) failures.set(row[0], failure);
    }
  };
  await Promise.all([work(), work()]);
  return failures;
}

test("an error in a file that guards ends the program before anything runs", { skip }, async () => {
  const failures = await checkAll(BROKEN, async (row) => {
    const { code, canary, requests, stderr, stdout } = await start(row);
    const named = stderr.includes(row[2]?.includes("none.json") ? "none.json" : row[0].split("/").at(-1));
    return code === 3 && !canary && requests === 0 && named && stdout === "" ? undefined : JSON.stringify({ code, canary, requests, stderr });
  });
  const unknown = [...failures].filter(([name]) => !(name in known));
  assert.deepEqual(unknown, []);
  assert.deepEqual(Object.keys(known).filter((name) => !failures.has(name)), [], "these fit now: remove them from known.json");
});

test("an error in a rule of a flag ends the program before anything runs", { skip }, async () => {
  const failures = await checkAll(Object.fromEntries(BROKEN_FLAGS.map((args) => [args.join(" "), args])), async (args) => {
    const { code, canary, requests, stderr } = await start([SETTINGS, undefined, args]);
    return code === 2 && !canary && requests === 0 ? undefined : JSON.stringify({ code, canary, requests, stderr });
  });
  assert.deepEqual([...failures], []);
});

test("files without an error run", { skip }, async () => {
  const failures = await checkAll(SOUND, async (row) => {
    const { code, canary, requests, stderr } = await start(row);
    return code === 0 && canary && requests === 1 ? undefined : JSON.stringify({ code, canary, requests, stderr });
  });
  assert.deepEqual([...failures], []);
});

test("a reload of a broken file keeps the rules of the start and says so", { skip }, async () => {
  const stage = await createStage({ settings: { permissions: { deny: ["bash(canary*)"] } } });
  const wrong = [];
  const agent = await openAgent(stage);
  try {
    for (const [name, [path, text]] of Object.entries(BROKEN)) {
      if (![SETTINGS, HOOKS].includes(path) || name in known) continue;
      const file = join(stage.folder, path);
      writeFileSync(file, text);
      const { warnings } = await agent.command("reload");
      if (warnings.some((warning) => warning.includes(file)) === name in unseen) wrong.push(name);
      rmSync(file);
    }
    assert.deepEqual(wrong, [], "these are not said, or fit now: remove them from known.json");
    await agent.command("reload");
    const { results } = await agent.play([[["bash", { command: "canary" }]]]);
    assert.ok(isRefused(results[0]), results[0].text);
  } finally {
    await agent.close();
    await stage.close();
  }
});

test("a project adds rules without trust, and takes none away", { skip }, async () => {
  const stage = await createStage({
    settings: { permissions: { deny: ["bash(first*)"], ask: ["bash(second*)"] } },
    project: { ".sinew/settings.json": { permissions: { deny: ["bash(third*)"], ask: ["bash(fourth*)"], allow: ["bash(second*)", "bash(first*)", "bash(fourth one*)"] } } },
  });
  try {
    for (const [args, asked] of [[["--no-trust"], ["second", "fourth", "fourth one"]], [["--trust"], ["second", "fourth"]]]) {
      const agent = await openAgent(stage, args);
      const lines = ["first", "second", "third", "fourth", "fourth one"];
      const { results, questions } = await agent.play([lines.map((command) => ["bash", { command }])]);
      await agent.close();
      const shown = lines.filter((line) => questions.some(({ title }) => title.includes(`"${line}"`)));
      assert.deepEqual(shown, asked, args.join());
      assert.deepEqual(lines.filter((_, index) => !isRefused(results[index])), lines.filter((line) => !asked.includes(line) && line === "fourth one"), args.join());
    }
  } finally {
    await stage.close();
  }
});
