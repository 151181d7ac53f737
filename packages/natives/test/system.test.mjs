import assert from "node:assert/strict";
import { createRequire } from "node:module";
import os from "node:os";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const require = createRequire(import.meta.url);
const { getSystemInfo, getWorkProfile, glob } = require("..");
const { native } = require("../dist/loader.js");

test("the facts agree with Node's", () => {
  const info = getSystemInfo();
  assert.deepEqual(
    [info.platform, info.arch, info.kernelVersion, info.hostName, info.totalMemory],
    [process.platform, process.arch, os.release(), os.hostname(), os.totalmem()],
  );
  assert.equal(info.logicalCores, os.cpus().length);
  assert.ok(info.physicalCores >= 1 && info.physicalCores <= info.logicalCores);
  assert.ok(info.availableMemory > 0 && info.osVersion && info.cpuBrand);
  assert.equal(typeof native.cpuSupportsModern(), "boolean");
});

test("calls are remembered", async () => {
  const before = getWorkProfile(Infinity).sampleCount;
  await glob({ pattern: "*.json", path: fileURLToPath(new URL("..", import.meta.url)) });
  const profile = getWorkProfile(60);
  assert.ok(profile.sampleCount >= 1 && getWorkProfile(Infinity).sampleCount === before + 1);
  assert.match(profile.folded, /^glob \d+$/m);
  assert.match(profile.summary, /\| glob \| /);
  assert.match(profile.svg, /^<svg /);
  assert.ok(profile.totalMs > 0);
  for (const bad of [-1, NaN]) assert.throws(() => getWorkProfile(bad), { name: "RangeError", message: /lastSeconds/ });
  assert.throws(() => getWorkProfile("1"), TypeError);
});
