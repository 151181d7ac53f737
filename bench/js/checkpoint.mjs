// Measures checkpoints of a large tree against a hidden git repository, which other agents use, and `git stash create`.
//
// SINEW_BENCH_FILES sets the number of files (default: 20,000); the contract's numbers are for 80000,300000.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const SIZES = (process.env.SINEW_BENCH_FILES ?? "20000").split(",").map(Number);
const CHANGED = 100;

/** Text that compresses about as well as source code. It is the same in each run. */
function text(seed) {
  const lines = [];
  for (let at = 0; at < 20 + (seed % 400); at++) lines.push(`const value${(seed * 31 + at * 7) % 977} = call(${at}, ${seed % 113});`);
  return `${seed}\n${lines.join("\n")}\n`;
}

/** Milliseconds of one call. Each step is measured once, because a first checkpoint cannot be repeated. */
async function once(work) {
  const begun = process.hrtime.bigint();
  const result = await work();
  return { ms: Number(process.hrtime.bigint() - begun) / 1e6, result };
}

const shown = ({ ms }) => `${ms.toFixed(1)} ms`;

function sizeOf(folder) {
  return Number(execFileSync("du", ["-sk", folder], { encoding: "utf8" }).split("\t")[0]) / 1024;
}

export default async function (bench) {
  for (const files of SIZES) await measure(bench, files);
}

async function measure(bench, files) {
  const { Checkpoints } = bench.natives;
  const folder = mkdtempSync(join(tmpdir(), "sinew-bench-checkpoint-"));
  const project = join(folder, "project");
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
  const run = (args, more = {}) => execFileSync("git", ["-c", "user.name=N", "-c", "user.email=e@example.com", ...args], { cwd: project, env: { ...env, ...more }, encoding: "utf8", maxBuffer: 1 << 28 });
  try {
    for (let at = 0; at < files; at++) {
      const sub = join(project, `d${at % 200}`);
      if (at < 200) mkdirSync(sub, { recursive: true });
      writeFileSync(join(sub, `f${at}.ts`), text(at));
    }
    run(["init", "-q", "-b", "main"]);
    run(["add", "-A"]);
    run(["commit", "-qm", "one"]);
    run(["gc", "-q"]);
    const change = (round) => {
      for (let at = 0; at < CHANGED; at++) writeFileSync(join(project, `d${at}`, `f${at}.ts`), `${round} ${text(at)}`);
    };

    const shadow = { GIT_DIR: join(folder, "shadow"), GIT_WORK_TREE: project };
    const store = join(folder, "store");
    const hidden = () => {
      run(["add", "-A"], shadow);
      run(["commit", "-qm", "checkpoint", "--allow-empty"], shadow);
    };
    run(["init", "-q"], shadow);
    const checkpoints = await Checkpoints.open(project, { store });
    const title = `${files.toLocaleString("en")} files`;
    const rows = [];
    rows.push([`first checkpoint of ${title}`, await once(() => checkpoints.take()), await once(hidden), undefined]);
    rows.push([`${title}, nothing changed`, await once(() => checkpoints.take()), await once(hidden), await once(() => run(["stash", "create"]))]);
    const { result: before } = await once(() => checkpoints.take());
    change("first");
    const taken = await once(() => checkpoints.take());
    rows.push([`${title}, ${CHANGED} changed`, taken, await once(hidden), await once(() => run(["stash", "create"]))]);
    const undone = await once(() => checkpoints.restore(before.id, { spans: [[before.id, taken.result.id]] }));
    if (undone.result.done !== CHANGED) throw new Error(`${undone.result.done} of ${CHANGED} files were restored`);
    change("second");
    hidden();
    rows.push([`${title}, undo of ${CHANGED}`, undone, await once(() => run(["checkout", "-q", "HEAD~1", "--", "."], shadow)), undefined]);
    const opened = await once(() => Checkpoints.open(project, { store }));
    bench.fact(`${title}, open again`, `${shown(opened)} (target 20 ms)`);
    for (const [name, sinew, git, stash] of rows) {
      bench.fact(name, [`sinew ${shown(sinew)}`, `hidden repository ${shown(git)}`, stash && `git stash create ${shown(stash)}`].filter(Boolean).join(", "));
    }
    bench.fact(`${title}, size of the store`, `sinew ${sizeOf(store).toFixed(1)} MiB (git's packs are shared), hidden repository ${sizeOf(shadow.GIT_DIR).toFixed(1)} MiB`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
