import assert from "node:assert/strict";
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { createRequire } from "node:module";
import { basename, join, relative, sep } from "node:path";
import { before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { PLATFORMS } from "../../../scripts/lib/platforms.mjs";
import { typeTools } from "../../../scripts/lib/tools.mjs";
import { ADDON, BUILD, PACKAGE, ROOT, TAG, bare, place, run, runtimes, temporary } from "./host.mjs";

const TESTS = join(PACKAGE, "test");
const NPM = process.platform === "win32" ? "npm.cmd" : "npm";
const SHELL_HOST = process.platform === "win32" ? "sinew-shell-host.exe" : "sinew-shell-host";
const { version: VERSION } = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8"));

/** A folder into which npm installed the packed tarballs; all tests here share it. */
let installed;
let tarballs;

before(async () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "sinew-packed-")));
  process.on("exit", () => rmSync(root, { recursive: true, force: true }));
  await done(process.execPath, [join(ROOT, "scripts", "pack.mjs"), "--out", join(root, "out"), "--any-glibc"]);
  tarballs = readdirSync(join(root, "out")).sort().map((name) => join(root, "out", name));
  installed = join(root, "app");
  mkdirSync(installed);
  writeFileSync(join(installed, "package.json"), JSON.stringify({ private: true }));
  const wanted = tarballs.filter((path) => [`sinew-natives-${VERSION}.tgz`, `sinew-natives-${TAG}-${VERSION}.tgz`].includes(basename(path)));
  assert.equal(wanted.length, 2, tarballs.join(" "));
  await done(NPM, ["install", ...wanted, "--no-audit", "--no-fund", "--offline"], { cwd: installed });
  copyFileSync(join(TESTS, "smoke.mjs"), join(installed, "smoke.mjs"));
});

/** Runs a program that must succeed. */
async function done(program, args, options) {
  const said = await run(program, args, options);
  assert.equal(said.code, 0, `${program} ${args.join(" ")}: ${said.signal ?? ""}\n${said.out}\n${said.err}`);
  return said;
}

const manifest = (name) => JSON.parse(readFileSync(join(installed, "node_modules", "@sinew", name, "package.json"), "utf8"));

test("the main package is small, and names every platform package with its exact version", () => {
  const main = tarballs.find((path) => path.endsWith(`sinew-natives-${VERSION}.tgz`));
  assert.ok(statSync(main).size <= 200_000, `${statSync(main).size} bytes`);
  const names = PLATFORMS.map(({ tag }) => `@sinew/natives-${tag}`);
  assert.deepEqual(manifest("natives").optionalDependencies, Object.fromEntries(names.map((name) => [name, VERSION])));
});

test("the platform package holds the addon and the supervisor program, and says where it belongs", () => {
  const { os, cpu, libc, version, preferUnplugged } = manifest(`natives-${TAG}`);
  const linux = process.platform === "linux" ? ["glibc"] : undefined;
  assert.deepEqual({ os, cpu, libc, version, preferUnplugged }, { os: [process.platform], cpu: [process.arch], libc: linux, version: VERSION, preferUnplugged: true });
  const files = readdirSync(join(installed, "node_modules", "@sinew", `natives-${TAG}`));
  assert.ok(files.includes(ADDON) && files.includes(SHELL_HOST), files.join(" "));
  assert.ok(files.filter((name) => name.endsWith(".node")).every((name) => name.startsWith(`sinew_natives.${TAG}`)));
});

test("every module that the package names loads, under import and under require", async () => {
  const names = Object.keys(manifest("natives").exports).filter((name) => name !== "./package.json").map((name) => `@sinew/natives${name.slice(1)}`);
  assert.ok(names.length >= 10, names.join(" "));
  const program = `for (const name of ${JSON.stringify(names)}) { require(name); import(name).catch((error) => { console.error(error); process.exitCode = 1; }); }`;
  await done(process.execPath, ["-e", program], { cwd: installed });
});

