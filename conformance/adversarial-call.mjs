// One call of the table `adversarial`, in a process of its own: it may die or hang. Reads the case from its argument and
// prints { ms, half } as JSON: the milliseconds of a call of size n, and of one of half the size where the table asks.
//
// The figure is the least of some rounds: the others tell what else the machine was doing.
import { createRequire } from "node:module";

const ROUNDS = 7;
// A script's time limit; the table says so.
const TIMEOUT_MS = 1500;
const CATEGORIES = ["comment", "keyword", "function", "variable", "string", "number", "type", "operator", "punctuation", "inserted", "deleted"];

const natives = createRequire(import.meta.url)("../packages/natives");
const { fn, args_js: text, n, budget_ms: budget, engine } = JSON.parse(process.argv[2]);
if (typeof natives[fn] !== "function") throw new Error(`${fn} is not a function of the package`);

const colors = Object.fromEntries(CATEGORIES.map((name, index) => [name, `\x1b[38;5;${index + 1}m`]));
const build = new Function("n", "repeat", "colors", `return [${text}];`);

function argumentsOf(size) {
  const list = build(size, (piece, times) => piece.repeat(times), colors);
  return fn === "executeShell" ? [{ command: list[0], timeoutMs: TIMEOUT_MS, engine }] : list;
}

async function time(list) {
  const begun = performance.now();
  try {
    await natives[fn](...list);
  } catch (error) {
    // To refuse is to settle, but not for what this file got wrong.
    if (error instanceof TypeError) throw error;
  }
  return performance.now() - begun;
}

async function least(list, rounds) {
  let best = Infinity;
  for (let round = 0; round < rounds; round++) {
    best = Math.min(best, await time(list));
    if (best > budget * 3) break;
  }
  return best;
}

if (fn === "executeShell") {
  await natives.executeShell({ command: "true", engine });
  const ms = await least(argumentsOf(n), 1);
  const { exitCode } = await natives.executeShell({ command: "exit 7", engine });
  if (exitCode !== 7) throw new Error(`the next script ended with ${exitCode}, not 7`);
  console.log(JSON.stringify({ ms }));
} else {
  const half = await least(argumentsOf(n >> 1), ROUNDS);
  console.log(JSON.stringify({ ms: await least(argumentsOf(n), ROUNDS), half }));
}
