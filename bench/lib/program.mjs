// Finds the program that the benchmarks of the agent run, and evaluates its times.
import { existsSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { ROOT } from "../../scripts/lib/steps.mjs";

// The folders in which builds for this machine put an optimised program: a variant of `npm run build -- --agent`, or
// cargo.
const BUILT = ["modern", "baseline", "plain", ""].flatMap((variant) => ["release", "quick"].map((profile) => join(variant, profile)));

/**
 * The path of the program: SINEW_BIN, else the newest optimised build, else the one in `dist`, which may not be
 * optimised. If there is none, prints a hint and returns undefined.
 */
export function sinew(root = ROOT, env = process.env) {
  if (env.SINEW_BIN) return env.SINEW_BIN;
  const target = env.CARGO_TARGET_DIR ?? join(root, "target");
  const name = process.platform === "win32" ? "sinew.exe" : "sinew";
  const time = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const built = BUILT.map((folder) => join(target, folder, name)).sort((a, b) => time(b) - time(a));
  const found = [...built, join(root, "dist", name)].find(existsSync);
  if (!found) console.log("  no program: build it with `npm run build -- --agent`");
  return found;
}

/** The program of a package of the benchmarks; undefined if it is not installed. */
export function program(name, bin) {
  for (const folder of createRequire(import.meta.url).resolve.paths(name) ?? []) {
    const file = join(folder, name, "package.json");
    if (!existsSync(file)) continue;
    const facts = JSON.parse(readFileSync(file, "utf8"));
    return join(dirname(file), typeof facts.bin === "string" ? facts.bin : facts.bin[bin]);
  }
  return undefined;
}

/** The median of the numbers; for an even count, the upper of the two in the middle. */
export const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];
