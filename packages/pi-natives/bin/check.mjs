#!/usr/bin/env node
// npx pi-natives-check [FOLDER]: reports the problems that prevent the agent in FOLDER from using @sinew/pi-natives.
import { resolve } from "node:path";
import { overrideProblems } from "../dist/override.js";

const folder = resolve(process.argv[2] ?? ".");
const problems = overrideProblems(folder);
for (const { problem, fix } of problems) console.error(`pi-natives: ${problem}\n  fix: ${fix}`);
if (problems.length === 0) console.log(`The agent in ${folder} runs on @sinew/pi-natives.`);
process.exitCode = problems.length ? 1 : 0;
