// Runs the steps of a script: shows their names, times and output, counts tests, and reports every failure.
import { spawn } from "node:child_process";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { explained } from "./causes.mjs";

/** The checkout's folder. */
export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../..");

const colour = process.stdout.isTTY && !process.env.NO_COLOR;
export const bold = (text) => (colour ? `\x1b[1m${text}\x1b[22m` : text);
export const dim = (text) => (colour ? `\x1b[2m${text}\x1b[22m` : text);
export const red = (text) => (colour ? `\x1b[31m${text}\x1b[39m` : text);

/** The total numbers of passed and failed tests, from the last lines of test runners. */
export const counts = { passed: 0, failed: 0, skipped: 0 };

// cargo's harness, node's runner, and the last line of our own scripts.
const CLOSING = [
  /^test result: \w+\. (\d+) passed; (\d+) failed/,
  /^# pass (\d+)$/,
  /^ℹ pass (\d+)$/,
  /^(\d+) passed, (\d+) failed/,
];
// What our tests print if they have nothing to run against.
const SKIPPED = /^skipped: /;
const FAILED = [/^# fail (\d+)$/, /^ℹ fail (\d+)$/];

function count(line) {
  if (SKIPPED.test(line)) counts.skipped += 1;
  for (const pattern of CLOSING) {
    const found = pattern.exec(line);
    if (found) {
      counts.passed += Number(found[1]);
      counts.failed += Number(found[2] ?? 0);
      return;
    }
  }
  for (const pattern of FAILED) {
    const found = pattern.exec(line);
    if (found) counts.failed += Number(found[1]);
  }
}

/** How much of the end of a program's messages is searched for the cause of its failure, in characters. */
const TAIL = 20_000;

/**
 * Runs a program and passes its output on, line by line. Rejects when it fails, with the cause if the output shows one.
 */
export function run(program, args, { cwd = ROOT, env = {}, quiet = false } = {}) {
  if (!quiet) console.log(dim(`$ ${[program, ...args].join(" ")}`));
  return new Promise((done, fail) => {
    const child = spawn(program, args, { cwd, env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
    let rest = "";
    let messages = "";
    child.stderr.setEncoding("utf8").on("data", (chunk) => {
      process.stderr.write(chunk);
      messages = (messages + chunk).slice(-TAIL);
    });
    child.stdout.setEncoding("utf8");
    child.stdout.on("data", (chunk) => {
      if (!quiet) process.stdout.write(chunk);
      const lines = (rest + chunk).split("\n");
      rest = lines.pop();
      lines.forEach(count);
    });
    child.on("error", (cause) => fail(new Error(`failed to start ${program}: ${cause.message}`)));
    child.on("close", (code, signal) => {
      count(rest);
      if (code === 0) done();
      else fail(new Error(explained(`${program} ${args.slice(0, 3).join(" ")} ended with ${signal ?? `code ${code}`}`, messages)));
    });
  });
}

/** The standard output of a program, or undefined when it fails or does not exist. */
export function ask(program, args, { env = {}, cwd = ROOT } = {}) {
  return new Promise((done) => {
    const child = spawn(program, args, { cwd, env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "ignore"] });
    let text = "";
    child.stdout.on("data", (chunk) => (text += chunk));
    child.on("error", () => done(undefined));
    child.on("close", (code) => done(code === 0 ? text.trim() : undefined));
  });
}

/** Runs a named part of a script and shows its time. Failures are collected, so that one run reports all of them. */
export async function step(name, work, failures) {
  console.log(`\n${bold(`== ${name}`)}`);
  const begun = Date.now();
  try {
    await work();
    console.log(dim(`   ${name}: ${((Date.now() - begun) / 1000).toFixed(1)} s`));
  } catch (error) {
    console.log(red(`   ${name} failed: ${error.message}`));
    if (!failures) throw error;
    failures.push(name);
  }
}
