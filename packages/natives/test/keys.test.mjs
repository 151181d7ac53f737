import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";

const require = createRequire(import.meta.url);
const natives = require("..");
const { KeyEventType, matchesKey, matchesKittySequence, matchesLegacySequence, parseKey, parseKittySequence } = natives;
const { native } = require("../dist/loader.js");

const PREFIXES = ["", "\x1b", "\x1b[", "\x1bO", "\x1b\x1b[", "\x1b[1;", "\x1b[1;5", "\x1b[9", "\x1b[01;", "\x1b[27;5;", "\x1b[1089::"];
const NUMBERS = ["", "0", "1", "2", "3", "15", "16", "17", "97", "97;", "97;0", "97;1", "97;5", "97;05", "97;16", "97;17", "99;5", "127", "128", "13;2", "13;2:3", "97;5;97"];
const ENDS = ["", "~", "u", "A", "H", "P", "R", "Z", "^", "$", "@", "a", "é", "m", "\x7f", "\x1b", "\0", "\n", "界", "\ud83d"];
const sequences = PREFIXES.flatMap((prefix) => NUMBERS.flatMap((number) => ENDS.map((end) => prefix + number + end)));

/** The id in the addon's own format. */
function packed(id) {
  if (id === null) return 0;
  const bits = { shift: 1, alt: 2, ctrl: 4, super: 8 };
  let rest = id;
  let modifiers = 0;
  for (let found; (found = /^(ctrl|shift|alt|super)\+(?=.)/.exec(rest)); rest = rest.slice(found[0].length)) modifiers |= bits[found[1]];
  const name = native.keyNames().indexOf(rest);
  return ((modifiers << 24) | (name < 0 ? rest.codePointAt(0) : 0x110000 + name)) >>> 0;
}

test("what the table answers is what the addon answers", () => {
  const ids = new Set();
  for (const kitty of [false, true]) {
    for (const data of sequences) {
      const id = parseKey(data, kitty);
      // The first answer is from the addon, the second from the table that remembers it.
      assert.equal(packed(id), native.parseKey(data, kitty) & 0x7fffffff, JSON.stringify(data));
      assert.equal(parseKey(data, kitty), id);
      if (id !== null) ids.add(id);
    }
  }
  const asked = [...ids].slice(0, 60).concat(["esc", "Return", "Ctrl+C", "shift+ctrl+a", "nokey", "", "+", "ctrl++", "ctrl+[", "A", "ctrl+_"]);
  for (const kitty of [false, true]) {
    for (const data of sequences.filter((_, place) => place % 5 === 0)) {
      for (const id of asked) assert.equal(matchesKey(data, id, kitty), native.matchesKey(data, id, kitty), JSON.stringify([data, id, kitty]));
    }
  }
});

test("each function does its work", () => {
  assert.equal(parseKey("\x1b[1;5A", false), "ctrl+up");
  assert.equal(parseKey("\x1b[27;8;97~"), "ctrl+shift+alt+a");
  assert.equal(parseKey("\n", true), "shift+enter");
  assert.equal(parseKey("\x1b[<0;1;1M", false), null);
  assert.equal(matchesKey("\x03", "Ctrl+C", false), true);
  assert.equal(matchesKey("\x1b[1089::99;5u", "ctrl+c", true), true);
  assert.deepEqual(parseKittySequence("\x1b[97;5u"), { codepoint: 97, modifier: 4 });
  assert.deepEqual(parseKittySequence("\x1b[1089:1057:99;2:3u"), {
    codepoint: 1089, shiftedKey: 1057, baseLayoutKey: 99, modifier: 1, eventType: KeyEventType.Release,
  });
  assert.equal(parseKittySequence("a"), null);
  assert.equal(matchesKittySequence("\x1b[97;69u", 97, 4), true);
  assert.equal(matchesKittySequence("\x1b[97;5u", 97.5, 4), false);
  assert.equal(matchesLegacySequence("\x1bOP", "f1"), true);
  assert.deepEqual(natives.KeyEventType.Repeat, 2);
});

test("long and broken input is no key", () => {
  for (const data of ["", "\ud83d", "\x1b[" + "1;".repeat(100_000) + "u", "a".repeat(100_000), "\x1b[" + "9".repeat(300) + "~"]) {
    assert.equal(parseKey(data, true), null);
    assert.equal(matchesKey(data, "a", true), false);
    assert.equal(parseKittySequence(data), null);
  }
  assert.equal(matchesKey("a", "a".repeat(1000), false), false);
});

test("arguments of the wrong kind are named", () => {
  const bad = (work, message) => assert.throws(work, (error) => error.name === "TypeError" && error.message.includes(message));
  bad(() => parseKey(5), "parseKey: data");
  bad(() => parseKey("a", 1), "parseKey: kittyActive");
  bad(() => matchesKey("a", 1), "matchesKey: keyId");
  bad(() => parseKittySequence(null), "parseKittySequence: data");
  bad(() => matchesKittySequence("a", "97", 0), "matchesKittySequence: codepoint");
  bad(() => matchesLegacySequence("a"), "matchesLegacySequence: keyName");
  assert.equal(parseKey("a", null), "a");
});
