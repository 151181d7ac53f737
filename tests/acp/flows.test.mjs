// Tests the flows of editors, each with the official client of the protocol and a separate program. The first twenty
// are our version of what the public profile `acp-core-v1` requires of an agent, because its runner is in no registry.
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { REPEAT, answer, call, drive, hello, project, skip, text } from "./client.mjs";

const FILES = { fs: { readTextFile: true, writeTextFile: true } };
const WAIT = [call("bash", { command: "sleep 1000" }), answer("Hello.")];
const ASKING = { permissions: { ask: ["bash(*)", "write(*)", "read(*)"] } };

/** Chooses the permission option of a kind. */
const chooses = (kind) => ({
  "session/request_permission": ({ options }) => ({ outcome: { outcome: "selected", optionId: options.find((option) => option.kind === kind).optionId } }),
});
const kinds = (updates) => updates.map(({ update }) => update.sessionUpdate);
const said = (updates, id) =>
  updates.filter(({ sessionId, update }) => update.sessionUpdate === "agent_message_chunk" && (id === undefined || sessionId === id)).map(({ update }) => update.content.text).join("");
const until = async (holds) => {
  while (!holds()) await new Promise((done) => setImmediate(done));
};
const refused = (promise, code, words) => assert.rejects(promise, (error) => (assert.equal(error.code, code, String(error)), assert.match(error.message, words), true));

/** A test that starts a session in a program with these turns and runs `work`. */
const flow = (name, turns, work, { handlers = {}, settings = {}, capabilities = {} } = {}) =>
  test(name, { skip }, async () => {
    const given = project(turns, settings);
    await drive(given, handlers, async (request, updates, agent) => {
      const ready = await request("initialize", hello(capabilities));
      const { sessionId } = await request("session/new", { cwd: given.cwd, mcpServers: [] });
      const prompt = async (prompt) => (await request("session/prompt", { sessionId, prompt: typeof prompt === "string" ? text(prompt) : prompt })).stopReason;
      await work({ ...given, ready, sessionId, request, updates, agent, prompt });
    });
  });

