// Searches files and text, against rg as a process (including its start), plain JavaScript, and the host's regexes.
//
// SINEW_BENCH_TREE sets the tree (default: the sources in the cargo registry).
import { execFile } from "node:child_process";
import { existsSync, promises as fs } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { ROOT } from "../../scripts/lib/steps.mjs";
import { ripgrep } from "../../scripts/lib/tools.mjs";

export function tree() {
  const cargo = join(process.env.CARGO_HOME ?? join(homedir(), ".cargo"), "registry", "src");
  return process.env.SINEW_BENCH_TREE ?? (existsSync(cargo) ? cargo : ROOT);
}

/** Runs rg and reads its output, as a tool would. */
export function output(program, args) {
  return new Promise((resolve, reject) => {
    execFile(program, args, { maxBuffer: 2 ** 30, encoding: "buffer" }, (error, stdout) => {
      if (error && error.code !== 1) reject(error);
      else resolve(stdout);
    });
  });
}

/** A search as you would write it without a library: walk, read, split, test. */
async function plain(regex, folder) {
  const found = [];
  for (const entry of await fs.readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && entry.name !== ".git" && entry.name !== "node_modules") found.push(...(await plain(regex, path)));
    if (!entry.isFile()) continue;
    const text = await fs.readFile(path, "utf8");
    if (text.includes("\0")) continue;
    text.split("\n").forEach((line, index) => regex.test(line) && found.push({ path, lineNumber: index + 1, line }));
  }
  return found;
}

function percentile(list, share) {
  const sorted = [...list].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

async function aborted(grep, path) {
  const times = [];
  for (let round = 0; round < 200; round++) {
    const controller = new AbortController();
    const call = grep({ pattern: "fn \\w+_test\\(", path, signal: controller.signal }).then(() => false, () => true);
    await new Promise((resolve) => setTimeout(resolve, (round % 40) + 1));
    const begun = performance.now();
    controller.abort();
    if (await call) times.push(performance.now() - begun);
  }
  return times;
}

async function statDelay(grep, path) {
  let running = true;
  let worst = 0;
  const greps = Promise.all(Array.from({ length: 16 }, () => grep({ pattern: "fn \\w+_test\\(", path }))).then(() => (running = false));
  while (running) {
    const begun = performance.now();
    await fs.stat(path);
    worst = Math.max(worst, performance.now() - begun);
  }
  await greps;
  return worst;
}

export default async function (bench) {
  const { grep, hasMatch, searchContent } = bench.natives;
  const path = tree();
  const rg = await ripgrep();
  const peer = bench.peers ? await bench.optional("@oh-my-pi/pi-natives") : undefined;
  const asRg = (pattern, ...more) => rg && (() => output(rg, ["--no-config", "-n", "--hidden", ...more, "-e", pattern, path]));
  const cases = [
    ["a rare word", "unsafe_code"],
    ["a regex", "fn \\w+_test\\("],
    ["a frequent regex", "\\w+Error\\b"],
  ];
  for (const [name, pattern] of cases) {
    const { totalMatches, filesSearched } = await grep({ pattern, path });
    await bench.compare(
      `grep of a tree, ${name}`,
      {
        sinew: () => grep({ pattern, path }),
        rg: asRg(pattern),
        peer: peer?.grep && (() => peer.grep({ pattern, path })),
      },
      { targets: { rg: 0.9 }, rounds: 7, note: `${totalMatches} matches in ${filesSearched} files` },
    );
  }
  // Runs separately: its garbage is collected on another core while the next contender runs, which would slow that one.
  await bench.compare(
    "the same regex beside plain JavaScript",
    { sinew: () => grep({ pattern: cases[1][1], path }), "plain JavaScript": () => plain(new RegExp(cases[1][1]), path) },
    { rounds: 3 },
  );
  await bench.compare(
    "grep with maxCount: 100",
    { sinew: () => grep({ pattern: "fn ", path, maxCount: 100 }), "its own full run": () => grep({ pattern: "fn ", path }) },
    { targets: { "its own full run": 0.2 }, rounds: 7 },
  );
  const small = join(ROOT, "crates");
  await bench.compare(
    "grep of a small tree",
    { sinew: () => grep({ pattern: "Cancel", path: small }), rg: rg && (() => output(rg, ["--no-config", "-n", "--hidden", "Cancel", small])) },
    { targets: { rg: 0.3 } },
  );
  bench.fact("abort to settled, p99 of 200 (ms)", percentile(await aborted(grep, path), 0.99).toFixed(1), 20);
  bench.fact("an unrelated stat during 16 greps, worst (ms)", (await statDelay(grep, path)).toFixed(1), 20);

  const text = await fs.readFile(join(ROOT, "crates", "sinew-search", "src", "grep.rs"), "utf8");
  const word = /\bCancel\b/;
  await bench.compare("hasMatch in a source file", {
    sinew: () => hasMatch(text, "\\bCancel\\b"),
    RegExp: () => word.test(text),
  });
  await bench.compare("searchContent of a source file", {
    sinew: () => searchContent(text, { pattern: "\\bpub\\b" }),
    "split and RegExp": () => text.split("\n").flatMap((line, index) => (/\bpub\b/.test(line) ? [{ lineNumber: index + 1, line }] : [])),
  });
}
