// Lists the files of a tree that match a pattern, against fast-glob, tinyglobby, fdir and rg as a process.
// SINEW_BENCH_TREE sets the tree (default: cargo's registry, about 20,000 files).
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { ripgrep } from "../../scripts/lib/tools.mjs";

/** The tree that is searched; undefined if there is none. */
export function tree() {
  const path = process.env.SINEW_BENCH_TREE ?? join(homedir(), ".cargo", "registry", "src");
  return existsSync(path) ? path : undefined;
}

export default async function (bench) {
  const path = tree();
  if (!path) return console.log("  no tree: set SINEW_BENCH_TREE");
  const { glob, FileType } = bench.natives;
  const { default: fastGlob } = await import("fast-glob");
  const tinyglobby = await bench.optional("tinyglobby");
  const fdir = await bench.optional("fdir");
  const rg = await ripgrep();
  for (const extension of ["ts", "c", "rs"]) {
    const pattern = `**/*.${extension}`;
    const options = { pattern, path, hidden: true, fileType: FileType.File, includeNodeModules: true };
    const { totalMatches } = await glob(options);
    await bench.compare(`${pattern} in a tree`, {
      sinew: () => glob(options),
      "fast-glob": () => fastGlob(pattern, { cwd: path, dot: true }),
      tinyglobby: tinyglobby && (() => tinyglobby.glob(pattern, { cwd: path, dot: true })),
      "rg --files -g": () => spawnSync(rg, ["--files", "--hidden", "-g", `*.${extension}`, path], { maxBuffer: 1 << 30 }),
    }, { targets: { "fast-glob": 0.3, "rg --files -g": 0.9 }, note: `${totalMatches} matches` });
  }
  const everything = { pattern: "**/*", path, hidden: true, includeNodeModules: true };
  await bench.compare("every entry", {
    sinew: () => glob(everything),
    fdir: fdir && (() => new fdir.fdir().withRelativePaths().withDirs().crawl(path).withPromise()),
    "rg --files": () => spawnSync(rg, ["--files", "--hidden", path], { maxBuffer: 1 << 30 }),
  }, { targets: { "rg --files": 1 } });
  await glob({ ...everything, cache: true });
  const begun = process.hrtime.bigint();
  const { totalMatches } = await glob({ ...everything, cache: true });
  bench.fact(`every entry of a kept scan (${totalMatches} rows)`, `${(Number(process.hrtime.bigint() - begun) / 1e6).toFixed(1)} ms`);
  await aborts(bench, path);
}

/** The times from `abort()` to the settled promise, for 200 calls that are aborted at different moments. */
async function aborts(bench, path) {
  const { glob } = bench.natives;
  const waits = [];
  for (let call = 0; call < 200; call++) {
    const controller = new AbortController();
    const running = glob({ pattern: "**/*", path, hidden: true, signal: controller.signal }).catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, (call % 20) / 2));
    const begun = process.hrtime.bigint();
    controller.abort();
    await running;
    waits.push(Number(process.hrtime.bigint() - begun) / 1e6);
  }
  waits.sort((a, b) => a - b);
  bench.fact("abort to settled, p99 of 200", `${waits[197].toFixed(2)} ms`, "20 ms");
}
