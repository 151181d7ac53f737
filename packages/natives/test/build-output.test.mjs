// Tests how `npm start` and `npm run build` show cargo's output.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { BuildOutput, clock, minutes, progressLine } from "../../../scripts/lib/cargo.mjs";
import { causeOf, explained } from "../../../scripts/lib/causes.mjs";
import { ignoreFileAbove } from "../../../scripts/lib/temporary.mjs";

/** Feeds pieces of cargo's stderr and checks the state after them. */
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
  assert.deepEqual([clock(59_400), clock(3_600_000), minutes(20), minutes(60), minutes(245), minutes(570)], ["0:59", "60:00", "1 minute", "1 to 3 minutes", "4 to 11 minutes", "10 to 24 minutes"]);
});

test("a failure whose cause is the machine says what to do", () => {
  // As the tools print them.
  const rows = {
    "error: failed to build archive at `x.rlib`: No space left on device (os error 28)": /^the disk is full/,
    "npm error code EROFS": /read-only/,
    "  Read-only file system (os error 30)": /read-only/,
    "error: failed to open `/home/a/.cargo/.package-cache`: Permission denied (os error 13)": /belongs to another user/,
    "error: linker `cc` not found": /no C compiler/,
    "  error occurred in cc-rs: failed to find tool \"cc\": No such file or directory (os error 2)": /no C compiler/,
    "  package `sinew-base v0.1.0` cannot be built because it requires rustc 1.95 or newer": /^Rust is too old/,
    "warning: spurious network error (3 tries remaining): [6] Could not resolve hostname": /^a download failed/,
    "npm error code ENOTFOUND": /^a download failed/,
    "error: could not compile `a` (signal: 9, SIGKILL: kill)": /out of memory/,
  };
  for (const [line, cause] of Object.entries(rows)) assert.match(causeOf(["   Compiling a v1", line]) ?? "", cause, line);
  assert.equal(causeOf(["error[E0425]: cannot find value `x` in this scope"]), undefined);
  assert.equal(explained("cargo ended with code 101", ["error: aborting"]), "cargo ended with code 101");
});

test("a folder for temporary files has no repository and no ignore file above it", () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "above-")));
  mkdirSync(join(folder, "a", "b"), { recursive: true });
  assert.equal(ignoreFileAbove(join(folder, "a", "b")), ignoreFileAbove(folder));
  mkdirSync(join(folder, "a", ".git"));
  assert.equal(ignoreFileAbove(join(folder, "a", "b")), join(folder, "a", ".git"));
  rmSync(folder, { recursive: true });
});
