// Measures the time and memory of opening session files of 50 MB to 1 GB, and of listing 10,000 sessions.
//
// Needs the program: `npm run build -- --agent`, or its path in SINEW_BIN.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { median, sinew } from "../lib/program.mjs";
import { MB, talk, turn, write } from "../lib/sessions.mjs";

const ROUNDS = 11;
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