test("the installed package loads from its platform package", async () => {
  const { err } = await done(process.execPath, ["-e", `require("@sinew/natives")`], { cwd: installed, env: { SINEW_DEV: "1" } });
  assert.ok(err.startsWith(`@sinew/natives: loaded ${join(installed, "node_modules", "@sinew", `natives-${TAG}`)}`), err);
});

test("after each export the process ends by itself", async () => {
  const names = Object.keys(await import("@sinew/natives"));
  const exported = names.filter((name) => name !== "default" && name !== "module.exports");
  const queue = [...exported];
  const ended = [];
  const lane = async () => {
    for (let name = queue.pop(); name; name = queue.pop()) {
      await done(process.execPath, ["smoke.mjs", name], { cwd: installed });
      ended.push(name);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, lane));
  assert.equal(ended.length, exported.length);
});

test("every export works under Node, in the main thread and in threads started and stopped 50 times", async () => {
  await done(process.execPath, ["smoke.mjs"], { cwd: installed });
  await done(process.execPath, ["smoke.mjs", "--threads"], { cwd: installed });
});

test("every export works under Bun, in the main thread and in threads", async () => {
  const { bun } = runtimes();
  await done(bun, ["smoke.mjs"], { cwd: installed });
  await done(bun, ["smoke.mjs", "--threads"], { cwd: installed });
});

test("every export works under Deno, in the main thread and in threads", async () => {
  const { deno } = runtimes();
  const args = ["run", "--allow-all", "--no-lock", "smoke.mjs"];
  await done(deno, args, { cwd: installed });
  await done(deno, [...args, "--threads"], { cwd: installed });
});

