// Manages the folders, files, environment and processes of a story.
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const TREE = fileURLToPath(new URL("../..", import.meta.url));
const TRIALS = join(process.env.SINEW_SUITES ?? join(TREE, "..", "shared", "suites"), "..", "trials", "subagents.json");

/** The program under test. */
export const PROGRAM = process.env.SINEW_BIN ?? join(TREE, "target", "debug", "sinew");

/** The time that processes have to end, in ms. */
const LAST_MOMENT = 3_000;

/** All stories; undefined if the folder of trials is missing. */
export function loadStories() {
  return existsSync(TRIALS) ? JSON.parse(readFileSync(TRIALS, "utf8")).stories : undefined;
}

/** A text in a story: a string, `{repeat, times}`, or an object that is written as JSON. */
export function textOf(value) {
  if (typeof value === "string") return value;
  return "repeat" in value ? value.repeat.repeat(value.times) : JSON.stringify(value, null, 2);
}

function writeFiles(folder, files = {}) {
  for (const [path, value] of Object.entries(files)) {
    const at = join(folder, path);
    mkdirSync(dirname(at), { recursive: true });
    writeFileSync(at, textOf(value));
  }
}

/** Runs a line of bash from the root. Returns the exit code and everything that it printed. */
export function runLine({ root, env }, line) {
  return new Promise((done) => {
    execFile("bash", ["-c", line], { cwd: root, env }, (error, stdout, stderr) => done({ code: error ? (error.code ?? 1) : 0, printed: stdout + stderr }));
  });
}

/** Creates the folders `root`, `home` and `out` of a story below `folder`, its files, and the environment of its programs. */
export function openStage(story) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "story-")));
  const [root, home, out] = ["root", "home", "out"].map((name) => join(folder, name));
  for (const each of [root, home, out]) mkdirSync(each);
  const word = `${story.id}-${randomUUID()}`;
  const own = Object.fromEntries(Object.entries(story.env ?? {}).map(([name, value]) => [name, textOf(value)]));
  const env = { HOME: home, SINEW_HOME: home, ROOT: root, OUT: out, PATH: process.env.PATH, STORY: word, ...own };
  const stage = { folder, root, home, out, word, env };
  writeFiles(home, { ".gitconfig": "[user]\n\tname = A Person\n\temail = person@example.com\n", ...story.home });
  if (story.settings) writeFiles(home, { "agent/settings.json": story.settings });
  writeFiles(root, story.files);
  writeFiles(join(root, ".sinew", "agents"), story.agents);
  return stage;
}

/** Runs lines of bash, one after another. Fails if one of them fails. */
export async function runSetup(stage, lines = []) {
  for (const line of lines) {
    const { code, printed } = await runLine(stage, line);
    if (code !== 0) throw new Error(`the setup failed with ${code}: ${line}\n${printed}`);
  }
}

/** Writes a script of model answers next to the root. Returns its path. */
export function writeScript({ folder }, name, lines) {
  const path = join(folder, `${name}.jsonl`);
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  return path;
}

/** The environment of a process; empty if it ended meanwhile. */
function environmentOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1");
  } catch (error) {
    if (["ENOENT", "ESRCH", "EACCES"].includes(error.code)) return "";
    throw error;
  }
}

/** The ids of the processes that have the word of a story in their environment. */
export function processesOf({ word }) {
  const ids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return ids.filter((pid) => environmentOf(pid).split("\0").includes(`STORY=${word}`)).map(Number);
}

/** The command line of a process. */
export function commandOf(pid) {
  return existsSync(`/proc/${pid}/cmdline`) ? readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").slice(0, 120) : "";
}

/** Waits up to 3 s until `enough` is true for the processes of a story. Returns the processes seen last. */
export async function settledProcesses(stage, enough) {
  const until = performance.now() + LAST_MOMENT;
  for (;;) {
    const ids = processesOf(stage);
    if (enough(ids) || performance.now() > until) return ids;
    // There is no event for the end of a process that is not our child.
    await pause(50);
  }
}

function kill(pid) {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    // It ended by itself.
    if (error.code !== "ESRCH") throw error;
  }
}

/** Kills every process of a story and, unless `keep`, deletes its folder. Fails if a process remains. */
export async function closeStage(stage, { keep }) {
  const left = await settledProcesses(stage, (ids) => {
    ids.forEach(kill);
    return ids.length === 0;
  });
  if (left.length > 0) throw new Error(`processes remain: ${left.map(commandOf).join("; ")}`);
  if (!keep) rmSync(stage.folder, { recursive: true, force: true });
}
