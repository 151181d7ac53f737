// Random sessions with children: models that fail, stop or submit, while a person steers, aborts and kills. The number of
// a schedule determines everything but the moment at which a message of the person arrives.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { eventsOf, play } from "./play.mjs";
import { closeStage, commandOf, openStage, settledProcesses } from "./stage.mjs";

/** Returns a generator of numbers below 1 (mulberry32). */
function randomNumbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function createDice(seed) {
  const random = randomNumbers(seed);
  const below = (count) => Math.floor(random() * count);
  return { below, chance: (share) => random() < share, oneOf: (list) => list[below(list.length)] };
}

const calls = (name, args) => ({ content: [{ toolCall: { name, arguments: args } }] });

/** Failures of a request that are retried, and failures that are not. */
const PASSING = [{ kind: "http", status: 500 }, { kind: "http", status: 429, retryAfter: "0" }, { kind: "network" }, { kind: "truncated" }];
const LASTING = [{ kind: "http", status: 400, body: "no" }, { kind: "refusal" }, { kind: "http", status: 401 }];

/** The text by which the result of a child is found. */
const resultOf = (id) => `result of ${id}.`;

/** What the model of one child does: some work, then an end. */
function childLines(dice, lane) {
  const lines = [];
  for (let step = dice.below(4); step > 0; step -= 1) {
    const delayMs = dice.below(120);
    if (dice.chance(0.25)) lines.push({ type: "fault", lane, ...dice.oneOf(PASSING) });
    else if (dice.chance(0.2)) lines.push({ type: "turn", lane, delayMs, content: [{ text: "Thinking aloud." }] });
    else lines.push({ type: "turn", lane, delayMs, ...calls("bash", { command: dice.oneOf(["true", "false", "sleep 0.05", "sleep 0.2 & sleep 0.1"]) }) });
  }
  const submits = dice.chance(0.7);
  if (submits) lines.push({ type: "turn", lane, delayMs: dice.below(120), ...calls("submit_result", { result: resultOf(lane) }) });
  else if (dice.chance(0.5)) lines.push({ type: "fault", lane, ...dice.oneOf(LASTING) });
  // A lane without lines would get those of the parent.
  else lines.push({ type: "turn", lane, content: [{ text: "I stop here." }] });
  return { lines, submits };
}

/** What a person does meanwhile. */
function createDeeds(dice, ids) {
  const one = () => {
    const child = dice.oneOf(ids);
    return dice.oneOf([
      { do: "steer", text: "look at the tests too" },
      { do: "subagent_steer", child, text: "be quick" },
      { do: "subagent_steer", child, text: "be thorough" },
      { do: "subagent_abort", child },
      { do: "abort" },
      { do: "prompt", text: "and now this" },
      { do: "compact" },
    ]);
  };
  const list = Array.from({ length: dice.below(4) }, () => ({ after: { type: "agent_start" }, wait: dice.below(150), ...one() }));
  if (dice.chance(0.2)) list.push({ after: { type: "agent_start" }, wait: dice.below(400), do: "kill -9" });
  return list;
}

/** Returns the schedule with a number, in the form of a story. */
function createSchedule(seed) {
  const dice = createDice(seed);
  const main = [];
  const lanes = [];
  /** Whether each child submits a result. */
  const children = new Map();
  for (let call = dice.below(3); call >= 0; call -= 1) {
    const ids = Array.from({ length: 1 + dice.below(4) }, (_, index) => `c${call}-${index}`);
    const background = dice.chance(0.4);
    for (const id of ids) {
      const { lines, submits } = childLines(dice, id);
      lanes.push(...lines);
      children.set(id, submits);
    }
    const tasks = ids.map((id) => ({ id, assignment: `work of ${id}` }));
    main.push({ type: "turn", delayMs: dice.below(40), ...calls("task", { agent: "task", tasks, background }) });
    if (dice.chance(0.3)) main.push({ type: "fault", ...dice.oneOf(PASSING) });
  }
  const meanwhile = createDeeds(dice, [...children.keys()]);
  const script = [{ type: "script", version: 1, onExhausted: "stop" }, ...main, ...lanes];
  const settings = { retry: { baseDelayMs: 5 }, task: { maxConcurrency: 1 + dice.below(4) } };
  return { id: `schedule-${seed}`, settings, script, children, meanwhile };
}

/** The entries of the session that the person sees. */
function entriesOf({ home }) {
  const folder = join(home, "agent", "sessions");
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder, { recursive: true }).filter((path) => path.endsWith(".jsonl") && !path.includes(".agents"));
  // A killed program may leave half a line at the end of the file.
  const lines = files.flatMap((file) => readFileSync(join(folder, file), "utf8").split("\n").slice(0, -1));
  return lines.map((line) => JSON.parse(line));
}

