#!/usr/bin/env node
// npm start [folder]: builds addon and agent in release mode and shows both at work on real input.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { readFile, readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { ROOT, bold, dim, run, step } from "./lib/steps.mjs";
import { PROGRAMS, compilers, packages, programs } from "./lib/tools.mjs";

if (process.argv.includes("--help")) {
  console.log("npm start [-- FOLDER]\n\nBuilds @sinew/natives and the agent, searches FOLDER (default: this repository) with the one and lets the other\nrun a scripted turn in it.");
  process.exit(0);
}
const folder = resolve(process.env.INIT_CWD ?? process.cwd(), process.argv[2] ?? ROOT);
if (!existsSync(folder)) {
  console.error(`start: no such folder: ${folder}`);
  process.exit(1);
}

await step("tools", async () => {
  await compilers();
  await programs(PROGRAMS);
  await packages();
});
await step("build (release: some minutes the first time)", () => run("node", ["scripts/build.mjs", "--agent"]));

const { grep, glob, fuzzyFind } = createRequire(import.meta.url)("../packages/natives");

/** All files below a folder, as a plain JavaScript program would list them. */
async function walk(at) {
  const found = [];
  for (const entry of await readdir(at, { withFileTypes: true })) {
    if (entry.name === ".git" || entry.name === "node_modules" || entry.name === "target") continue;
    const path = join(at, entry.name);
    if (entry.isDirectory()) found.push(...(await walk(path)));
    else if (entry.isFile()) found.push(path);
  }
  return found;
}

const plain = {
  async grep(word) {
    let count = 0;
    for (const path of await walk(folder)) {
      const text = await readFile(path, "utf8");
      for (const line of text.split("\n")) if (line.includes(word)) count++;
    }
    return count;
  },
  async glob(ending) {
    return (await walk(folder)).filter((path) => path.endsWith(ending)).length;
  },
};

async function timed(work) {
  const begun = performance.now();
  const result = await work();
  return { result, ms: performance.now() - begun };
}

async function show(title, ours, theirs, tell) {
  const { result, ms } = await timed(ours);
  const other = theirs && (await timed(theirs));
  const beside = other ? dim(`  plain JavaScript: ${other.ms.toFixed(1)} ms, ${other.result}`) : "";
  console.log(`${bold(title)}  ${ms.toFixed(1)} ms${beside}`);
  for (const line of tell(result)) console.log(`  ${line}`);
}

console.log(`\n${bold(folder)}`);
await show("grep \"error\"", () => grep({ pattern: "error", path: folder }), () => plain.grep("error"), (result) => [
  `${result.totalMatches} matches in ${result.filesWithMatches} of ${result.filesSearched} files`,
  ...result.matches.slice(0, 3).map((row) => `${row.path}:${row.lineNumber}: ${row.line.trim().slice(0, 90)}`),
]);
await show("glob \"**/*.rs\"", () => glob({ pattern: "**/*.rs", path: folder }), () => plain.glob(".rs"), (result) => [
  `${result.totalMatches} files`,
  ...result.matches.slice(0, 3).map((row) => row.path),
]);
await show("fuzzyFind \"walkscan\"", () => fuzzyFind({ query: "walkscan", path: folder, maxResults: 3 }), undefined, (result) => [
  `${result.totalMatches} entries`,
  ...result.matches.map((row) => `${row.path}  ${dim(String(row.score))}`),
]);

console.log(`\n${bold("the agent")}  ${dim("the model is a script (scripts/demo.jsonl); the tools, the shell and the files are real")}`);
const begun = performance.now();
const agent = spawnSync(
  join(ROOT, "dist", "sinew"),
  ["--script", join(ROOT, "scripts", "demo.jsonl"), "--no-session", "--verbose", "--cwd", folder, "-p", "What is in this folder?"],
  { stdio: ["ignore", "inherit", "inherit"] },
);
console.log(dim(`  ${(performance.now() - begun).toFixed(0)} ms, exit code ${agent.status}`));
process.exitCode = agent.status ?? 1;
