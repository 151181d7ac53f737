import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { appendFileSync, copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { PLATFORMS } from "../../../scripts/lib/platforms.mjs";
import { ADDON, BUILD, MUSL, PACKAGE, TAG, bare, place, run, temporary } from "./host.mjs";

const addon = join(BUILD, ADDON);
const VERSION = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8")).version;
const X64 = process.arch === "x64";
const MODERN = `sinew_natives.${TAG}-modern.node`;
const BASELINE = `sinew_natives.${TAG}-baseline.node`;
/** The name of this machine's addon if no variant is forced. */
const NAME = X64 ? BASELINE : `sinew_natives.${TAG}.node`;

/** Loads a copy of the package in a separate process. `before` is JavaScript that runs first. */
function load(folder, { env, before = "" } = {}) {
  const script = `${before};const n = require(${JSON.stringify(join(folder, "dist", "index.js"))}); process.stdout.write(String(n.visibleWidth("日本")));`;
  return run(process.execPath, ["-e", script], { cwd: folder, env: { SINEW_DEV: "1", ...env } });
}

/** A copy with the addon in its own folder, under `name`. With `own`, the file is a real copy that may be changed. */
function withAddon(t, name = NAME, { own = false } = {}) {
  const folder = bare(t);
  const path = join(folder, "native", name);
  mkdirSync(dirname(path));
  if (own) copyFileSync(addon, path);
  else place(addon, path);
  return { folder, path };
}

function replace(path, from, to) {
  const text = readFileSync(path, "utf8");
  assert.ok(text.includes(from), `${path} holds ${from}`);
  writeFileSync(path, text.replace(from, to));
}

/** What the loader says about `path` if it finds no usable addon. */
async function refusal(folder, path, options) {
  const { code, err } = await load(folder, options);
  assert.equal(code, 1, err);
  const line = err.split("\n").find((each) => each.startsWith(`  ${path}: `));
  assert.ok(line, `${path} is named in:\n${err}`);
  return line.slice(path.length + 4);
}

async function loads(folder, path, options) {
  const { code, out, err } = await load(folder, options);
  assert.equal(code, 0, err);
  assert.equal(out, "4");
  assert.equal(err, `@sinew/natives: loaded ${path}\n`);
}

test("the version in the package, in the loader and in the addon is one", () => {
  assert.match(readFileSync(join(PACKAGE, "dist", "loader-version.js"), "utf8"), new RegExp(`VERSION = "${VERSION.replaceAll(".", "\\.")}"`));
});

test("a missing file: every place with its reason, and what to do", async (t) => {
  const folder = bare(t);
  const { code, err } = await load(folder);
  assert.equal(code, 1);
  assert.ok(err.includes(`@sinew/natives: found no addon for ${TAG}`), err);
  for (const place of [join(folder, "native", NAME), join(folder, "..", "..", "native", "build", NAME), join(dirname(process.execPath), NAME)]) {
    assert.ok(err.includes(`  ${place}: no such file`), `${place} in:\n${err}`);
  }
  assert.ok(err.includes(`@sinew/natives-${TAG}/${NAME}: not installed`), err);
  assert.ok(err.includes(`npm install --include=optional @sinew/natives-${TAG}@${VERSION}`), err);
});

test("an addon in the package's folder, in a checkout's and in the platform package loads", async (t) => {
  const { folder, path } = withAddon(t);
  await loads(folder, path);
  const checkout = join(folder, "..", "..", "native", "build", NAME);
  place(addon, checkout);
  rmSync(path);
  await loads(folder, checkout);
  const own = join(folder, "node_modules", "@sinew", `natives-${TAG}`);
  place(addon, join(own, NAME));
  writeFileSync(join(own, "package.json"), JSON.stringify({ name: `@sinew/natives-${TAG}`, version: VERSION }));
  await loads(folder, join(own, NAME));
});

test("the development file comes first, and only with SINEW_DEV", async (t) => {
  const { folder, path } = withAddon(t);
  const dev = join(folder, "native", "sinew_natives.dev.node");
  writeFileSync(dev, "");
  await loads(folder, path);
  rmSync(dev);
  place(addon, dev);
  await loads(folder, dev);
  const { err, out } = await load(folder, { env: { SINEW_DEV: "" } });
  assert.equal(out + err, "4");
});

test("several copies, each with its own addon, live in one process and its threads", async (t) => {
  const copies = Array.from({ length: 3 }, () => join(withAddon(t, NAME, { own: true }).folder, "dist", "index.js"));
  const script = `
    const { Worker } = require("node:worker_threads");
    const use = async (path) => {
      const n = require(path);
      if (n.visibleWidth("日本") !== 4) throw new Error("width");
      if ((await n.grep({ pattern: "require", path })).totalMatches === 0) throw new Error("grep");
    };
    (async () => {
      for (const path of ${JSON.stringify(copies)}) {
        await use(path);
        await new Promise((done, fail) => new Worker("(" + String(async (path, use) => eval(use)(path)) + ")(" + JSON.stringify(path) + "," + JSON.stringify(String(use)) + ")", { eval: true }).on("error", fail).on("exit", done));
      }
      process.stdout.write("done");
    })();`;
  const { code, out, err } = await run(process.execPath, ["-e", script]);
  assert.equal(code, 0, err);
  assert.equal(out, "done");
});

test("a truncated file is refused before it is mapped, wherever it ends", async (t) => {
  const { folder, path } = withAddon(t, NAME, { own: true });
  const { size } = statSync(path);
  // Linkers of Windows pad the end, so losing some of it does no harm.
  for (const part of [size - (process.platform === "win32" ? 4096 : 1), size >> 1, size >> 4, 5000, 100, 20]) {
    truncateSync(path, part);
    assert.match(await refusal(folder, path), new RegExp(`^truncated: .*\\b${part}\\b.*install it again`), `${part} bytes`);
  }
  truncateSync(path, 0);
  assert.match(await refusal(folder, path), /^the file is empty/);
  writeFileSync(path, "x".repeat(5000));
  assert.match(await refusal(folder, path), /^not a library/);
});

test("a stale addon is named as stale, with both versions", async (t) => {
  const { folder, path } = withAddon(t);
  replace(join(folder, "dist", "index.js"), `VERSION="${VERSION}"`, `VERSION="99.1.0"`);
  assert.match(await refusal(folder, path), new RegExp(`^stale: the addon has version ${VERSION}, the package 99\\.1\\.0`));
});

test("an addon that lacks exports is named as stale, with the exports", async (t) => {
  const { folder, path } = withAddon(t);
  replace(join(folder, "dist", "index.js"), "EXPORTS=[", `EXPORTS=["futureOne","futureTwo",`);
  assert.match(await refusal(folder, path), /^stale: it lacks futureOne, futureTwo;/);
});

test("an addon of somebody else is not taken", async (t) => {
  const { folder, path } = withAddon(t, NAME, { own: true });
  // The same library with another name for its version function.
  const bytes = readFileSync(path);
  const at = bytes.indexOf("nativeVersion");
  assert.ok(at > 0);
  for (let from = at; from >= 0; from = bytes.indexOf("nativeVersion", from + 1)) bytes.write("otherVersions", from);
  writeFileSync(path, bytes);
  assert.match(await refusal(folder, path), /^not an addon of Sinew/);
});

test("an addon for another processor or system is named as such", { skip: process.platform !== "linux" && "writes ELF heads" }, async (t) => {
  const { folder, path } = withAddon(t, NAME, { own: true });
  const bytes = readFileSync(path);
  const other = X64 ? "arm64" : "x64";
  bytes.writeUInt16LE(X64 ? 183 : 62, 18);
  writeFileSync(path, bytes);
  assert.equal(await refusal(folder, path), `wrong platform: built for linux-${other}, needed for ${TAG}`);
  bytes.writeUInt16LE(8, 18);
  writeFileSync(path, bytes);
  assert.equal(await refusal(folder, path), `wrong platform: built for linux-?, needed for ${TAG}`);
  const mac = Buffer.alloc(4096);
  mac.writeUInt32LE(0xfeedfacf, 0);
  mac.writeUInt32LE(0x0100000c, 4);
  writeFileSync(path, mac);
  assert.equal(await refusal(folder, path), `wrong platform: built for darwin-arm64, needed for ${TAG}`);
  const windows = Buffer.alloc(4096);
  windows.write("MZ");
  windows.writeUInt32LE(128, 60);
  windows.write("PE\0\0", 128, "latin1");
  windows.writeUInt16LE(0x8664, 132);
  writeFileSync(path, windows);
  assert.equal(await refusal(folder, path), `wrong platform: built for win32-x64, needed for ${TAG}`);
});

/** A program of 4 KiB that requires a dynamic loader. */
function elfProgram(interpreter) {
  const bytes = Buffer.alloc(4096);
  bytes.write("\x7fELF\x02\x01", "latin1");
  bytes.writeUInt32LE(64, 32);
  bytes.writeUInt16LE(56, 54);
  bytes.writeUInt16LE(1, 56);
  bytes.writeUInt32LE(3, 64);
  bytes.writeUInt32LE(512, 72);
  bytes.writeUInt32LE(interpreter.length + 1, 96);
  bytes.write(interpreter, 512);
  return bytes;
}

test("the C library is that of the running program, else that of the runtime's report", { skip: (process.platform !== "linux" || MUSL) && "begins with a program of glibc" }, async (t) => {
  const folder = bare(t);
  const program = join(folder, "program");
  const noGlibc = `process.report.getReport = () => ({ header: {} });`;
  const check = async (bytes, tag, words, report = "") => {
    writeFileSync(program, bytes);
    const { err } = await load(folder, { before: `${report}Object.defineProperty(process, "execPath", { value: ${JSON.stringify(program)} })` });
    assert.ok(err.includes(`found no addon for ${tag} (${words}`), err);
    assert.ok(err.includes(`npm install --include=optional @sinew/natives-${tag}@${VERSION}`), err);
  };
  await check(elfProgram("/lib64/ld-linux-x86-64.so.2"), TAG, "glibc 2.");
  await check(elfProgram("/lib/ld-musl-x86_64.so.1"), `${TAG}-musl`, "musl)");
  await check(elfProgram("/nix/store/abc-musl-1.2.5/lib/ld-musl-aarch64.so.1"), `${TAG}-musl`, "musl)");
  await check(elfProgram("/lib/ld-musl-x86_64.so.1").subarray(0, 80), TAG, "glibc 2.");
  await check("#!/bin/sh\n", TAG, "glibc 2.");
  await check("#!/bin/sh\n", `${TAG}-musl`, "musl)", noGlibc);
  rmSync(program);
  mkdirSync(program);
  const { err } = await load(folder, { before: `Object.defineProperty(process, "execPath", { value: ${JSON.stringify(program)} })` });
  assert.ok(err.includes(`found no addon for ${TAG} (glibc 2.`), err);
});

test("a library of Windows is whole up to the names of its symbols", async (t) => {
  const { binaryFault } = await import("../dist/loader-binary.js").then((module) => module.default);
  const path = join(temporary(t), "library.node");
  /**
   * One section at 1024 with 512 bytes, then the symbols of 18 bytes each, then their names, whose size includes
   * itself.
   */
  const library = ({ symbols, names }) => {
    const bytes = Buffer.alloc(1536 + (symbols ? symbols * 18 + names : 0));
    bytes.write("MZ");
    bytes.writeUInt32LE(128, 60);
    bytes.write("PE\0\0", 128, "latin1");
    bytes.writeUInt16LE(0x8664, 132);
    bytes.writeUInt16LE(1, 134);
    bytes.writeUInt16LE(240, 148);
    bytes.writeUInt32LE(512, 128 + 24 + 240 + 16);
    bytes.writeUInt32LE(1024, 128 + 24 + 240 + 20);
    if (symbols) {
      bytes.writeUInt32LE(1536, 140);
      bytes.writeUInt32LE(symbols, 144);
      bytes.writeUInt32LE(names, 1536 + symbols * 18);
    }
    return bytes;
  };
  for (const shape of [{ symbols: 0 }, { symbols: 3, names: 4 }, { symbols: 3, names: 100 }]) {
    const bytes = library(shape);
    writeFileSync(path, bytes);
    assert.equal(binaryFault(path, "win32-x64"), undefined, JSON.stringify(shape));
    for (const size of [bytes.length - 1, bytes.length - 99, 1535, 1024, 200, 64]) {
      if (size >= bytes.length) continue;
      writeFileSync(path, bytes.subarray(0, size));
      assert.match(String(binaryFault(path, "win32-x64")), /^truncated: /, `${JSON.stringify(shape)} ${size}`);
    }
  }
});

test("an unsupported platform gets the list of the supported ones", async (t) => {
  const { folder } = withAddon(t);
  const { code, err } = await load(folder, { before: `Object.defineProperty(process, "platform", { value: "sunos" })` });
  assert.equal(code, 1);
  // Node writes a fatal error with the line ends of the system.
  assert.ok(err.replaceAll("\r\n", "\n").includes(`no addon for sunos-${process.arch}; supported are ${PLATFORMS.map(({ tag }) => tag).join(", ")}\n`), err);
});

test("a forced variant is taken, falls back from modern to baseline only, and nonsense is ignored", { skip: !X64 && "x64 only" }, async (t) => {
  const { folder, path: baseline } = withAddon(t, BASELINE);
  const modern = join(folder, "native", MODERN);
  const force = (value) => ({ env: { SINEW_NATIVE_VARIANT: value } });
  await loads(folder, baseline, force("modern"));
  place(addon, modern);
  await loads(folder, modern, force("modern"));
  await loads(folder, baseline, force("baseline"));
  const { err: chosen } = await load(folder);
  assert.equal((await load(folder, force("fastest"))).err, chosen);
  rmSync(baseline);
  const { code, err } = await load(folder, force("baseline"));
  assert.equal(code, 1);
  assert.ok(err.includes(`found no addon for ${TAG}, variant baseline`), err);
  assert.ok(!err.includes(MODERN), err);
});

test("without /proc/cpuinfo the baseline addon is asked what the processor has", { skip: !X64 && "x64 only" }, async (t) => {
  const { folder, path: baseline } = withAddon(t, BASELINE);
  const modern = join(folder, "native", MODERN);
  const hidden = `const fs = require("fs"); const open = fs.openSync; fs.openSync = (path, ...rest) => { if (path === "/proc/cpuinfo") throw new Error("hidden"); return open(path, ...rest); }`;
  await loads(folder, baseline, { before: hidden });
  place(addon, modern);
  const { native } = await import("../dist/loader.js").then((module) => module.default);
  await loads(folder, native.cpuSupportsModern() ? modern : baseline, { before: hidden });
});

/** A host that contains the addon, as scripts/embed.mjs writes it, except for the source of the bytes. */
function compiled(t, { bytes = addon } = {}) {
  const folder = bare(t);
  const content = readFileSync(addon);
  const sha256 = createHash("sha256").update(content).digest("hex");
  writeFileSync(
    join(folder, "dist", "embedded.js"),
    `exports.EMBEDDED = [{ name: ${JSON.stringify(NAME)}, size: ${content.length}, sha256: "${sha256}", read: () => { process.stdout.write("read "); return require("node:fs").readFileSync(${JSON.stringify(bytes)}); } }];\n`,
  );
  const data = join(dirname(folder), "data");
  // Simulates a machine with this temporary folder.
  const temp = join(dirname(folder), "temp");
  mkdirSync(temp);
  const env = { SINEW_COMPILED: "1", SINEW_NATIVE_VARIANT: "baseline", XDG_DATA_HOME: data, LOCALAPPDATA: data, HOME: data, TMPDIR: temp, TEMP: temp };
  const base = process.platform === "darwin" ? join(data, "Library", "Application Support") : data;
  const path = join(base, "sinew", "natives", VERSION, NAME);
  return { folder, data, temp, env, path };
}

test("a compiled host extracts once, takes what is whole, and replaces what is not", async (t) => {
  const { folder, env, path } = compiled(t);
  const expect = async (out, why) => {
    const said = await load(folder, { env });
    assert.equal(said.code, 0, said.err);
    assert.equal(said.out, out, why);
    assert.equal(said.err, `@sinew/natives: loaded ${path}\n`);
    assert.deepEqual(readdirSync(dirname(path)), [NAME], "no part is left");
  };
  await expect("read 4", "the first start extracts");
  await expect("4", "the second takes the file as it is");
  appendFileSync(path, "x");
  await expect("read 4", "another size");
  const bytes = readFileSync(path);
  bytes[bytes.length >> 1] ^= 0xff;
  writeFileSync(path, bytes);
  await expect("read 4", "another digest");
  writeFileSync(path, readFileSync(addon));
  await expect("4", "whole, though somebody wrote it anew");
  truncateSync(path, 1000);
  await expect("read 4", "cut short");
});

test("a compiled host that carries nothing takes what an installer put into the data folder", async (t) => {
  const { folder, env, path } = compiled(t);
  writeFileSync(join(folder, "dist", "embedded.js"), "exports.EMBEDDED = [];\n");
  const missing = await load(folder, { env });
  assert.ok(missing.err.includes(`  ${path}: no such file`), missing.err);
  place(addon, path);
  await extractsTo(folder, env, path);
});

test("two hosts that extract at once both load, and leave one whole file", async (t) => {
  const { folder, env, path } = compiled(t);
  for (let round = 0; round < 3; round++) {
    const said = await Promise.all(Array.from({ length: 4 }, () => load(folder, { env })));
    for (const { code, err, out } of said) {
      assert.equal(code, 0, err);
      assert.match(out, /4$/);
    }
    assert.deepEqual(readdirSync(dirname(path)), [NAME]);
    assert.ok(readFileSync(path).equals(readFileSync(addon)));
    rmSync(path);
  }
});

test("a host that is killed while it extracts leaves nothing that is taken for an addon", async (t) => {
  const { folder, env, path } = compiled(t);
  const before = `const fs = require("fs"); const write = fs.writeFileSync; fs.writeFileSync = (fd, bytes) => { write(fd, bytes.subarray(0, bytes.length >> 1)); process.kill(process.pid, "SIGKILL"); }`;
  const { code } = await load(folder, { env, before });
  assert.notEqual(code, 0);
  assert.equal(existsSync(path), false);
  await extractsTo(folder, env, path);
});

async function extractsTo(folder, env, path) {
  const { code, err } = await load(folder, { env });
  assert.equal(code, 0, err);
  assert.equal(err, `@sinew/natives: loaded ${path}\n`);
}

test("where the data folder cannot be written, a private temporary one is taken, else both are named", async (t) => {
  const { folder, env, data, temp, path } = compiled(t);
  // A file instead of the folder, because not even root can write there.
  writeFileSync(data, "");
  const user = process.getuid?.();
  const instead = join(temp, user === undefined ? "sinew-data" : `sinew-data-${user}`, "natives", VERSION, NAME);
  await extractsTo(folder, env, instead);
  assert.equal(statSync(join(temp, `sinew-data${user === undefined ? "" : `-${user}`}`)).mode & 0o077, process.platform === "win32" ? 0o066 : 0);
  rmSync(temp, { recursive: true });
  writeFileSync(temp, "");
  const { code, err } = await load(folder, { env });
  assert.equal(code, 1);
  assert.ok(new RegExp(`  ${path.replaceAll(/[\\.]/g, "\\$&")}: .*(ENOTDIR|EEXIST|ENOENT)`).test(err), err);
  assert.match(err, /\(embedded\): .*(ENOTDIR|EEXIST|ENOENT)|temp.*: .*(ENOTDIR|EEXIST|ENOENT)/);
  assert.ok(err.includes(`  ${join(folder, "native", NAME)}: no such file`), err);
});

test("a temporary folder that others may write to is not trusted", { skip: process.platform === "win32" && "no modes" }, async (t) => {
  const { folder, env, data, temp } = compiled(t);
  writeFileSync(data, "");
  const open = join(temp, `sinew-data-${process.getuid()}`);
  mkdirSync(open);
  const { chmodSync } = await import("node:fs");
  chmodSync(open, 0o777);
  const { code, err } = await load(folder, { env });
  assert.equal(code, 1);
  assert.ok(err.includes(`${open} belongs to another user, or others can write to it; remove it`), err);
});

test("a damaged embedded file is not written", async (t) => {
  const short = join(temporary(t), "short.node");
  writeFileSync(short, readFileSync(addon).subarray(0, 4096));
  const { folder, env, path } = compiled(t, { bytes: short });
  const { code, err } = await load(folder, { env });
  assert.equal(code, 1);
  assert.ok(err.includes(`the embedded ${NAME} is damaged`), err);
  assert.equal(existsSync(path), false);
});
