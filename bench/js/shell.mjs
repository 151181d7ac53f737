// Runs commands in a persistent shell and each in a new one, against starting `bash -c` from Node.
import { spawn } from "node:child_process";

function spawned(command) {
  return new Promise((resolve, reject) => {
    const child = spawn("bash", ["-c", command], { stdio: ["ignore", "pipe", "pipe"] });
    let bytes = 0;
    child.stdout.on("data", (chunk) => (bytes += chunk.length));
    child.on("error", reject);
    child.on("close", () => resolve(bytes));
  });
}

export default async function (bench) {
  const { Shell, executeShell } = bench.natives;
  const shell = new Shell();
  const piped = "printf '%s\\n' a b c | while read x; do echo $x; done";
  await bench.compare("true in a shell that lives", {
    sinew: () => shell.run({ command: "true" }),
    child_process: () => spawned("true"),
  }, { targets: { child_process: 0.1 } });
  await bench.compare("a pipeline of builtins in a shell that lives", {
    sinew: () => shell.run({ command: piped }, () => {}),
    child_process: () => spawned(piped),
  }, { targets: { child_process: 0.3 } });
  await bench.compare("true in a shell of its own", {
    sinew: () => executeShell({ command: "true" }),
    child_process: () => spawned("true"),
  }, { targets: { child_process: 1 } });
  const much = "head -c 100000000 /dev/zero | tr '\\0' x";
  await bench.compare("100 MB of output", {
    sinew: () => executeShell({ command: much }, () => {}),
    child_process: () => spawned(much),
  }, { targets: { child_process: 1 } });
  await growth(bench, much);
  await stops(bench, "obedient children", "sleep 1000 & sleep 1000 & echo up; wait", 100);
  await stops(bench, "children that ignore TERM, own sessions, background jobs", "trap '' TERM; setsid sleep 1000 & sleep 1000 & echo up; wait", 2500);
  await shell.close();
}

/** The largest growth of this process's resident memory while a command prints a lot. */
async function growth(bench, command) {
  globalThis.gc?.();
  const before = process.memoryUsage.rss();
  let most = before;
  await bench.natives.executeShell({ command }, () => (most = Math.max(most, process.memoryUsage.rss())));
  bench.fact("growth of resident memory with 100 MB of output", `${((most - before) / 2 ** 20).toFixed(1)} MiB`, "16 MiB");
}

/** The longest time from `abort()` to the settled promise, of some calls. */
async function stops(bench, whom, command, limit) {
  let worst = 0;
  for (let round = 0; round < 5; round++) {
    const controller = new AbortController();
    let begun = 0;
    await bench.natives.executeShell({ command, signal: controller.signal }, (chunk) => {
      if (begun || !chunk.includes("up")) return;
      begun = performance.now();
      controller.abort();
    });
    worst = Math.max(worst, performance.now() - begun);
  }
  bench.fact(`abort to settled, ${whom}, worst of 5`, `${worst.toFixed(1)} ms`, `${limit} ms`);
}