flow("handshake: a version and abilities", [REPEAT, answer("Hello.")], ({ ready }) => {
  assert.equal(ready.protocolVersion, 1);
  assert.equal(typeof ready.agentCapabilities, "object");
});
flow("a new session has a name", [REPEAT, answer("Hello.")], ({ sessionId }) => assert.ok(sessionId.length > 0));
flow("a prompt is answered in pieces of its session", [REPEAT, answer("Hello.")], async ({ prompt, updates, sessionId }) => {
  assert.equal(await prompt("hi"), "end_turn");
  assert.equal(said(updates), "Hello.");
  assert.ok(updates.every((update) => update.sessionId === sessionId));
});
flow("what a turn tells stands in front of its answer", [call("bash", { command: "echo hi" }), answer("Done.")], async ({ prompt, updates }) => {
  assert.equal(await prompt("go"), "end_turn");
  const ended = updates.filter(({ update }) => ["completed", "failed"].includes(update.status));
  assert.equal(ended.length, 1);
  assert.ok(said(updates).endsWith("Done."));
});
flow("a turn under way is cancelled", WAIT, async ({ request, sessionId, updates, agent }) => {
  const turn = request("session/prompt", { sessionId, prompt: text("wait") });
  await until(() => updates.some(({ update }) => update.status === "in_progress"));
  await agent.notify("session/cancel", { sessionId });
  assert.equal((await turn).stopReason, "cancelled");
});
flow("a cancel without a turn changes nothing", [REPEAT, answer("Hello.")], async ({ agent, sessionId, prompt }) => {
  await agent.notify("session/cancel", { sessionId });
  assert.equal(await prompt("hi"), "end_turn");
});
flow("turns follow each other in one session", [answer("One."), answer("Two.")], async ({ prompt, updates }) => {
  assert.deepEqual([await prompt("1"), await prompt("2")], ["end_turn", "end_turn"]);
  assert.equal(said(updates), "One.Two.");
});
flow("parameters that are none are refused", [REPEAT, answer("Hello.")], async ({ request, cwd }) => {
  await refused(request("session/new", { cwd }), -32602, /mcpServers/);
  await refused(request("session/new", { cwd: "relative", mcpServers: [] }), -32602, /\/cwd: relative is not an absolute path/);
  await refused(request("session/new", { cwd: join(cwd, "nowhere"), mcpServers: [] }), -32602, /is not a folder/);
});
flow("a session is named by a string", [REPEAT, answer("Hello.")], ({ request }) => refused(request("session/prompt", { sessionId: 7, prompt: text("?") }), -32602, /sessionId/));
flow("a denied command does not run", [call("bash", { command: "touch ran" }), answer("Then not.")], async ({ prompt, cwd, updates }) => {
  assert.equal(await prompt("go"), "end_turn");
  assert.ok(!existsSync(join(cwd, "ran")));
  assert.ok(JSON.stringify(updates.filter(({ update }) => update.status === "failed")).includes("The user refused this call"));
}, { handlers: chooses("reject_once"), settings: ASKING });
flow("a denied write writes nothing", [call("write", { path: "a.txt", content: "x" }), answer("Then not.")], async ({ prompt, cwd, updates }) => {
  assert.equal(await prompt("go"), "end_turn");
  assert.ok(!existsSync(join(cwd, "a.txt")));
  assert.equal(updates.filter(({ update }) => update.status === "failed").length, 1);
}, { handlers: chooses("reject_once"), settings: ASKING, capabilities: FILES });
flow("a session that nobody opened has no turns", [REPEAT, answer("Hello.")], ({ request }) => refused(request("session/prompt", { sessionId: "nobody", prompt: text("?") }), -32602, /session nobody is not open/));
flow("a prompt of nothing is refused, and the session lives", [REPEAT, answer("Hello.")], async ({ prompt }) => {
  await refused(prompt(""), -32602, /\/prompt: it is empty/);
  assert.equal(await prompt("hi"), "end_turn");
});
flow("a command that is none is a text", [REPEAT, answer("What is that?")], async ({ prompt, updates }) => {
  assert.equal(await prompt("/no-such-command now"), "end_turn");
  assert.equal(said(updates), "What is that?");
});
flow("a folder of null is refused", [REPEAT, answer("Hello.")], ({ request }) => refused(request("session/new", { cwd: null, mcpServers: [] }), -32602, /cwd/));
flow("texts, links and contents make one prompt", [REPEAT, answer("Seen.")], async ({ prompt, cwd }) => {
  const uri = pathToFileURL(join(cwd, "b.txt")).href;
  const blocks = [...text("Look at "), { type: "resource_link", uri, name: "b.txt" }, { type: "resource", resource: { uri, mimeType: "text/plain", text: "inside" } }];
  assert.equal(await prompt(blocks), "end_turn");
});
flow("an allowed read reads", [call("read", { path: "a.txt" }), answer("Read.")], async ({ prompt, cwd, updates }) => {
  writeFileSync(join(cwd, "a.txt"), "some words\n");
  assert.equal(await prompt("go"), "end_turn");
  assert.ok(JSON.stringify(updates.filter(({ update }) => update.status === "completed")).includes("some words"));
}, { handlers: chooses("allow_once"), settings: ASKING });
flow("an allowed write writes", [call("write", { path: "a.txt", content: "x\n" }), answer("Written.")], async ({ prompt, cwd }) => {
  assert.equal(await prompt("go"), "end_turn");
  assert.equal(readFileSync(join(cwd, "a.txt"), "utf8"), "x\n");
}, { handlers: chooses("allow_once"), settings: ASKING });
flow("a turn ends beside another session's", [call("bash", { command: "until test -e go; do sleep 0.01; done" }), answer("Late.")], async ({ request, sessionId, cwd, updates }) => {
  const late = request("session/prompt", { sessionId, prompt: text("wait") });
  await until(() => updates.some(({ update }) => update.status === "in_progress"));
  const { sessionId: other } = await request("session/new", { cwd, mcpServers: [] });
  assert.notEqual(other, sessionId);
  writeFileSync(join(cwd, "go"), "");
  assert.equal((await late).stopReason, "end_turn");
  assert.ok(said(updates, sessionId).endsWith("Late."));
  assert.equal(said(updates, other), "");
});
flow("a prompt behind a cancelled one is answered", WAIT, async ({ request, sessionId, updates, agent, prompt }) => {
  const turn = request("session/prompt", { sessionId, prompt: text("wait") });
  await until(() => updates.some(({ update }) => update.status === "in_progress"));
  await agent.notify("session/cancel", { sessionId });
  assert.equal((await turn).stopReason, "cancelled");
  assert.equal(await prompt("go on"), "end_turn");
  assert.equal(said(updates).endsWith("Hello."), true);
});
flow("a second prompt at the same time is refused", WAIT, async ({ request, sessionId, updates, agent }) => {
  const turn = request("session/prompt", { sessionId, prompt: text("wait") });
  await until(() => updates.some(({ update }) => update.status === "in_progress"));
  await refused(request("session/prompt", { sessionId, prompt: text("me too") }), -32600, /already running/);
  await agent.notify("session/cancel", { sessionId });
  assert.equal((await turn).stopReason, "cancelled");
});
flow("a call allowed for the session is asked about once", [REPEAT, call("bash", { command: "echo x >> ran" }), answer("Ran.")], async ({ prompt, cwd, updates }) => {
  assert.equal(await prompt("one"), "end_turn");
  assert.equal(await prompt("two"), "end_turn");
  assert.match(readFileSync(join(cwd, "ran"), "utf8"), /^x\n(x\n)?$/);
  assert.ok(kinds(updates).includes("tool_call"));
}, { handlers: chooses("allow_always"), settings: { permissions: { ask: ["bash(*)"] } } });
flow("a thread that is dropped is there when it is loaded again", [REPEAT, answer("Hello.")], async ({ prompt, request, sessionId, cwd, updates }) => {
  assert.equal(await prompt("hi"), "end_turn");
  await request("session/close", { sessionId });
  await refused(request("session/prompt", { sessionId, prompt: text("?") }), -32602, /is not open/);
  const before = updates.length;
  await request("session/load", { sessionId, cwd, mcpServers: [] });
  assert.equal(said(updates.slice(before)), "Hello.");
  assert.equal(await prompt("again"), "end_turn");
});
flow("a session is resumed, open or closed, and tells nothing again", [REPEAT, answer("Hello.")], async ({ prompt, request, sessionId, cwd, updates }) => {
  // Nothing is on the disk before the first message.
  assert.equal((await request("session/resume", { sessionId, cwd, mcpServers: [] })).modes.currentModeId, "default");
  assert.equal(await prompt("hi"), "end_turn");
  await request("session/resume", { sessionId, cwd, mcpServers: [] });
  await refused(request("session/load", { sessionId, cwd, mcpServers: [] }), -32600, /already open/);
  await request("session/close", { sessionId });
  const before = updates.length;
  await request("session/resume", { sessionId, cwd, mcpServers: [] });
  assert.equal(said(updates.slice(before)), "");
  assert.equal(await prompt("again"), "end_turn");
});
flow("a mode that allows no change offers no change", [REPEAT, answer("Planned.")], async ({ request, sessionId, prompt, updates }) => {
  await request("session/set_mode", { sessionId, modeId: "plan" });
  await refused(request("session/set_mode", { sessionId, modeId: "wild" }), -32602, /wild/);
  assert.equal(await prompt("go"), "end_turn");
  assert.ok(kinds(updates).includes("config_option_update"));
});
flow("methods that nobody knows are refused, and the session lives", [REPEAT, answer("Hello.")], async ({ request, sessionId, prompt, agent }) => {
  await refused(request("session/fly", { sessionId }), -32601, /session\/fly/);
  await agent.notify("_editor/blinked", {});
  assert.equal(await prompt("hi"), "end_turn");
});
