// Runs the agent with twenty servers that have a thousand tools, and measures what they add to a request and to memory,
// the work of an idle session, and the time of a search for tools.
//
// Needs the program: `npm run build -- --agent`, or its path in SINEW_BIN.
import { spawn } from "node:child_process";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as rest } from "node:timers/promises";
import { Client } from "../lib/mcp-client.mjs";
import { median, sinew } from "../lib/program.mjs";
import { home, serve } from "../lib/provider.mjs";
import { Session } from "../lib/session.mjs";

const ROUNDS = 11;
const SERVERS = 20;
const TOOLS = 50;
/** How long an idle session is watched. */
const REST_MS = 2000;

/** A server with a given number of tools, each with a realistic description. */
const SERVER = `
import { createInterface } from "node:readline";
const [name, count] = process.argv.slice(2);
const property = (of) => ({ type: "string", description: "The " + of + " that this tool needs, in words" });
const properties = Object.fromEntries(["owner", "project", "title", "body", "label"].map((of) => [of, property(of)]));
const description = "Does something that takes a few words to describe, as descriptions of tools do. ".repeat(5);
const tool = (at) => ({ name: "do_" + name + "_" + at, description, inputSchema: { type: "object", properties, required: ["owner", "project"] } });
const tools = Array.from({ length: Number(count) }, (_, at) => tool(at));
const answers = {
  initialize: (params) => ({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name, version: "1" } }),
  "tools/list": () => ({ tools }),
  "tools/call": () => ({ content: [{ type: "text", text: "done" }] }),
};
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const answer = answers[method] ? { result: answers[method](params) } : { error: { code: -32601, message: "unknown" } };
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...answer }) + "\\n");
});
`;

const since = (begun) => Number(process.hrtime.bigint() - begun) / 1e6;

export default async function (bench) {
  const program = sinew();
  if (!program) return;
  const { server, state, url } = await serve();
  const { folder, cwd, env } = home("fleet", url);
  const file = join(folder, "server.mjs");
  writeFileSync(file, SERVER);
  const command = (name, count) => ({ command: process.execPath, args: [file, name, String(count)] });
  const config = (name, servers) => {
    const path = join(folder, `${name}.json`);
    writeFileSync(path, JSON.stringify({ mcpServers: Object.fromEntries(servers) }));
    return ["--mcp-config", path];
  };
  const names = Array.from({ length: SERVERS }, (_, at) => `s${at}`);
  const fleet = config("fleet", names.map((name) => [name, command(name, TOOLS)]));
  const dead = config("dead", names.map((name, at) => [name, at < 5 ? { command: "sleep", args: ["1000"] } : command(name, TOOLS)]));
  const options = { env, cwd };
  const run = (args, onLine) => new Promise((resolve, reject) => {
    const child = spawn(program, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
    let errors = "";
    child.stderr.on("data", (data) => (errors += data));
    createInterface({ input: child.stdout }).on("line", (line) => onLine?.(line));
    child.once("close", (code) => (code ? reject(new Error(`${args.join(" ")} ended with ${code}: ${errors}`)) : resolve()));
  });
  try {
    await run(["mcp", "reload", ...fleet]);
    const session = new Session(program, ["--model", "local/m", ...fleet], options);
    await session.prompt("hi");
    const { mcpTokens: servers } = await session.ask("get_session_stats");
    const front = servers.search + servers.servers.reduce((sum, { front }) => sum + front, 0);
    const known = servers.servers.reduce((sum, { saved }) => sum + saved, 0);
    bench.fact(`${SERVERS} servers, ${SERVERS * TOOLS} tools of ${Math.round(known / 1000)},000 tokens: tokens in front of a request`, front, "≤ 400");
    if (existsSync("/proc/self/smaps_rollup")) {
      const without = new Session(program, ["--model", "local/m", "--no-mcp"], options);
      await without.prompt("hi");
      bench.fact("the same, in our memory, MB more than without servers", Number((session.memory() - without.memory()).toFixed(1)), "≤ 8");
      await without.end();
      // A server that is connected and sends nothing.
      await session.ask("mcp_call", { server: "s0", tool: "do_s0_0", arguments: { owner: "a", project: "b" } });
      await rest(REST_MS);
      const before = session.switches();
      await rest(REST_MS);
      const woken = [...session.switches()].reduce((sum, [task, count]) => sum + count - (before.get(task) ?? 0), 0);
      bench.fact(`a session at rest with a connected server: wake-ups in ${REST_MS / 1000} s`, woken, "0");
    }
    await session.end();

    const search = { type: "turn", content: [{ toolCall: { name: "tool_search", arguments: { query: "s7 owner project" } } }] };
    writeFileSync(join(cwd, "script.jsonl"), [...Array(ROUNDS).fill(search), { type: "turn", content: [{ text: "hi" }] }].map((turn) => `${JSON.stringify(turn)}\n`).join(""));
    const searches = [];
    let begun;
    await run(["-p", "--mode", "json", "--script", "script.jsonl", ...fleet, "go"], (line) => {
      if (line.includes('"tool_execution_start"')) begun = process.hrtime.bigint();
      if (line.includes('"tool_execution_end"')) searches.push(since(begun));
    });
    if (searches.length !== ROUNDS) throw new Error(`${searches.length} searches`);
    bench.fact("tool_search over them, from its start event to its end event, ms", Number(median(searches).toFixed(2)), "≤ 5");

    const cold = Array.from({ length: ROUNDS }, (_, at) => `cold${at}`);
    const calling = new Session(program, ["--model", "local/m", ...config("cold", cold.map((name) => [name, command(name, 1)]))], options);
    await calling.ask("get_state");
    const [ours, byHand] = [[], []];
    for (const name of cold) {
      const given = { owner: "a", project: "b" };
      begun = process.hrtime.bigint();
      await calling.ask("mcp_call", { server: name, tool: `do_${name}_0`, arguments: given });
      ours.push(since(begun));
      const entry = command(name, 1);
      begun = process.hrtime.bigint();
      const client = new Client(entry.command, entry.args, env);
      await client.greet();
      client.notify("notifications/initialized", {});
      await client.call(`do_${name}_0`, given);
      byHand.push(since(begun));
      await client.end();
    }
    await calling.end();
    bench.fact(`a server's start to the answer of its first call, ms more than by hand (${median(byHand).toFixed(0)} ms)`, Number((median(ours) - median(byHand)).toFixed(1)), "≤ 5");

    const firsts = new Map([["none", []], ["dead", []]]);
    for (let round = 0; round < ROUNDS; round++) {
      for (const [name, times] of firsts) {
        const begun = process.hrtime.bigint();
        let first;
        state.asked = () => (first ??= since(begun));
        await run(["-p", "--model", "local/m", "--no-session", ...(name === "none" ? ["--no-mcp"] : dead), "hi"]);
        times.push(first);
      }
    }
    bench.fact(`the first request with ${SERVERS} servers, five of them dead, ms later than with none`, Number((median(firsts.get("dead")) - median(firsts.get("none"))).toFixed(1)), "≤ 1");
  } finally {
    server.close();
    server.closeAllConnections();
    rmSync(folder, { recursive: true, force: true });
  }
}
