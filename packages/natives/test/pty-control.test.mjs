// Tests programs on a terminal without a shell: process ids, bytes, variables, and paused output.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import { noTerminal } from "./able.mjs";

const { Process, PtySession } = createRequire(import.meta.url)("..");

const terminal = { skip: noTerminal };

async function run(options) {
  let output = "";
  const result = await new PtySession().start(options, (chunk) => void (output += chunk));
  return { ...result, output };
}

test("a program gets its arguments as they stand, and a shell its login files only when told", terminal, async () => {
  assert.equal((await run({ argv: ["printf", "%s|", "a b", "$HOME", ""] })).output, "a b|$HOME||");
  assert.equal((await run({ command: "echo ${0}", login: false })).output, "sh\r\n");
  await assert.rejects(run({ argv: [] }), { code: "ERR_INVALID_ARG_VALUE" });
  await assert.rejects(run({ argv: ["/no/such"] }), { code: "ENOENT" });
  await assert.rejects(run({ argv: "ls" }), { name: "TypeError", message: /argv must be an array of strings/ });
});

test("a variable without a value is taken away", terminal, async () => {
  process.env.SINEW_PTY_TEST = "here";
  const command = "echo ${SINEW_PTY_TEST-none} ${TERM-none}";
  assert.equal((await run({ command, env: { TERM: "vt100" } })).output, "here vt100\r\n");
  assert.equal((await run({ command, env: { SINEW_PTY_TEST: undefined, TERM: null } })).output, "none none\r\n");
  delete process.env.SINEW_PTY_TEST;
});

test("the number of a program is known when it runs, and only then", terminal, async () => {
  const pty = new PtySession();
  assert.equal(pty.pid, undefined);
  await assert.rejects(pty.spawned(), { code: "ERR_INVALID_STATE" });
  const ended = pty.start({ argv: ["sleep", "1000"] });
  const pid = await pty.spawned();
  assert.equal(pty.pid, pid);
  assert.equal(Process.fromPid(pid).status(), "running");
  process.kill(pid, "SIGHUP");
  assert.deepEqual(await ended, { exitCode: 129, signal: "SIGHUP", cancelled: false, timedOut: false });
  assert.equal(pty.pid, undefined);
  const missing = new PtySession();
  const [start, spawned] = await Promise.allSettled([missing.start({ argv: ["/no/such"] }), missing.spawned()]);
  assert.deepEqual([start.reason.code, spawned.reason.code], ["ENOENT", "ERR_INVALID_STATE"]);
});

test("bytes stay bytes", terminal, async () => {
  const chunks = [];
  await new PtySession().start({ argv: ["printf", "\\377\\303"], encoding: "buffer" }, (chunk) => void chunks.push(chunk));
  assert.deepEqual([...Buffer.concat(chunks)], [0xff, 0xc3]);
});

test("nothing is handed over between pause and resume, and nothing is lost", terminal, async () => {
  const pty = new PtySession();
  let paused = false;
  let bytes = 0;
  let first;
  const begun = new Promise((resolve) => (first = resolve));
  const ended = pty.start({ command: "stty -opost; head -c 4000000 /dev/zero | tr '\\0' x" }, (chunk) => {
    assert.equal(paused, false);
    bytes += chunk.length;
    first();
  });
  await begun;
  pty.pause();
  paused = true;
  // Anything that was pending has been delivered by now.
  for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
  paused = false;
  pty.resume();
  assert.equal((await ended).exitCode, 0);
  assert.equal(bytes, 4_000_000);
  pty.pause();
  pty.resume();
  assert.throws(() => new PtySession().pause(), { message: "PTY session is not running" });
});

test("a paused session ends by kill, by a signal and by its time", terminal, async () => {
  const endings = {
    kill: async (pty) => pty.kill(),
    signal: async (pty, controller) => controller.abort(),
    time: async () => {},
  };
  for (const [name, end] of Object.entries(endings)) {
    const [pty, controller] = [new PtySession(), new AbortController()];
    const ended = pty.start({ command: "yes", signal: controller.signal, ...(name === "time" && { timeoutMs: 100 }) }, () => {});
    pty.pause();
    await end(pty, controller);
    const { cancelled, timedOut } = await ended;
    assert.deepEqual([name, cancelled, timedOut], [name, name !== "time", name === "time"]);
  }
});

test("a terminal has any size, and reports it", terminal, async () => {
  const pty = new PtySession();
  let text = "";
  const ended = pty.start({ command: "stty size; read line; stty size", login: false, cols: 1, rows: 65535 }, (chunk) => { text += chunk; });
  await pty.spawned();
  assert.deepEqual([pty.cols, pty.rows], [1, 65535]);
  pty.resize(65535, 1);
  assert.deepEqual([pty.cols, pty.rows], [65535, 1]);
  pty.write("\n");
  assert.equal((await ended).exitCode, 0);
  assert.match(text.replaceAll(/\s+/g, " "), /1 65535 $/);
  assert.deepEqual([pty.cols, pty.rows], [undefined, undefined]);
});

test("the PATH of this process is that of a login shell", terminal, async () => {
  const { PATH } = process.env;
  let text = "";
  await new PtySession().start({ command: 'echo "<$PATH|$NAMED>"', env: { PATH: `/venv/bin:${PATH}`, NAMED: "a b" }, cols: 4000 }, (chunk) => { text += chunk; });
  assert.equal(text.trim(), `</venv/bin:${PATH}|a b>`);
});
