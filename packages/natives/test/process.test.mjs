import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { PACKAGE } from "./host.mjs";

const { Process, killTree, listDescendants } = createRequire(import.meta.url)("..");

const WAITS = 'console.log("up"); setInterval(() => {}, 1e9);';
const STARTS = `require("node:child_process").spawn(process.execPath, ["-e", ${JSON.stringify(WAITS)}], { detached: true, stdio: ["ignore", "inherit", "ignore"] });`;
/** The command for two processes. Uses a shell if there is one, because it starts quickly. */
const PARENT = process.platform === "win32" ? [process.execPath, ["-e", STARTS + WAITS]] : ["sh", ["-c", "setsid sh -c 'echo up; exec sleep 1000' & echo up; exec sleep 1000"]];

/** Starts a process with a child in a separate session, and waits until both run. */
async function tree() {
  const child = spawn(...PARENT);
  let said = "";
  for await (const data of child.stdout) {
    said += data;
    if (said.split("up").length > 2) break;
  }
  return child;
}

test("a tree is listed and killed", async () => {
  const { pid } = await tree();
  assert.equal(listDescendants(pid).length, 1);
  const [inner] = Process.fromPid(pid).children();
  assert.equal(inner.ppid(), pid);
  assert.equal(killTree(pid, "SIGKILL"), 2);
  await inner.waitForExit();
  assert.equal(inner.status(), "exited");
  assert.equal(inner.ppid(), null);
});

test("the command line of a process is known while it runs", { skip: process.platform !== "linux" && "Linux only" }, async () => {
  assert.deepEqual(Process.fromPid(process.pid).args(), readFileSync("/proc/self/cmdline", "utf8").split("\0").slice(0, -1));
  const child = spawn("cat", ["-", "a b", ""]);
  // It answers, so the program runs by now.
  child.stdin.write("up");
  await once(child.stdout, "data");
  const handle = Process.fromPid(child.pid);
  assert.deepEqual(handle.args(), ["cat", "-", "a b", ""]);
  child.kill("SIGKILL");
  await handle.waitForExit();
  assert.equal(handle.args(), null);
});

test("what means no process gives nothing", () => {
  for (const pid of [0, 1, -1, 1.5, NaN, Infinity, 2 ** 40, "7", null, undefined, {}, 0x7fff_fff0]) {
    assert.equal(killTree(pid, 9), 0);
    if (pid !== 1) assert.deepEqual(listDescendants(pid), []);
    if (pid !== 1) assert.equal(Process.fromPid(pid), null);
  }
  for (const signal of [-1, 65, 1.5, NaN, "SIGNO", null, undefined]) assert.equal(killTree(process.pid, signal), 0);
});

test("a process ends in time, with its tree", async () => {
  const { pid } = await tree();
  const handle = Process.fromPid(pid);
  assert.equal(handle.pid, pid);
  assert.equal(handle.status(), "running");
  const inner = handle.children()[0];
  assert.deepEqual(await handle.terminate({ gracefulMs: 60_000, timeoutMs: 60_000 }), { signalled: 2, exited: 2, survivors: [] });
  assert.equal(inner.status(), "exited");
  assert.deepEqual(await handle.terminate(), { signalled: 0, exited: 0, survivors: [] });
});

test("a handle that is closed ends its waits and is of no further use", async () => {
  const { pid } = await tree();
  const handle = Process.fromPid(pid);
  const waits = [handle.waitForExit(), handle.waitForExit({ signal: new AbortController().signal })];
  handle.close();
  handle.close();
  await Promise.all(waits.map((wait) => assert.rejects(wait, { name: "AbortError", code: "ABORT_ERR" })));
  assert.equal(handle.pid, pid);
  for (const use of [() => handle.ppid(), () => handle.children(), () => handle.status()]) assert.throws(use, { code: "ERR_INVALID_STATE" });
  await assert.rejects(handle.waitForExit(), { code: "ERR_INVALID_STATE" });
  await assert.rejects(handle.terminate(), { code: "ERR_INVALID_STATE" });
  // The process continues.
  const other = Process.fromPid(pid);
  assert.equal(other.status(), "running");
  assert.equal((await other.terminate()).survivors.length, 0);
  other[Symbol.dispose]();
  assert.throws(() => other.status(), { code: "ERR_INVALID_STATE" });
});

test("handles hold no descriptor", { skip: process.platform !== "linux" && "counts descriptors in /proc" }, () => {
  const script = `
    const { Process } = require(${JSON.stringify(PACKAGE)});
    const handles = Array.from({ length: 1000 }, () => Process.fromPid(process.pid));
    console.log(handles.every((handle) => handle?.status() === "running"));
  `;
  const limited = spawnSync("sh", ["-c", 'ulimit -n 256; exec "$0" -e "$1"', process.execPath, script], { encoding: "utf8" });
  assert.deepEqual([limited.stdout, limited.stderr], ["true\n", ""]);
});

test("a wait ends by time, by a signal, and checks its options", async () => {
  const self = Process.fromPid(process.pid);
  await assert.rejects(self.waitForExit({ timeoutMs: 1 }), { name: "TimeoutError", code: "ERR_TIMEOUT" });
  const controller = new AbortController();
  const waiting = self.waitForExit({ signal: controller.signal });
  controller.abort(new Error("enough"));
  await assert.rejects(waiting, (error) => error.name === "AbortError" && error.cause.message === "enough");
  await assert.rejects(self.waitForExit({ timeoutMs: -1 }), RangeError);
  await assert.rejects(self.terminate({ group: 1 }), TypeError);
});
