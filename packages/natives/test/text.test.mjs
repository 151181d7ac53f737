import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";

const require = createRequire(import.meta.url);
const { Ellipsis, countAmbiguous, extractSegments, sanitizeText, sliceWithWidth, truncateToWidth, visibleWidth, wrapTextWithAnsi } = require("..");
const { native } = require("../dist/loader.js");

/** Unpacks texts and cells from the binding's format: two numbers of four bytes for each text, then the texts. */
function unpacked(packed, count) {
  const number = (at) => Buffer.from(packed.slice(at, at + 4), "latin1").readUInt32LE();
  let at = 8 * count;
  return Array.from({ length: count }, (_, n) => [packed.slice(at, (at += number(8 * n + 4))), number(8 * n)]).flat();
}

/** Pseudo-random numbers that are the same in each run. */
function numbers(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 0x100000000) * below);
  };
}

const PIECES = [
  "a", "word ", "Two words", " ", "~", "\x7f", "\t", "\n", "\r\n", "\x1b", "\x1b[31m", "\x1b[0m", "\x1b[4m", "\x1b]8;;u\x07", "\x1b]8;;\x07",
  "\x1b]0;open", "é", "e\u0301", "\u0301", "\u200d", "\ufe0f", "界", "👩\u200d💻", "🇩🇪", "\ud83d", "\udca9", "\u0085", "\u009b1m", "\u0600", "\0",
];

/** Mostly printable ASCII, so that the answers that do not need the addon are tested too. */
function* texts(count) {
  const random = numbers(7);
  for (let n = 0; n < count; n++) {
    const plain = random(3) > 0;
    const length = random(12) * (random(20) === 0 ? 20 : 1);
    let text = "";
    for (let i = 0; i < length; i++) text += PIECES[random(plain ? 5 : PIECES.length)];
    yield [text + (plain && random(4) === 0 ? PIECES[random(PIECES.length)] : ""), random(30), random(30), random(30)];
  }
}

test("what is answered without the addon is what the addon answers", () => {
  for (const [text, a, b, c] of texts(6000)) {
    const strict = (a & 1) === 0;
    const at = JSON.stringify([text, a, b, c]);
    assert.equal(visibleWidth(text), native.visibleWidth(text, 3), at);
    assert.deepEqual(wrapTextWithAnsi(text, a), native.wrapTextWithAnsi(text, a, 3, true).split("\n"), at);
    for (const ellipsis of [0, 1, 2]) {
      assert.equal(truncateToWidth(text, a, ellipsis, strict), native.truncateToWidth(text, a, ellipsis, strict, 3) ?? text, at);
    }
    const { text: cut, width } = sliceWithWidth(text, a, b, strict);
    assert.deepEqual([cut, width], unpacked(native.sliceWithWidth(text, a, b, strict, 3), 1), at);
    const sides = extractSegments(text, a, b, c, strict);
    assert.deepEqual(Object.values(sides), unpacked(native.extractSegments(text, a, b, c, strict, 3), 2), at);
    assert.equal(sanitizeText(text), native.sanitizeText(text) ?? text, at);
  }
});

test("each function does its work", () => {
  assert.deepEqual(wrapTextWithAnsi("漢字、漢字", 4), ["漢", "字、", "漢字"]);
  assert.deepEqual(wrapTextWithAnsi("漢字、漢字", 4, 3, false), ["漢字", "、漢", "字"]);
  assert.throws(() => wrapTextWithAnsi("a", 4, 3, 1), { name: "TypeError", message: /cjkRules/ });
  assert.equal(visibleWidth("\x1b[1m界\x1b[0m!"), 3);
  assert.equal(visibleWidth("a\tb", 8), 10);
  assert.equal(countAmbiguous("\x1b[1m±\x1b[0m…日本"), 2);
  assert.deepEqual(wrapTextWithAnsi("\x1b[4mone two\x1b[24m", 3), ["\x1b[4mone\x1b[24m", "\x1b[4mtwo\x1b[24m"]);
  assert.equal(truncateToWidth("\x1b[31mlong text", 5), "\x1b[31mlong\x1b[0m…");
  assert.equal(truncateToWidth("long text", 7, Ellipsis.Ascii), "long...");
  assert.equal(truncateToWidth("ab", 4, Ellipsis.Omit, true), "ab  ");
  assert.deepEqual(sliceWithWidth("\x1b[31mred\x1b[0m", 1, 2), { text: "\x1b[31med\x1b[0m", width: 2 });
  assert.deepEqual(extractSegments("ab界f", 3, 4, 2), { before: "ab", beforeWidth: 2, after: "f", afterWidth: 1 });
  assert.equal(sanitizeText("\x1b[31mred\x1b[0m\r\n"), "red\n");
});

