// Builds the addon, the supervisor program of shells and the agent with cargo, and puts them where they are expected.
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { zig } from "../zig.mjs";
import { cargoBuild } from "./cargo.mjs";
import { compareVersions, readElf } from "./elf.mjs";
import { PLATFORMS, addonOf, programOf, variantsOf } from "./platforms.mjs";
import { ROOT, ask, dim } from "./steps.mjs";

/** The processor level that each variant requires, as compilers name it. */
export const LEVEL = { modern: "x86-64-v3", baseline: "x86-64-v2" };
/** The folder of the addons and the supervisor programs. */
export const BUILD = join(ROOT, "native", "build");
/** The file that records with which profile each file of `BUILD` was built. */
const PROFILES = join(BUILD, "profiles.json");

/** Profiles that compile fast and do not optimise most crates of the project. */
const FAST_TO_COMPILE = ["dev", "test"];

/** Tells whether an addon in the folder was built without optimising the crates of the project. */
export function isDevBuild() {
  const profiles = existsSync(PROFILES) ? JSON.parse(readFileSync(PROFILES, "utf8")) : {};
  return Object.entries(profiles).some(([file, profile]) => file.endsWith(".node") && FAST_TO_COMPILE.includes(profile));
}

/** The package of each part, and the arguments that select its target. */
const PARTS = {
  addon: { name: "sinew-node", target: ["--lib"] },
  supervisor: { name: "sinew-shell", target: ["--bin", "sinew-shell-host"] },
  agent: { name: "sinew-cli", target: ["--bin", "sinew"] },
};

/** Replaces a file atomically: a process that loads it meanwhile sees the old or the new file. */
function place(from, to) {
  mkdirSync(dirname(to), { recursive: true });
  const part = `${to}.${process.pid}.part`;
  copyFileSync(from, part);
  renameSync(part, to);
}

/** The name that cargo gives the addon on each system. */
const LIBRARY = { linux: "libsinew_natives.so", darwin: "libsinew_natives.dylib", win32: "sinew_natives.dll" };

/** The Rust target of this machine. */
export async function hostTarget() {
  const triple = /host: (\S+)/.exec((await ask("rustc", ["-vV"])) ?? "")?.[1];
  if (!triple) throw new Error("rustc -vV prints no host: install Rust (https://rustup.rs)");
  return triple;
}

/**
 * Tells whether the toolchain links a target with its own lld, as it does for x86-64 Linux. lld can merge functions
 * with identical code, which saves 1 % of the agent. That is safe: nothing here compares addresses of functions, and
 * data is not merged.
 */
async function linksWithLld(triple) {
  const root = (await ask("rustc", ["--print", "sysroot"]))?.trim();
  return triple === "x86_64-unknown-linux-gnu" && existsSync(join(root ?? "", "lib", "rustlib", triple, "bin", "gcc-ld", "ld.lld"));
}

/** The platform of a Rust target. Throws an error if there is no addon for it. */
export function platformOf(triple) {
  const platform = PLATFORMS.find(({ targets }) => targets.includes(triple));
  if (!platform) throw new Error(`no addon for the target ${triple}; known are ${PLATFORMS.flatMap(({ targets }) => targets).join(", ")}`);
  return platform;
}

/**
 * The variant to build for a target: the wanted one, else the one for this machine; undefined if the target has none.
 */
function variantOf(triple, platform, host, wanted) {
  if (wanted && !LEVEL[wanted]) throw new Error(`unknown variant "${wanted}": use modern or baseline`);
  const variants = variantsOf(platform).filter(Boolean);
  if (wanted && !variants.length) throw new Error(`the target ${triple} has no variants: leave out "${wanted}"`);
  if (!variants.length || wanted) return wanted;
  if (triple !== host) throw new Error(`building for ${triple} needs --variant modern or --variant baseline`);
  const cpu = existsSync("/proc/cpuinfo") ? readFileSync("/proc/cpuinfo", "latin1") : "";
  return /\bavx2\b.*\bbmi2\b/.test(cpu) ? "modern" : "baseline";
}

/** The profile that a file of `BUILD` was built with; undefined if it is not recorded. */
export function profileOf(name) {
  return existsSync(PROFILES) ? JSON.parse(readFileSync(PROFILES, "utf8"))[name] : undefined;
}

