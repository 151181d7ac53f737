// What `npm start` and `npm run build` make of cargo's output.
import assert from "node:assert/strict";
import { test } from "node:test";
import { BuildOutput, clock, minutes, progressLine } from "../../../scripts/lib/cargo.mjs";

/** Pieces of cargo's stderr, and the state after them. */
function check(pieces, { done, total, crates, lines }) {
  const output = new BuildOutput();
  pieces.forEach((piece) => output.push(piece));
  output.end();
  assert.deepEqual({ done: output.done, total: output.total, crates: output.crates, lines: output.lines }, { done, total, crates, lines });
}

test("progress is read from cargo's bar, wherever a pipe cuts it", () => {
  const text = "   Compiling libc v0.2.191\n    Building [====>       ] 12/345: libc, serde(build)\r    Building [=====>      ] 13/345: serde\r\x1b[K   Compiling syn v3.0.9\n";
  const expect = { done: 13, total: 345, crates: "serde", lines: [] };
  check([text], expect);
  check([...text], expect);
  check(["    Building [=====>      ] 13/345"], { ...expect, crates: "" });
});

test("what explains a failure is kept, routine lines are not", () => {
  const fault = ["error[E0425]: cannot find value `x` in this scope", " --> native/src/lib.rs:3:5", "error: could not compile `sinew-node` (lib) due to 1 previous error"];
  check([`    Updating crates.io index\n   Compiling sinew-node v0.1.0\n${fault.join("\n")}\n    Building [=> ] 1/2: a\r`], { done: 1, total: 2, crates: "a", lines: fault });
  check(["error: no such profile", ""], { done: 0, total: 0, crates: "", lines: ["error: no such profile"] });
});

test("the line fits the terminal", () => {
  const output = { done: 12, total: 345, crates: "libc, serde" };
  assert.equal(progressLine("the addon", output, 65_000, 80), "the addon: 12 of 345 crates, 1:05 (libc, serde)");
  assert.equal(progressLine("the addon", output, 65_000, 20).length, 19);
  assert.equal(progressLine("the addon", { done: 0, total: 0, crates: "" }, 0, 80), "the addon: 0:00");
  assert.deepEqual([clock(59_400), clock(3_600_000), minutes(20), minutes(245), minutes(570)], ["0:59", "60:00", "about a minute", "about 4 minutes", "about 10 minutes"]);
});
