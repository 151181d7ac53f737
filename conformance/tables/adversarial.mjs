// Input that may crash, hang or slow down a call. Each call runs in a process that may be killed. A case passes if the
// call settles within its budget, the process survives, and twice the input takes about twice the time. The result is
// ignored.
import { execFile } from "node:child_process";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { isDevBuild } from "../../scripts/lib/natives.mjs";
import { inParallel } from "../../scripts/lib/parallel.mjs";

const CALL = fileURLToPath(new URL("../adversarial-call.mjs", import.meta.url));
// A call that takes longer counts as hung.
const LIMIT_MS = 60_000;
// Uses half of the cores, because the cases are timed.
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

// The budgets are for release builds on an idle machine. Code that is not optimised is a few times slower, and a call
// whose time grows faster than its input still exceeds this by far.
const SLOWER = isDevBuild() ? 5 : 1;

function judge({ budget_ms }, { fault, ms, whole, half }) {
  if (fault) return fault;
  const budget = budget_ms * SLOWER;
  if (ms > budget) return `took ${ms.toFixed(1)} ms, not ${budget}`;
  if (half !== undefined && whole > 2.6 * half + 5) return `took ${whole.toFixed(1)} ms of the processor for n and ${half.toFixed(1)} ms for half of it`;
  return undefined;
}

/** Returns a row per case, and for scripts one per engine. All must pass, so all have tier A. */
export async function run(table) {
  const work = table.cases.flatMap((item, at) => {
    const id = `${at} ${item.fn}(${item.args_js.slice(0, 40)})`;
    if (item.fn !== "executeShell") return [{ id, item }];
    return ["bash", "brush"].map((engine) => ({ id: `${engine} ${id}`, item: { ...item, engine } }));
  });
  return inParallel(work, AT_ONCE, async ({ id, item }) => {
    const detail = judge(item, await call(item));
    return { id, tier: "A", pass: detail === undefined, detail };
  });
}
