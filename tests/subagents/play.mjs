// Runs the program of a story, and does meanwhile what a person would do.
import { spawn } from "node:child_process";
import { existsSync, watch, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { fits } from "./patterns.mjs";
import { PROGRAM, runLine, writeScript } from "./stage.mjs";

/** The time limit of a story, in ms. */
const LIMIT = 60_000;

/** The time to wait for the end of stdout after the program has ended, in ms. */
const DRAIN = 1_000;

const MODES = { print: ["-p"], "print-json": ["--mode", "json", "-p"], "print-object": ["--output", "json", "-p"], rpc: ["--mode", "rpc"] };

/** The events of a run that `play` returned, without the deeds. */
export const eventsOf = ({ entries }) => entries.map(({ value }) => value).filter((value) => !("did" in value));

/** Records events and deeds with their times, and resolves waits for them. */
function createTimeline() {
  const entries = [];
  const waiting = new Set();
  const check = () => {
    for (const each of [...waiting]) each();
  };
  return {
    entries,
    check,
    add(value) {
      entries.push({ at: performance.now(), value });
      check();
    },
    /** Resolves with what `find` returns as soon as that is true. */
    until(find, signal) {
      return new Promise((found, fail) => {
        const look = () => {
          const value = find();
          if (!value) return;
          waiting.delete(look);
          found(value);
        };
        signal.addEventListener("abort", () => {
          waiting.delete(look);
          fail(signal.reason);
        }, { once: true });
        waiting.add(look);
        look();
      });
    },
  };
}

/** Starts the program. Events go to the timeline, everything that it prints to `printed`. */
function start(stage, run, timeline) {
  const rpc = run.mode === "rpc";
  const argv = [...MODES[run.mode], "--script", run.scriptPath, ...(run.args ?? []), ...(rpc ? [] : [run.prompt])];
  const child = spawn(PROGRAM, argv, { cwd: join(stage.root, run.cwd ?? "."), env: stage.env, stdio: [rpc ? "pipe" : "ignore", "pipe", "pipe"] });
  const game = { child, rpc, printed: "", errors: [], exit: undefined, commands: 0, open: new Set(), answered: new Set(), stepsLeft: run.meanwhile?.length ?? 0 };
  child.stderr.setEncoding("utf8").on("data", (text) => (game.printed += text));
  const lines = createInterface({ input: child.stdout, crlfDelay: Infinity });
  lines.on("line", (line) => {
    game.printed += `${line}\n`;
    if (rpc || run.mode === "print-json") readFrame(game, timeline, line);
  });
  // The exit code explains why nobody reads the input.
  child.stdin?.on("error", (error) => error.code === "EPIPE" || game.errors.push(`stdin: ${error.message}`));
  game.exited = new Promise((done, fail) => {
    child.on("error", fail).on("exit", (code, signal) => {
      game.exit = code ?? 128 + constants.signals[signal];
      done();
    });
  });
  game.closed = new Promise((done) => lines.on("close", done));
  return game;
}

function readFrame(game, timeline, line) {
  let frame;
  try {
    frame = JSON.parse(line);
  } catch {
    game.errors.push(`a line of stdout is not JSON: ${line.slice(0, 200)}`);
    return;
  }
  if (frame.type === "response") game.open.delete(frame.id);
  timeline.add(frame);
}

function send(game, command) {
  if (!game.rpc) throw new Error(`only rpc takes commands: ${JSON.stringify(command)}`);
  game.commands += 1;
  const id = `c${game.commands}`;
  game.open.add(id);
  game.child.stdin.write(`${JSON.stringify({ id, ...command })}\n`);
}

/** The newest matching question that has no answer yet. */
function openQuestion(game, timeline, pattern) {
  return timeline.entries.findLast(({ value }) => value.type === "extension_ui_request" && fits(pattern, value) && !game.answered.has(value.id))?.value;
}

function answer(game, timeline, { after, do: _do, wait: _wait, ...reply }) {
  const { id } = openQuestion(game, timeline, after);
  game.answered.add(id);
  game.child.stdin.write(`${JSON.stringify({ type: "extension_ui_response", id, ...reply })}\n`);
}

/** The actions of steps: `(step, {game, stage, timeline})`. */
const DEEDS = {
  abort: (_, { game }) => send(game, { type: "abort" }),
  steer: ({ text }, { game }) => send(game, { type: "steer", message: text }),
  prompt: ({ text }, { game }) => send(game, { type: "prompt", message: text }),
  compact: (_, { game }) => send(game, { type: "compact" }),
  rpc: ({ command }, { game }) => send(game, command),
  subagent_steer: ({ child, text }, { game }) => send(game, { type: "subagent_steer", child, message: text }),
  subagent_abort: ({ child }, { game }) => send(game, { type: "subagent_abort", child }),
  answer: (step, { game, timeline }) => answer(game, timeline, step),
  "user edits": ({ file, text }, { stage }) => writeFileSync(join(stage.root, file), text),
  shell: async ({ text }, { game, stage }) => {
    const { code, printed } = await runLine(stage, text);
    if (code !== 0) game.errors.push(`the line "${text}" failed with ${code}: ${printed}`);
  },
  signal: (_, { game, argument }) => game.child.kill(`SIG${argument}`),
  "kill -9": (_, { game }) => game.child.kill("SIGKILL"),
  "close stdin": (_, { game }) => game.child.stdin.end(),
  wait: () => {},
};

/** Resolves when a file exists below `out`. */
async function fileExists(path, folder, signal) {
  const changes = watch(folder);
  try {
    await new Promise((found, fail) => {
      const look = () => existsSync(path) && found();
      changes.on("change", look).on("error", fail);
      signal.addEventListener("abort", () => fail(signal.reason), { once: true });
      look();
    });
  } finally {
    changes.close();
  }
}

async function takeStep(step, context, signal) {
  const { timeline, stage, game } = context;
  const after = step.after ?? {};
  if ("exists" in after) await fileExists(join(stage.out, after.exists), stage.out, signal);
  else if (step.do === "answer") await timeline.until(() => openQuestion(game, timeline, after), signal);
  else await timeline.until(() => timeline.entries.some(({ value }) => fits(after, value)), signal);
  if (step.wait) await pause(step.wait, undefined, { signal });
  const name = step.do in DEEDS ? step.do : step.do.split(" ")[0];
  // Recorded before the deed, because events may follow during it.
  timeline.add({ did: step.do });
  await DEEDS[name](step, { ...context, argument: step.do.split(" ")[1] });
  game.stepsLeft -= 1;
  timeline.check();
}

/** Runs the steps one after another. Returns the step that did not run because the program had ended. */
async function takeSteps(steps, context, signal) {
  for (const step of steps) {
    try {
      await takeStep(step, context, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
      return step;
    }
  }
  return undefined;
}

/**
 * Tells whether the story is over: all steps are done and answered, no child runs, and the session settled after its
 * last child and prompt.
 */
function isOver(game, timeline) {
  if (game.stepsLeft > 0 || game.open.size > 0) return false;
  const running = new Set();
  let settled = false;
  for (const { value } of timeline.entries) {
    if (value.type === "subagent_start") running.add(value.id);
    if (value.type === "subagent_end") running.delete(value.id);
    if (value.type === "agent_settled") settled = true;
    if (value.type === "subagent_end" || value.type === "subagent_start" || value.did === "prompt") settled = false;
  }
  return settled && running.size === 0;
}

/** Sends the prompt, and closes the input when the story is over. */
function control(game, timeline, run, signal) {
  send(game, { type: "prompt", message: run.prompt });
  return timeline.until(() => isOver(game, timeline), signal).then(
    () => game.child.stdin.end(),
    (error) => {
      if (!signal.aborted) throw error;
    },
  );
}

/** Waits for the last output of the program, but not for long, because a remaining process may hold the pipe open. */
async function drain(game) {
  const drained = new AbortController();
  const late = pause(DRAIN, undefined, { signal: drained.signal }).catch((error) => {
    if (!drained.signal.aborted) throw error;
  });
  await Promise.race([game.closed, late]);
  drained.abort();
}

/**
 * Runs the program once to its end. `run` has `name`, `mode`, `prompt`, `script`, and optionally `args`, `cwd`,
 * `meanwhile`.
 *
 * Returns `entries` (`at` in ms and `value`, an event or `{did}`), `printed` (stdout and stderr), `exit`, and `errors` of the run itself.
 */
export async function play(stage, run) {
  const timeline = createTimeline();
  const game = start(stage, { ...run, scriptPath: writeScript(stage, run.name, run.script) }, timeline);
  const ended = new AbortController();
  const late = setTimeout(() => {
    game.errors.push(`it was not over after ${LIMIT / 1000} s`);
    game.child.kill("SIGKILL");
  }, LIMIT);
  const client = game.rpc ? control(game, timeline, run, ended.signal) : undefined;
  const steps = takeSteps(run.meanwhile ?? [], { stage, game, timeline }, ended.signal);
  try {
    // A failed step must not wait for the end of the program.
    await Promise.race([game.exited, steps.then(() => game.exited)]);
    await drain(game);
  } finally {
    clearTimeout(late);
    ended.abort(new Error("the program ended"));
  }
  const missed = await steps;
  await client;
  if (missed) game.errors.push(`a step was not taken: ${JSON.stringify(missed)}`);
  const { printed, exit, errors } = game;
  return { entries: timeline.entries, printed, exit, errors };
}
