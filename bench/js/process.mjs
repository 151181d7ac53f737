// Lists and ends a tree of processes, against a program that runs `ps`.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";

/** Finds the descendants of a process as packages without an addon do: runs `ps` and follows the parents. */
function byPs(pid) {
  const rows = execFileSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" }).trim().split("\n").map((row) => row.trim().split(/\s+/).map(Number));
  const found = [pid];
  for (let at = 0; at < found.length; at++) for (const [child, parent] of rows) if (parent === found[at]) found.push(child);
  return found.slice(1);
}

export default async function (bench) {
  const child = spawn("sh", ["-c", "sleep 1000 & sleep 1000 & echo up; wait"]);
  await once(child.stdout, "data");
  await bench.compare("the descendants of a process", {
    sinew: () => bench.natives.listDescendants(child.pid),
    ps: () => byPs(child.pid),
  }, { targets: { ps: 0.5 } });
  bench.natives.killTree(child.pid, "SIGKILL");
}
