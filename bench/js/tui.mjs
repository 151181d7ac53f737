// The interactive mode on a pseudo-terminal, beside pi and codex on the same server: start, keys, streaming, idling, memory,
// resize. codex speaks the Responses API, and has no session of others to go on with.
//
// Needs the program (`npm run build -- --agent`, or its path in SINEW_BIN) and python3, which holds the other end of the
// terminal. Idling is watched for SINEW_BENCH_IDLE seconds, 20 where it is not set; the target speaks of 60.
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { median, program, sinew } from "../lib/program.mjs";
import large from "./tui/large.mjs";

const DRIVER = fileURLToPath(new URL("../lib/terminal.py", import.meta.url));
const STARTS = 20;
const KEYS = 2_000;
/** The keys of others, which may be slow, and the milliseconds that one job may take. */
const OTHER_KEYS = 200;
const LIMIT = 240_000;
const TOKENS = 2_000;
const PER_SECOND = 500;
const MESSAGES = 5_000;
const IDLE = Number(process.env.SINEW_BENCH_IDLE ?? 20);

/** The two ways in which an answer is streamed: its beginning, a piece of text, its end. */
const CHAT = {
  begin: () => "",
  piece: (content) => chunk({ content }),
  end: () => `${chunk({}, "stop")}data: [DONE]\n\n`,
};
const RESPONSES = {
  begin: () => event("response.created", { response: { id: "r" } }) + event("response.output_item.added", { output_index: 0, item: message("in_progress", []) }),
  piece: (delta) => event("response.output_text.delta", { item_id: "m", output_index: 0, content_index: 0, delta }),
  end: (text) => {
    const item = message("completed", [{ type: "output_text", text, annotations: [] }]);
    const usage = { input_tokens: 10, output_tokens: 10, total_tokens: 20 };
    return event("response.output_item.done", { output_index: 0, item }) + event("response.completed", { response: { id: "r", status: "completed", output: [item], usage } });
  },
};
const chunk = (delta, finish_reason = null) => `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", model: "m", choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
const event = (type, more) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
const message = (status, content) => ({ id: "m", type: "message", role: "assistant", status, content });

/** Streams an answer of TOKENS words, PER_SECOND of them a second, to whoever asks for one. */
async function serve() {
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      const path = request.url.split("?")[0];
      const speech = path.endsWith("/chat/completions") ? CHAT : path.endsWith("/responses") ? RESPONSES : undefined;
      if (!speech) return response.writeHead(404).end("{}");
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(speech.begin());
      const begun = performance.now();
      let sent = 0;
      let text = "";
      const say = (piece) => {
        text += piece;
        response.write(speech.piece(piece));
      };
      const timer = setInterval(() => {
        const due = Math.min(TOKENS, Math.floor(((performance.now() - begun) * PER_SECOND) / 1000));
        for (; sent < due; sent++) say(sent % 200 === 199 ? `token${sent}.\n\n` : `token${sent} `);
        if (sent < TOKENS) return;
        clearInterval(timer);
        say("lasttoken");
        response.end(speech.end(text));
      }, 2);
      response.on("close", () => clearInterval(timer));
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, url: `http://127.0.0.1:${server.address().port}/v1` };
}

/** The settings of codex: this server and nobody else, and no question about the folder. */
const codexSettings = (url, cwd) => `
model = "m"
model_provider = "local"
check_for_update_on_startup = false
[model_providers.local]
name = "local"
base_url = "${url}"
wire_api = "responses"
[analytics]
enabled = false
[projects.${JSON.stringify(cwd)}]
trust_level = "trusted"
`;

/** A session of `count` messages with 20 lines each. */
function session(path, cwd, count) {
  const timestamp = "2026-01-01T00:00:00.000Z";
  const usage = { input: 10, output: 10, cacheRead: 0, cacheWrite: 0, totalTokens: 20, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };
  const text = (at) => Array.from({ length: 20 }, (_, line) => `${at}.${line}: so it goes on and on`).join("\n");
  const message = (at) =>
    at % 2 === 0
      ? { role: "user", content: text(at), timestamp: 1 }
      : { role: "assistant", content: [{ type: "text", text: text(at) }], api: "openai-completions", provider: "local", model: "m", usage, stopReason: "stop", timestamp: 1 };
  const id = (at) => at.toString(16).padStart(8, "0");
  const lines = [{ type: "session", version: 3, id: `s${count}`, timestamp, cwd }];
  for (let at = 0; at < count; at++) lines.push({ type: "message", id: id(at + 1), parentId: at === 0 ? null : id(at), timestamp, message: message(at) });
  writeFileSync(path, `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`);
}

/** Lets the driver do a job with an agent; undefined and the reason on the screen where it fails. */
function drive(agent, job, extra = []) {
  const whole = { cwd: agent.cwd, env: agent.env, shown: agent.shown, ...job, command: [...agent.command, ...extra] };
  return new Promise((resolve) => {
    execFile("python3", [DRIVER, JSON.stringify(whole)], { maxBuffer: 1 << 26, timeout: LIMIT }, (error, stdout) => {
      if (!error) return resolve(JSON.parse(stdout));
      console.log(`  ${agent.name}: ${job.job} did not run: ${error.message.trim().split("\n").at(-1)}`);
      resolve(undefined);
    });
  });
}

const at = (list, share) => [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * share))];
const ms = (value) => `${value.toFixed(2)} ms`;

