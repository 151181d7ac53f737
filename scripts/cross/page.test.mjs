// Tests that the page about platforms matches the results of the last runs of `npm run cross`.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { PLATFORMS } from "../lib/platforms.mjs";
import { PAGE, cells, generated, page } from "./page.mjs";
import { TARGETS } from "./targets.mjs";

test("the tables of the page match the results; to update them: npm run cross -- --page", () => {
  assert.equal(readFileSync(PAGE, "utf8"), page());
});

test("each target is a platform of packages, and each platform but the first a target", () => {
  for (const { tag, target } of TARGETS) assert.ok(PLATFORMS.some((row) => row.tag === tag && row.targets.includes(target)), tag);
  assert.deepEqual(PLATFORMS.map((row) => row.tag).filter((tag) => !TARGETS.some((row) => row.tag === tag)), ["linux-x64"]);
});

test("lists failures by name, and marks steps that did not run", () => {
  const [row] = TARGETS;
  assert.deepEqual(cells(row, undefined), [row.tag, "not run", "nothing", "0", "0"]);
  const known = { check: { ok: false, errors: 3, warnings: 0 }, builds: { agent: { ok: false } }, tests: { "crate x": { passed: 2, failed: 1, profile: "dev", names: ["a|b"], skipped: { "no program sh": 2 } } } };
  assert.deepEqual(cells(row, known), [row.tag, "3 errors", "dev: agent **fails**", "2", "1"]);
  assert.match(generated({ [row.tag]: known }), /\| crate x \| dev \| 2 \| 2: no program sh \| 1: `a\\\|b` \|/);
});
