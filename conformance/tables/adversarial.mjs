// Input that kills, hangs or slows: each call in a process that may be killed. A case passes when the call settles within
// its budget, the process lives, and twice the input takes about twice the time. What comes out does not count.
import { execFile } from "node:child_process";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { isDevBuild } from "../../scripts/lib/natives.mjs";

const CALL = fileURLToPath(new URL("../adversarial-call.mjs", import.meta.url));
// After this much a call hangs.
const LIMIT_MS = 60_000;
// Half of the cores: the cases are timed.
const AT_ONCE = Math.max(1, cpus().length >> 1);

function call(item) {
  return new Promise((done) => {
    const child = execFile(process.execPath, [CALL, JSON.stringify(item)], { timeout: LIMIT_MS, killSignal: "SIGKILL" }, (error, out, err) => {
      if (child.signalCode) done({ fault: error.killed ? `hung for ${LIMIT_MS} ms` : `the process died by ${child.signalCode}` });
      else if (error) done({ fault: err.trim().split("\n").find((line) => /Error/.test(line)) ?? `the process ended with ${child.exitCode}` });
      else done(JSON.parse(out));
    });
  });
}

// Budgets are for what users get, on an idle machine. Code that is not optimised is a few times slower; what grows faster than its input is still
// far beyond that.
const SLOWER = isDevBuild() ? 5 : 1;

function judge({ budget_ms }, { fault, ms, whole, half }) {
  if (fault) return fault;
  const budget = budget_ms * SLOWER;
  if (ms > budget) return `took ${ms.toFixed(1)} ms, not ${budget}`;
  if (half !== undefined && whole > 2.6 * half + 5) return `took ${whole.toFixed(1)} ms of the processor for n and ${half.toFixed(1)} ms for half of it`;
  return undefined;
}

/** A row per case; of scripts one for each engine. All must pass, so all have tier A. */
export async function run(table) {
  const work = table.cases.flatMap((item, at) => {
    const id = `${at} ${item.fn}(${item.args_js.slice(0, 40)})`;
    if (item.fn !== "executeShell") return [{ id, item }];
    return ["bash", "brush"].map((engine) => ({ id: `${engine} ${id}`, item: { ...item, engine } }));
  });
  const rows = new Array(work.length);
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < work.length; index = next++) {
      const { id, item } = work[index];
      const answer = await call(item);
      const detail = judge(item, answer);
      rows[index] = { id, tier: "A", pass: detail === undefined, detail };
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return rows;
}
