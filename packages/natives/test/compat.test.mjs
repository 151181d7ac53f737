// Tests the modules that replace other packages, imported as in a program. The published tests of those packages run in
// `npm run conformance`.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import oracle from "fast-glob";
import { PhotonImage } from "@sinew/natives";
import cliTruncate from "@sinew/natives/compat/cli-truncate";
import fastGlob, { glob } from "@sinew/natives/compat/fast-glob";
import * as pty from "@sinew/natives/compat/node-pty";
import { PhotonImage as Photon } from "@sinew/natives/compat/photon-node";
import sharp from "@sinew/natives/compat/sharp-lite";
import sliceAnsi from "@sinew/natives/compat/slice-ansi";
import stringWidth from "@sinew/natives/compat/string-width";
import stripAnsi from "@sinew/natives/compat/strip-ansi";
import wrapAnsi from "@sinew/natives/compat/wrap-ansi";

const RED = "\x1b[31m";
const PLAIN = "\x1b[39m";

test("each module answers under import and under require", () => {
  const require = createRequire(import.meta.url);
  for (const [name, call] of Object.entries({ "cli-truncate": cliTruncate, "slice-ansi": sliceAnsi, "string-width": stringWidth, "strip-ansi": stripAnsi, "wrap-ansi": wrapAnsi })) {
    assert.equal(typeof call, "function", name);
    assert.equal(require(`@sinew/natives/compat/${name}`).default, call, name);
  }
});

test("require gives what the packages give: a function with properties, or a class", () => {
  const require = createRequire(import.meta.url);
  const glob = require("@sinew/natives/compat/fast-glob");
  assert.equal(glob, fastGlob);
  assert.deepEqual(glob.sync("test/compat.*.mjs", { cwd: join(import.meta.dirname, "..") }), ["test/compat.test.mjs"]);
  const read = require("@sinew/natives/compat/sharp-lite");
  assert.equal(read, sharp);
  assert.deepEqual([read.fit.inside, read.kernel.cubic, typeof read.Sharp], ["inside", "cubic", "function"]);
});

test("fast-glob finds what it finds, in its three forms, under both module systems", async (t) => {
  const cwd = mkdtempSync(join(tmpdir(), "compat-glob-"));
  t.after(() => rmSync(cwd, { recursive: true, force: true }));
  for (const name of ["a.ts", "b.d.ts", ".c.ts", "src/d.ts", "src/e.js", "src/node_modules/f.ts", "src/.g/h.ts"]) {
    mkdirSync(dirname(join(cwd, name)), { recursive: true });
    writeFileSync(join(cwd, name), "");
  }
  symlinkSync("src", join(cwd, "linked"));
  const cases = [
    ["**/*.ts"], ["**/*.ts", { dot: true }], ["*.{ts,js}"], [["**/*", "!**/*.d.ts"]], ["**/*.ts", { ignore: ["**/node_modules/**"] }], ["src/*", { onlyDirectories: true, dot: true }],
    ["**/[!b]*.ts", { followSymbolicLinks: false }], ["D.TS", { baseNameMatch: true, caseSensitiveMatch: false }], ["**", { deep: 2, onlyFiles: false, markDirectories: true }],
    ["./src/../*.ts"], [["**/*", "!**/src/**"], { absolute: true }], ["{a,b.d}.ts", { absolute: true }], ["missing/**"], ["a.ts"], ["+(a|b.d).ts"], ["**/@(d|e).?s"],
  ];
  for (const [patterns, options] of cases) {
    const expect = oracle.sync(patterns, { cwd, ...options }).sort();
    const told = JSON.stringify([patterns, options]);
    assert.deepEqual(fastGlob.sync(patterns, { cwd, ...options }).sort(), expect, told);
    assert.deepEqual((await fastGlob(patterns, { cwd, ...options })).sort(), expect, told);
    const streamed = [];
    for await (const path of fastGlob.stream(patterns, { cwd, ...options })) streamed.push(path);
    assert.deepEqual(streamed.sort(), expect, told);
  }
  assert.equal(fastGlob.glob, glob);
  const [entry] = await glob("src/d.ts", { cwd, stats: true });
  assert.deepEqual([entry.name, entry.path, entry.dirent.isFile(), entry.stats.size], ["d.ts", "src/d.ts", true, 0]);
  await assert.rejects(glob("**", { cwd, signal: AbortSignal.abort(new Error("enough")) }), { message: "enough" });
});

