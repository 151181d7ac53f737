#!/usr/bin/env node
// node tests/subagents/run.mjs [ID…] [--keep] [--verbose]: runs stories and prints their failures.
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { PROGRAM, loadStories, runStories } from "./stories.mjs";

const { values, positionals } = parseArgs({ allowPositionals: true, options: { keep: { type: "boolean" }, verbose: { type: "boolean" } } });
const known = JSON.parse(readFileSync(new URL("known.json", import.meta.url), "utf8"));
const all = loadStories();
if (!all) {
  console.log("the folder of the stories is missing: nothing to run");
  process.exit(0);
}
const unknown = positionals.filter((id) => !all.some((story) => story.id === id));
if (unknown.length > 0) {
  console.error(`no such story: ${unknown.join(", ")}`);
  process.exit(2);
}
const stories = all.filter(({ id }) => positionals.length === 0 || positionals.includes(id));
console.log(`${stories.length} stories with ${PROGRAM}`);

const report = ({ id, kind, failures, ms, folder, printed }) => {
  const state = failures.length === 0 ? "ok    " : "failed";
  console.log(`${state} ${kind.padEnd(10)} ${id} ${Math.round(ms)} ms${values.keep ? ` ${folder}` : ""}`);
  if (values.verbose) console.log(printed.join("\n--- second start\n"));
};
const results = await runStories(stories, { keep: values.keep, report });
const failed = results.filter(({ failures }) => failures.length > 0);
for (const { id, kind, failures } of failed) {
  console.log(`\n${id} (${kind})${id in known ? `, known: ${known[id]}` : ""}`);
  for (const failure of failures) console.log(`  - ${failure}`);
}
const unexpected = failed.filter(({ id }) => !(id in known)).map(({ id }) => id);
const mended = results.filter(({ id, failures }) => id in known && failures.length === 0).map(({ id }) => id);
console.log(`\n${results.length - failed.length} fit, ${failed.length} failed, ${unexpected.length} of them not in known.json`);
const partial = results.filter(({ failures, unplayed }) => failures.length === 0 && unplayed.length > 0);
for (const { id, unplayed } of partial) console.log(`fits, but not all of it was played: ${id} (${unplayed.join(", ")})`);
if (mended.length > 0) console.log(`in known.json, but they fit: ${mended.join(", ")}`);
process.exitCode = unexpected.length + mended.length > 0 ? 1 : 0;
