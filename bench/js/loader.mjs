// Measures loading the package: processor time and memory of a new process, against one that loads nothing.
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { statSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../scripts/lib/steps.mjs";

const ROUNDS = 21;

/** Runs a script in a new process and returns the JSON value that it prints. */
function ask(script, args = []) {
  const { stdout, stderr, status } = spawnSync(process.execPath, [...args, "-e", script], { cwd: ROOT, encoding: "utf8", env: { ...process.env, SINEW_DEV: "" } });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

function median(list) {
  return [...list].sort((a, b) => a - b)[list.length >> 1];
}

/** The medians of each script. The scripts take turns. */
function turns(scripts, args) {
  const values = Object.fromEntries(Object.keys(scripts).map((name) => [name, []]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, script] of Object.entries(scripts)) values[name].push(ask(script, args));
  }
  return Object.fromEntries(Object.entries(values).map(([name, list]) => [name, median(list)]));
}

export default async function (bench) {
  const path = JSON.stringify(join(ROOT, "packages", "natives"));
  const require = createRequire(import.meta.url);
  const { candidates } = require("../../packages/natives/dist/loader-candidates.js");
  const { variants } = require("../../packages/natives/dist/variant.js");
  const tag = `${process.platform}-${process.arch}`;
  const addon = [...candidates(tag, variants(process.arch, process.platform, process.env) ?? ["baseline"], {})]
    .map(({ find }) => {
      try {
        return find();
      } catch {
        return undefined; // The next place; the package itself has found one of them.
      }
    })
    .find(Boolean);
  // Processor time, because the elapsed time of a new process depends on what else the machine does.
  const timed = (work) => `const t = process.cpuUsage(); ${work}; const { user, system } = process.cpuUsage(t); console.log((user + system) / 1000);`;
  const file = JSON.stringify(addon);
  const ms = turns({ package: timed(`require(${path})`), addon: timed(`require(${file})`) });
  bench.fact("require of the package, ms", ms.package.toFixed(2), 10);
  bench.fact("require of the addon alone, ms", ms.addon.toFixed(2));
  bench.fact("loader and JavaScript beyond the addon, ms", (ms.package - ms.addon).toFixed(2), 5);
  const resident = (work) => `${work}; gc(); console.log(process.memoryUsage().rss / 2 ** 20);`;
  const mib = turns({ none: resident(""), package: resident(`require(${path})`) }, ["--expose-gc"]);
  bench.fact("resident memory of the package, MiB", (mib.package - mib.none).toFixed(1), 15);
  bench.fact("size of the addon, MiB", (statSync(addon).size / 2 ** 20).toFixed(1), 16);
}
