#!/usr/bin/env node
// npm run bench [-- name…] [--peers] [--save]: times Sinew against what a user would pick instead, in one process and
// one run.
//
// Each file in js/ exports `default async function (bench)`, which calls
//   await bench.compare(title, { sinew: fn, other: fn, … }, { targets: { other: 0.5 }, note? })
// Functions may return promises. The contenders take turns, so that a busy machine slows all of them. The result is the
// median of the rounds.
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import { join } from "node:path";
import { ROOT, bold, red, run } from "../scripts/lib/steps.mjs";

const folder = join(ROOT, "bench");
const names = readdirSync(join(folder, "js")).filter((name) => name.endsWith(".mjs")).map((name) => name.slice(0, -4)).sort();
const args = process.argv.slice(2);
if (args.includes("--help")) {
  console.log(`npm run bench -- [name…] [--peers] [--save]\n\n  names: ${names.join(", ")}\n  --peers   also the addons of other agents, where they load\n  --save    write the results to bench/results/`);
  process.exit(0);
}
const wanted = args.filter((word) => !word.startsWith("-"));
/** Benchmarks that take minutes and gigabytes. */
const ON_DEMAND = ["growth"];
const unknown = wanted.filter((name) => !names.includes(name));
if (unknown.length) {
  console.error(`bench: no benchmark ${unknown.join(", ")}; known are ${names.join(", ")}`);
  process.exit(1);
}
if (!existsSync(join(folder, "node_modules"))) {
  console.log("installing what the benchmarks compare with");
  await run("npm", ["install", "--no-audit", "--no-fund", "--no-package-lock"], { cwd: folder });
}

const ROUNDS = 15;
const ROUND_MS = 40;

function median(list) {
  const sorted = [...list].sort((a, b) => a - b);
  return sorted[sorted.length >> 1];
}

/** Returns the milliseconds per call, measured over about ROUND_MS. */
async function time(work, calls) {
  const begun = process.hrtime.bigint();
  for (let i = 0; i < calls; i++) {
    const result = work();
    if (result instanceof Promise) await result;
  }
  return Number(process.hrtime.bigint() - begun) / 1e6 / calls;
}

async function callsPerRound(work) {
  let calls = 1;
  for (;;) {
    const each = await time(work, calls);
    if (each * calls > ROUND_MS / 4) return Math.max(1, Math.round(ROUND_MS / each));
    calls *= 4;
  }
}

function shown(ms) {
  if (ms < 0.001) return `${(ms * 1e6).toFixed(0)} ns`;
  if (ms < 1) return `${(ms * 1000).toFixed(1)} µs`;
  return `${ms.toFixed(ms < 10 ? 2 : 1)} ms`;
}

const results = [];

const bench = {
  /** Tells whether the addons of other agents take part. */
  peers: args.includes("--peers"),
  /** Tells whether the results are saved. */
  saves: args.includes("--save"),
  /** Loads a package of bench/node_modules; undefined if it does not load here. */
  async optional(name) {
    try {
      return await import(name);
    } catch {
      return undefined;
    }
  },
  /** The package under test. Benchmarks of the program do not need it. */
  get natives() {
    return createRequire(import.meta.url)("../packages/natives");
  },
  /** Records a figure that is not a time: bytes, a count. */
  fact(title, value, target) {
    results.push({ title, value, target });
    console.log(`  ${title}: ${value}${target === undefined ? "" : ` (target ${target})`}`);
  },
  async compare(title, contenders, { targets = {}, rounds = ROUNDS, note } = {}) {
    const entries = Object.entries(contenders).filter(([, work]) => work);
    const calls = {};
    for (const [name, work] of entries) calls[name] = await callsPerRound(work);
    const times = Object.fromEntries(entries.map(([name]) => [name, []]));
    for (let round = 0; round < rounds; round++) {
      for (const [name, work] of entries) times[name].push(await time(work, calls[name]));
    }
    const ours = median(times.sinew);
    console.log(`  ${bold(title)}${note ? ` (${note})` : ""}`);
    const row = { title, sinew: ours, others: {} };
    console.log(`    ${"sinew".padEnd(24)} ${shown(ours).padStart(10)}`);
    for (const [name] of entries) {
      if (name === "sinew") continue;
      const theirs = median(times[name]);
      const ratio = ours / theirs;
      const target = targets[name];
      const verdict = target === undefined ? "" : ratio <= target ? `  reached ${target}` : red(`  MISSED ${target}`);
      console.log(`    ${name.padEnd(24)} ${shown(theirs).padStart(10)}  ${ratio.toFixed(3)} ×${verdict}`);
      row.others[name] = { ms: theirs, ratio, target };
    }
    results.push(row);
  },
};

for (const name of names) {
  if (wanted.length ? !wanted.includes(name) : ON_DEMAND.includes(name)) continue;
  console.log(bold(name));
  const { default: body } = await import(`./js/${name}.mjs`);
  await body(bench);
}
if (args.includes("--save")) {
  const day = new Date().toISOString().slice(0, 10);
  const path = join(folder, "results", `${wanted.join("-") || "all"}-${day}.json`);
  mkdirSync(join(folder, "results"), { recursive: true });
  const host = { cpu: os.cpus()[0]?.model, cores: os.cpus().length, memory: os.totalmem(), node: process.version, load: os.loadavg() };
  writeFileSync(path, `${JSON.stringify({ host, results }, null, 1)}\n`);
  console.log(`saved ${path.slice(ROOT.length + 1)}`);
}
// Thread pools of contenders may keep the process alive.
process.exit(0);