test("Deno without all permissions gets the list of what was tried, and the reasons", async () => {
  const { deno } = runtimes();
  // That is refused even if the addon could be loaded.
  writeFileSync(join(installed, "least.mjs"), 'import { visibleWidth } from "@sinew/natives";\nconsole.log(visibleWidth("ab"));\n');
  const { code, err } = await run(deno, ["run", "--no-lock", "--no-prompt", "--allow-read", "--allow-env", "least.mjs"], { cwd: installed });
  assert.notEqual(code, 0);
  assert.match(err.replace(/\x1b\[[\d;]*m/g, ""), /@sinew\/natives: found no addon for [\w-]+.*\. Tried:\n(?: {2}.+: .+\n)+/);
});

test("a bundle of esbuild, as CommonJS and as a module, finds the platform package", async () => {
  const { esbuild } = runtimes();
  const app = join(installed, "bundled");
  mkdirSync(app);
  writeFileSync(join(app, "app.js"), `import { visibleWidth } from "@sinew/natives"; console.log(visibleWidth("日本"));`);
  const banner = /--banner:js='(.*)'/.exec(readFileSync(join(ROOT, "docs", "natives", "bundling.md"), "utf8"))[1];
  for (const [format, name, more] of [["cjs", "out.cjs", []], ["esm", "out.mjs", [`--banner:js=${banner}`]]]) {
    await done(esbuild, [join(app, "app.js"), "--bundle", "--platform=node", `--format=${format}`, `--outfile=${join(app, name)}`, ...more], { cwd: installed });
    const { out } = await done(process.execPath, [join(app, name)], { cwd: tmpdir() });
    assert.equal(out, "4\n");
  }
});

test("a bundle without the worker of photon-node says what to exclude, and does not wait for it", async () => {
  const { esbuild } = runtimes();
  const app = join(installed, "photon.js");
  writeFileSync(app, `const { PhotonImage } = require("@sinew/natives/compat/photon-node"); new PhotonImage(new Uint8Array(4), 1, 1);`);
  const bundle = join(installed, "photon.bundle.cjs");
  await done(esbuild, [app, "--bundle", "--platform=node", `--outfile=${bundle}`], { cwd: installed });
  const { code, err } = await run(process.execPath, [bundle]);
  assert.equal(code, 1);
  assert.match(err, /photon-node: \S+photon-worker\.js is missing, .*: exclude @sinew\/natives from the bundle/);
});

test("a bundle finds the addon in its own folder, and says what to do where it is missing", async (t) => {
  const { esbuild } = runtimes();
  const app = join(installed, "alone.js");
  writeFileSync(app, `const { PtySession, visibleWidth } = require("@sinew/natives"); new PtySession().start({ command: "exit 3" }).then(({ exitCode }) => console.log(visibleWidth("日本"), exitCode));`);
  const bundle = join(temporary(t), "app", "bundle.cjs");
  await done(esbuild, [app, "--bundle", "--platform=node", `--outfile=${bundle}`], { cwd: installed });
  const { code, err } = await run(process.execPath, [bundle]);
  assert.equal(code, 1);
  const files = `sinew_natives\\.${TAG}[-*a-z]*\\.node and ${SHELL_HOST.replace(".", "\\.")}`;
  assert.match(err, new RegExp(`bundled into .*bundle\\.cjs: install @sinew/natives-${TAG} where the bundle runs \\(npm install .*\\), or copy ${files} from that package to .*app\\.`));
  for (const name of [ADDON, SHELL_HOST]) place(join(installed, "node_modules", "@sinew", `natives-${TAG}`, name), join(bundle, "..", name));
  const { out } = await done(process.execPath, [bundle], { cwd: tmpdir() });
  assert.equal(out, "4 3\n");
});

test("the installed package has the command that compiled hosts need", async () => {
  const command = join(installed, "node_modules", ".bin", "sinew-embed");
  const { out } = await done(command, [], { cwd: installed });
  assert.match(out, new RegExp(`${ADDON.replaceAll(".", "\\.")}, \\d+ bytes\n`));
  await done(command, ["--reset"], { cwd: installed });
  const { code, err } = await run(command, ["--tag", "plan9-mips"], { cwd: installed });
  assert.equal(code, 1);
  assert.match(err, /^embed: @sinew\/natives-plan9-mips is not installed; run: npm install/);
});

/** The code of a compiled host, which uses the addon and the supervisor program. */
const HOST = `import { PtySession, visibleWidth } from "@sinew/natives"; new PtySession().start({ command: "exit 3" }).then(({ exitCode }) => console.log(visibleWidth("日本"), exitCode));`;

/**
 * A folder with a copy of the package and the addon, which `host` reads. `compile` creates the executable `app` there.
 */
async function compiledHost(t, host, compile) {
  const folder = temporary(t);
  const own = join(folder, "node_modules", "@sinew", "natives");
  cpSync(bare(t), own, { recursive: true });
  const embed = join(PACKAGE, "bin", "embed.mjs");
  const { out: assets } = await done(process.execPath, [embed, "--package", own, "--host", host]);
  const refused = await run(process.execPath, [join(ROOT, "scripts", "pack.mjs"), "--package", own, "--only", "main", "--out", folder]);
  assert.equal(refused.code, 1);
  assert.match(refused.err, /sinew-embed --reset/);
  writeFileSync(join(folder, "app.mjs"), HOST);
  await compile(folder, assets);
  await done(process.execPath, [embed, "--package", own, "--reset"]);
  assert.equal(readFileSync(join(own, "dist", "embedded.js"), "utf8").includes("sinew_natives"), false);
  rmSync(join(folder, "node_modules"), { recursive: true });
  const data = join(folder, "data");
  for (let round = 0; round < 2; round++) {
    const { out, err } = await done(join(folder, "app"), [], { cwd: tmpdir(), env: { XDG_DATA_HOME: data, SINEW_DEV: "1" } });
    assert.equal(out, "4 3\n");
    assert.equal(err, `@sinew/natives: loaded ${join(data, "sinew", "natives", VERSION, ADDON)}\n`);
  }
  assert.deepEqual(readdirSync(join(data, "sinew", "natives", VERSION)).sort(), [SHELL_HOST, ADDON].sort());
}

const LINUX = { skip: process.platform !== "linux" && "knows the data folder of Linux" };

test("an executable of Bun carries the addon and the supervisor program, and extracts them", LINUX, (t) =>
  compiledHost(t, "bun", (folder) => done(runtimes().bun, ["build", "--compile", "app.mjs", "--outfile", "app"], { cwd: folder })));

test("a single executable application of Node carries them, and extracts them", LINUX, (t) =>
  compiledHost(t, "node", async (folder, assets) => {
    const { esbuild, postject } = runtimes();
    await done(esbuild, ["app.mjs", "--bundle", "--platform=node", "--outfile=app.js"], { cwd: folder });
    const config = { main: "app.js", output: "app.blob", disableExperimentalSEAWarning: true, assets: JSON.parse(assets) };
    writeFileSync(join(folder, "sea.json"), JSON.stringify(config));
    await done(process.execPath, ["--experimental-sea-config", "sea.json"], { cwd: folder });
    copyFileSync(process.execPath, join(folder, "app"));
    await done(postject, ["app", "NODE_SEA_BLOB", "app.blob", "--sentinel-fuse", "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2"], { cwd: folder });
  }));

test("a strict TypeScript program compiles against the types, as CommonJS and as a module", async () => {
  const app = join(installed, "typed");
  mkdirSync(app);
  const body = `
const options: GrepOptions = { pattern: "TODO", path: ".", maxCount: 5 };
export async function main(): Promise<string[]> {
  const result: GrepResult = await grep(options, (match) => { const path: string = match.path; void path; });
  const width: number = visibleWidth("日本");
  const picture: PhotonImage = await PhotonImage.parse(new Uint8Array());
  const small = await picture.resize(1, 1, SamplingFilter.Nearest);
  const { exitCode }: ShellRunResult = await new Shell().run({ command: "true", timeoutMs: 1 });
  const code: number | undefined = exitCode;
  // @ts-expect-error A pattern is needed.
  void grep({ path: "." });
  // @ts-expect-error A width is a number.
  const wrong: string = visibleWidth("");
  return [String(width + small.width + (code ?? 0)), wrong, ...result.matches.map((match) => match.path)];
}
`;
  const names = "PhotonImage, SamplingFilter, Shell, grep, visibleWidth, type GrepOptions, type GrepResult, type ShellRunResult";
  for (const ending of ["cts", "mts"]) writeFileSync(join(app, `app.${ending}`), `import { ${names} } from "@sinew/natives";\n${body}`);
  const compat = `import stringWidth from "@sinew/natives/compat/string-width";\nimport wrapAnsi from "@sinew/natives/compat/wrap-ansi";\n`;
  writeFileSync(join(app, "compat.mts"), `${compat}const width: number = stringWidth(wrapAnsi("one two", 3, { hard: true }));\n// @ts-expect-error A text is needed.\nvoid stringWidth(width);\n`);
  // Every declaration file is read, because libraries are checked too.
  const { exports } = JSON.parse(readFileSync(join(installed, "node_modules", "@sinew", "natives", "package.json"), "utf8"));
  const modules = Object.keys(exports).filter((name) => name.startsWith("./compat/")).map((name) => `@sinew/natives${name.slice(1)}`);
  for (const ending of ["cts", "mts"]) writeFileSync(join(app, `all.${ending}`), `${modules.map((name, at) => `import module${at} from "${name}";`).join("\n")}
void [${modules.map((_, at) => `module${at}`)}];
`);
  const compilerOptions = { strict: true, esModuleInterop: true, exactOptionalPropertyTypes: true, noEmit: true, target: "es2022", lib: ["es2022"], module: "node16", moduleResolution: "node16", types: ["node"], typeRoots: [join(ROOT, "node_modules", "@types")] };
  writeFileSync(join(app, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["app.cts", "app.mts", "compat.mts", "all.cts", "all.mts"] }));
  await done(process.execPath, [join(ROOT, "node_modules", "typescript", "bin", "tsc"), "--project", app], { cwd: app });
});

