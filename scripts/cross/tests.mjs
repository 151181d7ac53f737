// Runs test programs that were built for another system, and counts their tests.
import { spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "../lib/steps.mjs";

/** A program that runs longer than this is considered hung. */
const LIMIT = 10 * 60_000;

/**
 * Runs a program with its output in files, because Node under wine cannot write to pipes. Resolves to { code, text }.
 */
export function output(words, { cwd = ROOT, env = {}, limit = LIMIT } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "sinew-cross-"));
  const path = join(folder, "output");
  const file = openSync(path, "w");
  const child = spawn(words[0], words.slice(1), { cwd, env: { ...process.env, ...env }, stdio: ["ignore", file, file], detached: true });
  return new Promise((resolve) => {
    let late = false;
    // Ends the process group, because an emulator starts programs of its own.
    const kill = () => child.pid && process.kill(-child.pid, "SIGKILL");
    const timer = setTimeout(() => {
      late = true;
      kill();
    }, limit);
    process.once("exit", kill);
    const end = (code, more = "") => {
      clearTimeout(timer);
      process.removeListener("exit", kill);
      closeSync(file);
      const text = readFileSync(path, "utf8") + more;
      rmSync(folder, { recursive: true, force: true });
      resolve({ code: late ? "no end" : code, text });
    };
    child.on("error", (cause) => end(-1, `failed to start ${words[0]}: ${cause.message}\n`));
    child.on("exit", (code, signal) => end(code ?? signal));
  });
}

/** The counts of a test run of Rust's or Node's harness, the names of failed tests, and the reasons of skipped ones. */
export function count({ code, text }) {
  const sum = (pattern) => [...text.matchAll(pattern)].reduce((all, found) => all + Number(found[1]), 0);
  // Tests without Rust's harness print no totals.
  const summed = /^test result: |^(?:# |ℹ )pass /m.test(text);
  const passed = summed ? sum(/^test result: .*? (\d+) passed/gm) + sum(/^(?:# |ℹ )pass (\d+)/gm) : [...text.matchAll(/^test \S+ \.\.\. ok/gm)].length;
  const names = [...text.matchAll(/^test (\S+) \.\.\. FAILED/gm), ...text.matchAll(/^not ok \d+ - (.*)$/gm)].map((found) => found[1]);
  const failed = summed ? sum(/^test result: .*?; (\d+) failed/gm) + sum(/^(?:# |ℹ )fail (\d+)/gm) : names.length;
  // A harness without a result was killed or exited early.
  const broken = code !== 0 && failed === 0 ? [`ended with ${code}: ${text.trim().split(/\r?\n/).slice(-2).join(" / ").slice(0, 200)}`] : [];
  const skipped = [...text.matchAll(/^ok \d+ - .* # SKIP (.*)$/gm)].map((found) => found[1]);
  return { passed, failed: failed + broken.length, names: [...names, ...broken], skipped };
}
