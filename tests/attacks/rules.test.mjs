// Runs the table of attacks on permission rules and of everyday calls with the program: no refused call may run, and no
// everyday call may ask.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { createStage, createStubs, hasRun, isRefused, openAgent, printAgent, skip } from "./agent.mjs";

const read = (path) => JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8"));

/** The table with which the library is tested too, and rows only for the program, some of which are known to fail. */
const groups = [...read("../../crates/sinew-permissions/tests/guards/attacks.json"), ...read("more.json")];
const { rules: known } = read("known.json");

/** The number of calls in one answer of the model. */
const AT_ONCE = 40;

/** The number of rows that one process plays. */
const PART = 140;

/** Files that the calls of the table name, in the project and in the home directory. */
const PROJECT = { "sub/a": "a", "docs/notes/a": "a", "src/a.rs": "a", "a.env": "a", environment: "a", "secret.txt": "a", "privately/a": "a", "private/a": "a", ".env": "a" };

const HOME = { "notes.txt": "a", "notes/a": "a", "notes/b": "a", other: "a", ".ssh/id": "a" };

/** Settings for calls that only one of the two edit tools understands. */
const HASHLINE = { edit: { mode: "hashline" } };

const nameOf = (group, row) => `${group.kind}: ${JSON.stringify(row)}`;

/** The calls of a row as `[tool, arguments]`. */
function callsOf(row, cwd) {
  const call = (value) => {
    if (typeof value === "string") return ["bash", { command: value }];
    return value.tool ? [value.tool, value.arguments] : ["bash", value];
  };
  const filled = JSON.parse(JSON.stringify(row).replaceAll("{project}", cwd));
  return Array.isArray(filled) ? filled.map(call) : [call(filled)];
}

const isPatch = (row) => row.tool === "edit" && "input" in row.arguments;

/** Stubs for every word of the table, so that no program of the system runs except bash. */
function stubsOf(folder) {
  const words = groups.flatMap(({ calls }) => JSON.stringify(calls).match(/[A-Za-z][\w.+-]*/g));
  return createStubs(folder, new Set(words), { bash: "/bin/bash", sh: "/bin/sh" });
}

/** Lines that may change the shell for the calls after them. */
const STATEFUL = /\b(cd|export|set|source|trap|read|declare|mapfile|printf|alias|kill)\b|=|[();&]|^\. /;

/** The tools of the table; `undo_edit` is not offered by default. */
const TOOLS = ["--tools", "read,write,edit,undo_edit,bash,grep,find,ls,fetch"];

/** Tells whether a row cannot run in the RPC mode, which has no background jobs. */
const isJob = (row) => row.background === true;

/** Returns whether a harmless call ran. The sites of `fetch` do not exist, and a line of bash may run in vain. */
function isRun([tool], result) {
  if (tool === "bash") return hasRun(result);
  return tool === "fetch" ? !isRefused(result) : !result.isError;
}

/** Returns whether a question has every argument of a call. */
const shows = (title, [, args]) => Object.entries(args).every(([name, value]) => title.includes(`${JSON.stringify(name)}:${JSON.stringify(value)}`));

/** Creates a stage with the rules of a group. */
async function open(group, settings) {
  const settingsOfGroup = { permissions: group.rules, fileGuard: "off", ...settings };
  const stage = await createStage({ settings: settingsOfGroup, files: HOME, project: PROJECT });
  const stubs = stubsOf(stage.folder);
  stage.env.PATH = stubs.bin;
  return { stage, stubs };
}

/** Splits a list into parts. */
const partsOf = (list, size) => Array.from({ length: Math.ceil(list.length / size) }, (_, at) => list.slice(at * size, (at + 1) * size));

/** Plays rows of one call each that must be refused, many in one answer of the model. Returns those that are wrong, each with a reason. */
async function playRefused({ agent, stage, stubs }, group, rows) {
  const wrong = [];
  for (const part of partsOf(rows, AT_ONCE)) {
    const { results, questions } = await agent.play([part.map((row) => callsOf(row, stage.cwd)[0])]);
    part.forEach((row, index) => {
      const result = results[index];
      if (!result || !isRefused(result) || hasRun(result)) wrong.push([row, result?.text]);
    });
    const unshown = group.rules.ask && !group.rules.deny ? part.filter((row) => !questions.some(({ title }) => shows(title, callsOf(row, stage.cwd)[0]))) : [];
    assert.deepEqual(unshown, [], "a question shows the whole call");
    if (!group.rules.ask) assert.equal(questions.length, 0);
  }
  // A call that ran in spite of its result would be in the log.
  const ran = stubs.ran();
  if (ran.length && !wrong.length) wrong.push(["programs ran", ran]);
  return wrong;
}

/** Plays a row of several calls in a session of its own. A user permits all calls but the last one, and the first refusal ends it. */
async function playSession({ agent, stage }, row) {
  const calls = callsOf(row, stage.cwd);
  await agent.command("new_session");
  let played;
  for (const [index, call] of calls.entries()) {
    agent.permits = () => index + 1 < calls.length;
    played = await agent.play([[call]]);
    if (isRefused(played.results[0])) break;
  }
  return { call: calls.at(-1), result: played.results[0], questions: played.questions };
}

