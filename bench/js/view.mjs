// Measures isolated views of a large tree against `git worktree` and a copy of the directory.
//
// SINEW_BENCH_FILES sets the number of files (default: 20,000); the contract's number is 80000.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { median } from "../lib/program.mjs";
import { changeFiles, createRepository, timed } from "../lib/repository.mjs";

const FILES = Number(process.env.SINEW_BENCH_FILES ?? 20_000);
const CHANGED = 100;
const ROUNDS = 5;

/** A view of ours. Each function is one step, in this order. */
function isolated({ IsolatedView }, project, home, mode) {
  let view;
  return {
    open: async () => {
      view = await IsolatedView.open(project, { home, mode });
      return view.path;
    },
    changes: async () => (await view.changes()).entries.length,
    apply: async () => (await view.apply()).files.length,
    discard: () => view.discard(),
  };
}

/** The same steps with git, in the directory that `open` makes and `discard` removes. */
function byHand(git, directory, open, discard) {
  return {
    open: () => {
      open();
      return directory;
    },
    changes: () => git(["-C", directory, "status", "--porcelain"]).split("\n").filter(Boolean).length,
    apply: () => {
      const patch = `${directory}.patch`;
      writeFileSync(patch, git(["-C", directory, "diff", "--binary"]));
      git(["apply", patch]);
      return CHANGED;
    },
    discard,
  };
}

export default async function (bench) {
  const folder = mkdtempSync(join(tmpdir(), "sinew-bench-view-"));
  const project = join(folder, "project");
  const [home, worktree, copy] = ["home", "worktree", "copy"].map((name) => join(folder, name));
  try {
    const git = createRepository(project, FILES);
    const all = {
      "view (worktree)": isolated(bench.natives, project, home, "worktree"),
      "view (copy)": isolated(bench.natives, project, home, "copy"),
      "git worktree": byHand(git, worktree, () => git(["worktree", "add", "-q", "--detach", worktree]), () => git(["worktree", "remove", "--force", worktree])),
      "cp -a": byHand(git, copy, () => execFileSync("cp", ["-a", "--reflink=auto", project, copy]), () => rmSync(copy, { recursive: true })),
    };
    const times = {};
    // The contenders take turns, so that a busy machine slows all of them.
    for (let round = 0; round < ROUNDS; round++) {
      for (const [name, { open, changes, apply, discard }] of Object.entries(all)) {
        const note = (step, { ms }) => ((times[step] ??= {})[name] ??= []).push(ms);
        const opened = await timed(open);
        note("open", opened);
        changeFiles(opened.result, CHANGED, `${name} ${round}`);
        const changed = await timed(changes);
        note(`changes, ${CHANGED} files`, changed);
        const applied = await timed(apply);
        note(`merge back, ${CHANGED} files`, applied);
        note("discard", await timed(discard));
        if (changed.result !== CHANGED || applied.result !== CHANGED) throw new Error(`${name}: ${changed.result} changes, ${applied.result} applied`);
        // So that the next contender begins with the same tree.
        git(["checkout", "-q", "--", "."]);
      }
    }
    for (const [step, rows] of Object.entries(times)) {
      const shown = Object.entries(rows).map(([name, list]) => `${name} ${median(list).toFixed(1)} ms`);
      bench.fact(`${FILES.toLocaleString("en")} files, ${step}`, shown.join(", "));
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
