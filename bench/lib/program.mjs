// Which program the benchmarks of the agent run.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../scripts/lib/steps.mjs";

/** The program that was built with optimisations, or SINEW_BIN; undefined where there is none. */
export function sinew() {
  if (process.env.SINEW_BIN) return process.env.SINEW_BIN;
  const target = process.env.CARGO_TARGET_DIR ?? join(ROOT, "target");
  return ["release", "quick"].map((profile) => join(target, profile, "sinew")).find(existsSync);
}
