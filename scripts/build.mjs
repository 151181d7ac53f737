#!/usr/bin/env node
// Builds the addon, the shell's companion and the TypeScript of @sinew/natives for this machine or for a target.
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, copyFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { bundle } from "./lib/bundle.mjs";
import { compareVersions, readElf } from "./lib/elf.mjs";
import { ROOT, ask, run } from "./lib/steps.mjs";
import { zig } from "./zig.mjs";

const HELP = `npm run build -- [options]

  --profile NAME    release (default), quick (no fat LTO, for tests), dev
  --variant NAME    modern or baseline; x64 only; default: what this CPU runs; also TARGET_VARIANT
  --target TRIPLE   a Rust target; default: this machine
  --glibc VERSION   Linux: link for this glibc and later (2.28 for releases), through cargo-zigbuild
  --agent           build the agent too: dist/sinew
  --dev             write sinew_natives.dev.node, which SINEW_DEV loads
  --natives-only    leave out the TypeScript
  --typescript-only build the TypeScript alone, beside an addon that is there
`;

const LEVEL = { modern: "x86-64-v3", baseline: "x86-64-v2" };
const TAGS = {
  "x86_64-unknown-linux-gnu": "linux-x64",
  "aarch64-unknown-linux-gnu": "linux-arm64",
  "x86_64-apple-darwin": "darwin-x64",
  "aarch64-apple-darwin": "darwin-arm64",
  "x86_64-pc-windows-msvc": "win32-x64",
};

const { values } = parseArgs({
  options: {
    profile: { type: "string", default: "release" },
    variant: { type: "string" },
    target: { type: "string" },
    glibc: { type: "string" },
    agent: { type: "boolean", default: false },
    dev: { type: "boolean", default: false },
    "natives-only": { type: "boolean", default: false },
    "typescript-only": { type: "boolean", default: false },
    help: { type: "boolean", short: "h" },
  },
});

/** Replaces a file in one step: whoever loads it meanwhile sees the old or the new one, never half. */
export function place(from, to) {
  const part = `${to}.${process.pid}.part`;
  copyFileSync(from, part);
  renameSync(part, to);
}

function library(os) {
  return os.startsWith("win32") ? "sinew_natives.dll" : os.startsWith("darwin") ? "libsinew_natives.dylib" : "libsinew_natives.so";
}

