#!/usr/bin/env node
// npx @sinew/sinew: runs the agent's program out of the package of this platform, in the place of this process.
"use strict";
const { spawn } = require("node:child_process");
const { dirname, join } = require("node:path");
const { name, version, optionalDependencies } = require("../package.json");

/** The program's path; exits with a message where there is none. */
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
// A key of the terminal reaches the program too, which decides what it means; other signals are meant for it alone.
for (const signal of ["SIGINT", "SIGQUIT"]) process.on(signal, () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  // Whoever started this process sees the end that the program had.
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
