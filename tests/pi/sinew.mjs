// pi's client starts this instead of its own program. Runs ours with the same pipes, and with the events that the client
// knows (`--json-snapshots`).
import { spawn } from "node:child_process";

const child = spawn(process.env.SINEW_BIN, ["--json-snapshots", ...process.argv.slice(2)], { stdio: "inherit" });
for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => process.exit(code ?? (signal === "SIGTERM" ? 143 : 1)));
