// Compares what a story expects with what one run of the program did.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { basename, dirname, join } from "node:path";
import { fits, fittingInOrder, textAt } from "./patterns.mjs";
import { eventsOf } from "./play.mjs";
import { commandOf, runLine, settledProcesses, textOf } from "./stage.mjs";

const short = (value, limit = 300) => {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > limit ? `${text.slice(0, limit)}…` : text;
};

/** The last printed lines that are not events: warnings and errors. */
const lastWords = ({ printed }) => short(printed.split("\n").filter((line) => line && !line.startsWith("{")).slice(-4).join(" ") || "(nothing but events)");

/** Events of a pattern's type, for a failure message. Messages are left out because there are too many. */
function similar(pattern, events) {
  const alike = events.filter(({ type }) => type === pattern.type && !type.startsWith("message_"));
  return alike.slice(0, 6).map((event) => `\n      ${short(event, 500)}`).join("");
}

/** The messages in the session files of a child, from all runs of the program. */
function messagesOf(id, { home }) {
  const isFile = (path) => basename(path) === `${id}.jsonl` && dirname(path).split("/").some((part) => part.endsWith(".agents"));
  const files = readdirSync(home, { recursive: true }).filter(isFile).map((path) => join(home, path));
  const lines = files.flatMap((file) => readFileSync(file, "utf8").split("\n").filter(Boolean));
  return lines.map((line) => JSON.parse(line)).filter(({ type }) => type === "message").map(({ message }) => message);
}

/** The number of requests of a lane, from the events for the main session and from the file for a child. */
function requestsOf(lane, stage, played) {
  if (lane === "main") return eventsOf(played).filter(({ type }) => type === "turn_start").length;
  return messagesOf(lane, stage).filter(({ role }) => role === "assistant").length;
}

function judgeEvent({ event, count }, { played }) {
  const events = eventsOf(played);
  const seen = events.filter((each) => fits(event, each)).length;
  if (count === undefined ? seen > 0 : seen === count) return [];
  return [`event ${short(event)}: ${seen} seen, expected ${count ?? "one or more"}${similar(event, events)}`];
}

function judgeNever({ never }, { played }) {
  const seen = eventsOf(played).find((each) => fits(never, each));
  return seen ? [`never ${short(never)}: ${short(seen, 700)}`] : [];
}

function judgeOrder({ order }, { played }) {
  const reached = fittingInOrder(order, eventsOf(played));
  return reached === order.length ? [] : [`order ${short(order)}: number ${reached + 1} is missing after the others`];
}

function judgeExit({ exit }, { played }) {
  return fits(exit, played.exit) ? [] : [`exit ${played.exit}, expected ${short(exit)}; it printed: ${lastWords(played)}`];
}

function judgeFile({ file, is, contains, absent }, { stage }) {
  const path = join(stage.root, file);
  if (absent) return existsSync(path) ? [`file ${file} exists: ${short(readFileSync(path, "utf8"))}`] : [];
  if (!existsSync(path)) return [`file ${file} is missing`];
  const text = readFileSync(path, "utf8");
  if (is !== undefined && text !== textOf(is)) return [`file ${file} is ${short(text)}, expected ${short(textOf(is))}`];
  return contains !== undefined && !text.includes(contains) ? [`file ${file} lacks "${contains}": ${short(text)}`] : [];
}

function judgeRequests({ requests }, { stage, played }) {
  const counts = Object.entries(requests).map(([lane, wanted]) => [lane, wanted, requestsOf(lane, stage, played)]);
  return counts.filter(([, wanted, sent]) => !fits(wanted, sent)).map(([lane, wanted, sent]) => `requests of ${lane}: ${sent}, expected ${short(wanted)}`);
}

function judgeText({ "text contains": text }, { played }) {
  return played.printed.includes(text) ? [] : [`"${text}" was not printed; it printed: ${lastWords(played)}`];
}

async function judgeRun({ run }, { stage }) {
  const { code, printed } = await runLine(stage, run);
  return code === 0 ? [] : [`\`${run}\` failed with ${code}: ${short(printed)}`];
}

async function judgeProcesses({ processes }, { stage }) {
  const left = await settledProcesses(stage, (ids) => fits(processes, ids.length));
  return fits(processes, left.length) ? [] : [`${left.length} processes 3 s after the end, expected ${short(processes)}: ${left.map(commandOf).join("; ")}`];
}

function judgeWithin({ within: { ms, from, to } }, { played: { entries } }) {
  const [first, last] = [from, to].map((pattern) => entries.find(({ value }) => fits(pattern, value)));
  if (!first || !last) return [`within: nothing fits ${short(first ? to : from)}`];
  const limit = loadavg()[0] > availableParallelism() ? 2 * ms : ms;
  const taken = last.at - first.at;
  return taken <= limit ? [] : [`${Math.round(taken)} ms from ${short(from)} to ${short(to)}, expected at most ${limit}`];
}

