import assert from "node:assert/strict";
import { once } from "node:events";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { noTerminal } from "./able.mjs";

const require = createRequire(import.meta.url);
const { PtySession, listDescendants } = require("..");
const { supervisor } = require("../dist/loader.js");

const sh = { skip: noTerminal };

/** Runs a command to its end and returns its output too. */
async function run(options) {
  let output = "";
  const result = await new PtySession().start(options, (chunk) => (output += chunk));
  return { ...result, output };
}

/** Resolves when the output has `word`. */
function until(word) {
  let text = "";
  let found;
  const seen = new Promise((resolve) => (found = resolve));
  return { seen, onChunk: (chunk) => (text += chunk).includes(word) && found(text) };
}

test("the supervisor program lies beside the addon", { skip: process.platform !== "linux" && "Linux only" }, () => {
  assert.equal(typeof supervisor(), "string");
});

test("a program runs on a terminal of the size that was asked for, in the folder, with the variables", sh, async () => {
  const folder = tmpdir();
  const result = await run({ command: "tty >/dev/null && stty size && pwd && echo $A $TERM && exit 3", cols: 91, rows: 33, cwd: folder, env: { A: "x y", TERM: "xterm" } });
  assert.deepEqual(result, { exitCode: 3, cancelled: false, timedOut: false, output: `33 91\r\n${folder}\r\nx y xterm\r\n` });
});

test("writing, resizing and killing work from the start on", sh, async () => {
  const pty = new PtySession();
  let output = "";
  const ended = pty.start({ command: "read a; echo got $a; read b; stty size; sleep 1000" }, (chunk) => (output += chunk));
  pty.write("1\n");
  pty.resize(77, 22);
  pty.write(Buffer.from("2\n"));
  while (!output.includes("22 77")) await new Promise(setImmediate);
  assert.match(output, /got 1/);
  await assert.rejects(pty.start({ command: "true" }), { message: "PTY session already running" });
  pty.kill();
  assert.deepEqual(await ended, { exitCode: undefined, cancelled: true, timedOut: false });
  assert.equal(pty.pendingBytes, 0);
  pty.resize(80, 24);
  assert.throws(() => pty.write("x"), { message: "PTY session is not running", code: "ERR_INVALID_STATE" });
  assert.throws(() => pty.kill(), { message: "PTY session is not running" });
  assert.throws(() => new PtySession().resize(80, 24), { message: "PTY session is not running" });
});

test("a timeout and a signal resolve", sh, async () => {
  assert.deepEqual(await new PtySession().start({ command: "sleep 1000", timeoutMs: 20 }), { exitCode: undefined, cancelled: false, timedOut: true });
  const controller = new AbortController();
  const { seen, onChunk } = until("ready");
  const ended = new PtySession().start({ command: "echo ready; sleep 1000", signal: controller.signal }, onChunk);
  await seen;
  controller.abort();
  assert.deepEqual(await ended, { exitCode: undefined, cancelled: true, timedOut: false });
  assert.equal((await new PtySession().start({ command: "true", signal: controller.signal })).cancelled, true);
});

test("a callback that throws ends the program and rejects", sh, async () => {
  const fault = new Error("no more");
  const pty = new PtySession();
  await assert.rejects(pty.start({ command: "yes" }, () => { throw fault; }), (error) => error === fault);
  assert.throws(() => pty.write("x"), { message: "PTY session is not running" });
});

test("what cannot be started rejects", async () => {
  await assert.rejects(run({ command: "true", cwd: "/nope" }), { code: "ENOENT", message: /"\/nope"/ });
  await assert.rejects(run({ command: "true", shell: "no-such-shell" }), { code: "ENOENT" });
  await assert.rejects(run({}), { name: "TypeError", message: "PtySession.start: command must be a string, not undefined" });
  await assert.rejects(run({ command: "true", cols: -1 }), RangeError);
  await assert.rejects(new PtySession().start({ command: "true" }, 7), TypeError);
});

test("a megabyte arrives whole before the promise settles", sh, async () => {
  let bytes = 0;
  const result = await new PtySession().start({ command: "stty -opost; head -c 1048576 /dev/zero | tr '\\0' x" }, (chunk) => (bytes += chunk.length));
  assert.deepEqual([result.exitCode, bytes], [0, 1_048_576]);
});

test("a worker that ends takes its programs with it", sh, async () => {
  const before = listDescendants(process.pid).length;
  const source = `
    const { PtySession } = require(${JSON.stringify(require.resolve(".."))});
    const { parentPort } = require("node:worker_threads");
    new PtySession().start({ command: "echo up; sleep 1000" }, () => parentPort.postMessage("up"));
  `;
  const worker = new Worker(source, { eval: true });
  await once(worker, "message");
  await worker.terminate();
  // A process that stays is a defect, but the system needs a moment to end it.
  while (listDescendants(process.pid).length > before) await new Promise((resolve) => setTimeout(resolve, 5));
});
