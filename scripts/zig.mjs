// Zig as a C compiler and linker: links against the symbols of an old glibc, whatever this machine has.
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { CACHE } from "./lib/tools.mjs";
import { ask, run } from "./lib/steps.mjs";

/** Wheels of PyPI: the compiler, and the cargo command that sets it up. */
const WHEELS = ["ziglang==0.17.1", "cargo-zigbuild==0.24.0"];

/**
 * Returns the environment for `cargo zigbuild`, which the first call installs into the cache; undefined if Python is missing
 * or the wheels cannot be downloaded.
 */
export async function zig() {
  const folder = join(CACHE, "zig");
  const programs = join(folder, process.platform === "win32" ? "Scripts" : "bin");
  const mark = `cargo-zigbuild ${WHEELS[1].split("==")[1]}`;
  if ((await ask(join(programs, "cargo-zigbuild"), ["--version"])) !== mark) {
    console.log(`installing ${WHEELS.join(", ")}, once`);
    mkdirSync(CACHE, { recursive: true });
    try {
      await run("python3", ["-m", "venv", "--clear", folder], { quiet: true });
      await run(join(programs, "pip"), ["install", "--quiet", "--disable-pip-version-check", ...WHEELS], { quiet: true });
    } catch (error) {
      console.log(`no zig: ${error.message}`);
      return undefined;
    }
  }
  if (!existsSync(join(programs, "cargo-zigbuild"))) return undefined;
  return { PATH: `${programs}${process.platform === "win32" ? ";" : ":"}${process.env.PATH}` };
}
