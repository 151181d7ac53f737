// A git repository with many files, the same in each run.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const FOLDERS = 200;

/** Text that compresses about as well as source code. */
function text(seed) {
  const lines = [];
  for (let at = 0; at < 20 + (seed % 400); at++) lines.push(`const value${(seed * 31 + at * 7) % 977} = call(${at}, ${seed % 113});`);
  return `${seed}\n${lines.join("\n")}\n`;
}

const nameOf = (at) => join(`d${at % FOLDERS}`, `f${at}.ts`);

/**
 * Creates a repository with `files` committed files. Returns a function that runs git there without the user's settings:
 * `git(args, variables)`.
 */
export function createRepository(project, files) {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
  const git = (args, more = {}) => execFileSync("git", ["-c", "user.name=N", "-c", "user.email=e@example.com", ...args], { cwd: project, env: { ...env, ...more }, encoding: "utf8", maxBuffer: 1 << 28 });
  for (let at = 0; at < FOLDERS; at++) mkdirSync(join(project, `d${at}`), { recursive: true });
  for (let at = 0; at < files; at++) writeFileSync(join(project, nameOf(at)), text(at));
  git(["init", "-q", "-b", "main"]);
  git(["add", "-A"]);
  git(["commit", "-qm", "one"]);
  git(["gc", "-q"]);
  return git;
}

/** Changes the first `count` files below `folder`. */
export function changeFiles(folder, count, mark) {
  for (let at = 0; at < count; at++) writeFileSync(join(folder, nameOf(at)), `${mark} ${text(at)}`);
}

/** Milliseconds of one call, and its result. */
export async function timed(work) {
  const begun = process.hrtime.bigint();
  const result = await work();
  return { ms: Number(process.hrtime.bigint() - begun) / 1e6, result };
}
