#!/usr/bin/env node
// npm run conformance [table…]: runs the tables of cases (SINEW_SUITES, default ../shared/suites) against the package.
//
// Each file in tables/ exports `async function run(table, natives)`, which gives rows { id, tier, pass, detail? } of a table
// of JSON, or of the tests in a folder ({ folder }), and may
// export `gate(rows)`, which throws where more is asked than that every row passes or is known.
//
// A row that does not pass is a failure, unless it is known: known.json lists its id below its table with a reason,
// which is shown next to it. A known row that passes is a failure until it is removed from the list. Rows of an
// `unsteady` group may pass or fail.
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { ROOT } from "../scripts/lib/steps.mjs";
import { useTemporaryFolder } from "../scripts/lib/temporary.mjs";
import { judge } from "./judge.mjs";

const suites = resolve(ROOT, process.env.SINEW_SUITES ?? "../shared/suites");
const folder = join(ROOT, "conformance", "tables");
const wanted = process.argv.slice(2).filter((word) => !word.startsWith("-"));
const all = process.argv.includes("--all");
const heal = process.argv.includes("--heal");
const most = all ? Infinity : 12;

if (process.argv.includes("--help")) {
  console.log("npm run conformance -- [--all] [--heal] [table…]\n\n  --heal  take what passes off the list of what is known to fail\n  --all   list every failure, not the first twelve of a table, and what is known");
  process.exit(0);
}
if (!existsSync(suites)) {
  console.log(`conformance: no tables at ${suites}; set SINEW_SUITES to their folder. Nothing was run.`);
  process.exit(0);
}

useTemporaryFolder();
const natives = createRequire(import.meta.url)("../packages/natives");
const names = readdirSync(folder).filter((name) => name.endsWith(".mjs")).map((name) => name.slice(0, -4)).sort();
const unknown = wanted.filter((name) => !names.includes(name));
if (unknown.length) {
  console.error(`conformance: no table ${unknown.join(", ")}; known are ${names.join(", ")}`);
  process.exit(1);
}

const list = join(ROOT, "conformance", "known.json");
const known = JSON.parse(readFileSync(list, "utf8"));
const sum = { passed: 0, known: 0, failed: 0 };
for (const name of names) {
  if (wanted.length && !wanted.includes(name)) continue;
  const [path, tests] = [join(suites, `${name}.json`), join(suites, name)];
  if (!existsSync(path) && !existsSync(tests)) {
    console.log(`${name}: no table`);
    continue;
  }
  const table = existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : { folder: tests };
  const { run, gate } = await import(`./tables/${name}.mjs`);
  const judged = judge(await run(table, natives), known[name], { gate, whole: !process.env.SINEW_SUITES });
  const tiers = Object.entries(judged.tiers).sort().map(([tier, [good, all]]) => `${tier} ${good}/${all}`);
  const differ = judged.known.length ? [`${judged.known.length} known`] : [];
  console.log(`${name}: ${[...tiers, ...differ].join("  ")}${judged.faults.length ? "  FAILED" : ""}`);
  for (const fault of judged.faults.slice(0, most)) console.log(`  ${fault}`);
  if (judged.faults.length > most) console.log(`  … and ${judged.faults.length - most} more (--all)`);
  if (all) for (const { row, reason } of judged.known) console.log(`  known (${row.tier}) ${row.id}: ${reason}`);
  for (const group of heal ? (known[name] ?? []) : []) group.rows = group.rows.filter((id) => !judged.healed.includes(id));
  sum.passed += judged.passed;
  sum.known += judged.known.length;
  sum.failed += judged.faults.length;
}
if (heal) {
  const left = Object.entries(known).map(([name, groups]) => [name, groups.filter((group) => group.rows.length)]);
  writeFileSync(list, `${JSON.stringify(Object.fromEntries(left.filter(([, groups]) => groups.length)), null, 1)}\n`);
}
console.log(`${sum.known} rows differ for a reason that conformance/known.json tells (--all shows them)`);
console.log(`${sum.passed} passed, ${sum.failed} failed`);
process.exitCode = sum.failed ? 1 : 0;
