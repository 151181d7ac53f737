// One call of the table `adversarial`, in a process of its own: it may die or hang. Reads the case from its argument and
// prints { ms, whole, half } as JSON: the milliseconds until a call of size n has settled, and the processor's milliseconds
// of it and of one of half the size where the table asks how they grow.
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

async function time(list) {
  const cpu = process.cpuUsage();
  const begun = performance.now();
  try {
    await natives[fn](...list);
  } catch (error) {
    // To refuse is to settle, but not for what this file got wrong.
    if (error instanceof TypeError) throw error;
  }
  const ms = performance.now() - begun;
  const { user, system } = process.cpuUsage(cpu);
  return { ms, work: (user + system) / 1000 };
}

if (fn === "executeShell") {
  await natives.executeShell({ command: "true", engine });
  const { ms } = await time(argumentsOf(n));
  const { exitCode } = await natives.executeShell({ command: "exit 7", engine });
  if (exitCode !== 7) throw new Error(`the next script ended with ${exitCode}, not 7`);
  console.log(JSON.stringify({ ms }));
} else {
  const [small, large] = [argumentsOf(n >> 1), argumentsOf(n)];
  const least = { ms: Infinity, whole: Infinity, half: Infinity };
  for (let round = 0; round < ROUNDS && !(least.ms > budget * 3 && least.ms < Infinity); round++) {
    const half = await time(small);
    const whole = await time(large);
    least.ms = Math.min(least.ms, whole.ms);
    least.whole = Math.min(least.whole, whole.work);
    least.half = Math.min(least.half, half.work);
  }
  console.log(JSON.stringify(least));
}
