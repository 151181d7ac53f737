// One call of the table `adversarial`, in a process of its own: it may die or hang. Reads the case from its argument and
// prints { ms } as JSON, the milliseconds until it has settled; of a function { ms, eighth }, the processor's milliseconds for a
// call of size n and for one of an eighth of the size, which other work on the machine changes least.
//
// Each figure is the least of some rounds, which take turns: the others tell what else the machine was doing.
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

async function settle(list) {
  try {
    await natives[fn](...list);
  } catch (error) {
    // To refuse is to settle, but not for what this file got wrong.
    if (error instanceof TypeError) throw error;
  }
}

/** Resolves to the processor's milliseconds of a call, those of its threads among them. */
async function work(list) {
  const before = process.cpuUsage();
  await settle(list);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

if (fn === "executeShell") {
  await natives.executeShell({ command: "true", engine });
  const begun = performance.now();
  await settle(argumentsOf(n));
  const ms = performance.now() - begun;
  const { exitCode } = await natives.executeShell({ command: "exit 7", engine });
  if (exitCode !== 7) throw new Error(`the next script ended with ${exitCode}, not 7`);
  console.log(JSON.stringify({ ms }));
} else {
  const [small, large] = [argumentsOf(n >> 3), argumentsOf(n)];
  const least = { ms: Infinity, eighth: Infinity };
  for (let round = 0; round < ROUNDS && !(least.ms > budget * 3 && least.ms < Infinity); round++) {
    least.eighth = Math.min(least.eighth, await work(small));
    least.ms = Math.min(least.ms, await work(large));
  }
  console.log(JSON.stringify(least));
}
