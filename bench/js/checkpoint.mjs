// Measures checkpoints of a large tree against a hidden git repository, which other agents use, and `git stash create`.
//
// SINEW_BENCH_FILES sets the number of files (default: 20,000); the contract's numbers are for 80000,300000.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { changeFiles, createRepository, timed } from "../lib/repository.mjs";

const SIZES = (process.env.SINEW_BENCH_FILES ?? "20000").split(",").map(Number);
const CHANGED = 100;

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
  try {
    const run = createRepository(project, files);
    const change = (round) => changeFiles(project, CHANGED, round);

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
    rows.push([`first checkpoint of ${title}`, await timed(() => checkpoints.take()), await timed(hidden), undefined]);
    rows.push([`${title}, nothing changed`, await timed(() => checkpoints.take()), await timed(hidden), await timed(() => run(["stash", "create"]))]);
    const { result: before } = await timed(() => checkpoints.take());
    change("first");
    const taken = await timed(() => checkpoints.take());
    rows.push([`${title}, ${CHANGED} changed`, taken, await timed(hidden), await timed(() => run(["stash", "create"]))]);
    const undone = await timed(() => checkpoints.restore(before.id, { spans: [[before.id, taken.result.id]] }));
    if (undone.result.done !== CHANGED) throw new Error(`${undone.result.done} of ${CHANGED} files were restored`);
    change("second");
    hidden();
    rows.push([`${title}, undo of ${CHANGED}`, undone, await timed(() => run(["checkout", "-q", "HEAD~1", "--", "."], shadow)), undefined]);
    const opened = await timed(() => Checkpoints.open(project, { store }));
    bench.fact(`${title}, open again`, `${shown(opened)} (target 20 ms)`);
    for (const [name, sinew, git, stash] of rows) {
      bench.fact(name, [`sinew ${shown(sinew)}`, `hidden repository ${shown(git)}`, stash && `git stash create ${shown(stash)}`].filter(Boolean).join(", "));
    }
    bench.fact(`${title}, size of the store`, `sinew ${sizeOf(store).toFixed(1)} MiB (git's packs are shared), hidden repository ${sizeOf(shadow.GIT_DIR).toFixed(1)} MiB`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