test("long strings cross whole", () => {
  for (const length of [255, 256, 257, 510, 511, 512, 513, 100_000]) {
    const text = "é".repeat(length);
    assert.equal(visibleWidth(text), length);
    assert.equal(truncateToWidth(text, length), text);
    assert.equal(sliceWithWidth(text, length - 1, 5).text, "é");
    assert.equal(sanitizeText(`\x1b[1m${text}`), text);
  }
});

test("a long line gives the same columns whether its beginning decides or not", () => {
  const line = "\x1b[31mwörld 界\x1b[0m ".repeat(400);
  const plain = sanitizeText(line);
  for (const start of [0, 40, 200, 1000]) {
    assert.equal(sanitizeText(sliceWithWidth(line, start, 45).text), sanitizeText(sliceWithWidth(plain, start, 45).text));
    const { before, after } = extractSegments(line, 9, start + 9, 27);
    assert.equal(before, sliceWithWidth(line, 0, 9, true).text);
    assert.equal(after, sliceWithWidth(line, start + 9, 27).text);
    assert.equal(sanitizeText(truncateToWidth(line, start)), truncateToWidth(plain, start));
  }
});

test("arguments of the wrong kind are named", () => {
  const bad = (work, name, message) => assert.throws(work, (error) => error.name === name && error.message.includes(message));
  bad(() => visibleWidth(5), "TypeError", "visibleWidth: text");
  bad(() => countAmbiguous(5), "TypeError", "countAmbiguous: text");
  bad(() => visibleWidth(null), "TypeError", "visibleWidth: text");
  bad(() => visibleWidth("a", "3"), "TypeError", "visibleWidth: tabWidth");
  bad(() => wrapTextWithAnsi("a", -1), "RangeError", "wrapTextWithAnsi: width");
  bad(() => wrapTextWithAnsi("a", 1.5), "RangeError", "wrapTextWithAnsi: width");
  bad(() => truncateToWidth("a", Number.NaN), "RangeError", "truncateToWidth: maxWidth");
  bad(() => truncateToWidth("a", 5, 3), "RangeError", "truncateToWidth: ellipsis");
  bad(() => truncateToWidth("a", 2 ** 31, 0, true), "RangeError", "truncateToWidth: maxWidth");
  bad(() => sliceWithWidth("a", 0), "TypeError", "sliceWithWidth: length");
  bad(() => extractSegments("a", 0, 0, -2), "RangeError", "extractSegments: afterLen");
  bad(() => sanitizeText(undefined), "TypeError", "sanitizeText: text");
  assert.equal(visibleWidth("é\t", null), 4);
  assert.equal(truncateToWidth("abc", 2, null, null, null), "a…");
  assert.deepEqual(sliceWithWidth("é", 0, Infinity), { text: "é", width: 1 });
});

test("no UTF-16 text makes a function throw", () => {
  const random = numbers(11);
  for (let n = 0; n < 300; n++) {
    const text = String.fromCharCode(...Array.from({ length: random(40) }, () => random(4) ? [0x1b, 0x9b, 0x5b, 0x5d, 0x38, 0x3b, 0x6d, 0xd83d, 0xdc69, 0x200d, 0x0a][random(11)] : random(0x10000)));
    const width = random(10);
    for (const line of wrapTextWithAnsi(text, width)) assert.ok(!line.includes("\n"));
    const padded = truncateToWidth(text, width, random(3), true);
    assert.equal(visibleWidth(padded), width, JSON.stringify(text));
    assert.ok(sliceWithWidth(text, random(5), width, true).width <= width);
    const clean = sanitizeText(text);
    assert.equal(sanitizeText(clean), clean);
    assert.ok(clean.isWellFormed());
  }
});
