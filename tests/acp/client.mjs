// Runs the official client of the Agent Client Protocol with our program, and checks every frame that it receives.
//
// SINEW_ACP is a folder with `@agentclientprotocol/sdk` and `ajv`, SINEW_BIN our program: `npm test` sets both.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { after } from "node:test";
import { pathToFileURL } from "node:url";

const ACP = process.env.SINEW_ACP;
const SDK = ACP && join(ACP, "node_modules", "@agentclientprotocol", "sdk");
export const skip = SDK && existsSync(SDK) && process.env.SINEW_BIN ? false : "set SINEW_ACP and SINEW_BIN";
const load = (...path) => import(pathToFileURL(join(ACP, "node_modules", ...path)).href);
const acp = skip ? {} : await load("@agentclientprotocol", "sdk", "dist", "v1", "stable", "acp.js");
const { default: Ajv } = skip ? {} : (await load("ajv", "dist", "2020.js")).default;

const folders = [];
after(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

/** The schema types of results, by the method of the request. */
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
/** The schema types of parameters, by the method that the agent sends. */
const PARAMS = {
  "session/update": "SessionNotification",
  "session/request_permission": "RequestPermissionRequest",
  "fs/read_text_file": "ReadTextFileRequest",
  "fs/write_text_file": "WriteTextFileRequest",
  "elicitation/create": "CreateElicitationRequest",
  "$/cancel_request": "CancelRequestNotification",
};

/**
 * Returns a function that checks a frame of the agent with the schema. `asked` is the method of the request that the
 * frame answers.
 */
export function judge() {
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

/** Creates a project with a scripted model. */
export function project(turns, settings = {}) {
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

/** Starts the agent, lets `work` use it, ends it, and checks everything that it wrote. */
export async function drive({ folder, script }, handlers, work) {
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

export const REPEAT = { type: "script", version: 1, onExhausted: "repeat", reasoning: true };
export const answer = (text) => ({ type: "turn", content: [{ thinking: "Let me see." }, { text }] });
export const call = (name, args) => ({ type: "turn", content: [{ text: "On it. " }, { toolCall: { name, arguments: args } }] });
export const text = (text) => [{ type: "text", text }];
export const hello = (clientCapabilities = {}) => ({ protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities, clientInfo: { name: "test", version: "1" } });
