// Runs one call of the table `adversarial` in a separate process, because it may crash or hang. Reads the case from its
// argument and prints { ms, whole, half } as JSON: the milliseconds of a call of size n and, if the table checks how
// times grow, those of a call of size n and of half that size.
//
// All are processor times, so that other programs on the machine do not count. `ms` is the least of some rounds. The
// others are medians of rounds that take turns, because a processor that is faster at times could favor one of them. A
// script runs in other processes, so its elapsed time is divided by how much slower the machine was than when idle.
import { createRequire } from "node:module";

const ROUNDS = 15;
// The time limit of a script, as in the table.
const TIMEOUT_MS = 1500;
const CATEGORIES = ["comment", "keyword", "function", "variable", "string", "number", "type", "operator", "punctuation", "inserted", "deleted"];

const natives = createRequire(import.meta.url)("../packages/natives");
const { fn, args_js: text, n, engine } = JSON.parse(process.argv[2]);
if (typeof natives[fn] !== "function") throw new Error(`${fn} is not a function of the package`);

const colors = Object.fromEntries(CATEGORIES.map((name, index) => [name, `\x1b[38;5;${index + 1}m`]));
const build = new Function("n", "repeat", "colors", `return [${text}];`);

function argumentsOf(size) {
  const list = build(size, (piece, times) => piece.repeat(times), colors);
  return fn === "executeShell" ? [{ command: list[0], timeoutMs: TIMEOUT_MS, engine }] : list;
}

async function time(list) {
  const cpu = process.cpuUsage();
  const begun = performance.now();
  try {
    await natives[fn](...list);
  } catch (error) {
    // A rejected call counts as settled, unless the error is due to this file.
    if (error instanceof TypeError) throw error;
  }
  const ms = performance.now() - begun;
  const { user, system } = process.cpuUsage(cpu);
  return { ms, work: (user + system) / 1000 };
}

/** How many times longer than on an idle machine this process takes for 30 ms of computation: 1 or more. */
function slowdown() {
  const cpu = process.cpuUsage();
  const begun = performance.now();
  for (;;) {
    const { user, system } = process.cpuUsage(cpu);
    if (user + system > 30_000) return Math.max(1, (performance.now() - begun) / ((user + system) / 1000));
  }
}

/** The median of the processor times in milliseconds. */
function median(times) {
  const works = times.map(({ work }) => work).sort((a, b) => a - b);
  return works[works.length >> 1];
}

if (fn === "executeShell") {
  await natives.executeShell({ command: "true", engine });
  const before = slowdown();
  const { ms } = await time(argumentsOf(n));
  const busy = Math.max(before, slowdown());
  const { exitCode } = await natives.executeShell({ command: "exit 7", engine });
  if (exitCode !== 7) throw new Error(`the next script ended with ${exitCode}, not 7`);
  console.log(JSON.stringify({ ms: ms / busy }));
} else {
  const [small, large] = [argumentsOf(n >> 1), argumentsOf(n)];
  const [halves, wholes] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    halves.push(await time(small));
    wholes.push(await time(large));
  }
  console.log(JSON.stringify({ ms: Math.min(...wholes.map(({ work }) => work)), whole: median(wholes), half: median(halves) }));
}
