// Compiles and lints the workspace in one build: clippy's driver replaces rustc for our own crates.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ask } from "./steps.mjs";

/** Returns the environment of such a build. Fails if the toolchain has no clippy. Warnings are errors. */
export async function lintedEnvironment() {
  const driver = join(await ask("rustc", ["--print", "sysroot"]), "bin", process.platform === "win32" ? "clippy-driver.exe" : "clippy-driver");
  if (!existsSync(driver)) throw new Error("clippy is missing: run rustup component add clippy");
  // The way in which cargo clippy passes its arguments on.
  return { RUSTC_WORKSPACE_WRAPPER: driver, CLIPPY_ARGS: ["-D", "warnings"].map((word) => `${word}__CLIPPY_HACKERY__`).join("") };
}