test("no drop-in is `any`, however types are resolved", async () => {
  const app = join(installed, "resolved");
  mkdirSync(app);
  const { exports } = manifest("natives");
  const names = Object.keys(exports).filter((name) => name !== "./package.json").map((name) => `@sinew/natives${name.slice(1)}`);
  // `0 extends 1 & T` is true only for `any`.
  const lines = names.flatMap((name, at) => [`import * as all${at} from "${name}";`, `export const any${at}: Any<typeof all${at}> = false;`, ...(name.includes("/compat/") ? [`import one${at} from "${name}";`, `export const anyOne${at}: Any<typeof one${at}> = false;`] : [])]);
  const uses = `import fastGlob from "@sinew/natives/compat/fast-glob";
import sharp from "@sinew/natives/compat/sharp-lite";
import pty from "@sinew/natives/compat/node-pty";
import TurndownService from "@sinew/natives/compat/turndown";
export const paths: Promise<string[]> = fastGlob("*");
export const bytes: Promise<Uint8Array> = sharp("a.png").resize(1).toBuffer();
export const id: number = pty.spawn("sh").pid;
export const named: fastGlob.Options & { entries?: fastGlob.Entry[]; tasks?: fastGlob.Task[] } = { dot: true };
export const picture: sharp.Sharp = sharp("a.png");
export const region: sharp.Region & { made?: sharp.Metadata; written?: sharp.OutputInfo; size?: sharp.ResizeOptions } = { left: 0, top: 0, width: 1, height: 1 };
export const turndown: TurndownService.Options = new TurndownService().options;
// @ts-expect-error A pattern is needed.
void fastGlob();
// @ts-expect-error Not a size.
sharp("a.png").resize("wide");
// @ts-expect-error A name is text.
pty.spawn(1);
`;
  const program = `type Any<T> = 0 extends 1 & T ? true : false;\n${lines.join("\n")}\n`;
  for (const [resolution, module, ending] of [["bundler", "esnext", "mts"], ["bundler", "esnext", "ts"], ["node10", "commonjs", "ts"], ["node16", "node16", "mts"], ["node16", "node16", "cts"]]) {
    // `import one from` gives the object of the module in CommonJS, and `import one = require` what the original packages have documented.
    const required = uses.replace('import pty from', "import * as pty from").replace(/^import (fastGlob|sharp|TurndownService) from (.*);$/gm, "import $1 = require($2);");
    const body = program + (ending === "cts" ? required : uses);
    writeFileSync(join(app, `app.${ending}`), body);
    const compilerOptions = { strict: true, esModuleInterop: true, noEmit: true, skipLibCheck: false, target: "es2022", lib: ["es2022"], module, moduleResolution: resolution, types: ["node"], typeRoots: [join(ROOT, "node_modules", "@types")] };
    writeFileSync(join(app, "tsconfig.json"), JSON.stringify({ compilerOptions, files: [`app.${ending}`] }));
    await done(process.execPath, [join(ROOT, "node_modules", "typescript", "bin", "tsc"), "--project", app], { cwd: app });
  }
});

