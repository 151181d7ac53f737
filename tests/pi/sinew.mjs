// Started by pi's client in place of its own program: runs ours with the same pipes, and with the events that it knows.
import { spawn } from "node:child_process";

const child = spawn(process.env.SINEW_BIN, ["--json-snapshots", ...process.argv.slice(2)], { stdio: "inherit" });
for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => process.exit(code ?? (signal === "SIGTERM" ? 143 : 1)));
