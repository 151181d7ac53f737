// Measures what a turn takes apart from its model and its tools: turns of a scripted model in a session of 2,000
// messages and in an empty one, and the difference.
//
// Needs the program: `npm run build -- --agent`, or its path in SINEW_BIN.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { median, sinew } from "../lib/program.mjs";

const TURNS = 60;
const ROUNDS = 9;
const MESSAGES = 2_000;

/** A session file of `count` messages: questions, calls with their results, answers. About 1.2 KB each. */
function session(path, cwd, count) {
  const timestamp = "2026-01-01T00:00:00.000Z";
  const lines = [{ type: "session", version: 3, id: `s${count}`, timestamp, cwd }];
  const usage = { input: 10, output: 10, cacheRead: 0, cacheWrite: 0, totalTokens: 20, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };
  const answer = (content, stopReason) => ({ role: "assistant", content, api: "scripted", provider: "scripted", model: "script", usage, stopReason, timestamp: 1 });
  const text = (at, words) => `${at} ${"so it goes on and on ".repeat(words)}`;
  for (let at = 0; at < count; at++) {
    const id = (at + 1).toString(16).padStart(8, "0");
    const message = [
      () => ({ role: "user", content: text(at, 10), timestamp: 1 }),
      () => answer([{ type: "text", text: text(at, 5) }, { type: "toolCall", id: `c${at}`, name: "read", arguments: { path: `src/${at}.rs`, offset: at } }], "toolUse"),
      () => ({ role: "toolResult", toolCallId: `c${at - 1}`, toolName: "read", content: [{ type: "text", text: text(at, 180) }], isError: false, timestamp: 1 }),
      () => answer([{ type: "text", text: text(at, 40) }], "stop"),
    ][at % 4]();
    lines.push({ type: "message", id, parentId: at === 0 ? null : at.toString(16).padStart(8, "0"), timestamp, message });
  }
  writeFileSync(path, `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`);
}

/** Milliseconds per turn of one run, from the end of its first turn to the end of its last. */
function turns(command, env, cwd) {
  return new Promise((resolve, reject) => {
    const child = spawn(command[0], command.slice(1), { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
    const ends = [];
    let errors = "";
    child.stderr.on("data", (data) => (errors += data));
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (line.startsWith('{"type":"turn_end"')) ends.push(process.hrtime.bigint());
    });
    child.on("close", (code) => {
      if (code !== 0) return reject(new Error(`${command.join(" ")}: ${errors}`));
      resolve(Number(ends.at(-1) - ends[0]) / 1e6 / (ends.length - 1));
    });
  });
}

export default async function (bench) {
  const own = sinew();
  if (!own) return;
  const folder = mkdtempSync(join(tmpdir(), "turns-bench-"));
  const cwd = join(folder, "project");
  mkdirSync(cwd);
  const env = { PATH: process.env.PATH, HOME: folder, SINEW_HOME: join(folder, "home") };
  const call = { type: "turn", content: [{ toolCall: { name: "ls", arguments: {} } }] };
  const lines = [{ type: "script", version: 1, contextWindow: 100_000_000 }, ...Array(TURNS).fill(call), { type: "turn", content: [{ text: "done" }] }];
  const script = join(folder, "script.jsonl");
  writeFileSync(script, lines.map((line) => JSON.stringify(line)).join("\n"));
  const times = { 0: [], [MESSAGES]: [] };
  for (let round = 0; round < ROUNDS; round++) {
    for (const count of [0, MESSAGES]) {
      const file = join(folder, `${count}-${round}.jsonl`);
      if (count) session(file, cwd, count);
      times[count].push(await turns([own, "--script", script, "--mode", "json", "--session", file, "go"], env, cwd));
      rmSync(file);
    }
  }
  const ms = (value) => `${value.toFixed(2)} ms`;
  const [empty, long] = [times[0], times[MESSAGES]];
  bench.fact("a turn in an empty session", `median ${ms(median(empty))}, least ${ms(Math.min(...empty))}`);
  bench.fact(`a turn behind ${MESSAGES} messages`, `median ${ms(median(long))}, least ${ms(Math.min(...long))}`);
  const more = [median(long) - median(empty), Math.min(...long) - Math.min(...empty)];
  bench.fact(`what ${MESSAGES} messages add to a turn`, `median ${ms(more[0])}, least ${ms(more[1])}`, "≤ 5 ms");
  rmSync(folder, { recursive: true, force: true });
}
