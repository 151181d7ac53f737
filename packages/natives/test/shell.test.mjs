import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";

const require = createRequire(import.meta.url);
const { Shell, executeShell, listDescendants } = require("..");

const linux = { skip: process.platform !== "linux" && "Linux only" };

async function once(options) {
  let output = "";
  const result = await executeShell(options, (chunk) => (output += chunk));
  return { ...result, output };
}

async function run(shell, options) {
  let output = "";
  const result = await shell.run(options, (chunk) => (output += chunk));
  return { ...result, output };
}

/** The command line of a process; empty for one that is gone. */
function commandLine(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

/** Resolves when the output has `word`. */
function until(word) {
  let text = "";
  let found;
  const seen = new Promise((resolve) => (found = resolve));
  return { seen, onChunk: (chunk) => (text += chunk).includes(word) && found(text) };
}

test("a command runs with its directory, variables and input, and tells its exit code", linux, async () => {
  const result = await once({ command: "pwd; echo $A; cat; exit 3", cwd: "/usr", env: { A: "x y" }, stdin: "input" });
  assert.deepEqual(result, { exitCode: 3, cancelled: false, timedOut: false, output: "/usr\nx y\ninput" });
  const bytes = await once({ command: "od -An -tx1", stdin: new Uint8Array([0, 255]), cwd: null });
  assert.equal(bytes.output.trim(), "00 ff");
});

test("the environment is that of this process, or the one that was given", linux, async () => {
  process.env.SINEW_SHELL_TEST = "here";
  assert.equal((await once({ command: "echo $SINEW_SHELL_TEST" })).output, "here\n");
  delete process.env.SINEW_SHELL_TEST;
  const given = await once({ command: "env | grep -v -e ^PWD= -e ^SHLVL= -e ^_=", sessionEnv: { PATH: process.env.PATH, ONLY: "1" } });
  assert.equal(given.output.split("\n").filter((line) => !line.startsWith("PATH=")).join("\n"), "ONLY=1\n");
});

test("a shell keeps its state, and runs come in the order of asking", linux, async () => {
  for (const engine of ["bash", "brush"]) {
    const shell = new Shell({ engine });
    assert.equal(shell.engine, engine);
    const runs = [{ command: "X=1; cd /usr; false" }, { command: "echo $? $X; X=2" }, { command: "echo $X; pwd" }];
    const results = await Promise.all(runs.map((options) => run(shell, options)));
    assert.deepEqual(results.map((result) => [result.exitCode, result.output]), [[1, ""], [0, "1 1\n"], [0, "2\n/usr\n"]]);
    assert.equal(results[2].workingDir, "/usr");
    const ended = await run(shell, { command: "exit 4" });
    assert.deepEqual([ended.exitCode, ended.stateLost, typeof ended.stateLostReason], [4, true, "string"]);
    await shell.close();
    await assert.rejects(shell.run({ command: "true" }), { code: "ERR_INVALID_STATE" });
  }
});

test("abort, a signal and a timeout resolve, and the shell goes on", linux, async () => {
  const shell = new Shell();
  await shell.abort();
  await shell.run({ command: "X=5" });
  const first = until("up");
  const running = shell.run({ command: "sleep 1000 & echo up; sleep 1000" }, first.onChunk);
  await first.seen;
  await shell.abort();
  assert.deepEqual((({ exitCode, cancelled, timedOut }) => ({ exitCode, cancelled, timedOut }))(await running), { exitCode: undefined, cancelled: true, timedOut: false });
  const controller = new AbortController();
  const second = until("up");
  const aborted = shell.run({ command: "echo up; while :; do :; done", signal: controller.signal }, second.onChunk);
  await second.seen;
  controller.abort();
  assert.equal((await aborted).cancelled, true);
  assert.equal((await shell.run({ command: "sleep 1000", timeoutMs: 20 })).timedOut, true);
  assert.equal((await run(shell, { command: "echo $X" })).output, "5\n");
  assert.equal((await shell.run({ command: "echo never", signal: AbortSignal.abort() })).cancelled, true);
  assert.deepEqual(await shell.jobs(), []);
  await shell.close();
});

test("abort reaches a run that was asked for just now", linux, async () => {
  const shell = new Shell();
  const running = shell.run({ command: "sleep 1000" });
  await shell.abort();
  assert.equal((await running).cancelled, true);
  await shell.close();
});

test("a background job outlives its run and is listed", linux, async () => {
  const shell = new Shell();
  assert.equal((await run(shell, { command: "sleep 1000 & echo here" })).output, "here\n");
  // A process that has just begun has the command line of the shell for a moment.
  let commands = [];
  while (commands.join() !== "sleep 1000") {
    commands = (await shell.jobs()).map((job) => job.command);
    assert.equal(commands.length, 1);
  }
  await shell.close();
  assert.deepEqual(listDescendants(process.pid).filter((pid) => commandLine(pid).includes("1000")), []);
});

test("a callback that throws ends the command and rejects with what it threw", linux, async () => {
  const thrown = new Error("mine");
  const fail = () => {
    throw thrown;
  };
  await assert.rejects(executeShell({ command: "yes" }, fail), (error) => error === thrown);
  const shell = new Shell();
  await assert.rejects(shell.run({ command: "yes" }, fail), (error) => error === thrown);
  assert.equal((await run(shell, { command: "echo on" })).output, "on\n");
  await shell.close();
});

test("wrong options are named", linux, async () => {
  await assert.rejects(executeShell({ command: 5 }), { name: "TypeError", message: /executeShell: command must be a string/ });
  await assert.rejects(executeShell({ command: "true", stdin: 5 }), { name: "TypeError", message: /stdin/ });
  await assert.rejects(executeShell({ command: "true", timeoutMs: -1 }), { name: "RangeError" });
  await assert.rejects(executeShell({ command: "true", cwd: "/no/such/dir" }), { message: /^Failed to set cwd: / });
  await assert.rejects(executeShell({ command: "true", env: { "a-b": "1" } }), { message: /bad variable name/ });
  await assert.rejects(executeShell({ command: "true", snapshotPath: "/no/such" }), { message: /^Failed to initialize shell/ });
  assert.throws(() => new Shell({ engine: "zsh" }), { name: "TypeError", message: /engine/ });
});

test("scripts that kill interpreters leave this process alone", linux, async () => {
  const umask = process.umask();
  for (const command of ["kill -9 $$", "kill -9 $PPID; sleep 1000", "f() { f; }; f", "umask 0; ulimit -n 20"]) {
    for (const engine of ["bash", "brush"]) await executeShell({ command, engine, timeoutMs: 30_000 });
  }
  assert.equal(process.umask(), umask);
  assert.equal((await once({ command: "kill -9 $$" })).signal, "SIGKILL");
});

test("nothing is left of many runs", linux, async () => {
  const count = () => [readdirSync("/proc/self/fd").length, listDescendants(process.pid).length];
  await executeShell({ command: "true" });
  const before = count();
  await Promise.all(Array.from({ length: 30 }, () => executeShell({ command: "setsid sleep 1000 & sleep 1000", timeoutMs: 30 })));
  assert.deepEqual(count(), before);
});
