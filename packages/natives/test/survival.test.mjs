// Tests that nothing is left of shells and terminals whose host dies, whose worker is stopped, or that are aborted in
// large numbers.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { MUSL, PACKAGE, run, runtimes } from "./host.mjs";

const require = createRequire(import.meta.url);
const { PtySession, executeShell, listDescendants } = require("..");

const linux = { skip: process.platform !== "linux" && "reads /proc" };

/** How long anything may take before the test fails; the machine may be busy. */
const LIMIT_MS = 120_000;
/** The number of process trees that are aborted, and how many at once. */
const TREES = 500;
const AT_ONCE = 20;
/** The number of workers that are stopped. */
const WORKERS = 10;

/** Waits until `value()` is neither undefined nor false. */
async function until(what, value) {
  const limit = performance.now() + LIMIT_MS;
  for (;;) {
    const found = value();
    if (found !== undefined && found !== false) return found;
    assert.ok(performance.now() < limit, `${typeof what === "function" ? what() : what} within ${LIMIT_MS} ms`);
    await sleep(10);
  }
}

/** A running process as `{ pid, born, command }`; undefined if it has ended, even if nobody has waited for it yet. */
function processAt(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (fields[0] === "Z" || fields[0] === "X") return undefined;
    return { pid, born: fields[19], command: readFileSync(`/proc/${pid}/cmdline`, "latin1").replaceAll("\0", " ").trim() };
  } catch {
    return undefined;
  }
}

const below = (pid) => listDescendants(pid).map(processAt).filter(Boolean);
const here = () => below(process.pid);
const sleepers = (list) => list.filter(({ command }) => command === "sleep 1000");
const living = (list) => list.filter(({ pid, born }) => processAt(pid)?.born === born);

/** The resources that this process holds. */
function facts() {
  const count = (folder) => readdirSync(`/proc/self/${folder}`).length;
  return { processes: here().length, threads: count("task"), descriptors: count("fd") };
}

/** Waits until this process holds no more than `before`. */
function nothingMore(before) {
  return until(() => `${JSON.stringify(facts())} becomes ${JSON.stringify(before)}`, () => {
    const now = facts();
    return Object.keys(before).every((name) => now[name] <= before[name]);
  });
}

// All at once: a process that ignores signals, one in a separate session, and grandchildren of it.
const STUBBORN = "trap '' TERM HUP INT; sleep 1000 & setsid sleep 1000 & setsid sh -c 'sleep 1000 & wait' & echo up; wait";
const PER_TREE = 3;
const STARTS = `
  const { PtySession, Shell, executeShell } = require(${JSON.stringify(PACKAGE)});
  const command = ${JSON.stringify(STUBBORN)};
  const runs = [
    new Shell({ engine: "bash" }).run({ command }),
    new Shell({ engine: "brush" }).run({ command }),
    executeShell({ command }),
    new PtySession().start({ command }),
  ];
`;
const KINDS = 4;

const ENDS = {
  "returns from process.exit": "process.exit(0)",
  "exits inside a callback of a shell": "executeShell({ command: 'echo now' }, () => process.exit(1))",
  "throws": "throw new Error('on purpose')",
  "leaves a rejection unhandled": "void Promise.reject(new Error('on purpose'))",
  "calls abort": "process.abort()",
  "gets SIGTERM": "process.kill(process.pid, 'SIGTERM')",
  "gets SIGKILL": "process.kill(process.pid, 'SIGKILL')",
};

for (const [how, end] of Object.entries(ENDS)) {
  test(`no process is left of a host that ${how}`, linux, async (t) => {
    const program = `${STARTS} process.stdin.once("data", () => { ${end} }); void runs;`;
    // abort would leave a core file.
    const host = spawn("sh", ["-c", 'ulimit -c 0; exec "$0" -e "$1"', process.execPath, program], { stdio: ["pipe", "ignore", "ignore"] });
    t.after(() => host.kill("SIGKILL"));
    const over = new Promise((done) => host.once("exit", done));
    let all = [];
    await until(() => `${KINDS * PER_TREE} sleepers run, of ${all.length} processes`, () => {
      all = below(host.pid);
      return sleepers(all).length === KINDS * PER_TREE;
    });
    host.stdin.write("now");
    await over;
    const begun = performance.now();
    await until(() => `over are ${JSON.stringify(living(all))}`, () => living(all).length === 0);
    t.diagnostic(`${all.length} processes over after ${(performance.now() - begun).toFixed(0)} ms`);
  });
}

test("nothing is left of shells and terminals in workers that are stopped", linux, async (t) => {
  const round = async () => {
    const workers = Array.from({ length: WORKERS }, () => new Worker(STARTS, { eval: true }));
    await until("all sleepers run", () => sleepers(here()).length === WORKERS * KINDS * PER_TREE);
    const all = sleepers(here());
    await Promise.all(workers.map((worker) => worker.terminate()));
    const begun = performance.now();
    await until(() => `over are ${living(all).length} of ${all.length}`, () => living(all).length === 0);
    return performance.now() - begun;
  };
  await executeShell({ command: "true" });
  await round();
  const before = facts();
  const took = await round();
  await nothingMore(before);
  t.diagnostic(`${WORKERS} workers, ${WORKERS * KINDS * PER_TREE} sleepers over after ${took.toFixed(0)} ms`);
});

for (const runtime of ["node", "deno"]) {
  const skip = linux.skip || (runtime === "deno" && MUSL && "npm has no Deno for musl");
  test(`nothing is left of calls in threads that are ended, under ${runtime}`, { skip }, async () => {
    const program = join(PACKAGE, "test", "ended-threads.mjs");
    const [file, ...args] = runtime === "node" ? [process.execPath] : [runtimes().deno, "run", "--allow-all", "--no-lock"];
    const { code, signal, out, err } = await run(file, [...args, program]);
    assert.deepEqual([code, signal, out], [0, null, "ended-threads: done\n"], err);
  });
}

// Five processes, three of them in separate sessions.
const TREE = "sleep 1000 & setsid sleep 1000 & setsid sleep 1000 & setsid sh -c 'sleep 1000 & wait' & echo up; wait";

/** Starts a tree, stops it once it runs (every third immediately), and returns the result. */
async function aborted(number) {
  const controller = new AbortController();
  const options = { command: TREE, signal: controller.signal };
  const stop = (chunk) => chunk.includes("up") && controller.abort();
  const running =
    number % 5 === 4 ? new PtySession().start(options, stop) : executeShell({ ...options, engine: number % 5 === 3 ? "brush" : "bash" }, stop);
  if (number % 3 === 0) controller.abort();
  return running;
}

test(`nothing is left of ${TREES} aborted trees of five processes`, linux, async (t) => {
  const abortAll = async (count) => {
    let next = 0;
    const one = async () => {
      for (let number = next++; number < count; number = next++) assert.equal((await aborted(number)).cancelled, true);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, one));
  };
  await abortAll(2 * AT_ONCE);
  const before = facts();
  const begun = performance.now();
  await abortAll(TREES);
  t.diagnostic(`${TREES} trees in ${(performance.now() - begun).toFixed(0)} ms`);
  await nothingMore(before);
  t.diagnostic(JSON.stringify({ before, after: facts() }));
});
