// Tests the ACP mode with the official client of the protocol. Every frame is checked with the official schema.
//
// SINEW_ACP_FRAMES is the folder with the frames that our program wrote to editors in the Rust tests.
import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { REPEAT, answer, call, drive, hello, judge, project, skip, text } from "./client.mjs";

test("the schema refuses frames that are none", { skip }, () => {
  const update = (update) => ({ jsonrpc: "2.0", method: "session/update", params: { sessionId: "s", update } });
  const holds = judge();
  holds(update({ sessionUpdate: "tool_call", toolCallId: "c", title: "t" }));
  assert.throws(() => holds(update({ sessionUpdate: "tool_call", title: "t" })));
  assert.throws(() => holds({ jsonrpc: "2.0", method: "session/other", params: {} }));
  assert.throws(() => holds({ jsonrpc: "2.0", id: 1, result: { stopReason: "tired" } }, "session/prompt"));
});

const left = process.env.SINEW_ACP_FRAMES;
const frames = left && existsSync(left) ? readdirSync(left).map((name) => join(left, name)) : [];

test("042: every frame of the tests of Rust fits the schema", { skip: skip || (frames.length ? false : "no frames in SINEW_ACP_FRAMES") }, () => {
  const hold = judge();
  for (const file of frames) {
    for (const line of readFileSync(file, "utf8").split("\n").filter(Boolean)) {
      const { method, frame } = JSON.parse(line);
      hold(frame, method);
    }
  }
});

test("the official client drives a whole session", { skip }, async () => {
  const turns = [
    REPEAT,
    call("todo", { ops: [{ op: "init", list: [{ phase: "Work", items: ["write", "check"] }] }] }),
    call("write", { path: "a.txt", content: "one\n" }),
    call("edit", { path: "a.txt", oldText: "one", newText: "two" }),
    call("bash", { command: "cat a.txt" }),
    answer("All is done."),
  ];
  const given = project(turns, { permissions: { ask: ["bash(*)"] } });
  const asked = [];
  const handlers = {
    "session/request_permission": (params) => {
      asked.push(params);
      return { outcome: { outcome: "selected", optionId: params.options.find(({ kind }) => kind === "allow_once").optionId } };
    },
    "fs/read_text_file": ({ path }) => ({ content: readFileSync(path, "utf8") }),
    "fs/write_text_file": ({ path, content }) => (writeFileSync(path, content), {}),
  };
  await drive(given, handlers, async (request, updates) => {
    const ready = await request("initialize", hello({ fs: { readTextFile: true, writeTextFile: true } }));
    assert.equal(ready.protocolVersion, 1);
    assert.ok(ready.agentCapabilities.loadSession);
    const { sessionId, configOptions } = await request("session/new", { cwd: given.cwd, mcpServers: [] });
    assert.deepEqual(configOptions.map(({ category }) => category), ["mode", "model", "thought_level"]);
    await request("session/set_config_option", { sessionId, configId: "thought_level", value: "high" });
    const { stopReason } = await request("session/prompt", { sessionId, prompt: text("do it") });
    assert.equal(stopReason, "end_turn");
    assert.equal(readFileSync(join(given.cwd, "a.txt"), "utf8"), "two\n");
    assert.deepEqual(asked.map(({ toolCall }) => toolCall.title), ["cat a.txt"]);
    const of = (kind) => updates.filter(({ update }) => update.sessionUpdate === kind).map(({ update }) => update);
    assert.deepEqual(of("plan")[0].entries.map(({ content, status }) => [content, status]), [["write", "in_progress"], ["check", "pending"]]);
    const diffs = of("tool_call_update").flatMap(({ content }) => content ?? []).filter(({ type }) => type === "diff");
    assert.deepEqual(diffs.map(({ oldText, newText }) => [oldText ?? null, newText]), [[null, "one\n"], ["one\n", "two\n"]]);
    assert.ok(of("agent_thought_chunk").length > 0);
    assert.deepEqual(of("tool_call").map(({ kind }) => kind), ["think", "edit", "edit", "execute"]);
    await request("session/set_mode", { sessionId, modeId: "plan" });
    assert.equal((await request("session/prompt", { sessionId, prompt: text("/session") })).stopReason, "end_turn");

    // After closing, listing and loading it is the same conversation.
    await request("session/close", { sessionId });
    const { sessions } = await request("session/list", { cwd: given.cwd });
    assert.deepEqual(sessions.map((session) => session.sessionId), [sessionId]);
    const before = updates.length;
    const loaded = await request("session/load", { sessionId, cwd: given.cwd, mcpServers: [] });
    assert.equal(loaded.modes.currentModeId, "plan");
    const replayed = updates.slice(before).map(({ update }) => update);
    const begun = (list) => list.filter(({ sessionUpdate }) => sessionUpdate === "tool_call").map(({ toolCallId }) => toolCallId);
    assert.deepEqual(begun(replayed), begun(updates.slice(0, before).map(({ update }) => update)));
    assert.equal((await request("session/prompt", { sessionId, prompt: text("again") })).stopReason, "end_turn");
    await request("session/delete", { sessionId });
    assert.deepEqual((await request("session/list", {})).sessions, []);
  });
});

test("the official client cancels a turn, and goes on", { skip }, async () => {
  const given = project([call("bash", { command: "sleep 1000" }), answer("Hello.")]);
  await drive(given, {}, async (request, updates, agent) => {
    await request("initialize", hello());
    const { sessionId } = await request("session/new", { cwd: given.cwd, mcpServers: [] });
    const turn = request("session/prompt", { sessionId, prompt: text("wait") });
    while (!updates.some(({ update }) => update.status === "in_progress")) await new Promise((done) => setImmediate(done));
    await agent.notify("session/cancel", { sessionId });
    assert.equal((await turn).stopReason, "cancelled");
    assert.equal((await request("session/prompt", { sessionId, prompt: text("go on") })).stopReason, "end_turn");
    await assert.rejects(request("session/prompt", { sessionId: "nobody", prompt: text("?") }), /session nobody is not open/);
  });
});

test("questions of the model are forms where the editor shows forms, and choices elsewhere", { skip }, async () => {
  const questions = [{ question: "Which?", options: [{ label: "red" }, { label: "blue", description: "like the sea" }] }];
  for (const forms of [true, false]) {
    const given = project([call("ask", { questions }), answer("Thanks.")]);
    const seen = [];
    const handlers = {
      "elicitation/create": (params) => (seen.push(params.message), { action: "accept", content: { answer: "blue" } }),
      "session/request_permission": (params) => {
        seen.push(params.toolCall.title);
        return { outcome: { outcome: "selected", optionId: params.options[1].optionId } };
      },
    };
    const { updates } = await drive(given, handlers, async (request) => {
      await request("initialize", hello(forms ? { elicitation: { form: {} } } : {}));
      const { sessionId } = await request("session/new", { cwd: given.cwd, mcpServers: [] });
      assert.equal((await request("session/prompt", { sessionId, prompt: text("ask me") })).stopReason, "end_turn");
    });
    assert.deepEqual(seen, ["Which?"]);
    assert.ok(JSON.stringify(updates).includes("Which?: blue"));
  }
});
