#!/usr/bin/env node
// npm run install-check: installs the packed files in root file systems of Debian's releases, without network, and runs them there.
import { spawnSync } from "node:child_process";
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, readdirSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { ROOT, run } from "./lib/steps.mjs";
import { CACHE, programs } from "./lib/tools.mjs";

/** Debian's releases that the archive still has, the oldest first: glibc 2.31, 2.36 and 2.41. */
const SUITES = ["bullseye", "bookworm", "trixie"];

const HELP = `npm run install-check -- [options]

  --from FOLDER   what npm run pack -- --all wrote; default: dist
  --suite NAME    a release of Debian, may be repeated; default: ${SUITES.join(", ")}
  --roots FOLDER  where the root file systems are kept, 350 MB each; default: the scripts' cache

Needs root and Linux. Each root file system is made once by debootstrap; Node is this one. What is installed is removed again.
`;

const { values } = parseArgs({
  options: {
    from: { type: "string", default: join(ROOT, "dist") },
    suite: { type: "string", multiple: true, default: SUITES },
    roots: { type: "string", default: join(CACHE, "roots") },
    help: { type: "boolean", short: "h" },
  },
});

/** What is installed: the files of a pack that it needs, and the commands that a user would run. All begin in a folder with the files. */
const FORMS = [
  {
    name: "addon",
    files: [/^sinew-natives-\d.*\.tgz$/, /^sinew-natives-linux-x64-\d.*\.tgz$/],
    script: `
      echo '{"private":true}' > package.json
      npm install --no-audit --no-fund --offline ./*.tgz
      SINEW_DEV=1 node -e 'require("@sinew/natives")'
      node smoke.mjs
      node smoke.mjs --threads`,
  },
  {
    name: "npm",
    files: [/^sinew-sinew-\d.*\.tgz$/, /^sinew-sinew-linux-x64-\d.*\.tgz$/],
    script: `
      npm install --global --no-audit --no-fund --offline ./*.tgz
      SINEW=$(npm prefix --global)/bin/sinew
      $SINEW --version
      $SINEW -p --script demo.jsonl look
      npm uninstall --global --no-audit --no-fund --offline @sinew/sinew @sinew/sinew-linux-x64`,
  },
  {
    name: "archive",
    files: [/^sinew-.*-x86_64-unknown-linux-.*\.tar\.gz$/],
    script: `
      mkdir prefix
      tar -xzf ./*.tar.gz --strip-components=1 -C prefix
      prefix/bin/sinew --version
      prefix/bin/sinew -p --script demo.jsonl look
      test -s prefix/share/man/man1/sinew.1`,
  },
  {
    name: "deb",
    files: [/^sinew_.*_amd64\.deb$/],
    script: `
      dpkg --purge sinew # what an earlier failure left
      ${/^```sh root\n([\s\S]*?)^```$/m.exec(readFileSync(join(ROOT, "docs", "installing.md"), "utf8"))[1]}
      sinew -p --script demo.jsonl look
      dpkg --verify sinew
      dpkg --purge sinew`,
  },
];

/** A root file system of a suite, made where it is missing. */
async function rootOf(suite) {
  const folder = join(resolve(values.roots), suite);
  if (existsSync(folder)) return folder;
  await programs({ debootstrap: "debootstrap", eatmydata: "eatmydata" });
  console.log(`making a root file system of ${suite}, once`);
  const part = `${folder}.part`;
  rmSync(part, { recursive: true, force: true });
  mkdirSync(dirname(part), { recursive: true });
  // Without waiting for the disk after every file: what is cut off stays a part.
  await run("eatmydata", ["debootstrap", "--variant=minbase", suite, part], { quiet: true });
  renameSync(part, folder);
  return folder;
}

/** Runs a script inside of a root file system that has no network; its exit code and all that it wrote. */
function inside(folder, script) {
  // A terminal needs devices of its own; the mounts end with the process.
  const enter = `mount -t proc proc "$0/proc"; mount -t devpts -o newinstance,ptmxmode=0666 devpts "$0/dev/pts"; exec chroot "$0" /bin/sh -euc "$1"`;
  const env = { PATH: "/opt/node/bin:/usr/sbin:/usr/bin:/sbin:/bin", HOME: "/root", LC_ALL: "C.UTF-8", DEBIAN_FRONTEND: "noninteractive", CI: "true" };
  const args = ["--net", "--mount", "--pid", "--fork", "--kill-child", "sh", "-euc", enter, folder, script];
  const { status, stdout, stderr, error } = spawnSync("unshare", args, { encoding: "utf8", env, stdio: ["ignore", "pipe", "pipe"], maxBuffer: 1 << 26 });
  return { status, text: `${error?.message ?? ""}${stdout}${stderr}` };
}

/** Puts this Node, with npm, into the root file system. */
function placeNode(folder) {
  const node = join(folder, "opt", "node");
  rmSync(node, { recursive: true, force: true });
  mkdirSync(join(node, "bin"), { recursive: true });
  copyFileSync(process.execPath, join(node, "bin", "node"));
  const found = spawnSync("sh", ["-c", "command -v npm"], { encoding: "utf8" }).stdout.trim();
  const npm = dirname(dirname(realpathSync(found)));
  cpSync(npm, join(node, "lib", "node_modules", "npm"), { recursive: true, dereference: true });
  writeFileSync(join(node, "bin", "npm"), `#!/bin/sh\nexec node /opt/node/lib/node_modules/npm/bin/npm-cli.js "$@"\n`, { mode: 0o755 });
}

/** Installs one form in a root file system: undefined where it works, else the reason. */
function check(folder, form) {
  const from = resolve(values.from);
  const names = form.files.map((pattern) => readdirSync(from).find((name) => pattern.test(name)));
  if (names.includes(undefined)) return `${from} has no file of the form ${form.files[names.indexOf(undefined)].source}; run: npm run pack -- --all`;
  const place = join(folder, "check");
  rmSync(place, { recursive: true, force: true });
  mkdirSync(place);
  for (const name of names) copyFileSync(join(from, name), join(place, name));
  for (const path of ["packages/natives/test/smoke.mjs", "scripts/demo.jsonl"]) copyFileSync(join(ROOT, path), join(place, basename(path)));
  try {
    const { status, text } = inside(folder, `cd /check\n${form.script}`);
    return status === 0 ? undefined : `exit code ${status}\n${text.split("\n").slice(-30).join("\n")}`;
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

async function main() {
  if (process.platform !== "linux" || process.getuid() !== 0) throw new Error("it enters other root file systems, which only root may on Linux");
  let failed = 0;
  for (const suite of values.suite) {
    const folder = await rootOf(suite);
    placeNode(folder);
    const libc = /\d\.\d+$/m.exec(inside(folder, "ldd --version").text)?.[0];
    const debian = readFileSync(join(folder, "etc", "debian_version"), "utf8").trim();
    for (const form of FORMS) {
      const fault = check(folder, form);
      failed += fault ? 1 : 0;
      console.log(`${suite} (Debian ${debian}, glibc ${libc})  ${form.name.padEnd(8)} ${fault ? `failed: ${fault}` : "passed"}`);
    }
  }
  console.log(`${values.suite.length * FORMS.length - failed} passed, ${failed} failed`);
  process.exitCode = failed ? 1 : 0;
}

if (values.help) {
  process.stdout.write(HELP);
} else {
  try {
    await main();
  } catch (error) {
    console.error(`install-check: ${error.message}`);
    process.exitCode = 1;
  }
}