/** Plays rows of several calls, whose last call must be refused. */
async function playSessions(context, rows) {
  const wrong = [];
  for (const row of rows) {
    const { result } = await playSession(context, row);
    if (!isRefused(result) || hasRun(result)) wrong.push([row, result.text]);
    if (context.stubs.ran().some((line) => line.startsWith("canary"))) wrong.push([row, "canary ran"]);
  }
  return wrong;
}

/** Plays rows that must run and ask nothing. Those that change no shell share a session, which cannot make a rule laxer. */
async function playHarmless(context, rows) {
  const wrong = [];
  const isApart = (row) => Array.isArray(row) || STATEFUL.test(row.command ?? row);
  const check = (row, call, result, questions) => {
    const isAsked = questions.some(({ title }) => shows(title, call));
    if (!result || !isRun(call, result) || isAsked) wrong.push([row, result?.text]);
  };
  for (const part of partsOf(rows.filter((row) => !isApart(row)), AT_ONCE)) {
    const calls = part.map((row) => callsOf(row, context.stage.cwd)[0]);
    const { results, questions } = await context.agent.play([calls]);
    part.forEach((row, index) => check(row, calls[index], results[index], questions));
  }
  for (const row of rows.filter(isApart)) {
    const { call, result, questions } = await playSession(context, row);
    check(row, call, result, questions);
  }
  return wrong;
}

/** Plays rows of one call each in JSON mode, where nobody can be asked. Returns those that are wrong. */
async function playPrinted({ stage, stubs }, group, rows) {
  const wrong = [];
  for (const part of partsOf(rows, AT_ONCE)) {
    const calls = part.map((row) => callsOf(row, stage.cwd)[0]);
    const { results } = await printAgent(stage, [calls], TOOLS);
    part.forEach((row, index) => {
      const result = results[index];
      const fits = result && (group.expected === "runs" ? isRun(calls[index], result) : isRefused(result) && !hasRun(result));
      if (!fits) wrong.push([row, result?.text]);
    });
  }
  const ran = stubs.ran();
  if (group.expected === "refused" && ran.length && !wrong.length) wrong.push(["programs ran", ran]);
  return wrong;
}

/** Plays rows of a group with an agent that has its rules. Returns those that are wrong. */
async function play(group, rows, settings = {}) {
  const { stage, stubs } = await open(group, settings);
  const context = { stage, stubs, agent: await openAgent(stage, TOOLS) };
  try {
    if (group.expected === "runs") return await playHarmless(context, rows);
    const single = await playRefused(context, group, rows.filter((row) => !Array.isArray(row)));
    return [...single, ...(await playSessions(context, rows.filter(Array.isArray)))];
  } finally {
    await context.agent.close();
    await stage.close();
  }
}

/** Plays rows of a group in JSON mode. */
async function print(group, rows) {
  const context = await open(group, {});
  try {
    return await playPrinted(context, group, rows);
  } finally {
    await context.stage.close();
  }
}

/** Fails unless exactly the known rows are wrong. */
function judge(group, wrong) {
  const names = new Set(wrong.map(([row]) => nameOf(group, row)));
  const fixed = group.calls.map((row) => nameOf(group, row)).filter((name) => name in known && !names.has(name));
  const unknown = wrong.filter(([row]) => !(nameOf(group, row) in known));
  assert.deepEqual(fixed, [], "these fit now: remove them from known.json");
  assert.equal(unknown.length, 0, unknown.map((each) => JSON.stringify(each)).join("\n"));
}

test("known.json names rows only", () => {
  const names = new Set(groups.flatMap((group) => group.calls.map((row) => nameOf(group, row))));
  assert.deepEqual(Object.keys(known).filter((name) => !names.has(name)), []);
});

/** The parts of a group, each with what plays it. */
function partsOfGroup(group) {
  const [jobs, patches] = [isJob, isPatch].map((is) => group.calls.filter(is));
  const others = group.calls.filter((row) => !isJob(row) && !isPatch(row));
  // If nobody can be asked, a rule that asks refuses.
  const unasked = group.rules.ask && group.expected === "refused" ? others.filter((row) => !Array.isArray(row)) : [];
  return [
    ...partsOf(others, PART).map((rows) => [rows, play]),
    [patches, (one, rows) => play(one, rows, HASHLINE)],
    [[...jobs, ...unasked], print],
  ].filter(([rows]) => rows.length);
}

for (const group of groups) {
  test(`${group.kind}: ${group.calls.length} calls are ${group.expected === "runs" ? "run unasked" : "refused"}`, { skip, concurrency: 2 }, async (t) => {
    const wrong = [];
    const tests = partsOfGroup(group).map(([rows, work], index) => t.test(`part ${index + 1}: ${rows.length}`, async () => wrong.push(...(await work(group, rows)))));
    await Promise.all(tests);
    judge(group, wrong);
  });
}