test("the tools that judge packages find nothing in the packed ones", async (t) => {
  const tools = await typeTools();
  if (!tools) return t.skip("the registry does not have them");
  const load = (name) => import(pathToFileURL(createRequire(join(tools, "package.json")).resolve(name)));
  const { publint } = await load("publint");
  const { Package, checkPackage } = await import(pathToFileURL(join(tools, "node_modules", "@arethetypeswrong", "core", "dist", "index.js")));
  const pkgDir = join(installed, "node_modules", "@sinew", "natives");
  assert.deepEqual((await publint({ pkgDir, pack: false, strict: true })).messages, []);
  const names = readdirSync(pkgDir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const files = Object.fromEntries(names.map((name) => [`/node_modules/@sinew/natives/${relative(pkgDir, name).split(sep).join("/")}`, readFileSync(name)]));
  const { problems, entrypoints } = await checkPackage(new Package(files, "@sinew/natives", VERSION));
  assert.ok(Object.keys(entrypoints).length >= 10);
  assert.deepEqual(problems, []);
});

test("pack refuses a Linux addon that asks for a newer glibc than a release promises", { skip: process.platform !== "linux" && "Linux only" }, async (t) => {
  const { compareVersions, readElf } = await import("../../../scripts/lib/elf.mjs");
  const { glibc, arch, staticTls } = readElf(join(BUILD, ADDON));
  assert.equal(arch, process.arch);
  assert.equal(staticTls, false);
  assert.ok(compareVersions("2.9", "2.28") < 0 && compareVersions("2.28", "2.28") === 0 && compareVersions("2.34", "2.4") > 0);
  // Read with the tool of the linker.
  const { out } = await done("objdump", ["-T", join(BUILD, ADDON)]);
  const named = [...out.matchAll(/GLIBC_(\d[\d.]*)/g)].map(([, each]) => each).sort(compareVersions);
  assert.equal(glibc, named.at(-1));
  const { code, err } = await run(process.execPath, [join(ROOT, "scripts", "pack.mjs"), "--no-build", "--only", "platforms", "--out", temporary(t)]);
  if (compareVersions(glibc, "2.28") > 0) {
    assert.equal(code, 1);
    assert.match(err, new RegExp(`requires glibc ${glibc.replace(".", "\\.")}, which is newer than 2\\.28; build it with`));
  } else {
    assert.equal(code, 0, err);
  }
});

test("pack says what is missing", async (t) => {
  const empty = temporary(t);
  const pack = (...args) => run(process.execPath, [join(ROOT, "scripts", "pack.mjs"), "--out", empty, "--any-glibc", ...args]);
  const check = async (args, pattern) => {
    const { code, err } = await pack(...args);
    assert.equal(code, 1);
    assert.match(err, pattern);
  };
  await check(["--addons", join(empty, "none"), "--only", "platforms"], /no addon in .*none; run: npm run build/);
  await check(["--package", empty], /ENOENT|not built/);
  await check(["--only", "half"], /unknown part "half"/);
  place(join(BUILD, ADDON), join(empty, ADDON));
  await check(["--addons", empty, "--only", "platforms"], /sinew-shell-host.* is missing; run: npm run build/);
  assert.equal(existsSync(join(empty, `sinew-natives-${VERSION}.tgz`)), false);
});

test("build refuses what cannot be built before it begins", async () => {
  const check = async (args, pattern) => {
    const { code, err } = await run(process.execPath, [join(ROOT, "scripts", "build.mjs"), ...args]);
    assert.equal(code, 1);
    assert.match(err, pattern);
  };
  await check(["--target", "riscv64gc-unknown-linux-gnu"], /no addon for the target riscv64gc-unknown-linux-gnu; known are x86_64-unknown-linux-gnu, /);
  await check(["--variant", "fastest"], /unknown variant "fastest": use modern or baseline/);
  await check(["--target", "aarch64-apple-darwin", "--variant", "modern"], /aarch64-apple-darwin has no variants: leave out "modern"/);
  const foreign = process.platform === "win32" ? "x86_64-unknown-linux-gnu" : "x86_64-pc-windows-msvc";
  await check(["--target", foreign], new RegExp(`building for ${foreign} needs --variant modern or --variant baseline`));
  await check(["--target", "x86_64-apple-darwin", "--variant", "modern", "--glibc", "2.28"], /--glibc is for Linux with glibc, not for x86_64-apple-darwin/);
});