function rememberProfile(name, profile) {
  const known = existsSync(PROFILES) ? JSON.parse(readFileSync(PROFILES, "utf8")) : {};
  const part = `${PROFILES}.${process.pid}.part`;
  writeFileSync(part, `${JSON.stringify({ ...known, [name]: profile }, null, 2)}\n`);
  renameSync(part, PROFILES);
}

/**
 * Builds `parts` (`addon`, `supervisor`, `agent`) with a profile and puts them into `native/build` and `dist`, or with
 * `collect` into `dist/cross/TAG`, from which packages of any platform are made. For `what` and `seconds` see
 * `cargoBuild`. The addon alone takes half the time, because it does not need the embedded interpreter of the
 * supervisor.
 */
export async function buildNatives({ parts, profile, variant: wanted, target: triple, glibc, dev = false, verbose = false, collect = false, what, seconds }) {
  const host = await hostTarget();
  triple ??= host;
  const platform = platformOf(triple);
  const { tag, os } = platform;
  const variant = variantOf(triple, platform, host, wanted);
  if (glibc && platform.libc !== "glibc") throw new Error(`--glibc is for Linux with glibc, not for ${triple}`);
  if (glibc && !/^2\.\d+$/.test(glibc)) throw new Error(`--glibc "${glibc}" is not a version: use 2.28`);
  const old = glibc && (await zig());
  if (glibc && !old) console.log("cargo-zigbuild cannot be installed: the build asks for the glibc of this machine");

  // A build without flags for a processor shares its dependencies with the tests.
  const shared = FAST_TO_COMPILE.includes(profile) && triple === host;
  const env = { ...old };
  const flags = [];
  if (variant && !shared) flags.push(`-C target-cpu=${LEVEL[variant]}`);
  // Without it the addon needs a runtime library that a new Windows does not have.
  if (os === "win32") flags.push("-C target-feature=+crt-static");
  if (profile === "release" && !old && (await linksWithLld(triple))) flags.push("-C link-arg=-Wl,--icf=all");
  if (flags.length && !process.env.RUSTFLAGS) env.RUSTFLAGS = flags.join(" ");
  const metadata = JSON.parse(await ask("cargo", ["metadata", "--format-version", "1", "--no-deps"]));
  // Flags differ per variant. With a folder for each, cargo does not rebuild everything at every change of the variant.
  const folder = shared ? metadata.target_directory : join(metadata.target_directory, variant ?? "plain");
  env.CARGO_TARGET_DIR = folder;

  // Building the whole workspace gives the tests' addon the same features as the tests.
  const selected = shared && profile === "test" ? ["--workspace"] : parts.flatMap((part) => ["--package", PARTS[part].name]);
  const targeted = triple !== host || Boolean(old);
  const args = [old ? "zigbuild" : "build", "--profile", profile, ...selected, ...parts.flatMap((part) => PARTS[part].target)];
  if (targeted) args.push("--target", old ? `${triple}.${glibc}` : triple);
  await cargoBuild(args, { what: what ?? parts.join(", "), seconds, env, verbose });

  const built = join(folder, targeted ? triple : "", FAST_TO_COMPILE.includes(profile) ? "debug" : profile);
  const program = (name) => programOf(platform, name);
  const placed = {
    addon: () => [[LIBRARY[os], dev ? "sinew_natives.dev.node" : addonOf(platform, variant)]],
    supervisor: () => {
      const name = program("sinew-shell-host");
      // A package has one supervisor for both variants. Each build keeps its own next to the one that the checkout
      // uses.
      const kept = join(`${tag}${variant ? `-${variant}` : ""}`, name);
      return triple === host ? [[name, kept], [name, name]] : [[name, kept]];
    },
    agent: () => [[program("sinew"), collect ? program("sinew") : join("..", "..", "dist", program("sinew"))]],
  };
  const base = collect ? join(ROOT, "dist", "cross", tag) : BUILD;
  for (const [from, to] of parts.flatMap((part) => placed[part]())) {
    const path = join(built, from);
    if (!existsSync(path)) throw new Error(`cargo did not build ${from}: it is not in ${built}`);
    const asks = old ? readElf(path).glibc : undefined;
    if (asks && compareVersions(asks, glibc) > 0) throw new Error(`${from} requires glibc ${asks}, but --glibc is ${glibc}`);
    place(path, join(base, to));
    if (!collect) rememberProfile(relative(BUILD, join(BUILD, to)), profile);
    console.log(dim(relative(ROOT, join(base, to))));
  }
}
