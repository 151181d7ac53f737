#!/usr/bin/env node
// npm start [folder]: builds the addon and searches a folder with it, then builds the agent and runs a scripted turn
// there.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { buildNatives } from "./lib/natives.mjs";
import { ROOT, bold, dim, step } from "./lib/steps.mjs";
import { PROGRAMS, compilers, packages, programs } from "./lib/tools.mjs";
import { buildNativesJavaScript } from "./lib/typescript.mjs";

if (process.argv.includes("--help")) {
  console.log(`npm start [-- FOLDER]

Builds @sinew/natives and searches FOLDER (default: this repository) with it. Then builds the agent and runs it there with a scripted
model. Both are built with the profile "dev", which compiles fast. A release runs faster: npm run build -- --agent.`);
  process.exit(0);
}
const folder = resolve(process.env.INIT_CWD ?? process.cwd(), process.argv[2] ?? ROOT);
if (!existsSync(folder)) {
  console.error(`start: no such folder: ${folder}`);
  process.exit(1);
}

// A first build gains nothing from incremental files.
process.env.CARGO_INCREMENTAL ??= "0";
const build = (parts, what, seconds) => buildNatives({ parts, profile: "dev", what, seconds });

try {
  await step("tools", async () => {
    await compilers();
    await programs(PROGRAMS);
  });
  await step("build", async () => {
    // The addon comes first, so that there are results before the agent is built. npm uses the network while cargo
    // compiles.
    await Promise.all([build(["addon"], "the addon", 70), packages()]);
    await buildNativesJavaScript();
  });
} catch {
  // The step has printed the reason.
  process.exit(1);
}

const { grep, glob, fuzzyFind } = createRequire(import.meta.url)("../packages/natives");
const { compare, timed } = await import("./lib/plain.mjs");

console.log(`\n${bold(folder)}`);
const { grep: lines, glob: names, files } = await compare({ grep, glob }, folder, "error", ".rs");
const beside = ({ ms, count }) => dim(`  plain JavaScript: ${ms.toFixed(1)} ms, ${count}`);
console.log(dim(`both list and read the same ${files} files: those that no ignore file names`));
console.log(`${bold('grep "error"')}  ${lines.ours.ms.toFixed(1)} ms${beside(lines.plain)}`);
const { result } = lines.ours;
console.log(`  ${result.totalMatches} matches in ${result.filesWithMatches} of ${result.filesSearched} files`);
for (const row of result.matches.slice(0, 3)) console.log(`  ${row.path}:${row.lineNumber}: ${row.line.trim().slice(0, 90)}`);
console.log(`${bold('glob "**/*.rs"')}  ${names.ours.ms.toFixed(1)} ms${beside(names.plain)}`);
console.log(`  ${names.ours.result.totalMatches} files`);
for (const row of names.ours.result.matches.slice(0, 3)) console.log(`  ${row.path}`);
for (const [call, { ours, plain }] of Object.entries({ grep: lines, glob: names })) {
  // Compare the times only if both did the same work.
  if (ours.result.totalMatches !== plain.count) console.log(`  ${call}: the counts differ, so the times are not of equal work`);
}
const found = await timed(() => fuzzyFind({ query: "walkscan", path: folder, maxResults: 3 }));
console.log(`${bold('fuzzyFind "walkscan"')}  ${found.ms.toFixed(1)} ms`);
console.log(`  ${found.result.totalMatches} entries`);
for (const row of found.result.matches) console.log(`  ${row.path}  ${dim(String(row.score))}`);

try {
  await step("build of the agent", () => build(["supervisor", "agent"], "the agent", 97));
} catch {
  process.exit(1);
}
console.log(`\n${bold("the agent")}  ${dim("the model is a script (scripts/demo.jsonl); the tools, the shell and the files are real")}`);
const begun = performance.now();
const agent = spawnSync(
  join(ROOT, "dist", "sinew"),
  ["--script", join(ROOT, "scripts", "demo.jsonl"), "--no-session", "--verbose", "--cwd", folder, "-p", "What is in this folder?"],
  { stdio: ["ignore", "inherit", "inherit"] },
);
console.log(dim(`  ${(performance.now() - begun).toFixed(0)} ms, exit code ${agent.status}`));
process.exitCode = agent.status ?? 1;
