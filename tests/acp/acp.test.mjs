// The ACP mode driven by the official client of the protocol; every frame is held against the official schema.
//
// SINEW_ACP is a folder with `@agentclientprotocol/sdk` and `ajv`, SINEW_BIN our program: `npm test` sets both. SINEW_ACP_FRAMES is
// the folder in which the tests of Rust have left what our program wrote to their editors.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";

const ACP = process.env.SINEW_ACP;
const SDK = ACP && join(ACP, "node_modules", "@agentclientprotocol", "sdk");
const skip = SDK && existsSync(SDK) && process.env.SINEW_BIN ? false : "set SINEW_ACP and SINEW_BIN";
const load = (...path) => import(pathToFileURL(join(ACP, "node_modules", ...path)).href);
const acp = skip ? {} : await load("@agentclientprotocol", "sdk", "dist", "v1", "stable", "acp.js");
const { default: Ajv } = skip ? {} : (await load("ajv", "dist", "2020.js")).default;

const folders = [];
after(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

/** The shapes of results, by the method of their request. */
const RESULTS = {
  initialize: "InitializeResponse",
  authenticate: "AuthenticateResponse",
  "session/new": "NewSessionResponse",
  "session/load": "LoadSessionResponse",
  "session/resume": "ResumeSessionResponse",
  "session/list": "ListSessionsResponse",
  "session/close": "CloseSessionResponse",
  "session/delete": "DeleteSessionResponse",
  "session/set_mode": "SetSessionModeResponse",
  "session/set_config_option": "SetSessionConfigOptionResponse",
  "session/prompt": "PromptResponse",
};
/** The shapes of parameters, by the method of what the agent sends. */
const PARAMS = {
  "session/update": "SessionNotification",
  "session/request_permission": "RequestPermissionRequest",
  "fs/read_text_file": "ReadTextFileRequest",
  "fs/write_text_file": "WriteTextFileRequest",
  "elicitation/create": "CreateElicitationRequest",
  "$/cancel_request": "CancelRequestNotification",
};

/** A function that holds a frame that the agent wrote against the schema; `asked` is the method of the request that it answers. */
function judge() {
  const schema = JSON.parse(readFileSync(join(SDK, "schema", "v1", "schema.json"), "utf8"));
  const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
  ajv.addSchema({ ...schema, $id: "acp" });
  const shapes = new Map();
  const check = (name, value, frame) => {
    if (!shapes.has(name)) shapes.set(name, ajv.compile({ $ref: name ? `acp#/$defs/${name}` : "acp" }));
    const fits = shapes.get(name);
    assert.ok(fits(value), `${name}: ${ajv.errorsText(fits.errors).slice(0, 600)}\n${JSON.stringify(frame).slice(0, 2000)}`);
  };
  return (frame, asked) => {
    check("", frame, frame);
    if (frame.method) {
      assert.ok(PARAMS[frame.method], `an unknown method: ${frame.method}`);
      check(PARAMS[frame.method], frame.params, frame);
    } else if (frame.error) {
      check("Error", frame.error, frame);
    } else {
      check(RESULTS[asked], frame.result, frame);
    }
  };
}

/** A project with a scripted model. */
function project(turns, settings = {}) {
  const folder = mkdtempSync(join(tmpdir(), "sinew-acp-"));
  folders.push(folder);
  const cwd = join(folder, "project");
  mkdirSync(cwd);
  mkdirSync(join(folder, "home", "agent"), { recursive: true });
  writeFileSync(join(folder, "home", "agent", "settings.json"), JSON.stringify(settings));
  const script = join(folder, "script.jsonl");
  writeFileSync(script, turns.map((turn) => `${JSON.stringify(turn)}\n`).join(""));
  return { folder, cwd, script };
}

/** Starts the agent, lets `work` drive it, ends it and judges all that it wrote. */
async function drive({ folder, script }, handlers, work) {
  const env = { PATH: process.env.PATH, HOME: folder, SINEW_HOME: join(folder, "home"), OLLAMA_BASE_URL: "http://127.0.0.1:1" };
  const child = spawn(process.env.SINEW_BIN, ["--mode", "acp", "--script", script], { env, stdio: ["pipe", "pipe", "inherit"] });
  const closed = new Promise((done) => child.on("close", done));
  const written = [];
  const methods = new Map();
  const updates = [];
  let rest = "";
  const tap = new TransformStream({
    transform(chunk, out) {
      const lines = (rest + Buffer.from(chunk).toString("utf8")).split("\n");
      rest = lines.pop();
      written.push(...lines.map((line) => JSON.parse(line)));
      out.enqueue(chunk);
    },
  });
  const note = new TransformStream({
    transform(chunk, out) {
      for (const line of Buffer.from(chunk).toString("utf8").split("\n").filter(Boolean)) {
        const frame = JSON.parse(line);
        if (frame.method && frame.id !== undefined) methods.set(frame.id, frame.method);
      }
      out.enqueue(chunk);
    },
  });
  void note.readable.pipeTo(Writable.toWeb(child.stdin)).catch(() => {});
  const stream = acp.ndJsonStream(note.writable, Readable.toWeb(child.stdout).pipeThrough(tap));
  const app = acp.client({ name: "test" }).onNotification("session/update", ({ params }) => void updates.push(params));
  for (const [method, handler] of Object.entries(handlers)) app.onRequest(method, ({ params }) => handler(params));
  try {
    await app.connectWith(stream, (agent) => work((method, params) => agent.request(method, params), updates, agent));
  } finally {
    child.stdin.end();
    assert.equal(await closed, 0);
  }
  assert.equal(rest, "");
  const hold = judge();
  for (const frame of written) hold(frame, methods.get(frame.id));
  return { written, updates };
}

const REPEAT = { type: "script", version: 1, onExhausted: "repeat", reasoning: true };
const answer = (text) => ({ type: "turn", content: [{ thinking: "Let me see." }, { text }] });
const call = (name, args) => ({ type: "turn", content: [{ text: "On it. " }, { toolCall: { name, arguments: args } }] });
const text = (text) => [{ type: "text", text }];
const hello = (clientCapabilities = {}) => ({ protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities, clientInfo: { name: "test", version: "1" } });

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

    // Closed, listed, loaded: the same conversation again.
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
    await assert.rejects(request("session/prompt", { sessionId: "nobody", prompt: text("?") }), /no session nobody/);
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
