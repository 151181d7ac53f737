// Tests the binding of watchers, what closes a watcher, and errors. The crate tests the properties of batches.
import assert from "node:assert/strict";
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { temporary } from "./host.mjs";

const { Watcher, watch, Workspace } = createRequire(import.meta.url)("..");

const linux = { skip: process.platform !== "linux" && "directories are watched on Linux only" };

/** Returns a watcher, and a function that waits until its events, in order, satisfy a test. */
async function recorded(path, options = {}) {
  const events = [];
  let wake = () => {};
  const watcher = await watch(path, options, (batch) => {
    assert.ok(batch.length > 0);
    events.push(...batch);
    wake();
  });
  const until = async (done) => {
    while (!done(events)) await new Promise((resolve) => (wake = resolve));
    return events.splice(0);
  };
  return { watcher, until };
}

test("changes come as batches until the watcher is closed", linux, async (t) => {
  const root = temporary(t);
  writeFileSync(join(root, "f"), "1");
  const { watcher, until } = await recorded(root);
  assert.ok(watcher instanceof Watcher);
  assert.match(watcher.mode, /^(events|scan)$/);
  writeFileSync(join(root, "f"), "longer");
  assert.deepEqual(await until((events) => events.length >= 1), [{ kind: "changed", path: "f" }]);
  mkdirSync(join(root, "d"));
  writeFileSync(join(root, "d", "x"), "");
  const created = await until((events) => events.filter(({ kind }) => kind === "created").length >= 2);
  assert.deepEqual(created.filter(({ kind }) => kind === "created").map(({ path }) => path), ["d", "d/x"]);
  if (watcher.mode === "events") {
    renameSync(join(root, "d"), join(root, "e"));
    assert.deepEqual(await until((events) => events.some(({ kind }) => kind === "renamed")), [{ kind: "renamed", path: "d", to: "e" }]);
  }
  watcher.close();
  watcher.close();
  await watcher.closed;
});

test("ignored paths are not reported", linux, async (t) => {
  const root = temporary(t);
  mkdirSync(join(root, ".git"));
  writeFileSync(join(root, ".gitignore"), "built\n");
  const { watcher, until } = await recorded(root, { ignore: ["*.tmp"] });
  for (const name of ["built", "a.tmp", "last"]) writeFileSync(join(root, name), "");
  assert.deepEqual(await until((events) => events.some(({ path }) => path === "last")), [{ kind: "created", path: "last" }]);
  watcher.close();
  await watcher.closed;
});

test("a limit of watches is kept, and the mode says so", linux, async (t) => {
  const root = temporary(t);
  for (let at = 0; at < 30; at++) mkdirSync(join(root, `d${at}`));
  const { watcher, until } = await recorded(root, { maxWatches: 10 });
  assert.notEqual(watcher.mode, "events");
  writeFileSync(join(root, "d29", "f"), "");
  writeFileSync(join(root, "d0", "f"), "");
  const paths = (await until((events) => events.length >= 2)).map(({ path }) => path);
  assert.deepEqual(paths.sort(), ["d0/f", "d29/f"]);
  watcher.close();
  await watcher.closed;
});

test("a workspace and two watchers of one directory hear of the same changes", linux, async (t) => {
  const root = temporary(t);
  const [one, other] = [await recorded(root), await recorded(root)];
  const workspace = await Workspace.open(root, { cacheDir: null });
  for (let at = 0; at < 20; at++) {
    writeFileSync(join(root, `f${at}`), "needle");
    assert.equal((await workspace.grep({ pattern: "needle" })).totalMatches, at + 1);
  }
  for (const { until, watcher } of [one, other]) {
    const created = (events) => events.filter(({ kind }) => kind === "created");
    assert.equal(created(await until((events) => created(events).length >= 20)).length, 20);
    watcher.close();
    await watcher.closed;
  }
  await workspace.close();
});

test("a signal closes the watcher, and an error of the callback ends it", linux, async (t) => {
  const root = temporary(t);
  const controller = new AbortController();
  const { watcher } = await recorded(root, { signal: controller.signal });
  controller.abort();
  await watcher.closed;
  await assert.rejects(watch(root, { signal: AbortSignal.abort("why") }, () => {}), { name: "AbortError", cause: "why" });
  const failing = await watch(root, {}, () => {
    throw new Error("from the callback");
  });
  writeFileSync(join(root, "f"), "");
  await assert.rejects(failing.closed, { message: "from the callback" });
});

test("a directory that is gone is reported, and reported again when it is back", linux, async (t) => {
  const root = join(temporary(t), "root");
  mkdirSync(root);
  writeFileSync(join(root, "f"), "");
  const { watcher, until } = await recorded(root);
  rmSync(root, { recursive: true });
  assert.deepEqual(await until((events) => events.some(({ kind }) => kind === "deleted")), [{ kind: "deleted", path: "f" }]);
  mkdirSync(root);
  writeFileSync(join(root, "g"), "");
  assert.equal((await until((events) => events.some(({ kind }) => kind === "created")))[0].path, "g");
  watcher.close();
  await watcher.closed;
});

test("wrong arguments are named", async (t) => {
  const root = temporary(t);
  await assert.rejects(watch(1, {}, () => {}), { name: "TypeError", message: "watch: path must be a string, not 1" });
  await assert.rejects(watch(root, {}), { name: "TypeError", message: "watch: callback must be a function, not undefined" });
  await assert.rejects(watch(root, { debounceMs: -1 }, () => {}), { name: "RangeError" });
  assert.throws(() => new Watcher({}), { code: "ERR_ILLEGAL_CONSTRUCTOR" });
  if (process.platform !== "linux") return assert.rejects(watch(root, {}, () => {}), { code: "ERR_UNSUPPORTED" });
  await assert.rejects(watch(join(root, "missing"), {}, () => {}), { code: "ENOENT" });
  await assert.rejects(watch(root, { ignore: ["[a"] }, () => {}), { code: "ERR_INVALID_ARG_VALUE" });
});
