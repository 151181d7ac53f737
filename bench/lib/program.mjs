// The program that the benchmarks of the agent run, and what they make of its times.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../scripts/lib/steps.mjs";

/** The program that was built with optimisations, or SINEW_BIN; where there is none, undefined and a hint on the screen. */
export function sinew() {
  if (process.env.SINEW_BIN) return process.env.SINEW_BIN;
  const target = process.env.CARGO_TARGET_DIR ?? join(ROOT, "target");
  const found = ["release", "quick"].map((profile) => join(target, profile, "sinew")).find(existsSync);
  if (!found) console.log("  no program: build it with `cargo build --release -p sinew-cli`");
  return found;
}

/** The middle of the numbers; of an even count the upper one of the two. */
export const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];
