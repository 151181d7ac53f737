// The modules that stand in for other packages, as a program imports them. Their published tests run in `npm run conformance`.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import cliTruncate from "@sinew/natives/compat/cli-truncate";
import sliceAnsi from "@sinew/natives/compat/slice-ansi";
import stringWidth from "@sinew/natives/compat/string-width";
import stripAnsi from "@sinew/natives/compat/strip-ansi";
import wrapAnsi from "@sinew/natives/compat/wrap-ansi";

const RED = "\x1b[31m";
const PLAIN = "\x1b[39m";

test("each module answers under import and under require", () => {
  const require = createRequire(import.meta.url);
  for (const [name, call] of Object.entries({ "cli-truncate": cliTruncate, "slice-ansi": sliceAnsi, "string-width": stringWidth, "strip-ansi": stripAnsi, "wrap-ansi": wrapAnsi })) {
    assert.equal(typeof call, "function", name);
    assert.equal(require(`@sinew/natives/compat/${name}`).default, call, name);
  }
});

test("styles and links are kept by row, slice and cut", () => {
  assert.equal(wrapAnsi(`${RED}one two${PLAIN}`, 3), `${RED}one${PLAIN}\n${RED}two${PLAIN}`);
  assert.equal(sliceAnsi(`a${RED}bcd${PLAIN}e`, 2, 4), `${RED}cd${PLAIN}`);
  assert.equal(cliTruncate(`${RED}unicorn${PLAIN}`, 4), `${RED}uni…${PLAIN}`);
  assert.equal(stripAnsi(`${RED}a\r\n${PLAIN}\x1b]8;;http://x\x07b\x1b]8;;\x07`), "a\r\nb");
  assert.equal(stringWidth("±", { ambiguousIsNarrow: false }), 2);
});

test("what is no string is refused as the packages refuse it", () => {
  assert.equal(stringWidth(5), 0);
  assert.throws(() => stripAnsi(5), { name: "TypeError", message: "Expected a `string`, got `number`" });
  assert.throws(() => cliTruncate("abc", Infinity), { name: "TypeError", message: "Expected `columns` to be a finite number, got Infinity" });
});

// A law: rows hold what the text holds, in order, and none is wider than asked where breaking words is allowed.
test("no character is lost and no row is too wide, for random texts", () => {
  const parts = ["a", "bc", " ", "日本", "é", "👨‍👩‍👧‍👦", "\t", "\n", RED, PLAIN, "\x1b[1m", "\x1b[22m", "\x1b]8;;http://x\x07", "\x1b]8;;\x07", "가", "\u0301"];
  let seed = Date.now() >>> 0;
  const begun = seed;
  const next = (limit) => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) % limit;
  for (let round = 0; round < 2000; round++) {
    const text = Array.from({ length: next(30) }, () => parts[next(parts.length)]).join("");
    const columns = 2 + next(12);
    const rows = wrapAnsi(text, columns, { hard: true, trim: false }).split("\n");
    const told = `seed ${begun}, ${JSON.stringify(text)} in ${columns}: ${JSON.stringify(rows)}`;
    const bare = (part) => stripAnsi(part).replace(/\s/g, "");
    assert.equal(bare(rows.join("")), bare(text.normalize()), told);
    for (const row of rows) assert.ok(stringWidth(row) <= columns, told);
  }
});
