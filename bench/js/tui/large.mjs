// Measures the interactive mode with large sessions and with many of them: the first frame (T8), the panel of sessions
// (T9), the view of the conversation (T11).
//
// Needs what `tui` needs. Files of 600 MB are written and removed.
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { median, sinew } from "../../lib/program.mjs";
import { MB, turn, write } from "../../lib/sessions.mjs";

const DRIVER = fileURLToPath(new URL("../../lib/terminal.py", import.meta.url));
const ROUNDS = 5;
const ENTRIES = 100_000;
const SESSIONS = 2_700;
const ms = (value) => `${value.toFixed(1)} ms`;

export default async function (bench) {
  const own = sinew();
  if (!own) return;
  const folder = mkdtempSync(join(tmpdir(), "tui-large-"));
  try {
    await measure(bench, own, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measure(bench, own, folder) {
  const cwd = join(folder, "project");
  const home = join(folder, "home");
  mkdirSync(cwd);
  const script = join(folder, "script.jsonl");
  writeFileSync(script, `${JSON.stringify({ type: "script", contextWindow: 1_000_000_000 })}\n${JSON.stringify({ type: "turn", content: [{ text: "hi" }] })}\n`);
  const env = { PATH: process.env.PATH, HOME: folder, TERM: "xterm-256color", LANG: "C.UTF-8", SINEW_HOME: home, SINEW_NO_TITLE: "1" };
  const drive = (job, args) =>
    new Promise((resolve, reject) => {
      const whole = { cwd, env, shown: " % ", ...job, command: [own, "--script", script, ...args] };
      execFile("python3", [DRIVER, JSON.stringify(whole)], { maxBuffer: 1 << 28, timeout: 240_000 }, (error, stdout) => (error ? reject(error) : resolve(JSON.parse(stdout))));
    });
  const repeat = async (job, args) => {
    const ran = [];
    for (let round = 0; round < ROUNDS; round++) ran.push(await drive(job, args));
    return ran;
  };
  const middle = (ran, of) => median(ran.map(of));

  const file = join(folder, "large.jsonl");
  write(file, cwd, 500 * MB, (at) => turn(at, 19_000), true);
  // The end of the file is painted first. The share of the context follows when the whole file has been read.
  const first = await repeat({ job: "start", shown: "Question" }, ["--session", file]);
  bench.fact("T8 500 MB: first frame, memory then", `${ms(middle(first, (run) => run.first))}, ${middle(first, (run) => run.pss).toFixed(1)} MB`, "≤ 150 ms, ≤ 60 MB");
  rmSync(file);

  const count = write(file, cwd, ENTRIES * 1_000, (at) => turn(at, 3_200), false);
  // A row is repainted only where it changed, so texts may arrive in parts. A step therefore ends with its last byte.
  const steps = ["\x0f", "/question 0: what", "\r", "\x1b[F", "/stands nowhere", "\r"];
  const viewed = await repeat({ job: "steps", steps }, ["--session", file]);
  const at = (step) => ms(middle(viewed, (run) => run.times[step]));
  bench.fact(`T11 view of ${count.toLocaleString("en")} entries, 100 MB: opened`, at(0), "≤ 50 ms");
  bench.fact("T11 search from the end: a hit in the first entry, none at all", `${at(2)}, ${at(5)}`, "≤ 300 ms");
  rmSync(file);

  const sessions = join(home, "agent", "sessions", `--${cwd.replace(/^\//, "").replaceAll("/", "-")}--`);
  mkdirSync(sessions, { recursive: true });
  for (let at = 0; at < SESSIONS; at++) {
    const name = at.toString(16).padStart(16, "0");
    const entries = [0, 4, 8].flatMap((n) => turn(n, 2_000));
    const header = { type: "session", version: 3, id: name, timestamp: "2026-01-01T00:00:00.000Z", cwd };
    writeFileSync(join(sessions, `2026-01-01T00-00-00-000Z_${name}.jsonl`), [header, ...entries].map((line) => `${JSON.stringify(line)}\n`).join(""));
  }
  const panel = await repeat({ job: "steps", steps: ["/resume\r", "q", "\x1b", "/resume\r"] }, []);
  const time = (step) => ms(middle(panel, (run) => run.times[step]));
  bench.fact(`T9 panel of ${SESSIONS.toLocaleString("en")} sessions: first, again, a key in it`, `${time(0)}, ${time(3)}, ${time(1)}`, "≤ 100 ms, ≤ 20 ms, ≤ 8 ms");
}
