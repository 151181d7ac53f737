// Tests arrays of patterns: each item has the same meaning as alone, whatever it starts or ends with.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { globSync } from "@sinew/natives";
import { tree } from "./tree.mjs";

const UNIX = { skip: process.platform === "win32" && "names that Windows does not allow" };
const NAMES = [
  "a", "ab", "b", "c", "d", "x", "a{b", "a}b", "{rule}", "rule", "a{b,c", "a,b", "a[b", "c]d", "[ab]", "a\\", "\\", " lead", "lead", "trail ", "trail", " ", "{", "}", "[", "]", ",", "(", "a(b", "!a", "@(a)",
  "a{b,c}d", "abd", "acd", "{1..3}", "1", "2", "[id].ts", "i.ts", "a\tb", "\ttab",
];
const path = tree(Object.fromEntries(NAMES.flatMap((name) => [[name, ""], [`sub/${name}`, ""]])));
const find = (options) => globSync({ path, ...options }).matches.map((match) => match.path);
const union = (lists) => [...new Set(lists.flat())].sort();

/** Names as patterns, and patterns with alternatives, classes and escapes that are closed or not. */
const PATTERNS = [
  ...NAMES.filter((name) => !name.startsWith("!")), "\\!a", "{a,b}", "{a,b", "a{b}", "{a{b,c}d,x}", "{a,{b}", "{{rule}}", "{1..2}", "{a,,b}", "[,]", "[{]", "[}],{", "\\{rule\\}", "\\,", "*,*", "* ", " *", "@(a|b)", "!(a*)", "*{", "sub/a{b", "sub/{a,b",
];

test("a pattern of an array finds what it names", UNIX, () => {
  for (const name of NAMES.filter((name) => !name.startsWith("!"))) assert.ok(find({ pattern: [name, "c"], recursive: false }).includes(name), name);
  const cases = [
    [["a{b", "c"], ["a{b", "c"]], [[" lead", "c"], [" lead", "c"]], [["a[b", "c]d"], ["a[b", "c]d"]], [["a\\", "c"], ["a\\", "c"]], [["{rule}"], ["{rule}"]], [["{1..2}", "[id].ts"], ["1", "2", "[id].ts", "i.ts"]],
    [["{a,b}"], ["a", "b"]], [["a{b,c}d"], ["a{b,c}d", "abd", "acd"]], [["{a{b,c}d,x}"], ["abd", "acd", "x"]], [["{a,{b}", "x"], ["x"]], [["a,b", "!a*"], []], [["*", "!{rule}", "!a{b", "!*]*"], NAMES.filter((name) => name !== "{rule}" && name !== "a{b" && !name.includes("]"))],
  ];
  for (const [pattern, names] of cases) assert.deepEqual(find({ pattern, recursive: false, onlyFiles: true }).sort(), [...names].sort(), JSON.stringify(pattern));
});

test("an array finds what its patterns find alone, and ignores what they ignore alone", UNIX, () => {
  const all = find({ pattern: "*", recursive: true });
  for (const first of PATTERNS) {
    const alone = find({ pattern: [first] });
    assert.deepEqual(find({ pattern: "*", ignore: [first] }), all.filter((each) => !alone.includes(each) && !alone.some((folder) => each.startsWith(`${folder}/`))), JSON.stringify(first));
    for (const second of PATTERNS) {
      const both = find({ pattern: [first, second] });
      assert.deepEqual(both.sort(), union([alone, find({ pattern: [second] })]), JSON.stringify([first, second]));
    }
  }
});

test("a list may be longer than a text, and an error names the item", () => {
  const many = Array.from({ length: 5_000 }, (_, index) => `none-${index}.txt`);
  assert.deepEqual(find({ pattern: [...many, "c"], recursive: false }), ["c"]);
  assert.deepEqual(find({ pattern: "c,d", ignore: [...many, "d"], recursive: false }), ["c"]);
  for (const [options, message] of [
    [{ ignore: ["a", ""] }, 'globSync: ignore[1]: invalid pattern "": it is empty; `*` matches every name'],
    [{ pattern: ["a", ""] }, 'globSync: pattern[1]: invalid pattern "": it is empty; `*` matches every name'],
    [{ pattern: ["@(a/b)"] }, 'globSync: pattern[0]: invalid pattern "@(a/b)": a group such as `@(a|b)` cannot contain `/`; write `{a/b,c}` for paths'],
  ]) {
    assert.throws(() => find(options), (error) => error.code === "ERR_INVALID_ARG_VALUE" && error.message.replace(/^glob:/, "globSync:") === message, message);
  }
});

test("absolute patterns may begin with a directory whose name has braces, commas and classes", UNIX, () => {
  for (const name of ["a{b}", "a{b", "{a,b}", "a,b", "[ab]", "a[b", "plain"]) {
    const root = join(tree({ [`${name}/c.ts`]: "", [`${name}/d.ts`]: "", [`${name}/sub/c.ts`]: "" }), name);
    const found = (options) => globSync({ path: root, ...options }).matches.map((match) => match.path);
    assert.deepEqual(found({ pattern: [`${root}/*.ts`, "missing"] }), ["c.ts", "d.ts"], name);
    assert.deepEqual(found({ pattern: [`${root}/**/c.ts`] }), ["c.ts", "sub/c.ts"], name);
    assert.deepEqual(found({ pattern: "*.ts", ignore: [`${root}/c.ts`] }), ["d.ts", "sub/c.ts"], name);
  }
});

test("patterns in a text stay patterns beside ignore", UNIX, () => {
  const cases = [
    ["a,b", "b", ["a"]], ["{a,b},x", "c,{b,x}", ["a"]], ["a{b", ["c"], ["a{b"]], ["a,b,x", "a,x", ["b"]], ["a\\,b,x", ["c"], ["a,b", "x"]], ["[id].ts", ["i.*"], ["[id].ts"]],
  ];
  for (const [pattern, ignore, names] of cases) {
    assert.deepEqual(find({ pattern, ignore, recursive: false }), names, JSON.stringify([pattern, ignore]));
  }
});

test("a name with commas between escaped braces is one pattern of a text", UNIX, () => {
  const names = ["{a,b}", "a", "b", "c", "b}", "{a"];
  const root = tree(Object.fromEntries(names.map((name) => [name, ""])));
  const found = (options) => globSync({ path: root, ...options }).matches.map((match) => match.path).sort();
  for (const [text, expect] of [["\\{a,b\\}", ["{a,b}"]], ["c,\\{a,b\\}", ["c", "{a,b}"]], ["\\{a,c", ["c", "{a"]]]) {
    assert.deepEqual(found({ pattern: text }), expect, text);
    assert.deepEqual(found({ pattern: "*", ignore: text }), names.filter((name) => !expect.includes(name)).sort(), text);
  }
});
