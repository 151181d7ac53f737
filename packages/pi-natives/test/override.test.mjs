// Tests the messages about an override that cannot work.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const PACKAGES = fileURLToPath(new URL("../..", import.meta.url));

/** A folder in which npm installed our package instead of the original, with an agent that needs version `wanted`. */
function installed(t, { wanted = "18.2.3", addon = true, original = false, bun } = {}) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "pi-override-")));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const modules = join(root, "node_modules");
  const put = (name, content) => {
    mkdirSync(join(modules, name), { recursive: true });
    writeFileSync(join(modules, name, "package.json"), JSON.stringify(content));
  };
  for (const name of ["@oh-my-pi/pi-coding-agent", "@oh-my-pi/pi-utils"]) put(name, { name, version: wanted, dependencies: { "@oh-my-pi/pi-natives": wanted }, engines: { bun: ">=1.3.14" } });
  const here = join(modules, "@oh-my-pi", "pi-natives");
  if (original) put("@oh-my-pi/pi-natives", { name: "@oh-my-pi/pi-natives", version: wanted });
  else {
    mkdirSync(here);
    for (const part of ["dist", "bin", "package.json"]) cpSync(join(PACKAGES, "pi-natives", part), join(here, part), { recursive: true });
    mkdirSync(join(modules, "@sinew"));
    if (addon) symlinkSync(join(PACKAGES, "natives"), join(modules, "@sinew", "natives"), "junction");
    else cpSync(join(PACKAGES, "natives"), join(modules, "@sinew", "natives"), { recursive: true, filter: (path) => !path.endsWith("test") });
  }
  const programs = join(root, "programs");
  mkdirSync(programs);
  if (bun) {
    writeFileSync(join(programs, "bun"), `#!/bin/sh\necho ${bun}\n`);
    chmodSync(join(programs, "bun"), 0o755);
  }
  const env = { ...process.env, PATH: [programs, dirname(process.execPath), "/bin"].join(delimiter) };
  // Another Bun on this machine must not be used.
  const check = (at = root) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(PACKAGES, "pi-natives", "bin", "check.mjs"), at], { encoding: "utf8", env });
    return { status, said: stdout + stderr };
  };
  const load = (what) => spawnSync(process.execPath, ["--input-type=module", "--eval", `import ${JSON.stringify(what)};`], { cwd: root, encoding: "utf8", env });
  return { root, check, load };
}

const unix = { skip: process.platform === "win32" && "a program of this test is a shell script" };

test("an agent that can run is confirmed", unix, (t) => {
  const { root, check, load } = installed(t, { bun: "1.4.5" });
  assert.deepEqual(check(), { status: 0, said: `The agent in ${root} runs on @sinew/pi-natives.\n` });
  assert.deepEqual([load("@oh-my-pi/pi-natives").status, load("@oh-my-pi/pi-natives/vcs").status], [0, 0]);
});

/** Folders that cannot work, with the expected messages about the problem and the fix. */
const PROBLEMS = [
  ["the original is installed", { original: true, bun: "1.4.5" }, /the override has no effect: @oh-my-pi\/pi-natives 18\.2\.3 is installed\n {2}fix: npm pkg set 'overrides\[@oh-my-pi\/pi-natives\]=npm:@sinew\/pi-natives/],
  ["the agent is newer", { wanted: "19.0.1", bun: "1.4.5" }, /needs @oh-my-pi\/pi-natives 19\.0\.1, and @sinew\/pi-natives has the exports of 13 to 18\n {2}fix: install a version of @oh-my-pi\/\S+ up to 18, or remove the override: npm pkg delete/],
  ["the agent is older", { wanted: "^12.1.0", bun: "1.4.5" }, /needs @oh-my-pi\/pi-natives \^12\.1\.0/],
  ["the package of the platform is missing", { addon: false, bun: "1.4.5" }, /found no addon for \S+.*\n {2}fix: .*npm install --include=optional @sinew\/natives-/],
  ["there is no Bun", {}, /pi-coding-agent 18\.2\.3 runs under Bun 1\.3\.14 or later, and no Bun is on PATH; Node cannot run it\n {2}fix: npm install --global bun@latest/],
  ["Bun is too old", { bun: "1.3.9" }, /and Bun 1\.3\.9 is on PATH/],
];

for (const [name, state, message] of PROBLEMS) {
  test(`the check names the fix: ${name}`, unix, (t) => {
    const { status, said } = installed(t, state).check();
    assert.equal(status, 1);
    assert.match(said, message);
  });
}

test("a folder without an agent is named", unix, (t) => {
  const { said } = installed(t).check(tmpdir());
  assert.match(said, /has no @oh-my-pi\/pi-natives in node_modules\n {2}fix: run this command in the folder/);
});

test("loading fails in the place of a version that is not here, and names the fix", unix, (t) => {
  const { load } = installed(t, { wanted: "19.0.1" });
  for (const what of ["@oh-my-pi/pi-natives", "@oh-my-pi/pi-natives/vcs"]) {
    const { status, stderr } = load(what);
    assert.equal(status, 1);
    assert.match(stderr, /has the exports of 13 to 18\. To fix this, install a version of/);
  }
});

test("loading without the package of the platform names the package", unix, (t) => {
  assert.match(installed(t, { addon: false }).load("@oh-my-pi/pi-natives").stderr, /To fix this, install the package with its optional dependencies \(npm install --include=optional @sinew\/natives-/);
});
