// Tests that errors have a code and a stack that shows where the call was made.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

const natives = createRequire(import.meta.url)("..");
const { PhotonImage, Process, PtySession, Shell, executeShell, fitImage, fuzzyFind, glob, grep, hasMatch, htmlToMarkdown } = natives;

const unix = { skip: process.platform === "win32" && "paths of Unix" };

const folder = mkdtempSync(join(tmpdir(), "sinew-errors-"));
after(() => rmSync(folder, { recursive: true, force: true }));
writeFileSync(join(folder, "file"), "text");
symlinkSync("loop", join(folder, "loop"));

const PATHS = {
  ENOENT: join(folder, "none"),
  ENOTDIR: join(folder, "file", "below"),
  ELOOP: join(folder, "loop", "x"),
  ENAMETOOLONG: join(folder, "x".repeat(300)),
  ERR_INVALID_ARG_VALUE: join(folder, "a\0b"),
};

const SEARCHES = {
  grep: (path) => grep({ pattern: "x", path }),
  glob: (path) => glob({ path }),
  fuzzyFind: (path) => fuzzyFind({ query: "x", path }),
};

for (const [name, search] of Object.entries(SEARCHES)) {
  test(`${name} has a code for each kind of path that it cannot read`, unix, async () => {
    for (const [code, path] of Object.entries(PATHS)) {
      await assert.rejects(search(path), (error) => error.code === code && error.message.startsWith(`${name}: `), `${code} for ${JSON.stringify(path)}`);
    }
  });
}

test("shells and terminals have a code for each folder that they cannot work in", unix, async () => {
  for (const [code, cwd] of Object.entries(PATHS)) {
    await assert.rejects(new PtySession().start({ command: "true", cwd }), { code }, `PtySession in ${code}`);
  }
});

/** Every call whose promise rejects after an error in native code. */
const FAULTS = {
  grep: () => grep({ pattern: "(", path: folder }),
  "grep with a callback": () => grep({ pattern: "(", path: folder }, () => {}),
  glob: () => glob({ pattern: "[", path: folder }),
  fuzzyFind: () => fuzzyFind({ query: "x", path: PATHS.ENOENT }),
  "grep under a signal": () => grep({ pattern: "x", path: folder, signal: AbortSignal.abort() }),
  "htmlToMarkdown out of time": () => htmlToMarkdown("<p>x".repeat(200_000), { timeoutMs: 0 }),
  "PhotonImage.parse": () => PhotonImage.parse(new Uint8Array([1, 2, 3])),
  fitImage: () => fitImage(new Uint8Array([1, 2, 3])),
  "PtySession.start": () => new PtySession().start({ command: "true", cwd: PATHS.ENOENT }),
  executeShell: () => executeShell({ command: "true", cwd: PATHS.ENOENT }),
  "Shell.run": () => new Shell().run({ command: "true", cwd: PATHS.ENOENT }),
  "Process.waitForExit": () => Process.fromPid(process.pid).waitForExit({ timeoutMs: 1 }),
};

for (const [name, fault] of Object.entries(FAULTS)) {
  test(`the stack of an error of ${name} shows the caller`, async () => {
    function theCaller() {
      return fault();
    }
    const error = await theCaller().then(() => assert.fail("no error"), (error) => error);
    assert.match(error.stack, /theCaller.*errors\.test\.mjs/, error.stack);
    assert.ok(error.stack.startsWith(`${error.name}: ${error.message}\n`), error.stack);
  });
}

test("hasMatch names no option that it has not", () => {
  for (const pattern of ["(", "[", "a{3,2}", "(?=x)", "\\p{Foo}"]) {
    assert.throws(() => hasMatch("x", pattern), (error) => error.message.startsWith("hasMatch: ") && !/literal/.test(error.message));
  }
});

test("objects that only calls give cannot be made", () => {
  for (const [name, made] of Object.entries({ PhotonImage, Process })) {
    for (const given of [[], [{}], [null]]) {
      assert.throws(() => new made(...given), (error) => error instanceof TypeError && error.message.startsWith(`new ${name}() cannot be called`));
    }
  }
});

test("what is no public function is no export", () => {
  assert.equal("osc52" in natives, false);
});
