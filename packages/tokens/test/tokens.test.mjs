import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import { countTokens as byCl100k } from "gpt-tokenizer/encoding/cl100k_base";
import { countTokens as byO200k } from "gpt-tokenizer/encoding/o200k_base";
import { countTokens } from "@sinew/tokens";

const PLAIN = { disallowedSpecial: new Set() };

function check(text) {
  assert.equal(countTokens(text), byO200k(text, PLAIN), `o200k of ${JSON.stringify(text)}`);
  assert.equal(countTokens(text, "cl100k_base"), byCl100k(text, PLAIN), `cl100k of ${JSON.stringify(text)}`);
}

test("texts have the counts of gpt-tokenizer", () => {
  const texts = [
    "", " ", "\n\n\n", "hello", "The quick brown fox jumps over the lazy dog.", "I'll DON'T we've", "fn main() {\n    println!(\"{}\", 1234567);\n}\n", "日本語のテキスト、中文和한국어", "naïve café e\u0301",
    "👨‍👩‍👧‍👦 🏳️‍🌈 \u{1f600}", "<|endoftext|> <|im_start|>", "\ud800 lone \udfff", "\0\x01\x7f", "a".repeat(500), " ".repeat(300), "=".repeat(200), "中".repeat(100), "aAbBcC".repeat(50), "https://example.com/a/b?c=d&e=f#g",
  ];
  for (const text of texts) check(text);
});

test("random texts have the counts of gpt-tokenizer", () => {
  const parts = ["a", "the", " ", "  ", "\n", "\t", "Z", "'s", "1", "42", "é", "ß", "中文", "한", "🙂", "…", "--", "(", "{}", "/*", "\u0301", "\ud83d", "_id", ".ts"];
  let seed = 1;
  const next = (limit) => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) % limit;
  for (let round = 0; round < 2000; round++) check(Array.from({ length: next(40) }, () => parts[next(parts.length)]).join(""));
});

test("counts of many texts are added, and what is no text is refused", () => {
  assert.equal(countTokens(["one", "two", ""]), 2);
  assert.equal(createRequire(import.meta.url)("@sinew/tokens").countTokens("one"), 1);
  assert.throws(() => countTokens(5), { name: "TypeError" });
  assert.throws(() => countTokens(["a", null]), { name: "TypeError", code: "ERR_INVALID_ARG_TYPE" });
  assert.throws(() => countTokens("a", "p50k_base"), { name: "RangeError", message: /one of o200k_base, cl100k_base, not p50k_base/ });
});

// With one step per pair and merge these would take hours.
test("long runs of one letter end", () => {
  for (const [letter, length] of [["a", 1_000_000], [" ", 1_000_000], ["中", 300_000], ["ab", 300_000], ["\u{1f600}", 200_000]]) assert.ok(countTokens(letter.repeat(length)) > 0, letter);
});
