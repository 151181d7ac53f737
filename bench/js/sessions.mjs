// Sessions: opening files of 50 MB to 1 GB, in time and in memory, and listing 10,000.
//
// Needs the program: `npm run build -- --agent`, or its path in SINEW_BIN.
import { spawnSync } from "node:child_process";
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, rmSync, statSync, truncateSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { median, sinew } from "../lib/program.mjs";

const ROUNDS = 11;
const MB = 1024 * 1024;

const time = (at) => new Date(1_769_851_800_000 + at * 1000).toISOString();
const id = (at) => at.toString(16).padStart(8, "0");
const source = "    let total = items.iter().map(|item| item.price * item.count).sum::<u64>(); // \"quoted\"\n";

/** The entries of one turn: a question, a call, its output, an answer; about `bytes` of output. */
function turn(at, bytes) {
  const parent = (n) => (n === 0 ? null : id(n - 1));
  const answer = { role: "assistant", provider: "scripted", model: "script", api: "scripted", stopReason: "stop", timestamp: 1,
    usage: { input: 10, output: 10, cacheRead: 0, cacheWrite: 0, totalTokens: 20, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } } };
  const messages = [
    { role: "user", content: `Question ${at}: what does this function do, and why is it slow?`, timestamp: 1 },
    { ...answer, stopReason: "toolUse", content: [{ type: "toolCall", id: `call_${at}`, name: "read", arguments: { path: "src/main.rs" } }] },
    { role: "toolResult", toolCallId: `call_${at}`, toolName: "read", content: [{ type: "text", text: source.repeat(Math.ceil(bytes / source.length)) }], isError: false, timestamp: 1 },
    { ...answer, content: [{ type: "text", text: "It adds up the prices. ".repeat(20) }] },
  ];
  return messages.map((message, n) => ({ type: "message", id: id(at + n), parentId: parent(at + n), timestamp: time(at + n), message }));
}

/** A question and an answer of 250 bytes each: as many messages as a file of its size can have. */
function talk(at) {
  const [question, , , answer] = turn(at, 0);
  const messages = [{ ...question.message, content: [{ type: "text", text: `${question.message.content} `.repeat(4) }] }, answer.message];
  return messages.map((message, n) => ({ type: "message", id: id(at + n), parentId: at + n === 0 ? null : id(at + n - 1), timestamp: time(at + n), message }));
}

/** Writes a session of `size` bytes, made of what `next` gives; with `compacted` only its last 50 entries are live. */
function write(path, cwd, size, next, compacted) {
  const file = openSync(path, "w");
  let lines = [];
  let held = 0;
  const flush = () => {
    writeSync(file, lines.join(""));
    [lines, held] = [[], 0];
  };
  const put = (value) => {
    const line = `${JSON.stringify(value)}\n`;
    lines.push(line);
    held += line.length;
    if (held > 4 * MB) flush();
    return line.length;
  };
  let bytes = put({ type: "session", version: 3, id: "00000000000000aa", timestamp: time(0), cwd });
  let at = 0;
  const add = (entries) => {
    for (const entry of entries) bytes += put(entry);
    at += entries.length;
  };
  while (bytes < size) add(next(at));
  if (compacted) {
    const kept = id(at - 40);
    put({ type: "compaction", id: id(at), parentId: id(at - 1), timestamp: time(at), summary: "What was done.", firstKeptEntryId: kept, tokensBefore: 100_000 });
    at += 1;
    add(next(at));
  }
  flush();
  closeSync(file);
  return at;
}

function run(command, options) {
  const timed = existsSync("/usr/bin/time") ? ["/usr/bin/time", "-f", "peak %M", ...command] : command;
  const begun = process.hrtime.bigint();
  const ran = spawnSync(timed[0], timed.slice(1), { ...options, encoding: "utf8", input: "" });
  const ms = Number(process.hrtime.bigint() - begun) / 1e6;
  if (ran.status !== 0) throw new Error(`${command.join(" ")}: ${ran.status}: ${ran.stderr}`);
  return { ms, peak: Number(/peak (\d+)/.exec(ran.stderr)?.[1] ?? 0) / 1024, out: ran.stdout };
}

export default async function (bench) {
  const own = sinew();
  if (!own) return;
  const folder = mkdtempSync(join(tmpdir(), "session-bench-"));
  const cwd = join(folder, "project");
  mkdirSync(cwd);
  const env = { PATH: process.env.PATH, HOME: folder, SINEW_HOME: join(folder, "home"), SINEW_NO_TITLE: "1" };
  const options = { cwd, env };
  const script = join(folder, "script.jsonl");
  writeFileSync(script, `${JSON.stringify({ type: "script", contextWindow: 1_000_000_000 })}\n${JSON.stringify({ type: "turn", content: [{ text: "hi" }] })}\n`);
  const file = join(folder, "large.jsonl");
  const measure = (command, after = () => {}) => {
    const ran = [];
    for (let round = 0; round < ROUNDS; round++) {
      ran.push(run([own, ...command], options));
      after();
    }
    return { ms: median(ran.map((one) => one.ms)), peak: median(ran.map((one) => one.peak)), out: ran[0].out };
  };
  const shown = ({ ms, peak }) => `${ms.toFixed(1)} ms, ${peak.toFixed(1)} MB`;
  const none = measure(["--script", script, "-p", "--no-session", "hi"]);
  bench.fact("one scripted turn without a session", shown(none));
  const turns = (bytes) => (at) => turn(at, bytes);
  for (const [title, size, next, compacted, target] of [
    ["50 MB, summed up", 50 * MB, turns(4_000), true, "≤ 300 ms"],
    ["50 MB, live as a whole", 50 * MB, turns(4_000), false, "≤ 300 ms"],
    ["50 MB, short messages, live as a whole", 50 * MB, talk, false, "≤ 300 ms"],
    ["500 MB, summed up", 500 * MB, turns(19_000), true, "≤ 150 ms, ≤ 60 MB"],
    ["1 GB, summed up", 1024 * MB, turns(19_000), true, "≤ 60 MB"],
  ]) {
    const entries = write(file, cwd, size, next, compacted);
    const { size: before } = statSync(file);
    const opened = measure(["--script", script, "-p", "--session", file, "hi"], () => truncateSync(file, before));
    bench.fact(`one turn on a session of ${title} (${entries.toLocaleString("en")} entries)`, shown(opened), target);
    rmSync(file);
  }
  const sessions = join(env.SINEW_HOME, "agent", "sessions", `--${cwd.replace(/^\//, "").replaceAll("/", "-")}--`);
  mkdirSync(sessions, { recursive: true });
  const entries = [0, 4, 8, 12].flatMap((at) => turn(at, 2_000)).map((entry) => `${JSON.stringify(entry)}\n`).join("");
  for (let at = 0; at < 10_000; at++) {
    const name = at.toString(16).padStart(16, "0");
    const header = JSON.stringify({ type: "session", version: 3, id: name, timestamp: time(at), cwd });
    writeFileSync(join(sessions, `${time(at).replaceAll(/[:.]/g, "-")}_${name}.jsonl`), `${header}\n${entries}`);
  }
  const listed = measure(["sessions", "list"]);
  if (listed.out.split("\n").length !== 10_001) throw new Error("not every session is listed");
  bench.fact("list of 10,000 sessions", shown(listed), "≤ 500 ms");
  rmSync(folder, { recursive: true, force: true });
}
