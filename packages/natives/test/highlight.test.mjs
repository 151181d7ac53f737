import assert from "node:assert/strict";
import { test } from "node:test";
import { HighlightStream, getSupportedLanguages, highlightCode, highlightCodeDetailed, supportsLanguage } from "@sinew/natives";

const NAMES = ["comment", "keyword", "function", "variable", "string", "number", "type", "operator", "punctuation", "inserted", "deleted"];
const COLORS = Object.fromEntries(NAMES.map((name, index) => [name, `\x1b[38;5;${index + 1}m`]));
const strip = (text) => text.replace(/\x1b\[[0-9;]*m/g, "");

test("every key of the palette reaches its category", () => {
  for (const [lang, code, name] of [
    ["rust", "// x", "comment"], ["rust", "fn", "keyword"], ["rust", "f()", "function"], ["go", "x", "variable"], ["rust", '"x"', "string"],
    ["rust", "42", "number"], ["rust", "u8", "type"], ["rust", "+", "operator"], ["rust", ";", "punctuation"], ["diff", "+x", "inserted"],
    ["diff", "-x", "deleted"],
  ]) {
    const shown = highlightCode(code, lang, { [name]: "\x1b[31m" });
    assert.ok(shown.startsWith("\x1b[31m"), `${name}: ${JSON.stringify(shown)}`);
  }
});

test("the text stays as it is", () => {
  const code = "def f(x):\r\n\treturn \"é 漢 😀\" # \u0000\n\n'''open";
  for (const lang of ["python", "js", "lua", "nothing", "", undefined, null]) assert.equal(strip(highlightCode(code, lang, COLORS)), code);
});

test("a lone surrogate is read as U+FFFD", () => {
  assert.equal(highlightCode("a\ud800b", "js", {}), "a\ufffdb");
});

test("missing and hostile entries have no colour", () => {
  assert.equal(highlightCode("fn", "rust", { keyword: null, string: undefined, type: "\x1b[2J", unknown: 1 }), "fn");
});

test("arguments of a wrong type are refused by name", () => {
  const refused = (call, name) => assert.throws(call, { name: "TypeError", code: "ERR_INVALID_ARG_TYPE", message: new RegExp(name) });
  refused(() => highlightCode(1, "rust", {}), "code");
  refused(() => highlightCode("", 1, {}), "lang");
  refused(() => highlightCode("", "rust"), "colors");
  refused(() => highlightCode("", "rust", { keyword: 1 }), "keyword");
  refused(() => highlightCodeDetailed(1, "rust", {}), "highlightCodeDetailed: code");
  refused(() => supportsLanguage(1), "lang");
  refused(() => new HighlightStream("rust", null), "colors");
  refused(() => new HighlightStream("rust", {}).push(), "chunk");
});

test("languages are listed and known", () => {
  const all = getSupportedLanguages();
  assert.ok(all.length >= 60);
  assert.ok(all.every(supportsLanguage));
  assert.ok(["ts", "tsx", "js", "py", "sh", "zsh", "yml", "md", "rs", "c++"].every(supportsLanguage));
  assert.ok(!supportsLanguage("nothing"));
});

test("a stream of lines gives what one call gives", () => {
  const code = "const a = `x\n${b}`; /* c\n d */ f()\n";
  const stream = new HighlightStream("ts", COLORS);
  assert.equal(stream.supported, true);
  assert.equal(code.split(/(?<=\n)/).map((line) => stream.push(line)).join(""), highlightCode(code, "ts", COLORS));
});

test("a result says how many lines a budget left plain", () => {
  const code = "h1. A heading of *bold* text\n".repeat(5_000);
  const { text, plainLines } = highlightCodeDetailed(code, "textile", COLORS);
  assert.equal(text, highlightCode(code, "textile", COLORS));
  assert.equal(strip(text), code);
  assert.ok(plainLines > 3_000 && plainLines < 5_000, String(plainLines));
  assert.ok(text.endsWith("h1. A heading of *bold* text\n".repeat(plainLines)));
  const stream = new HighlightStream("textile", COLORS);
  assert.equal(code.split(/(?<=\n)/).map((line) => stream.push(line)).join(""), text);
  assert.equal(stream.plainLines, plainLines);
  assert.deepEqual(highlightCodeDetailed(code, "nothing", COLORS), { text: code, plainLines: 0 });
  assert.equal(highlightCodeDetailed("x = [[\n".repeat(5_000), "lua", COLORS).plainLines, 0);
  assert.equal(new HighlightStream("nothing", COLORS).plainLines, 0);
});

test("a stream of an unknown language gives back what it gets", () => {
  const stream = new HighlightStream("nothing", COLORS);
  assert.equal(stream.supported, false);
  assert.equal(stream.push("a\ud800"), "a\ud800");
});
