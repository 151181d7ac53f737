// Compares compat/fast-glob with the package that it replaces, on trees and patterns that are listed here or generated.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import oracle from "fast-glob";
import fastGlob from "@sinew/natives/compat/fast-glob";

const { compilePattern } = createRequire(import.meta.url)("../dist/compat/glob-expression.js");

const UNIX = { skip: process.platform === "win32" && "names and links of Unix" };

/** A new directory with these files, deleted after the test. */
function tree(t, files, links = {}) {
  const cwd = mkdtempSync(join(tmpdir(), "fast-glob-"));
  t.after(() => rmSync(cwd, { recursive: true, force: true }));
  for (const name of files) {
    mkdirSync(dirname(join(cwd, name)), { recursive: true });
    writeFileSync(join(cwd, name), "");
  }
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(cwd, name));
  return cwd;
}

/** The sorted result of a call, or the code of its error. */
async function outcome(call) {
  try {
    return (await call()).sort();
  } catch (error) {
    return error.code ?? error;
  }
}

async function assertSame(patterns, options, told = JSON.stringify([patterns, { ...options, cwd: undefined }])) {
  const expect = await outcome(() => oracle.sync(patterns, options));
  assert.deepEqual(await outcome(() => fastGlob.sync(patterns, options)), expect, told);
  assert.deepEqual(await outcome(() => fastGlob(patterns, options)), expect, told);
  return expect;
}

test("finds what fast-glob finds with classes, groups, deep directories and exclusions", UNIX, async (t) => {
  const cwd = tree(t, [
    "app/[id]/page.tsx", "app/i/page.tsx", "app/x/page.tsx", "app/[a-z]/page.tsx", "packages/README.md", "packages/a/b.ts", "packages/a/.c.ts", "a.js", "b.ts", ".hidden", ".d.js",
    "types/a.d.ts", "types/a.ts", ".cache/x.ts", ".cache/.y.ts", "a.", "lib/a.min.js", "lib/sub/b.js",
  ]);
  const cases = [
    ["app/[id]/page.tsx"], ["app/[id]/*"], ["**/[id]/**"], ["app/**", { ignore: ["app/[id]/**"] }], ["app/**", { ignore: ["**/[id]/page.tsx"] }], ["app/[a-z]/*"], ["app/[!x]/*"],
    ["packages/*/**"], ["packages/**"], ["packages/*/**", { dot: true }], ["**", { ignore: ["packages/*/**"] }], ["*/**", { onlyFiles: false }],
    ["!(*.js)"], ["!(*.js)", { dot: true }], ["!(a).js"], ["**/!(*.d).ts"], ["!(packages)/**"], ["@(*.js|*.ts)"], ["?(*.js|*.ts)"], ["**/@(*|.y).ts"], ["(a|b).*"], ["a@(.js|.)"],
    ["**.js"], ["*.*"], ["**/*.*"], [".*"], ["**/.*"], ["**/**"], ["**/*.min.js"], ["lib/**/b.js"], ["lib/**/**/*.js"], ["[[:alpha:]].*"], ["[ab].{js,ts}"], ["./packages/**"], ["./packages/*/*"],
    ["**/*.ts", { ignore: ["**/*.d.ts"] }], [`${cwd}/**/*.ts`, { ignore: ["**/*.d.ts"] }], [`${cwd}/**`, { ignore: [`${cwd}/app/**`] }], ["**", { ignore: [`${cwd}/app/**`], absolute: true }],
    ["**", { ignore: ["**/.*"] }], ["**", { dot: true, ignore: ["**/.*/**"] }], ["packages/*/**", { caseSensitiveMatch: false }], ["**/*", { globstar: false }], ["*", { baseNameMatch: true, globstar: false }],
  ];
  let found = 0;
  for (const [patterns, options] of cases) if ((await assertSame(patterns, { cwd, ...options })).length) found++;
  assert.ok(found > 35, `${found} of the cases find something`);
});

test("skips links that lead nowhere, to themselves, through a file or to a name that is too long, and reports the same errors", UNIX, async (t) => {
  const links = { "nothing.ts": "missing", "itself.ts": "itself.ts", "through.ts": "a.ts/b", "long.ts": "x".repeat(300), "one.ts": "two.ts", "two.ts": "one.ts", "good.ts": "a.ts", folder: "src" };
  const cwd = tree(t, ["a.ts", "src/b.ts"], links);
  for (const patterns of ["**/*.ts", "*.ts", ["itself.ts", "a.ts"], ["long.ts", "a.ts"], ["through.ts", "a.ts"], ["nothing.ts", "a.ts"], "a.ts/b", "a.ts/*", "itself.ts/*", `${"y".repeat(300)}/*`, "y".repeat(300), "missing/*", "folder/*"]) {
    for (const options of [{}, { onlyFiles: false }, { suppressErrors: true }, { followSymbolicLinks: false }, { throwErrorOnBrokenSymbolicLink: true }]) await assertSame(patterns, { ...options, cwd });
  }
  const stats = await fastGlob("*.ts", { cwd, stats: true });
  assert.deepEqual(stats.map(({ path }) => path).sort(), ["a.ts", "good.ts"]);
});

