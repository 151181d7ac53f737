// Tests lists of patterns, exclusions, and the sync forms, with fast-glob as the oracle.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import fastGlob from "fast-glob";
import { FileType, glob, globSync, grep, grepSync } from "@sinew/natives";

const ROOT = mkdtempSync(join(tmpdir(), "glob-options-"));
after(() => rmSync(ROOT, { recursive: true, force: true }));
for (const name of ["a.ts", "b.js", "a,b.ts", "{x}.md", "src/c.ts", "src/c.d.ts", "src/d,e/f.ts", "src/deep/g.js", "docs/h.md", "docs/i.txt", ".hidden/j.ts", ".k.ts"]) {
  mkdirSync(dirname(join(ROOT, name)), { recursive: true });
  writeFileSync(join(ROOT, name), `// TODO in ${name}\n`);
}
symlinkSync("a.ts", join(ROOT, "link.ts"));

/** Our options for the behavior of fast-glob: patterns start at the folder, and ignore files do not count. */
const OURS = { path: ROOT, recursive: false, gitignore: false };

/** Checks that both find the same entries, and that `glob` and `globSync` do. */
async function check(pattern, options = {}, theirs = options) {
  const expect = (await fastGlob(pattern, { cwd: ROOT, onlyFiles: false, ...theirs })).sort();
  const ours = { ...OURS, pattern, ...options };
  const result = await glob(ours);
  assert.deepEqual(result.matches.map(({ path }) => path).sort(), expect, JSON.stringify([pattern, options]));
  assert.deepEqual(globSync(ours), result);
}

test("several patterns find what one of them finds, each entry once", async () => {
  await check(["*.ts", "src/**/*.js"]);
  await check(["**/*.ts", "a.ts", "src/c.ts"]);
  await check(["docs/*.{md,txt}", "b.js"]);
  await check(["**/*.md"]);
  assert.deepEqual(await glob({ ...OURS, pattern: [] }), { matches: [], totalMatches: 0 });
});

test("a comma in a pattern of a list is a character", async () => {
  await check(["a,b.ts"]);
  await check(["src/d,e/*.ts", "a.ts"]);
  await check(["[a,]*.ts"]);
  await check(["src/{c,deep/g}.{ts,js}"]);
});

test("ignore takes entries away", async () => {
  await check(["**/*.ts"], { ignore: ["**/*.d.ts"] });
  await check("**/*", { ignore: ["src/**", "docs/**"] });
  await check(["**/*.ts"], { ignore: ["src/d,e/**"] });
  await check("*", { ignore: "*.ts" }, { ignore: ["*.ts"] });
  await check("*", { ignore: [] });
  await assert.rejects(glob({ ...OURS, pattern: "*", ignore: ["!a"] }), { name: "RangeError", code: "ERR_INVALID_ARG_VALUE", message: /ignore must not begin with "!": "!a"/ });
});

test("onlyFiles and onlyDirectories choose types", async () => {
  await check("**/*", { onlyFiles: true });
  await check("**/*", { onlyDirectories: true });
  const both = { ...OURS, onlyFiles: true, onlyDirectories: true };
  await assert.rejects(glob(both), { code: "ERR_INVALID_ARG_VALUE", message: "glob: only one of fileType, onlyFiles and onlyDirectories can be set" });
  assert.throws(() => globSync({ ...OURS, onlyFiles: true, fileType: FileType.Dir }), { code: "ERR_INVALID_ARG_VALUE" });
  assert.deepEqual(globSync({ ...OURS, onlyFiles: true, fileType: FileType.File }), globSync({ ...OURS, onlyFiles: true }));
});

test("absolute gives paths from the root", async () => {
  await check(["**/*.ts", "docs"], { absolute: true });
  const { matches } = globSync({ pattern: "*", path: join(ROOT, "a.ts"), absolute: true });
  assert.deepEqual(matches.map(({ path }) => path), [join(ROOT, "a.ts").replaceAll("\\", "/")]);
});

test("the sync forms give and throw what the others do", async () => {
  const options = { pattern: "TODO", path: ROOT, glob: "*.ts" };
  assert.deepEqual(grepSync(options), await grep(options));
  assert.ok(grepSync(options).totalMatches > 3);
  for (const [call, sync, wrong] of [[grep, grepSync, { pattern: "a(", path: ROOT }], [glob, globSync, { path: join(ROOT, "none") }], [grep, grepSync, { pattern: "x" }], [glob, globSync, { path: ROOT, pattern: 1 }]]) {
    const rejected = await call(wrong).then(() => assert.fail("rejects"), (error) => error);
    const named = (text) => text.replace(/^(glob|grep)Sync/, "$1");
    assert.throws(() => sync(wrong), (error) => error.code === rejected.code && named(error.message) === rejected.message);
  }
  assert.throws(() => globSync({ path: ROOT, timeoutMs: 0 }), { name: "TimeoutError" });
});

test("groups stand for alternatives within a name", async () => {
  await check("@(a|b*).@(ts|js)");
  // The same result as in bash; fast-glob finds `src/c.d.ts` too.
  assert.deepEqual((await glob({ ...OURS, pattern: "src/!(*.d).ts" })).matches.map(({ path }) => path), ["src/c.ts"]);
  await check("docs/+([hi]).*(m|d|t|x)");
  await check("?(a).ts");
  await check(["**/*.ts", "!**/@(c|f).ts"]);
  const { matches } = await glob({ ...OURS, pattern: "**/*.ts", ignore: "**/!(c|f).ts" });
  assert.deepEqual(matches.map(({ path }) => path), ["src/c.ts", "src/d,e/f.ts"]);
  await assert.rejects(glob({ ...OURS, pattern: "@(src/c|a).ts" }), { code: "ERR_INVALID_ARG_VALUE", message: /cannot contain `\/`/ });
});

test("links to folders are entered where that is asked for, and none twice on one path", async (t) => {
  const path = mkdtempSync(join(tmpdir(), "glob-links-"));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  for (const name of ["src", "docs"]) mkdirSync(join(path, name));
  for (const name of ["src/c.ts", "docs/h.ts"]) writeFileSync(join(path, name), "");
  symlinkSync("src", join(path, "linked"));
  symlinkSync("..", join(path, "docs", "up"));
  const found = async (pattern, followLinks) => (await glob({ ...OURS, path, pattern, followLinks })).matches.map((match) => match.path);
  assert.deepEqual(await found("**/*.ts", false), ["docs/h.ts", "src/c.ts"]);
  assert.deepEqual(await found("**/*.ts", true), ["docs/h.ts", "linked/c.ts", "src/c.ts"]);
  assert.deepEqual(await found("docs/up/**", true), []);
});

test("no more levels are looked at than was asked for", async () => {
  await check("**/*.ts", { maxDepth: 1 }, { deep: 1 });
  await check("**/*.ts", { maxDepth: 2 }, { deep: 2 });
  const { matches } = globSync({ ...OURS, pattern: "**", maxDepth: 1, onlyDirectories: true });
  assert.deepEqual(matches.map(({ path }) => path), ["docs", "src"]);
});