async function natives() {
  const host = /host: (\S+)/.exec(await ask("rustc", ["-vV"]))?.[1];
  const triple = values.target ?? host;
  const tag = TAGS[triple];
  if (!tag) throw new Error(`no addon for the target ${triple}; known are ${Object.keys(TAGS).join(", ")}`);
  let variant = values.variant ?? process.env.TARGET_VARIANT;
  if (variant && !LEVEL[variant]) throw new Error(`unknown variant "${variant}": use modern or baseline`);
  if (variant && !tag.endsWith("x64")) throw new Error(`the target ${triple} has no variants: leave out "${variant}"`);
  if (tag.endsWith("x64") && !variant) {
    if (triple !== host) throw new Error(`building for ${triple} needs --variant modern or --variant baseline`);
    const cpu = existsSync("/proc/cpuinfo") ? readFileSync("/proc/cpuinfo", "latin1") : "";
    variant = /\bavx2\b.*\bbmi2\b/.test(cpu) ? "modern" : "baseline";
  }
  if (values.glibc && !tag.startsWith("linux")) throw new Error(`--glibc is for Linux, not for ${triple}`);
  if (values.glibc && !/^2\.\d+$/.test(values.glibc)) throw new Error(`--glibc "${values.glibc}" is no version: use 2.28`);
  const old = values.glibc && (await zig());
  if (values.glibc && !old) console.log(`cargo-zigbuild is not there: the build asks for the glibc of this machine`);
  const env = { ...old };
  const flags = [];
  if (variant) flags.push(`-C target-cpu=${LEVEL[variant]}`);
  // Without it the addon asks for a runtime library that a fresh Windows does not have.
  if (tag.startsWith("win32")) flags.push("-C target-feature=+crt-static");
  if (flags.length && !process.env.RUSTFLAGS) env.RUSTFLAGS = flags.join(" ");
  // Flags differ per variant: a folder each keeps cargo from building everything again at every change.
  const metadata = JSON.parse(await ask("cargo", ["metadata", "--format-version", "1", "--no-deps"]));
  const target = join(metadata.target_directory, variant ?? "plain");
  env.CARGO_TARGET_DIR = target;
  const args = [old ? "zigbuild" : "build", "--profile", values.profile, "--package", "sinew-node", "--package", "sinew-shell", "--lib", "--bin", "sinew-shell-host"];
  if (values.agent) args.push("--package", "sinew-cli", "--bin", "sinew");
  const targeted = Boolean(values.target || old);
  if (targeted) args.push("--target", old ? `${triple}.${values.glibc}` : triple);
  await run("cargo", args, { env });
  const folder = join(target, targeted ? triple : "", values.profile === "dev" ? "debug" : values.profile);
  const build = join(ROOT, "native", "build");
  mkdirSync(build, { recursive: true });
  const name = values.dev ? "sinew_natives.dev.node" : `sinew_natives.${tag}${variant ? `-${variant}` : ""}.node`;
  const companion = tag.startsWith("win32") ? "sinew-shell-host.exe" : "sinew-shell-host";
  // A package has one companion for both variants: each build keeps its own beside the one that the checkout uses.
  const kept = join(`${tag}${variant ? `-${variant}` : ""}`, companion);
  mkdirSync(join(build, kept, ".."), { recursive: true });
  const placed = [[library(tag), name], [companion, kept]];
  if (triple === host) placed.push([companion, companion]);
  if (values.agent) {
    mkdirSync(join(ROOT, "dist"), { recursive: true });
    placed.push([tag.startsWith("win32") ? "sinew.exe" : "sinew", join("..", "..", "dist", tag.startsWith("win32") ? "sinew.exe" : "sinew")]);
  }
  for (const [from, to] of placed) {
    const path = join(folder, from);
    if (!existsSync(path)) throw new Error(`cargo built no ${from}; looked in ${folder}`);
    const asks = old ? readElf(path).glibc : undefined;
    if (asks && compareVersions(asks, values.glibc) > 0) throw new Error(`${from} asks for glibc ${asks}, wanted was ${values.glibc}`);
    place(path, join(build, to));
    console.log(relative(ROOT, join(build, to)));
  }
}

/** Compiles the TypeScript and writes the module that gives `import` the same names. What was there works until the end. */
async function typescript() {
  const folder = join(ROOT, "packages", "natives");
  const dist = join(folder, "dist");
  // Beside the old one, and named so that no other build writes to it.
  const next = `${dist}.${process.pid}.part`;
  try {
    await run("npx", ["--no-install", "tsc", "--project", folder, "--outDir", next], { quiet: true });
    cpSync(join(folder, "src", "native.d.ts"), join(next, "native.d.ts"));
    bundle(next);
    const names = await ask("node", ["-p", `Object.keys(require(${JSON.stringify(next)})).join(',')`]);
    if (!names) throw new Error(`the package does not load; run: npx tsc --project ${folder} && node -e "require('${folder}')"`);
    const list = names.split(",").filter((name) => name !== "__esModule").sort();
    const lines = list.map((name) => `  ${name},\n`).join("");
    writeFileSync(join(next, "index.mjs"), `// Written by scripts/build.mjs: the same objects for import as for require.\nimport natives from "./index.js";\nexport const {\n${lines}} = natives;\n`);
    writeFileSync(join(next, "index.d.mts"), `// Written by scripts/build.mjs.\nexport * from "./index.js";\n`);
    rmSync(dist, { recursive: true, force: true });
    renameSync(next, dist);
  } finally {
    rmSync(next, { recursive: true, force: true });
  }
  console.log("packages/natives/dist");
}

if (values.help) {
  process.stdout.write(HELP);
} else {
  try {
    if (!values["typescript-only"]) await natives();
    if (!values["natives-only"]) await typescript();
  } catch (error) {
    console.error(`build: ${error.message}`);
    process.exitCode = 1;
  }
}