function judgeRunning({ running }, { played }) {
  const ids = new Set();
  let most = 0;
  for (const { type, id } of eventsOf(played)) {
    if (type === "subagent_start") ids.add(id);
    if (type === "subagent_end") ids.delete(id);
    most = Math.max(most, ids.size);
  }
  return fits(running, most) ? [] : [`${most} children ran at once, expected ${short(running)}`];
}

function judgeLength({ length: { of, at, ...limit } }, { played }) {
  const events = eventsOf(played);
  const event = events.find((each) => fits(of, each));
  if (!event) return [`length: no event fits ${short(of)}${similar(of, events)}`];
  const { length } = [...textAt(at, event)];
  return fits(limit, length) ? [] : [`${at} of ${short(of)} has ${length} characters, expected ${short(limit)}`];
}

async function judgeEither({ either }, context) {
  const failures = await Promise.all(either.map((each) => judgeOne(each, context)));
  return failures.some((list) => list.length === 0) ? [] : [`none of these: ${failures.flat().join(" | ")}`];
}

/** The requests that the script recorded, in order, without what is not sent to servers. */
function recordedRequests({ out }) {
  const lines = readFileSync(join(out, "requests"), "utf8").split("\n").filter(Boolean);
  const withoutTime = (key, value) => (key === "timestamp" ? undefined : value);
  return lines.map((line) => JSON.parse(line, withoutTime)).map(({ lane, request: { tools, system, messages } }) => ({ lane, tools, system, messages }));
}

const bytesOf = ({ tools, system, messages }) => JSON.stringify({ tools, system, messages });

/** The bytes that a request shares with those that continue it: all but the end of its list of messages. */
const openBytesOf = (request) => bytesOf(request).slice(0, -"]}".length);

function judgePrefix({ prefix: { of, "ends before": end, ...other } }, { stage }) {
  const requests = recordedRequests(stage);
  const [first, second] = of.map((lane) => requests.findIndex((each) => each.lane === lane || each.lane.endsWith(`#${lane}`)));
  if (first < 0 || second < 0) return [`prefix: no request of ${of[first < 0 ? 0 : 1]}`];
  const later = bytesOf(requests[second]);
  if (end === undefined) {
    if (other["at least"] !== "whole request of main before the call") throw new Error(`unknown prefix: ${JSON.stringify(other)}`);
    const before = requests.slice(0, second).findLast(({ lane }) => lane === of[0]);
    return later.startsWith(openBytesOf(before)) ? [] : [`prefix: the request of ${of[1]} does not begin with that of ${of[0]}`];
  }
  const shared = later.slice(0, later.indexOf(end));
  return later.includes(end) && bytesOf(requests[first]).startsWith(shared) ? [] : [`prefix: the requests of ${of} differ before "${end}"`];
}


const JUDGES = {
  either: judgeEither,
  event: judgeEvent,
  exit: judgeExit,
  file: judgeFile,
  length: judgeLength,
  never: judgeNever,
  order: judgeOrder,
  prefix: judgePrefix,
  processes: judgeProcesses,
  requests: judgeRequests,
  run: judgeRun,
  running: judgeRunning,
  "text contains": judgeText,
  within: judgeWithin,
};

async function judgeOne(expected, context) {
  const name = Object.keys(JUDGES).find((each) => each in expected);
  if (name === undefined) throw new Error(`unknown expectation: ${JSON.stringify(expected)}`);
  return JUDGES[name](expected, context);
}

/** Requests that differ from what a line of the script expects: the model's side of the story. */
function scriptFailures(lanes, { stage, played }) {
  const answers = eventsOf(played).filter(({ type }) => type === "message_end").map(({ message }) => ["main", message]);
  const all = [...answers, ...lanes.flatMap((lane) => messagesOf(lane, stage).map((message) => [lane, message]))];
  return all.filter(([, { errorMessage }]) => /^script:\d+: expected/.test(errorMessage ?? "")).map(([lane, { errorMessage }]) => `request of ${lane}: ${short(errorMessage, 700)}`);
}

/** Returns the failures. `run` is one run of the program as in `play`, and `played` is what `play` returned. */
export async function judge(run, stage, played) {
  const context = { stage, played };
  const lanes = [...new Set(run.script.map(({ lane }) => lane).filter((lane) => lane !== undefined && lane !== "main"))];
  const failures = [...played.errors, ...scriptFailures(lanes, context)];
  // One after another, because `processes` waits, and bash lines must not change what other checks read.
  for (const expected of run.expect) failures.push(...(await judgeOne(expected, context)));
  return failures;
}

/**
 * Lanes whose turns were not all requested, as texts such as `One: 1 of 3 turns`. A story may pass only because a part
 * of it never started.
 */
export function unplayedLanes(run, stage, played) {
  // Without events the requests of the main session are unknown.
  const countable = (lane) => lane !== "main" || played.entries.length > 0;
  const lanes = run.script.filter(({ type }) => type === "turn").map(({ lane = "main" }) => lane).filter(countable);
  const counts = [...new Set(lanes)].map((lane) => [lane, requestsOf(lane, stage, played), lanes.filter((each) => each === lane).length]);
  return counts.filter(([, asked, turns]) => asked < turns).map(([lane, asked, turns]) => `${lane}: ${asked} of ${turns} turns`);
}
