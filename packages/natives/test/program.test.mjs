// Tests which program the benchmarks of the agent measure.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { sinew } from "../../../bench/lib/program.mjs";

const root = mkdtempSync(join(tmpdir(), "program-"));
after(() => rmSync(root, { recursive: true, force: true }));
const name = process.platform === "win32" ? "sinew.exe" : "sinew";

/** Creates a program in a folder that was built `seconds` after the epoch. */
function build(folder, seconds) {
  const path = join(root, folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, "");
  utimesSync(path, seconds, seconds);
  return path;
}

test("the newest optimised build is measured, and dist only where there is none", () => {
  assert.equal(sinew(root, {}), undefined);
  build(join("target", "debug"), 9);
  assert.equal(sinew(root, {}), undefined, "what has no optimisations says nothing");
  const dist = build("dist", 9);
  assert.equal(sinew(root, {}), dist);
  const plain = build(join("target", "plain", "release"), 1);
  assert.equal(sinew(root, {}), plain);
  const modern = build(join("target", "modern", "release"), 3);
  build(join("target", "quick"), 2);
  assert.equal(sinew(root, {}), modern);
  const own = build(join("target", "release"), 4);
  assert.equal(sinew(root, {}), own);
  assert.equal(sinew(root, { SINEW_BIN: "/named" }), "/named");
  assert.equal(sinew(root, { CARGO_TARGET_DIR: join(root, "target", "plain") }), plain);
});
