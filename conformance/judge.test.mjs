// Tests which rows count as passed, known and failed.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { judge } from "./judge.mjs";

const row = (id, pass) => ({ id, tier: "A", pass, detail: "differs" });
const known = [{ reason: "decided", rows: ["k"] }, { reason: "a race", unsteady: true, rows: ["u"] }];

function check(rows, options, { passed, known: reasons, faults }) {
  const judged = judge(rows, known, { whole: false, ...options });
  assert.equal(judged.passed, passed);
  assert.deepEqual(judged.known.map(({ reason }) => reason), reasons);
  assert.deepEqual(judged.faults.map((fault) => fault.split(":")[0]), faults);
  // Every row is counted once, in one of the three groups.
  assert.equal(judged.passed + judged.known.length + judged.faults.length, rows.length + (options.more ?? 0));
}

test("a row that fails is failed or known, and never passed", () => {
  check([row("a", true), row("b", false)], {}, { passed: 1, known: [], faults: ["(A) b"] });
  check([row("k", false), row("u", false)], {}, { passed: 0, known: ["decided", "a race"], faults: [] });
  check([row("u", true)], {}, { passed: 1, known: [], faults: [] });
  check([row("k", true)], {}, { passed: 0, known: [], faults: ["k is listed as known to fail, and passes or is no row"] });
  check([row("u", true)], { whole: true, more: 1 }, { passed: 1, known: [], faults: ["k is listed as known to fail, and passes or is no row"] });
  const gate = () => { throw new Error("too few"); };
  check([row("a", true)], { gate, more: 1 }, { passed: 1, known: [], faults: ["too few"] });
});

test("a reason stands beside every row that is known", () => {
  assert.equal(judge([row("k", false)], [{ reason: " ", rows: ["k"] }]).faults.length, 1);
  const list = JSON.parse(readFileSync(new URL("known.json", import.meta.url), "utf8"));
  for (const [table, groups] of Object.entries(list)) {
    for (const { reason, rows } of groups) assert.ok(reason.trim() && rows.length, table);
    const ids = groups.flatMap((group) => group.rows);
    assert.equal(new Set(ids).size, ids.length, `${table} lists a row twice`);
  }
});
