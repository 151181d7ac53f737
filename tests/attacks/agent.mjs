// Runs the program in separate folders over RPC, with a model that plays a script over a socket.
import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { after } from "node:test";
import { fileURLToPath } from "node:url";
import { serveModel } from "../overrides/model.mjs";

const TREE = fileURLToPath(new URL("../..", import.meta.url));

/** The program under test. */
export const PROGRAM = process.env.SINEW_BIN ?? join(TREE, "target", "debug", "sinew");

/** Why tests that need the program are skipped; false if they are not. */
export const skip = process.platform === "linux" && existsSync(PROGRAM) ? false : "set SINEW_BIN to a program for Linux";

/** The key of the model's provider. */
export const KEY = "sk-attack-0123456789abcdefghij";

const folders = [];
after(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

/** Settings for conversations with many calls. */
const QUIET = { defaultModel: "local/m", checkpoint: { enabled: false }, compaction: { enabled: false }, async: { enabled: true }, todo: { reminders: false } };

/** The last text of a scripted answer. */
const END = "the end";

/** Writes a text, or a value as JSON, below a folder. */
export function put(folder, path, value) {
  const at = join(folder, path);
  mkdirSync(dirname(at), { recursive: true });
  writeFileSync(at, typeof value === "string" ? value : JSON.stringify(value));
  return at;
}

/**
 * Creates a home with the program's files, a project, and a scripted model.
 *
 * `settings` are added to those of the user; `files` are written below the home directory, `project` below the project. `env` are variables of the program.
 * The model takes its turns from `turns`, which a test may fill at any time; a turn is as in `serveModel`.
 */
export async function createStage({ settings = {}, files = {}, project = {}, env = {}, provider = {} } = {}) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "sinew-attacks-")));
  folders.push(folder);
  const [home, cwd] = ["home", "project"].map((name) => join(folder, name));
  for (const each of [home, cwd]) mkdirSync(each);
  const turns = [];
  const model = await serveModel([], { aside: (request) => takeTurn(turns, request) });
  const local = { baseUrl: `${model.url}/v1`, api: "openai-completions", apiKey: KEY, models: [{ id: "m", contextWindow: 10_000_000 }], ...provider };
  put(home, ".sinew/agent/models.json", { providers: { local } });
  put(home, ".sinew/agent/settings.json", { ...QUIET, ...settings });
  for (const [path, value] of Object.entries(files)) put(home, path, value);
  for (const [path, value] of Object.entries(project)) put(cwd, path, value);
  const stage = { folder, home, cwd, turns, model, agent: join(home, ".sinew", "agent"), env: { PATH: process.env.PATH, HOME: home, ...env } };
  return { ...stage, close: () => model.close() };
}

function takeTurn(turns, request) {
  const turn = turns.shift() ?? END;
  return typeof turn === "function" ? turn(request) : turn;
}

/**
 * Creates a folder with a stub for each name. A stub writes its name and arguments as a line to a log, and does nothing else.
 *
 * `programs` are linked into the same folder. Returns the folder and `ran`, which returns the lines since its last call.
 */
export function createStubs(folder, names, programs = {}) {
  const [bin, log] = [join(folder, "bin"), join(folder, "ran.log")];
  mkdirSync(bin);
  writeFileSync(log, "");
  const stub = join(folder, "stub");
  writeFileSync(stub, `#!/bin/sh\nprintf '%s\\n' "\${0##*/} $*" >> '${log}'\n`);
  chmodSync(stub, 0o755);
  for (const [name, target] of Object.entries(programs)) symlinkSync(target, join(bin, name));
  for (const name of names) if (!(name in programs)) symlinkSync(stub, join(bin, name));
  let seen = 0;
  const ran = () => {
    const text = readFileSync(log, "utf8");
    const lines = text.slice(seen).split("\n").filter(Boolean);
    seen = text.length;
    return lines;
  };
  return { bin, ran };
}

/** Runs the program once. Returns its exit code and what it printed. */
export function runProgram(stage, args, { input = "" } = {}) {
  const child = spawn(PROGRAM, args, { cwd: stage.cwd, env: stage.env, stdio: ["pipe", "pipe", "pipe"] });
  const ran = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"]) child[name].setEncoding("utf8").on("data", (text) => (ran[name] += text));
  // The program may end before it reads.
  child.stdin.on("error", () => {}).end(input);
  return new Promise((done, fail) => child.on("error", fail).on("close", (code) => done({ ...ran, code })));
}

