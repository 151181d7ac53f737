// Ends threads during calls that wait for other processes, in any runtime, and reports when nothing is left of them: no
// process, thread or descriptor. Otherwise it waits forever, so the caller must set a time limit.
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker, isMainThread, parentPort, workerData } from "node:worker_threads";
import { fileURLToPath } from "node:url";

const natives = createRequire(import.meta.url)(process.env.SINEW_PACKAGE ?? "..");
const { Process, PtySession, Shell, executeShell, grep, listDescendants } = natives;
const command = "echo up; sleep 1000";

/** Each starts a call that never ends by itself, and reports when it runs. */
const CALLS = {
  waitForExit: (up) => {
    Process.fromPid(process.pid).waitForExit();
    up();
  },
  executeShell: (up) => void executeShell({ command }, up),
  "Shell.run": (up) => void new Shell().run({ command }, up),
  "an idle Shell": async (up) => {
    globalThis.shell = new Shell();
    await globalThis.shell.run({ command: "sleep 1000 & true" });
    up();
  },
  "PtySession.start": (up) => void new PtySession().start({ command }, up),
  "a promise that is awaited": (up) => {
    void executeShell({ command: "yes" }, () => {
      up();
      return new Promise(() => {});
    });
  },
  "a promise of grep": (up) => {
    void grep({ pattern: ".", path: fileURLToPath(new URL("..", import.meta.url)) }, () => {
      up();
      return new Promise(() => {});
    });
  },
};

const count = (folder) => readdirSync(`/proc/self/${folder}`).length;
/** Our threads, by their names. Runtimes have threads of their own. */
const threads = () =>
  readdirSync("/proc/self/task").filter((id) => {
    try {
      return readFileSync(`/proc/self/task/${id}/comm`, "utf8").startsWith("sinew-call");
    } catch {
      return false;
    }
  }).length;

async function ended(name) {
  const worker = new Worker(fileURLToPath(import.meta.url), { workerData: name });
  await new Promise((up, fail) => {
    worker.once("message", up);
    worker.once("error", fail);
  });
  await worker.terminate();
}

/** Ends a thread during each call, all at the same time, and waits until nothing is left of them. */
async function round(names) {
  await Promise.all(names.map(ended));
  for (let looks = 1; ; looks++) {
    const left = { processes: listDescendants(process.pid).length, threads: threads() };
    if (left.processes === 0 && left.threads === 0) return;
    if (looks % 100 === 0) console.error(`left are ${JSON.stringify(left)}`);
    await sleep(20);
  }
}

if (isMainThread) {
  const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(CALLS);
  await round(names);
  const before = count("fd");
  await round([...names, ...names, ...names]);
  // Leaks of threads would add up. The runtime itself may keep a few descriptors.
  const descriptors = count("fd") - before;
  if (descriptors > 8) throw new Error(`${descriptors} descriptors are left of ${3 * names.length} threads`);
  console.log("ended-threads: done");
  process.exit(0);
} else {
  await CALLS[workerData](() => parentPort.postMessage("up"));
  setInterval(() => {}, 1000);
}
