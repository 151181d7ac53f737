import assert from "node:assert/strict";
import { readdirSync, readFileSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { noShell, notLinux, printsFolder, shownByBash } from "./able.mjs";

const require = createRequire(import.meta.url);
const { Shell, executeShell, listDescendants } = require("..");

const linux = { skip: notLinux };
const bash = { skip: noShell };
const ENGINES = process.platform === "linux" ? ["bash", "brush"] : ["bash"];
const FOLDER = realpathSync(tmpdir());

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

test("a command runs with its directory, variables and input, and tells its exit code", bash, async () => {
  const result = await once({ command: `${printsFolder}; echo $A; cat; exit 3`, cwd: FOLDER, env: { A: "x y" }, stdin: "input" });
  assert.deepEqual(result, { exitCode: 3, cancelled: false, timedOut: false, output: `${shownByBash(FOLDER)}\nx y\ninput` });
  const bytes = await once({ command: "od -An -tx1", stdin: new Uint8Array([0, 255]), cwd: null });
  assert.equal(bytes.output.trim(), "00 ff");
});

test("the environment is that of this process, or the one that was given", bash, async () => {
  process.env.SINEW_SHELL_TEST = "here";
  assert.equal((await once({ command: "echo $SINEW_SHELL_TEST" })).output, "here\n");
  delete process.env.SINEW_SHELL_TEST;
  process.env.SINEW_SHELL_TEST = "here";
  const given = await once({ command: "env", sessionEnv: { PATH: process.env.PATH, ONLY: "1" } });
  delete process.env.SINEW_SHELL_TEST;
  assert.match(given.output, /^ONLY=1$/m);
  // Windows and Git's bash add variables of their own.
  const own = process.platform === "win32" ? /SINEW_SHELL_TEST/ : /^(?!PATH=|PWD=|SHLVL=|_=|ONLY=)./m;
  assert.doesNotMatch(given.output, own);
});

test("a shell keeps its state, and runs come in the order of asking", bash, async () => {
  for (const engine of ENGINES) {
    const shell = new Shell({ engine });
    assert.equal(shell.engine, engine);
    const runs = [{ command: `X=1; cd "$FOLDER"; false`, env: { FOLDER } }, { command: "echo $? $X; X=2" }, { command: `echo $X; ${printsFolder}` }];
    const results = await Promise.all(runs.map((options) => run(shell, options)));
    assert.deepEqual(results.map((result) => [result.exitCode, result.output]), [[1, ""], [0, "1 1\n"], [0, `2\n${shownByBash(FOLDER)}\n`]]);
    assert.equal(results[2].workingDir, FOLDER);
    const ended = await run(shell, { command: "exit 4" });
    assert.deepEqual([ended.exitCode, ended.stateLost, typeof ended.stateLostReason], [4, true, "string"]);
    await shell.close();
    await assert.rejects(shell.run({ command: "true" }), { code: "ERR_INVALID_STATE" });
  }
});

test("abort, a signal and a timeout resolve, and the shell goes on", bash, async () => {
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

test("abort reaches a run that was asked for just now", bash, async () => {
  const shell = new Shell();
  const running = shell.run({ command: "sleep 1000" });
  await shell.abort();
  assert.equal((await running).cancelled, true);
  await shell.close();
});

test("a background job outlives its run and is listed", bash, async () => {
  const shell = new Shell();
  assert.equal((await run(shell, { command: "sleep 1000 & echo here" })).output, "here\n");
  // A new process has the command line of the shell for a moment. Windows shows the file of a program, and there a bash
  // waits for each.
  const isSleep = process.platform === "win32" ? /sleep\.exe$/ : /^sleep 1000$/;
  let commands = [];
  while (!commands.some((command) => isSleep.test(command))) {
    commands = (await shell.jobs()).map((job) => job.command);
    assert.equal(commands.length, process.platform === "win32" ? 2 : 1);
  }
  await shell.close();
  assert.deepEqual(await shell.jobs(), []);
  assert.deepEqual(listDescendants(process.pid).filter((pid) => commandLine(pid).includes("1000")), []);
});

test("a callback that throws ends the command and rejects with what it threw", bash, async () => {
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

test("wrong options are named", bash, async () => {
  await assert.rejects(executeShell({ command: 5 }), { name: "TypeError", message: /executeShell: command must be a string/ });
  await assert.rejects(executeShell({ command: "true", stdin: 5 }), { name: "TypeError", message: /stdin/ });
  await assert.rejects(executeShell({ command: "true", timeoutMs: -1 }), { name: "RangeError" });
  await assert.rejects(executeShell({ command: "true", cwd: "/no/such/dir" }), { message: /^Failed to set cwd: / });
  await assert.rejects(executeShell({ command: "true", env: { "a-b": "1" } }), { message: /bad variable name/ });
  await assert.rejects(executeShell({ command: "true", snapshotPath: "/no/such" }), { message: /^Failed to initialize shell/ });
  assert.throws(() => new Shell({ engine: "zsh" }), { name: "TypeError", message: /engine/ });
});

test("scripts that kill interpreters leave this process alone", bash, async () => {
  const umask = process.umask();
  // On other systems the parent of a script is this process.
  const parent = process.platform === "linux" ? ["kill -9 $PPID; sleep 1000"] : [];
  for (const command of ["kill -9 $$", ...parent, "f() { f; }; f", "umask 0; ulimit -n 20"]) {
    for (const engine of ENGINES) await executeShell({ command, engine, timeoutMs: 30_000 });
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
