// Measures isolated views of a large tree against `git worktree` and a copy of the directory.
//
// SINEW_BENCH_FILES sets the number of files (default: 20,000); the contract's number is 80000.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { median } from "../lib/program.mjs";

const FILES = Number(process.env.SINEW_BENCH_FILES ?? 20_000);
const CHANGED = 100;
const ROUNDS = 5;

/** Milliseconds of one call, and its result. */
async function timed(work) {
  const begun = process.hrtime.bigint();
  const result = await work();
  return { ms: Number(process.hrtime.bigint() - begun) / 1e6, result };
}

/** Text of about 2 kB, the same in each run. */
const text = (seed) => `${seed}\n${`const value${seed % 977} = call(${seed % 113});\n`.repeat(60)}`;

/** The names of the changed files. */
const NAMES = Array.from({ length: CHANGED }, (_, at) => join(`d${at}`, `f${at}.ts`));

function change(folder, round) {
  for (const [at, name] of NAMES.entries()) writeFileSync(join(folder, name), `${round} ${text(at)}`);
}

/** What a contender does: each function gets the number of the round. */
function contenders({ natives, folder, project, run }) {
  const isolated = (mode) => {
    let view;
    return {
      open: async () => {
        view = await natives.IsolatedView.open(project, { home: join(folder, "home"), mode });
        return view.path;
      },
      changes: async () => (await view.changes()).entries.length,
      apply: async () => (await view.apply()).files.length,
      discard: () => view.discard(),
    };
  };
  const worktree = join(folder, "worktree");
  const copy = join(folder, "copy");
  const patch = join(folder, "patch");
  const counted = (output) => output.split("\n").filter(Boolean).length;
  return {
    "view (worktree)": isolated("worktree"),
    "view (copy)": isolated("copy"),
    "git worktree": {
      open: () => {
        run(["worktree", "add", "-q", "--detach", worktree]);
        return worktree;
      },
      changes: () => counted(run(["-C", worktree, "status", "--porcelain"])),
      apply: () => {
        writeFileSync(patch, run(["-C", worktree, "diff", "--binary"]));
        run(["apply", patch]);
        return CHANGED;
      },
      discard: () => run(["worktree", "remove", "--force", worktree]),
    },
    "cp -a": {
      open: () => {
        execFileSync("cp", ["-a", "--reflink=auto", project, copy]);
        return copy;
      },
      changes: () => counted(run(["-C", copy, "status", "--porcelain"])),
      apply: () => {
        writeFileSync(patch, run(["-C", copy, "diff", "--binary"]));
        run(["apply", patch]);
        return CHANGED;
      },
      discard: () => rmSync(copy, { recursive: true }),
    },
  };
}

export default async function (bench) {
  const folder = mkdtempSync(join(tmpdir(), "sinew-bench-view-"));
  const project = join(folder, "project");
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
  const run = (args) => execFileSync("git", ["-c", "user.name=N", "-c", "user.email=e@example.com", ...args], { cwd: project, env, encoding: "utf8", maxBuffer: 1 << 28 });
  try {
    for (let at = 0; at < FILES; at++) {
      const sub = join(project, `d${at % 200}`);
      if (at < 200) mkdirSync(sub, { recursive: true });
      writeFileSync(join(sub, `f${at}.ts`), text(at));
    }
    run(["init", "-q", "-b", "main"]);
    run(["add", "-A"]);
    run(["commit", "-qm", "one"]);
    run(["gc", "-q"]);
    const all = contenders({ natives: bench.natives, folder, project, run });
    const times = {};
    // The contenders take turns, so that a busy machine slows all of them.
    for (let round = 0; round < ROUNDS; round++) {
      for (const [name, { open, changes, apply, discard }] of Object.entries(all)) {
        const note = (step, { ms }) => ((times[step] ??= {})[name] ??= []).push(ms);
        const opened = await timed(open);
        note("open", opened);
        change(opened.result, `${name} ${round}`);
        const changed = await timed(changes);
        note(`changes, ${CHANGED} files`, changed);
        const applied = await timed(apply);
        note(`merge back, ${CHANGED} files`, applied);
        note("discard", await timed(discard));
        if (changed.result !== CHANGED || applied.result !== CHANGED) throw new Error(`${name}: ${changed.result} changes, ${applied.result} applied`);
        // So that the next contender begins with the same tree.
        run(["checkout", "-q", "--", "."]);
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
