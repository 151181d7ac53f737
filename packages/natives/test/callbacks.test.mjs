// Tests every call with a callback that returns a promise, throws or rejects.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { noShell, noTerminal } from "./able.mjs";

const { PtySession, Shell, executeShell, glob, grep } = createRequire(import.meta.url)("..");


const folder = mkdtempSync(join(tmpdir(), "sinew-callbacks-"));
after(() => rmSync(folder, { recursive: true, force: true }));
for (let number = 0; number < 200; number++) writeFileSync(join(folder, `${number}.txt`), "one line\nanother line\n");

// Prints more than fits into one chunk, so that the callback is called more than once whatever the timing.
const command = "head -c 1000000 /dev/zero | tr '\\0' x";

/** Every call with a callback. `rejects`: whether it rejects when it is aborted. `skip`: why it cannot run here. */
const CALLS = {
  grep: { rejects: true, call: (options, callback) => grep({ pattern: "line", path: folder, ...options }, callback) },
  glob: { rejects: true, call: (options, callback) => glob({ pattern: "*.txt", path: folder, ...options }, callback) },
  executeShell: { rejects: false, skip: noShell, call: (options, callback) => executeShell({ command, ...options }, callback) },
  "Shell.run": { rejects: false, skip: noShell, call: (options, callback) => new Shell().run({ command, ...options }, callback) },
  "PtySession.start": { rejects: false, skip: noTerminal, call: (options, callback) => new PtySession().start({ command, ...options }, callback) },
};

const never = () => new Promise(() => {});
const turn = () => new Promise((done) => setImmediate(done));

for (const [name, { call, rejects, skip }] of Object.entries(CALLS)) {
  test(`${name} awaits each promise before it goes on, and all before it settles`, { skip }, async () => {
    let running = 0;
    let begun = 0;
    let ended = 0;
    await call({}, async () => {
      begun++;
      assert.equal(++running, 1);
      for (let times = begun < 5 ? 5 : 0; times > 0; times--) await turn();
      running--;
      ended++;
    });
    assert.ok(begun > 1, `${begun} calls`);
    assert.equal(ended, begun);
  });

  for (const [how, fail] of Object.entries({
    "throws": (error) => { throw error; },
    "rejects": (error) => Promise.reject(error),
    "rejects later": async (error) => { await turn(); await turn(); throw error; },
    "rejects what is no error": (error) => Promise.reject(error.message),
  })) {
    test(`${name} ends and rejects with what a callback ${how}`, { skip }, async () => {
      const error = new Error("mine");
      let calls = 0;
      const result = call({}, () => {
        calls++;
        return fail(error);
      });
      await assert.rejects(result, (thrown) => thrown === error || thrown === "mine");
      assert.equal(calls, 1);
      await turn();
      assert.equal(calls, 1);
    });
  }

  test(`${name} that is aborted or out of time waits for no promise`, { skip }, async () => {
    const controller = new AbortController();
    const aborted = call({ signal: controller.signal }, () => {
      setImmediate(() => controller.abort());
      return never();
    });
    const late = call({ timeoutMs: 300 }, never);
    if (rejects) {
      await Promise.all([
        assert.rejects(aborted, { name: "AbortError", code: "ABORT_ERR" }),
        assert.rejects(late, { name: "TimeoutError", code: "ERR_TIMEOUT" }),
      ]);
    } else {
      const ends = await Promise.all([aborted, late]);
      assert.deepEqual([typeof ends[0].cancelled, typeof ends[1].timedOut], ["boolean", "boolean"]);
    }
  });

  for (const pause of rejects ? [() => {}, turn] : []) {
    test(`${name} gives no more to a callback that aborts${pause === turn ? " later" : ""}, and rejects`, async () => {
      const controller = new AbortController();
      let calls = 0;
      const result = call({ signal: controller.signal }, async () => {
        calls++;
        if (pause === turn) await turn();
        controller.abort();
      });
      await assert.rejects(result, { name: "AbortError", code: "ABORT_ERR" });
      assert.equal(calls, 1);
    });
  }

  test(`${name} leaves no rejection behind that comes after its end`, { skip }, async () => {
    const controller = new AbortController();
    let reject;
    const callback = () => {
      setImmediate(() => controller.abort());
      return new Promise((_, fail) => (reject = fail));
    };
    await call({ signal: controller.signal }, callback).catch(() => {});
    reject(new Error("too late"));
    await turn();
  });
}

test("a promise holds back what a command prints", { skip: noShell }, async () => {
  let release;
  const held = new Promise((done) => (release = done));
  const progress = join(folder, "progress");
  writeFileSync(progress, "0");
  let bytes = 0;
  // More than fits into pipes and queues, so that it can only end when the callback continues.
  const total = 64 << 20;
  let over = false;
  const running = executeShell({ command: `head -c ${total} /dev/zero | tr '\\0' x; echo over >'${progress}'` }, async (chunk) => {
    bytes += chunk.length;
    await held;
  }).then(() => (over = true));
  while (bytes === 0) await turn();
  for (let times = 0; times < 200; times++) await turn();
  assert.equal(over, false);
  assert.ok(bytes < total / 2, `${bytes} bytes were handed over`);
  release();
  await running;
  assert.equal(bytes, total);
});
