// Runs what was built for another system, and counts the tests of it.
import { spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "../lib/steps.mjs";

/** A program that runs for so long hangs. */
const LIMIT = 10 * 60_000;

/** Runs a program with its output in files, as Node under wine cannot write to pipes; resolves to { code, text }. */
export function output(words, { cwd = ROOT, env = {}, limit = LIMIT } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "sinew-cross-"));
  const path = join(folder, "output");
  const file = openSync(path, "w");
  const child = spawn(words[0], words.slice(1), { cwd, env: { ...process.env, ...env }, stdio: ["ignore", file, file], detached: true });
  return new Promise((resolve) => {
    let late = false;
    // The group: an emulator starts programs of its own.
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

/** The counts of a test run, of Rust's harness or of Node's, the names of what failed, and the reasons of what was left out. */
export function count({ code, text }) {
  const sum = (pattern) => [...text.matchAll(pattern)].reduce((all, found) => all + Number(found[1]), 0);
  // Tests without the harness of Rust print no sum.
  const summed = /^test result: |^(?:# |ℹ )pass /m.test(text);
  const passed = summed ? sum(/^test result: .*? (\d+) passed/gm) + sum(/^(?:# |ℹ )pass (\d+)/gm) : [...text.matchAll(/^test \S+ \.\.\. ok/gm)].length;
  const names = [...text.matchAll(/^test (\S+) \.\.\. FAILED/gm), ...text.matchAll(/^not ok \d+ - (.*)$/gm)].map((found) => found[1]);
  const failed = summed ? sum(/^test result: .*?; (\d+) failed/gm) + sum(/^(?:# |ℹ )fail (\d+)/gm) : names.length;
  // A harness that came to no result was killed, or has ended itself.
  const broken = code !== 0 && failed === 0 ? [`ended with ${code}: ${text.trim().split(/\r?\n/).slice(-2).join(" / ").slice(0, 200)}`] : [];
  const skipped = [...text.matchAll(/^ok \d+ - .* # SKIP (.*)$/gm)].map((found) => found[1]);
  return { passed, failed: failed + broken.length, names: [...names, ...broken], skipped };
}