test("node-pty runs a program with events, signals and encodings", { skip: process.platform === "win32" && "Unix only" }, async () => {
  const run = (args, options) =>
    new Promise((done) => {
      const terminal = pty.spawn("sh", ["-c", ...args], options);
      const all = [];
      terminal.onData((data) => {
        all.push(data);
        if (String(data).includes("ready")) terminal.kill("SIGTERM");
      });
      terminal.onExit((end) => done({ ...end, all }));
    });
  const shown = await run(["stty size; echo $TERM $GIVEN ${HOME-none}; exit 3"], { cols: 91, rows: 33, name: "vt100", env: { PATH: process.env.PATH, GIVEN: "x" } });
  assert.deepEqual([shown.exitCode, shown.signal, shown.all.join("")], [3, 0, "33 91\r\nvt100 x none\r\n"]);
  const killed = await run(["echo ready; exec sleep 1000"]);
  assert.deepEqual([killed.exitCode, killed.signal], [0, 15]);
  const missing = await new Promise((done) => {
    let told = "";
    const terminal = pty.spawn("no-such-program", []);
    terminal.onData((data) => (told += data));
    terminal.onExit(({ exitCode }) => done([exitCode, told]));
  });
  assert.deepEqual(missing, [1, "execvp(3) failed.: No such file or directory\r\n"]);
  const nowhere = await run(["pwd"], { cwd: "/no/such/folder" });
  assert.deepEqual([nowhere.exitCode, nowhere.all.join("")], [1, "chdir(2) failed.: No such file or directory\r\n"]);
  const bytes = await run(["printf '\\377'"], { encoding: null });
  assert.deepEqual([...Buffer.concat(bytes.all)], [255]);
  assert.throws(() => pty.spawn("sh", [], { cols: "80" }), { message: "cols must be a number (not a string)" });
});

test("sharp-lite reads, resizes, cuts and writes, lazily and in order", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "compat-sharp-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const gif = Buffer.from("R0lGODlhAQABAIAAAP8AAP///yH5BAAAAAAALAAAAAABAAEAAAICRAEAOw==", "base64");
  const wide = await sharp(gif).resize(40, 20, { fit: "fill", kernel: "nearest" }).png().toBuffer();
  assert.deepEqual(await sharp(wide).metadata(), { format: "png", width: 40, height: 20, size: wide.length });
  const sizes = {
    cover: [await sharp(wide).resize(10, 10), 10, 10],
    inside: [await sharp(wide).resize({ width: 10, height: 10, fit: "inside" }), 10, 5],
    outside: [await sharp(wide).resize(10, 10, { fit: "outside" }), 20, 10],
    width: [await sharp(wide).resize(10), 10, 5],
    height: [await sharp(wide).resize(null, 10), 20, 10],
    larger: [await sharp(wide).resize(80, null, { withoutEnlargement: true }), 40, 20],
    smaller: [await sharp(wide).resize(8, null, { fit: "inside", withoutReduction: true }), 40, 20],
    cut: [await sharp(wide).resize(8, null, { withoutReduction: true }), 8, 20],
    stretched: [await sharp(wide).resize({ width: 10, fit: "fill" }), 10, 20],
    limited: [await sharp(wide).resize({ width: 50, height: 10, withoutEnlargement: true }), 40, 10],
    last: [await sharp(wide).resize(20).resize(10), 10, 5],
    first: [await sharp(wide).extract({ left: 0, top: 0, width: 10, height: 20 }).resize({ width: 5 }), 5, 10],
    part: [await sharp(wide).extract({ left: 5, top: 2, width: 7, height: 3 }), 7, 3],
    both: [await sharp(wide).resize(20).extract({ left: 0, top: 0, width: 3, height: 4 }), 3, 4],
  };
  for (const [name, [image, width, height]] of Object.entries(sizes)) {
    const { info } = await image.toBuffer({ resolveWithObject: true });
    assert.deepEqual([info.format, info.width, info.height], ["png", width, height], name);
  }
  const file = join(folder, "small.jpg");
  const written = await sharp(wide).clone().toFile(file);
  assert.deepEqual([written.format, written.width], ["jpeg", 40]);
  assert.equal((await sharp(file).metadata()).format, "jpeg");
  assert.throws(() => sharp(wide).resize(0), { message: "Expected positive integer for width but received 0 of type number" });
  assert.throws(() => sharp(wide).resize(1, 1, { fit: "some" }), { message: "Expected valid fit for fit but received some of type string" });
  assert.throws(() => sharp(wide).rotate(45), { message: /rotate\(45\) is not supported; use a multiple of 90/ });
  assert.throws(() => sharp(wide).resize(1, 1, { background: "some" }), { message: "Unable to parse color from string: some" });
  await assert.rejects(sharp(wide).extract({ left: 39, top: 0, width: 2, height: 1 }).toBuffer(), { message: "extract_area: bad extract area" });
  await assert.rejects(sharp(join(folder, "none.png")).metadata(), { code: "ENOENT", message: /^Input file is missing: / });
  assert.throws(() => sharp(wide).resize(1, 1, { position: "entropy" }), { message: /position "entropy" is not supported; use centre/ });
  const called = (start) => new Promise((done) => start((...told) => done(told)));
  const [fault, data, info] = await called((callback) => sharp(wide).resize(10).toBuffer(callback));
  assert.deepEqual([fault, Buffer.isBuffer(data), info.width], [null, true, 10]);
  assert.match((await called((callback) => sharp(Buffer.from("text")).metadata(callback)))[0].message, /unknown format/);
});


