#!/usr/bin/env node
// npx @sinew/sinew: runs the agent's program from the package for this platform.
"use strict";
const { spawn } = require("node:child_process");
const { dirname, join } = require("node:path");
const { name, version, optionalDependencies } = require("../package.json");

/** Returns the path of the program; exits with a message if there is none. */
function program() {
  const wanted = `${name}-${process.platform}-${process.arch}`;
  try {
    const folder = dirname(require.resolve(`${wanted}/package.json`));
    return join(folder, "bin", process.platform === "win32" ? "sinew.exe" : "sinew");
  } catch {
    const known = Object.keys(optionalDependencies);
    const install = `npm install --include=optional ${wanted}@${version}`;
    fail(known.includes(wanted) ? `${wanted} is not installed; run: ${install}` : `no program for ${process.platform}-${process.arch}; there are ${known.join(", ")}`);
  }
}

function fail(message) {
  process.stderr.write(`${name}: ${message}\n`);
  process.exit(1);
}

const path = program();
const child = spawn(path, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (cause) => fail(`${path} does not start: ${cause.message}`));
// Signals of terminal keys reach the program too, which handles them. Other signals are forwarded to it.
for (const signal of ["SIGINT", "SIGQUIT"]) process.on(signal, () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  // This process ends in the same way as the program, by the same exit code or signal.
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
