// Counts the instructions of `require` of the package on another processor. Times in an emulator mean nothing, but its
// instruction counts are right.
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "../lib/steps.mjs";
import { output } from "./tests.mjs";

/** The number of runs: the threads of Node change the count a little from run to run. */
const RUNS = 5;

/**
 * The instructions of Node without `require` of the package, and those that it adds: { bare, more }, each the median of
 * several runs. `words` is the command that runs a program and makes it print its count. `addon` is the path of a built
 * addon, in the folder of its supervisor program.
 */
export async function requireCounts(words, addon, companion) {
  const folder = mkdtempSync(join(tmpdir(), "sinew-counts-"));
  try {
    const source = join(ROOT, "packages", "natives");
    cpSync(join(source, "dist"), join(folder, "dist"), { recursive: true });
    copyFileSync(join(source, "package.json"), join(folder, "package.json"));
    mkdirSync(join(folder, "native"));
    for (const path of [addon, companion]) copyFileSync(path, join(folder, "native", path.split("/").pop()));
    const count = async (script) => {
      const { code, text } = await output([...words, "-e", script], { cwd: folder });
      const found = /^instructions (\d+)$/m.exec(text)?.[1];
      if (code !== 0 || !found) throw new Error(`counting ${JSON.stringify(script)} ended with ${code}: ${text.slice(-300)}`);
      return Number(found);
    };
    const median = async (script) => {
      const counts = [];
      while (counts.length < RUNS) counts.push(await count(script));
      return counts.sort((a, b) => a - b)[RUNS >> 1];
    };
    const bare = await median("0");
    return { bare, more: (await median("require('.')")) - bare };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
