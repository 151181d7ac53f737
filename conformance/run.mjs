#!/usr/bin/env node
// npm run conformance [table…]: runs the tables of cases (SINEW_SUITES, default ../shared/suites) against the package.
//
// Each file in tables/ exports `async function run(table, natives)`, which gives rows { id, tier, pass, detail? }, and may
// export `known`: { id: reason } of failures that are decided on, and `gate(rows)`, which throws where more is asked than
// "tier A passes".
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { ROOT } from "../scripts/lib/steps.mjs";

const suites = resolve(ROOT, process.env.SINEW_SUITES ?? "../shared/suites");
const folder = join(ROOT, "conformance", "tables");
const wanted = process.argv.slice(2).filter((word) => !word.startsWith("-"));
const all = process.argv.includes("--all");
const most = all ? Infinity : 12;

if (process.argv.includes("--help")) {
  console.log("npm run conformance -- [--all] [table…]\n\n  --all   list every failure, not the first twelve of a table");
  process.exit(0);
}
if (!existsSync(suites)) {
  console.log(`conformance: no tables at ${suites}; set SINEW_SUITES to their folder. Nothing was run.`);
  process.exit(0);
}

const natives = createRequire(import.meta.url)("../packages/natives");
const names = readdirSync(folder).filter((name) => name.endsWith(".mjs")).map((name) => name.slice(0, -4)).sort();
const unknown = wanted.filter((name) => !names.includes(name));
if (unknown.length) {
  console.error(`conformance: no table ${unknown.join(", ")}; known are ${names.join(", ")}`);
  process.exit(1);
}

let passed = 0;
let failed = 0;
for (const name of names) {
  if (wanted.length && !wanted.includes(name)) continue;
  const path = join(suites, `${name}.json`);
  if (!existsSync(path)) {
    console.log(`${name}: no table`);
    continue;
  }
  const table = JSON.parse(readFileSync(path, "utf8"));
  const { run, known = {}, gate } = await import(`./tables/${name}.mjs`);
  const rows = await run(table, natives);
  const tiers = {};
  for (const row of rows) {
    const tier = (tiers[row.tier ?? "-"] ??= [0, 0]);
    tier[0] += row.pass ? 1 : 0;
    tier[1] += 1;
  }
  const bad = rows.filter((row) => !row.pass && row.tier === "A" && !(row.id in known));
  const healed = Object.keys(known).filter((id) => rows.some((row) => row.id === id && row.pass));
  const faults = bad.map((row) => `${row.id}: ${row.detail ?? "fails"}`);
  faults.push(...healed.map((id) => `${id} is listed as known to fail, and passes: take it off the list`));
  try {
    gate?.(rows);
  } catch (error) {
    faults.push(error.message);
  }
  const summary = Object.entries(tiers).sort().map(([tier, [good, sum]]) => `${tier} ${good}/${sum}`).join("  ");
  console.log(`${name}: ${summary}${faults.length ? "  FAILED" : ""}`);
  const others = rows.filter((row) => !row.pass && (all || !faults.length) && !(row.tier === "A" && !(row.id in known)));
  for (const fault of faults.slice(0, most)) console.log(`  ${fault}`);
  for (const row of others.slice(0, all ? Infinity : 0)) console.log(`  (${row.tier}) ${row.id}: ${known[row.id] ?? row.detail ?? ""}`);
  passed += rows.length - faults.length;
  failed += faults.length;
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed ? 1 : 0;