export default async function (bench) {
  const own = sinew();
  if (!own) return;
  const folder = mkdtempSync(join(tmpdir(), "tui-bench-"));
  const cwd = join(folder, "project");
  mkdirSync(cwd);
  const { server, url } = await serve();
  const model = { id: "m", name: "m", reasoning: false, input: ["text"], contextWindow: 100_000_000, maxTokens: 8000, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } };
  const models = JSON.stringify({ providers: { local: { baseUrl: url, api: "openai-completions", apiKey: "none", models: [model] } } });
  for (const name of ["sinew/agent/models.json", "pi/models.json"]) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), models);
  }
  mkdirSync(join(folder, "codex"));
  writeFileSync(join(folder, "codex", "config.toml"), codexSettings(url, cwd));
  const common = { PATH: process.env.PATH, HOME: folder, TERM: "xterm-256color", LANG: "C.UTF-8" };
  const pi = program("@earendil-works/pi-coding-agent", "pi");
  const codex = program("@openai/codex", "codex");
  // Sends its other requests to a port where nothing answers.
  const alone = { HTTPS_PROXY: "http://127.0.0.1:1", HTTP_PROXY: "http://127.0.0.1:1", NO_PROXY: "127.0.0.1" };
  const node = program("node", "node") ?? process.execPath;
  const agents = [
    // The status row is repainted only where it changed, so its words may arrive in parts. The share of the context
    // arrives whole.
    { name: "sinew", cwd, env: { ...common, SINEW_HOME: join(folder, "sinew") }, command: [own, "--model", "local/m"], shown: " % " },
    pi && { name: "pi", cwd, env: { ...common, PI_CODING_AGENT_DIR: join(folder, "pi"), PI_OFFLINE: "1" }, command: [node, pi, "--provider", "local", "--model", "m"], shown: "(auto)" },
    codex && { name: "codex", cwd, env: { ...common, ...alone, CODEX_HOME: join(folder, "codex") }, command: [node, codex], shown: "shortcuts", isAlone: true },
  ].filter(Boolean);
  const target = (agent, text) => (agent.name === "sinew" ? text : undefined);

  const starts = Object.fromEntries(agents.map((agent) => [agent.name, []]));
  for (let round = 0; round < STARTS; round++) {
    for (const agent of agents) {
      const ran = await drive(agent, { job: "start" });
      if (ran?.first) starts[agent.name].push(ran);
    }
  }
  for (const agent of agents) {
    const ran = starts[agent.name];
    if (!ran.length) continue;
    const of = (key) => median(ran.map((run) => run[key]));
    bench.fact(`T1 first frame, first key, ${agent.name}`, `${ms(of("first"))}, ${ms(of("key"))}`, target(agent, "≤ 15 ms, ≤ 20 ms"));
  }
  for (const agent of agents) {
    const copy = join(folder, `${agent.name}.jsonl`);
    session(copy, cwd, MESSAGES);
    const resume = agent.isAlone ? [] : ["--session", copy];
    const keys = await drive(agent, { job: "typing", count: agent.name === "sinew" ? KEYS : OTHER_KEYS }, resume);
    if (keys) {
      bench.fact(`T2 key ${agent.isAlone ? "in an empty session" : "behind 100,000 lines"}, ${agent.name}`, `p50 ${ms(at(keys.times, 0.5))}, p99 ${ms(at(keys.times, 0.99))}`, target(agent, "≤ 1 ms, ≤ 4 ms"));
      bench.fact(`T4 bytes of a typed character, ${agent.name}`, `median ${median(keys.bytes)}, most ${Math.max(...keys.bytes)}`, target(agent, "1"));
    }
    const streamed = await drive(agent, { job: "stream", count: 300, last: "lasttoken" });
    if (streamed) {
      bench.fact(`T3 key while ${PER_SECOND} tokens/s stream, ${agent.name}`, `p99 ${ms(at(streamed.times, 0.99))}`, target(agent, "≤ 8 ms"));
      bench.fact(`T4 bytes per token, ${agent.name}`, (streamed.bytes / TOKENS).toFixed(1), target(agent, "≤ 40"));
      bench.fact(`T5 processor while they stream, ${agent.name}`, `${(streamed.cpu * 100).toFixed(1)} %`, target(agent, "≤ 8 %"));
    }
    const idle = await drive(agent, { job: "idle", seconds: IDLE });
    if (idle) {
      bench.fact(`T6 idle for ${IDLE} s, ${agent.name}`, `${idle.bytes} bytes, ${idle.switches} switches`, target(agent, "0, 0"));
      bench.fact(`T7 memory at the start, ${agent.name}`, `${idle.pss.toFixed(1)} MB`, target(agent, "≤ 12 MB"));
    }
    const full = agent.isAlone ? undefined : await drive(agent, { job: "idle", seconds: 1 }, resume);
    if (full) bench.fact(`T7 memory behind ${MESSAGES} messages, ${agent.name}`, `${full.pss.toFixed(1)} MB`, target(agent, "≤ 20 MB"));
    const resized = await drive(agent, { job: "resize", count: 11 });
    if (resized) bench.fact(`T10 new size to the last byte, ${agent.name}`, ms(median(resized.times)), target(agent, "≤ 60 ms"));
  }
  server.close();
  rmSync(folder, { recursive: true, force: true });
  await large(bench);
}
