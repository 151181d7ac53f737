// Commands in a shell that lives and in one of their own, beside starting `bash -c` from Node.
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
  }, { targets: { child_process: 0.5 } });
  const much = "head -c 100000000 /dev/zero | tr '\\0' x";
  await bench.compare("100 MB of output", {
    sinew: () => executeShell({ command: much }, () => {}),
    child_process: () => spawned(much),
  }, { targets: { child_process: 1 } });
  await shell.close();
}
