// Tests the messages about an override that cannot work.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { runtimes } from "../../natives/test/host.mjs";

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
  ["the agent is newer", { wanted: "19.0.1", bun: "1.4.5" }, /needs @oh-my-pi\/pi-natives 19\.0\.1, and @sinew\/pi-natives has the exports of 14 to 18\.2\n {2}fix: install @oh-my-pi\/\S+ 14 to 18\.2, or remove the override: npm pkg delete/],
  ["the minor version of the agent is newer", { wanted: "18.3.4", bun: "1.4.5" }, /^pi-natives: @oh-my-pi\/pi-coding-agent 18\.3\.4 needs @oh-my-pi\/pi-natives 18\.3\.4, and @sinew\/pi-natives has the exports of 14 to 18\.2\n.*\n$/],
  ["the agent is older", { wanted: "^13.19.0", bun: "1.4.5" }, /needs @oh-my-pi\/pi-natives \^13\.19\.0/],
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

/** Versions and ranges that an agent may require. */
const SUPPORTED = ["14.0.0", "^14.9.9", "18.2.10", "~18.2.3", "^18", "*", "latest"];

test("every supported version is accepted", unix, (t) => {
  for (const wanted of SUPPORTED) assert.equal(installed(t, { wanted, bun: "1.4.5" }).check().status, 0, wanted);
});

test("a folder without an agent is named", unix, (t) => {
  const { said } = installed(t).check(tmpdir());
  assert.match(said, /has no @oh-my-pi\/pi-natives in node_modules\n {2}fix: run this command in the folder/);
});

/** A module that imports exports of which one is only in a later version. */
const NEWER = ["clipboard", "desktop", "vcs"].map((name) => [`@oh-my-pi/pi-natives/${name}`, "{ later }"]).concat([["@oh-my-pi/pi-natives", "{ glob, later }"]]);
const VERSION_ERROR = /@oh-my-pi\/pi-coding-agent 18\.3\.4 needs @oh-my-pi\/pi-natives 18\.3\.4, and @sinew\/pi-natives has the exports of 14 to 18\.2\. To fix this, install @oh-my-pi\/pi-coding-agent 14 to 18\.2, or remove the override: npm pkg delete/;

test("loading fails in the place of a version that is not here, and names the fix", unix, (t) => {
  const { load } = installed(t, { wanted: "18.3.4" });
  for (const [what] of NEWER) {
    const { status, stderr } = load(what);
    assert.equal(status, 1);
    assert.match(stderr, VERSION_ERROR);
  }
});

test("under Bun, the error about the version comes before that about an export that is missing", unix, (t) => {
  const { bun } = runtimes();
  const start = (root, [what, names]) => {
    const file = join(root, "agent.mjs");
    writeFileSync(file, `import ${names} from ${JSON.stringify(what)};\nconsole.log(typeof glob);\n`);
    return spawnSync(bun, [file], { cwd: root, encoding: "utf8" });
  };
  const newer = installed(t, { wanted: "18.3.4" }).root;
  for (const imports of NEWER) assert.match(start(newer, imports).stderr, VERSION_ERROR, imports[0]);
  const { root } = installed(t);
  assert.match(start(root, ["@oh-my-pi/pi-natives", "{ glob, later }"]).stderr, /Export named 'later' not found/);
  assert.equal(start(root, ["@oh-my-pi/pi-natives", "{ glob }"]).stdout, "function\n");
});

test("loading without the package of the platform names the package", unix, (t) => {
  assert.match(installed(t, { addon: false }).load("@oh-my-pi/pi-natives").stderr, /To fix this, install the package with its optional dependencies \(npm install --include=optional @sinew\/natives-/);
});
