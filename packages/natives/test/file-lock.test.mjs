// Tests locks between this process, its workers and other processes, and what ends a wait or a lock.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { PACKAGE, temporary } from "./host.mjs";

const { FileLock } = createRequire(import.meta.url)("..");

const linux = { skip: process.platform !== "linux" && "Linux only" };

/** A process that holds the lock, until it is killed or its input ends. */
async function holder(t, path, options = "{}") {
  const script = `
    const { FileLock } = require(${JSON.stringify(PACKAGE)});
    FileLock.acquire(${JSON.stringify(path)}, ${options}).then((lock) => {
      process.stdin.on("end", () => lock.release()).resume();
      console.log("held");
    });`;
  const child = spawn(process.execPath, ["-e", script], { stdio: ["pipe", "pipe", "inherit"] });
  t.after(() => child.kill("SIGKILL"));
  const [text] = await once(child.stdout.setEncoding("utf8"), "data");
  assert.equal(text, "held\n");
  return child;
}

test("one holds a lock until it lets go", async (t) => {
  const path = join(temporary(t), "lock");
  const lock = await FileLock.acquire(path);
  assert.deepEqual([lock.path, lock.held, existsSync(path)], [path, true, true]);
  assert.equal(await FileLock.tryAcquire(path), null);
  assert.equal(await FileLock.tryAcquire(path, { shared: true }), null);
  lock.release();
  lock.release();
  assert.equal(lock.held, false);
  const again = await FileLock.tryAcquire(path);
  again[Symbol.dispose]();
  assert.equal(again.held, false);
});

test("shared ones are held together", async (t) => {
  const path = join(temporary(t), "lock");
  const [one, two] = await Promise.all([FileLock.acquire(path, { shared: true }), FileLock.acquire(path, { shared: true })]);
  one.release();
  assert.equal(await FileLock.tryAcquire(path), null);
  two.release();
  (await FileLock.acquire(path, null)).release();
});

test("those that wait get it one after the other", async (t) => {
  const path = join(temporary(t), "lock");
  let inside = 0;
  let turns = 0;
  const turn = async () => {
    const lock = await FileLock.acquire(path);
    assert.equal(++inside, 1);
    await null;
    inside--;
    turns++;
    lock.release();
  };
  await Promise.all(Array.from({ length: 20 }, turn));
  assert.equal(turns, 20);
});

test("a process that lets go, and one that is killed, make room", async (t) => {
  const path = join(temporary(t), "lock");
  for (const end of [(child) => child.stdin.end(), (child) => child.kill("SIGKILL")]) {
    const child = await holder(t, path);
    assert.equal(await FileLock.tryAcquire(path), null);
    const waiting = FileLock.acquire(path);
    end(child);
    (await waiting).release();
  }
});

test("processes share it too", async (t) => {
  const path = join(temporary(t), "lock");
  await Promise.all([holder(t, path, "{ shared: true }"), holder(t, path, "{ shared: true }")]);
  assert.equal(await FileLock.tryAcquire(path), null);
  (await FileLock.tryAcquire(path, { shared: true })).release();
});

test("a worker that ends lets go", async (t) => {
  const path = join(temporary(t), "lock");
  const script = `
    const { FileLock } = require(${JSON.stringify(PACKAGE)});
    FileLock.acquire(${JSON.stringify(path)}).then(() => require("node:worker_threads").parentPort.postMessage("held"));
    setInterval(() => {}, 1000);`;
  const worker = new Worker(script, { eval: true });
  assert.deepEqual(await once(worker, "message"), ["held"]);
  assert.equal(await FileLock.tryAcquire(path), null);
  await worker.terminate();
  (await FileLock.acquire(path)).release();
});

test("it is the lock of flock(1)", linux, async (t) => {
  const path = join(temporary(t), "lock");
  const child = spawn("flock", ["--no-fork", path, "sh", "-c", "echo held; read line"], { stdio: ["pipe", "pipe", "inherit"] });
  t.after(() => child.kill("SIGKILL"));
  await once(child.stdout, "data");
  assert.equal(await FileLock.tryAcquire(path), null);
  child.stdin.end();
  (await FileLock.acquire(path)).release();
});

test("a wait can be ended", async (t) => {
  const path = join(temporary(t), "lock");
  const lock = await FileLock.acquire(path);
  const controller = new AbortController();
  const waiting = FileLock.acquire(path, { signal: controller.signal });
  controller.abort("enough");
  await assert.rejects(waiting, { name: "AbortError", code: "ABORT_ERR", cause: "enough" });
  await assert.rejects(FileLock.acquire(path, { timeoutMs: 0 }), { name: "TimeoutError", code: "ERR_TIMEOUT" });
  await assert.rejects(FileLock.acquire(path, { timeoutMs: 20 }), { name: "TimeoutError", message: "Aborted: Timeout" });
  lock.release();
  (await FileLock.acquire(path, { timeoutMs: 0 })).release();
  const other = join(path, "..", "other");
  await assert.rejects(FileLock.acquire(other, { signal: AbortSignal.abort() }), { name: "AbortError" });
  assert.equal(existsSync(other), false);
});

test("files keep what they hold, and what is no file is refused", async (t) => {
  const folder = temporary(t);
  writeFileSync(join(folder, "data"), "content");
  (await FileLock.acquire(join(folder, "data"))).release();
  assert.equal(readFileSync(join(folder, "data"), "utf8"), "content");
  mkdirSync(join(folder, "folder"));
  await assert.rejects(FileLock.acquire(join(folder, "folder")), { code: "ERR_INVALID_ARG_VALUE", message: /is no regular file/ });
  await assert.rejects(FileLock.tryAcquire(join(folder, "no", "lock")), { code: "ENOENT" });
  await assert.rejects(FileLock.acquire(7), { name: "TypeError", message: "FileLock.acquire: path must be a string, not 7" });
  await assert.rejects(FileLock.tryAcquire("x", { shared: 1 }), { name: "TypeError" });
  await assert.rejects(FileLock.acquire("a\0b"), { code: "ERR_INVALID_ARG_VALUE" });
  assert.throws(() => new FileLock(), { code: "ERR_ILLEGAL_CONSTRUCTOR" });
});