/** The results that an entry gives to the model. */
const resultsIn = ({ message, details }) => (message?.role === "toolResult" ? message.details?.results : details?.results) ?? [];

const startedIn = ({ customType, data }) => (customType === "subagents_started" ? data.children.map(({ id }) => id) : []);

/** Each child that was started has one end, and the session settles after the last of them. */
function eventFailures(played, isKilled) {
  const failures = [];
  const open = new Set();
  const ends = new Map();
  let foreground;
  for (const event of eventsOf(played)) {
    const { type, id } = event;
    if (type === "subagent_start") {
      if (open.has(id) || ends.has(id)) failures.push(`${id} started twice`);
      open.add(id);
    }
    if (type === "subagent_end") {
      if (ends.has(id)) failures.push(`${id} ended twice`);
      ends.set(id, event.state);
      open.delete(id);
    }
    if (type === "tool_execution_start" && event.toolName === "task" && !event.args.background) foreground = event.toolCallId;
    if (type === "tool_execution_end" && event.toolCallId === foreground) foreground = undefined;
    if (type === "turn_start" && foreground) failures.push("the parent asked the model while it waits for its children");
    if (type === "agent_settled" && open.size > 0) failures.push(`settled while ${[...open]} work`);
  }
  if (!isKilled && open.size > 0) failures.push(`no end: ${[...open]}`);
  return { failures, ends };
}

/** The model is told the end of each child once, in the state that the event gave. */
function fileFailures(stage, schedule, ends, isOver) {
  const failures = [];
  const entries = entriesOf(stage);
  const started = new Set(entries.flatMap(startedIn));
  const told = new Map();
  for (const result of entries.flatMap(resultsIn)) {
    if (told.has(result.id)) failures.push(`the end of ${result.id} is told twice: ${told.get(result.id).state}, ${result.state}`);
    told.set(result.id, result);
  }
  for (const [id, result] of told) {
    const { state, output } = result;
    if (ends.has(id) && ends.get(id) !== state) failures.push(`${id} is told as ${state}, but its event says ${ends.get(id)}`);
    if (state === "completed" && !schedule.children.get(id)) failures.push(`${id} is completed without a result`);
    if (state === "completed" && output !== resultOf(id)) failures.push(`the result of ${id} is lost: ${JSON.stringify(output)}`);
  }
  const isCalm = schedule.meanwhile.length === 0;
  for (const [id, submits] of isCalm ? schedule.children : []) {
    if (submits && told.get(id)?.state !== "completed") failures.push(`${id} submitted, but it is ${told.get(id)?.state}: ${told.get(id)?.error}`);
  }
  if (isOver) for (const id of started) if (!told.has(id)) failures.push(`the end of ${id} is not told`);
  for (const id of ends.keys()) if (!started.has(id)) failures.push(`${id} is missing in the list of started children`);
  return failures;
}

/** Runs a schedule, and starts the program again if it was killed. Returns what does not hold. */
export async function runSchedule(seed, { keep = false } = {}) {
  const schedule = createSchedule(seed);
  const stage = openStage(schedule);
  const failures = [];
  try {
    const first = await play(stage, { name: "script", mode: "rpc", prompt: "go", script: schedule.script, meanwhile: schedule.meanwhile });
    const wasKilled = first.exit === 137;
    const { failures: found, ends } = eventFailures(first, wasKilled);
    // The program may end before the last deed of a person.
    failures.push(...found, ...first.errors.filter((error) => !(wasKilled && error.startsWith("a step was not taken"))));
    if (!wasKilled && first.exit !== 0) failures.push(`exit ${first.exit}: ${first.printed.slice(-500)}`);
    const left = await settledProcesses(stage, (ids) => ids.length === 0);
    if (left.length > 0) failures.push(`processes remain: ${left.map(commandOf)}`);
    // The next prompt tells the model the ends that an abort or a kill kept from it.
    const isCut = wasKilled || schedule.meanwhile.some((step) => step.do === "abort");
    failures.push(...fileFailures(stage, schedule, wasKilled ? new Map() : ends, !isCut));
    if (isCut && entriesOf(stage).length > 0) {
      const script = [{ type: "script", version: 1, onExhausted: "stop" }];
      const second = await play(stage, { name: "again", mode: "rpc", args: ["-c"], prompt: "go on", script, meanwhile: [] });
      failures.push(...[...second.errors, ...fileFailures(stage, schedule, wasKilled ? new Map() : ends, true)].map((text) => `second start: ${text}`));
      if (second.exit !== 0) failures.push(`second start: exit ${second.exit}: ${second.printed.slice(-500)}`);
      if (eventsOf(second).some(({ type }) => type === "subagent_start")) failures.push("second start: a child was started again");
    }
  } finally {
    await closeStage(stage, { keep });
  }
  return { failures, folder: stage.folder, deeds: schedule.meanwhile.map((step) => step.do) };
}