test("sharp-lite turns, mirrors and adds what contain needs, in sharp's order", async () => {
  // Two rows of three pixels, which differ in their red values.
  const red = (values, width, height) => {
    const picture = Buffer.alloc(54 + height * Math.ceil((width * 3) / 4) * 4);
    picture.write("BM");
    picture.writeUInt32LE(54, 10);
    for (const [at, value] of [[14, 40], [18, width], [22, height]]) picture.writeInt32LE(value, at);
    picture.writeUInt16LE(1, 26);
    picture.writeUInt16LE(24, 28);
    values.forEach((value, at) => (picture[54 + (height - 1 - Math.floor(at / width)) * Math.ceil((width * 3) / 4) * 4 + (at % width) * 3 + 2] = value));
    return picture;
  };
  const reds = async (image) => {
    const { data, info } = await image.png().toBuffer({ resolveWithObject: true });
    const pixels = [];
    for (let top = 0; top < info.height; top++) {
      for (let left = 0; left < info.width; left++) {
        const one = sharp(data).extract({ left, top, width: 1, height: 1 });
        // One pixel: a sixel gives its colour in percent.
        const sixel = await (await PhotonImage.parse(await one.png().toBuffer())).toTerminal("sixel");
        pixels.push(Number(/#0;2;(\d+);/.exec(sixel)?.[1] ?? -1));
      }
    }
    return [info.width, info.height, ...pixels];
  };
  const picture = () => sharp(red([0, 51, 102, 153, 204, 255], 3, 2));
  const cases = [
    [picture(), [3, 2, 0, 20, 40, 60, 80, 100]],
    [picture().rotate(90), [2, 3, 60, 0, 80, 20, 100, 40]],
    [picture().rotate(-90), [2, 3, 40, 100, 20, 80, 0, 60]],
    [picture().rotate(540), [3, 2, 100, 80, 60, 40, 20, 0]],
    [picture().flip(), [3, 2, 60, 80, 100, 0, 20, 40]],
    [picture().flop(), [3, 2, 40, 20, 0, 100, 80, 60]],
    [picture().flop().flop(false), [3, 2, 0, 20, 40, 60, 80, 100]],
    // Mirroring comes before the rotation, and both come before a crop that is requested after the rotation.
    [picture().rotate(90).flip(), [2, 3, 0, 60, 20, 80, 40, 100]],
    [picture().extract({ left: 0, top: 0, width: 2, height: 1 }).rotate(90), [1, 2, 0, 20]],
    [picture().rotate(90).extract({ left: 0, top: 0, width: 2, height: 1 }), [2, 1, 60, 0]],
    [picture().resize(3, 4, { fit: "contain", background: "#ff0000" }), [3, 4, 100, 100, 100, 0, 20, 40, 60, 80, 100, 100, 100, 100]],
    [picture().resize(4, 2, { fit: "contain", position: "right" }), [4, 2, 0, 0, 20, 40, 0, 60, 80, 100]],
    [picture().resize(5, 2, { fit: "contain", background: { r: 255 } }).rotate(90).clone(), [5, 3, 100, 60, 0, 100, 100, 100, 80, 20, 100, 100, 100, 100, 40, 100, 100]],
  ];
  for (const [image, expected] of cases) assert.deepEqual(await reds(image), expected);
  const clear = await sharp(red([0], 1, 1)).resize(2, 1, { fit: "contain", kernel: "nearest", background: "transparent" }).png().toBuffer();
  assert.equal(clear[25], 4 + 2, "colours with opacity");
});

test("sharp-lite blends opacity with a colour", async () => {
  // Red with a third of opacity, opaque green, and nothing.
  const png = Buffer.from(new Photon(new Uint8Array([255, 0, 0, 85, 0, 255, 0, 255, 9, 9, 9, 0]), 3, 1).get_bytes());
  const pixels = async (image) => [...Photon.new_from_byteslice(await image.png().toBuffer()).get_raw_pixels()];
  const cases = [
    [sharp(png).flatten({ background: "#ffffff" }), [255, 170, 170, 255, 0, 255, 0, 255, 255, 255, 255, 255]],
    [sharp(png).flatten({ background: { b: 30 } }).clone(), [85, 0, 20, 255, 0, 255, 0, 255, 0, 0, 30, 255]],
    [sharp(png).flatten(), [85, 0, 0, 255, 0, 255, 0, 255, 0, 0, 0, 255]],
    [sharp(png).flatten(true).flatten(false), [255, 0, 0, 85, 0, 255, 0, 255, 9, 9, 9, 0]],
    // The area that contain adds keeps its own opacity.
    [sharp(png).flatten().resize(3, 2, { fit: "contain", position: "top", background: "transparent" }), [85, 0, 0, 255, 0, 255, 0, 255, 0, 0, 0, 255, ...Array(12).fill(0)]],
  ];
  for (const [image, expected] of cases) assert.deepEqual(await pixels(image), expected);
  assert.throws(() => sharp(png).flatten({ background: "some" }), { message: "Unable to parse color from string: some" });
});

test("styles and links are kept by row, slice and cut", () => {
  assert.equal(wrapAnsi(`${RED}one two${PLAIN}`, 3), `${RED}one${PLAIN}\n${RED}two${PLAIN}`);
  assert.equal(wrapAnsi(`${RED}one\ntwo${PLAIN}`, 9), `${RED}one\ntwo${PLAIN}`);
  assert.equal(wrapAnsi("\x1b]8;;u\x07link\x1b]8;;\x07日", 4, { hard: true }), "\x1b]8;;u\x07link\x1b]8;;\x07\n\x1b]8;;u\x07\x1b]8;;\x07日");
  assert.equal(sliceAnsi(`${RED}red\x1b[0m`, 1), `${RED}ed\x1b[0m`);
  assert.equal(sliceAnsi("a\tb", 1, 3), "\tb");
  assert.equal(sliceAnsi(`a${RED}bcd${PLAIN}e`, 2, 4), `${RED}cd${PLAIN}`);
  assert.equal(cliTruncate(`${RED}unicorn${PLAIN}`, 4), `${RED}uni…${PLAIN}`);
  assert.equal(stripAnsi(`${RED}a\r\n${PLAIN}\x1b]8;;http://x\x07b\x1b]8;;\x07`), "a\r\nb");
  assert.equal(stringWidth("±α", { ambiguousIsNarrow: false }), 4);
  // To these packages, sized text is an escape sequence.
  assert.deepEqual([stringWidth("\x1b]66;s=2;Big\x07"), stripAnsi("\x1b]66;s=2;Big\x07.")], [0, "."]);
});

test("what is no string is refused as the packages refuse it", () => {
  assert.equal(stringWidth(5), 0);
  assert.throws(() => stripAnsi(5), { name: "TypeError", message: "Expected a `string`, got `number`" });
  assert.throws(() => cliTruncate("abc", Infinity), { name: "TypeError", message: "Expected `columns` to be a finite number, got Infinity" });
});

// A property: the rows contain all of the text in order, and none is too wide if words may be broken.
test("no character is lost and no row is too wide, for random texts", () => {
  const parts = ["a", "bc", " ", "日本", "é", "👨‍👩‍👧‍👦", "\t", "\n", RED, PLAIN, "\x1b[1m", "\x1b[22m", "\x1b]8;;http://x\x07", "\x1b]8;;\x07", "가", "\u0301"];
  let seed = 1;
  const next = (limit) => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) % limit;
  for (let round = 0; round < 2000; round++) {
    const text = Array.from({ length: next(30) }, () => parts[next(parts.length)]).join("");
    const columns = 2 + next(12);
    const rows = wrapAnsi(text, columns, { hard: true, trim: false }).split("\n");
    const told = `${JSON.stringify(text)} in ${columns}: ${JSON.stringify(rows)}`;
    const bare = (part) => stripAnsi(part).replace(/\s/g, "");
    assert.equal(bare(rows.join("")), bare(text.normalize()), told);
    for (const row of rows) assert.ok(stringWidth(row) <= columns, told);
  }
});