/** Pseudo-random numbers, the same in every run. */
function numbers(seed) {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const NAMES = ["a", "b", "ab", "a.js", "b.ts", ".a", ".b.js", "[id]", "[ab]", "c", "src", "packages", "index.d.ts", "(x)", "a b", "README.md", "aa", "ba.js"];

/**
 * Generates patterns without what fast-glob itself handles wrongly: `?` in a directory's name, groups within braces,
 * escapes within groups.
 */
function patternMaker(below) {
  const pick = (list) => list[below(list.length)];
  const name = () => pick(NAMES.filter((each) => !/[[(]/.test(each)));
  const simple = () => pick([name, () => "*", () => "*.js", () => pick(["[id]", "[ab]", "[a-b]", "[!a]", "[^b]", "[.]", "[a.]"])])();
  const part = () => pick([name, name, () => "*", () => "*", simple, () => pick([".js", ".ts", ".", ".*"]), () => `${pick(["@", "?", "!"])}(${simple()}|${simple()})`, () => `${pick(["+", "*"])}(${name()})`, () => `!(${simple()})`, () => `{${name()},${pick(["*", name()])}}`])();
  const level = () => (below(5) ? (below(3) ? part() : part() + part()) : "**");
  return () => (below(12) ? "" : "./") + Array.from({ length: 1 + below(3) }, level).join("/");
}

test("finds what fast-glob finds, for made-up trees and patterns", UNIX, async (t) => {
  let found = 0;
  for (const seed of [1, 2, 3, 4]) {
    const below = numbers(seed);
    const pick = (list) => list[below(list.length)];
    const files = new Set();
    const folders = new Set();
    for (let count = 0; count < 150; count++) {
      const parts = Array.from({ length: 1 + below(3) }, () => pick(NAMES));
      const above = parts.slice(0, -1).map((_, at) => parts.slice(0, at + 1).join("/"));
      const file = parts.join("/");
      if (folders.has(file) || above.some((each) => files.has(each))) continue;
      files.add(file);
      for (const each of above) folders.add(each);
    }
    const cwd = tree(t, files);
    const pattern = patternMaker(below);
    for (let count = 0; count < 250; count++) {
      const options = { cwd };
      for (const [name, value] of [["dot", true], ["onlyFiles", false], ["absolute", true], ["deep", 1 + below(3)], ["markDirectories", true], ["ignore", [pattern()]], ["ignore", [pattern(), pattern()]]]) if (!below(5)) options[name] = value;
      const patterns = below(12) ? pattern() : `${cwd}/${pattern().replace(/^\.\//, "")}`;
      const expect = await assertSame(patterns, options);
      if (expect.length) found++;
    }
  }
  assert.ok(found > 400, `${found} patterns find something`);
});

/** Nested groups of one letter. Each matches only names of the letter `a`, or nothing. */
function nested(depth) {
  if (!depth) return ["a", "a|a", "a|aa", "?", "*", "*a*"];
  return ["+", "*", "?", "@", "!"].flatMap((mark) => nested(depth - 1).map((body) => `${mark}(${body})`));
}

test("a pattern of nested groups takes no longer than its text and the name need", async (t) => {
  const cwd = tree(t, ["a".repeat(120)]);
  const patterns = [1, 2, 3].flatMap(nested).flatMap((group) => [`${group}b`, `${group}${group}b`, `**/${group}b`]);
  patterns.push("*a".repeat(30) + "b", "**/*a*a*a*a*a*a*a*a*a*a*b", `${"**/a*/".repeat(8)}b`, "+(a|a)b/**");
  // With backtracking, some would practically never end. All of them require a `b`, unless they exclude.
  for (const pattern of patterns) {
    const found = fastGlob.sync(pattern, { cwd });
    if (!pattern.includes("!")) assert.deepEqual(found, [], pattern);
  }
  for (const pattern of ["+(a|a)", "*(*(a|aa))", "+(+(a))", "*a".repeat(30), "!(+(a|a)b)"]) assert.deepEqual(fastGlob.sync(pattern, { cwd }), ["a".repeat(120)], pattern);
});

test("without groups, a leading `!` negates the pattern, and the directories of the rest are entered", async (t) => {
  const cwd = tree(t, ["a.js", "b.js", "c", "b/q", "b/r", "bd/s", "x/y", "x/b/z"]);
  for (const pattern of ["!(b*)", "!(b*)/*", "!(b*)/**", "x/!(b*)", "**/!(b*)", "(b*)", "!(x)/*", "@(b*)", "+(b)"]) {
    for (const more of [{}, { dot: true }, { onlyFiles: false }, { baseNameMatch: true }]) {
      const options = { cwd, extglob: false, ...more };
      assert.deepEqual(await outcome(() => fastGlob(pattern, options)), await outcome(() => oracle(pattern, options)), JSON.stringify([pattern, more]));
    }
  }
});

test("patterns that cut a name in many ways need no backtracking", () => {
  const syntax = { dot: false, ignoreCase: false, extglob: true, globstar: true };
  for (const pattern of ["+([a-z])+([a-z])+([a-z])+([a-z])1", "*a*a*a*a1", "x/*a*a*a*a1"]) assert.ok(!(compilePattern(pattern, syntax) instanceof RegExp), pattern);
  for (const pattern of ["**/*.ts", "src/*/*/*.test.ts", "**/*.test.*"]) assert.ok(compilePattern(pattern, syntax) instanceof RegExp, pattern);
});
