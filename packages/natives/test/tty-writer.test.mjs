import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { TtyWriter } from "@sinew/natives";
import { temporary } from "./host.mjs";

const unix = { skip: process.platform === "win32" && "Unix only" };
const MINUTES = 600_000;

test("text arrives in order, also after the descriptor is closed", unix, (t) => {
  const path = join(temporary(t), "out");
  const fd = openSync(path, "w");
  const writer = new TtyWriter(fd);
  closeSync(fd);
  assert.ok(writer.write("日本\n") <= 7);
  writer.write("\ud800");
  assert.equal(writer.flushSync(MINUTES), true);
  assert.deepEqual([writer.pending(), writer.dead], [0, false]);
  writer.stop(MINUTES);
  writer.stop(MINUTES);
  writer.write("late");
  assert.equal(readFileSync(path, "utf8"), "日本\n\ufffd");
});

test("what nobody reads holds nothing back", unix, (t) => {
  const path = join(temporary(t), "pipe");
  execFileSync("mkfifo", [path]);
  const fd = openSync(path, "r+");
  const writer = new TtyWriter(fd);
  // More than fits into a pipe: the call returns the number of waiting bytes.
  assert.ok(writer.write("x".repeat(1 << 20)) > 0);
  assert.equal(writer.flushSync(1), false);
  assert.ok(writer.pending() > 0);
  writer.stop(0);
  closeSync(fd);
});

test("what is no descriptor is refused", () => {
  for (const fd of [-1, 1.5, NaN, "1", undefined]) assert.throws(() => new TtyWriter(fd), { name: "RangeError", code: "ERR_OUT_OF_RANGE" });
  assert.throws(() => new TtyWriter(1_000_000), /TtyWriter: the descriptor is not writable|Unix only/);
});
