// Starts a hundred children at once, again and again, and measures the memory that each needs while its answer arrives,
// how evenly they progress, and whether everything is given back.
//
// Needs the program: `npm run build -- --agent`, or its path in SINEW_BIN.
import { rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { setTimeout as rest } from "node:timers/promises";
import { median, sinew } from "../lib/program.mjs";
import { ENDING, chunk, home } from "../lib/provider.mjs";
import { Session } from "../lib/session.mjs";

const CHILDREN = 100;
const ROUNDS = 10;
/** The requests of a child before its long answer. */
const STEPS = 10;
/** The largest number of tasks in a call. */
const PER_CALL = 25;

const textOf = (content) => (typeof content === "string" ? content : (content ?? []).map(({ text }) => text ?? "").join("\n"));

/** The chunks of an answer that calls tools. */
function callTools(calls) {
  const tool_calls = calls.map(([name, args], index) => ({ index, id: `call_${name}_${index}_${Math.random().toString(36).slice(2)}`, type: "function", function: { name, arguments: JSON.stringify(args) } }));
  return chunk({ role: "assistant", tool_calls }, null) + chunk({}, "tool_calls") + ENDING;
}

/** A provider whose parent starts children, and whose children work in steps and then stream until `release` is called. */
async function serveFamily() {
  const state = { streams: new Set(), ready: [], steps: new Map(), least: undefined, onStreaming: undefined, round: 0 };
  const answerChild = (id, response) => {
    const steps = (state.steps.get(id) ?? 0) + 1;
    state.steps.set(id, steps);
    const step = () => response.end(callTools([["ls", { path: "." }]]));
    if (steps === 1) {
      // The children begin together. The others wait for the first piece of an answer, which fills the provider's cache.
      response.write(chunk({ role: "assistant", content: "" }, null));
      state.ready.push(step);
      if (state.ready.length === CHILDREN) state.ready.splice(0).forEach((begin) => begin());
      return;
    }
    if (steps <= STEPS) return step();
    // The first child is done with its steps: how far is the last one?
    state.least ??= Math.min(...state.steps.values());
    response.write(chunk({ role: "assistant", content: "I found " }, null));
    state.streams.add(response);
    if (state.streams.size === CHILDREN) state.onStreaming?.();
  };
  const answerParent = (messages, response) => {
    const last = messages.at(-1);
    if (last.role !== "user") return response.end(chunk({ role: "assistant", content: "done" }, null) + chunk({}, "stop") + ENDING);
    const tasks = Array.from({ length: CHILDREN }, (_, at) => ({ id: `r${state.round}-${at}`, assignment: `child r${state.round}-${at}:` }));
    const calls = Array.from({ length: CHILDREN / PER_CALL }, (_, at) => ["task", { agent: "task", tasks: tasks.slice(at * PER_CALL, (at + 1) * PER_CALL) }]);
    response.end(callTools(calls));
  };
  const server = createServer((request, response) => {
    const parts = [];
    request.on("data", (part) => parts.push(part)).on("end", () => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const { messages } = JSON.parse(Buffer.concat(parts).toString());
      const child = messages.map(({ role, content }) => role === "user" && /child (r\d+-\d+):/.exec(textOf(content))?.[1]).find(Boolean);
      if (child) answerChild(child, response);
      else answerParent(messages, response);
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, state, url: `http://127.0.0.1:${server.address().port}/v1` };
}

/** Ends the streams with the results of the children. */
function release(state) {
  for (const response of state.streams) response.end(callTools([["submit_result", { result: "done" }]]));
  state.streams.clear();
}

export default async function (bench) {
  const program = sinew();
  if (!program) return;
  const { server, state, url } = await serveFamily();
  const { folder, cwd, env } = home("agents", url);
  writeFileSync(join(folder, "sinew", "agent", "settings.json"), JSON.stringify({ task: { maxConcurrency: CHILDREN, maxTotal: CHILDREN * (ROUNDS + 1) } }));
  const session = new Session(program, ["--model", "local/m"], { cwd, env });
  const rounds = [];
  try {
    for (let round = 0; round <= ROUNDS; round++) {
      Object.assign(state, { round, least: undefined });
      state.steps.clear();
      const before = session.memory();
      const streaming = new Promise((resolve) => (state.onStreaming = resolve));
      const begun = process.hrtime.bigint();
      const settled = session.prompt("go");
      await streaming;
      const ms = Number(process.hrtime.bigint() - begun) / 1e6;
      const each = (session.memory() - before) / CHILDREN;
      release(state);
      await settled;
      await rest(500);
      rounds.push({ each, ms, least: state.least, after: { memory: session.memory(), ...session.counts() } });
    }
  } finally {
    session.child.kill();
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  }
  // The first round loads what later ones share.
  const [, ...measured] = rounds;
  const shown = (list, digits = 1) => median(list).toFixed(digits);
  bench.fact(`memory of a child of ${CHILDREN} while it streams`, `${shown(measured.map(({ each }) => each), 2)} MB`, "2 MB");
  bench.fact(`${CHILDREN} children, ${STEPS} requests each, until all stream`, `${shown(measured.map(({ ms }) => ms), 0)} ms`);
  bench.fact(`steps of the slowest child when the fastest has ${STEPS}`, shown(measured.map(({ least }) => least), 0), `${STEPS * 0.8}`);
  const [first, last] = [measured[0].after, measured.at(-1).after];
  // The conversation keeps the results of all children.
  bench.fact(`memory after round 1 and round ${ROUNDS}`, `${first.memory.toFixed(1)} MB, ${last.memory.toFixed(1)} MB`);
  for (const name of ["descriptors", "threads", "processes"]) bench.fact(`${name} after round 1 and round ${ROUNDS}`, `${first[name]}, ${last[name]}`, "no growth");
}