/** Runs the program in JSON mode while the model takes turns. Returns the results of its calls, in their order. */
export async function printAgent(stage, turns, args = []) {
  stage.turns.push(...turns, END);
  const { code, stdout, stderr } = await runProgram(stage, ["--mode", "json", ...args, "-p", "go"]);
  if (code !== 0) throw new Error(`the program ended with ${code}: ${stderr}`);
  return { results: resultsOf(stdout.split("\n").filter(Boolean).map((line) => JSON.parse(line))), stderr };
}

/** Starts the program in RPC mode. A question about a call is answered with `permits()`. */
export async function openAgent(stage, args = []) {
  const child = spawn(PROGRAM, ["--mode", "rpc", ...args], { cwd: stage.cwd, env: stage.env, stdio: ["pipe", "pipe", "pipe"] });
  const agent = { child, frames: [], stderr: "", permits: () => false };
  const waiting = new Set();
  const wake = () => [...waiting].forEach((each) => each());
  const send = (frame) => child.stdin.write(`${JSON.stringify(frame)}\n`);
  child.stderr.setEncoding("utf8").on("data", (text) => (agent.stderr += text));
  child.stdin.on("error", () => {});
  const closed = new Promise((done, fail) => child.on("error", fail).on("close", (code) => {
    agent.code = code;
    wake();
    done(code);
  }));
  createInterface({ input: child.stdout, crlfDelay: Infinity }).on("line", (line) => {
    const frame = JSON.parse(line);
    agent.frames.push(frame);
    if (frame.type === "extension_ui_request" && frame.method === "confirm") {
      send({ type: "extension_ui_response", id: frame.id, confirmed: agent.permits() });
    } else if (frame.type === "extension_ui_request" && ["select", "input", "editor"].includes(frame.method)) {
      send({ type: "extension_ui_response", id: frame.id, cancelled: true });
    }
    wake();
  });
  /** Resolves with the first matching frame from `start` on. */
  const until = (fits, start) => new Promise((found, fail) => {
    let at = start;
    const look = () => {
      for (; at < agent.frames.length; at += 1) {
        if (!fits(agent.frames[at])) continue;
        waiting.delete(look);
        return found(agent.frames[at]);
      }
      if (agent.code !== undefined) fail(new Error(`the program ended with ${agent.code}: ${agent.stderr}`));
    };
    waiting.add(look);
    look();
  });
  let commands = 0;
  /** Sends a command and returns the data of its response. */
  const command = async (type, fields = {}) => {
    commands += 1;
    const id = `c${commands}`;
    const start = agent.frames.length;
    send({ id, type, ...fields });
    const response = await until((frame) => frame.type === "response" && frame.id === id, start);
    if (!response.success) throw new Error(`${type}: ${response.error}`);
    return response.data;
  };
  /** Lets the model take turns after a message. Returns the results of its calls, in their order, and the questions about them. */
  const play = async (turns, message = "go") => {
    stage.turns.push(...turns, END);
    const start = agent.frames.length;
    await command("prompt", { message });
    await until((frame) => frame.type === "agent_settled", start);
    const seen = agent.frames.slice(start);
    return { results: resultsOf(seen), questions: seen.filter((frame) => frame.type === "extension_ui_request" && frame.method === "confirm") };
  };
  const close = async () => {
    child.stdin.end();
    await closed;
  };
  await until((frame) => frame.type === "ready", 0);
  return Object.assign(agent, { command, play, close });
}

/** The results of calls in the order in which the model wrote the calls. */
function resultsOf(frames) {
  const order = ({ toolCallId }) => toolCallId.split("_").slice(1).map(Number);
  const ended = frames.filter((frame) => frame.type === "tool_execution_end");
  ended.sort((left, right) => order(left)[0] - order(right)[0] || order(left)[1] - order(right)[1]);
  return ended.map(({ result, isError }) => ({ text: result.content.map((part) => part.text ?? "").join(""), details: result.details ?? {}, isError }));
}

/** Returns whether a result says that a rule, the user, or the sandbox of a rule refused the call. */
export const isRefused = ({ isError, text }) => isError && /^(Denied\b|The user refused this call)|^\S+ cannot be (read|written) in the sandbox/.test(text);

/** Returns whether a call of bash ran: only then does the result have an exit code. */
export const hasRun = ({ details }) => details.exitCode !== undefined || details.jobId !== undefined;
