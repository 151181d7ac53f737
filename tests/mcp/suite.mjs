// Runs the protocol's conformance suite and reads what a revision requires and what a run has found.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

export const REVISIONS = ["2026-07-28", "2025-11-25"];

const SUITE = process.env.SINEW_MCP_SERVERS && join(process.env.SINEW_MCP_SERVERS, "node_modules", "@modelcontextprotocol", "conformance");

/** The path of an example of `sinew-mcp`, which is built next to the program under test. */
export function example(name) {
  return process.env.SINEW_BIN && join(dirname(process.env.SINEW_BIN), "examples", name);
}

/** Why a test that needs the suite and an example is skipped; false if it is not. */
export function skipped(name) {
  const there = SUITE && existsSync(SUITE) && example(name) && existsSync(example(name));
  return there ? false : `set SINEW_MCP_SERVERS and SINEW_BIN, with the example ${name} beside it`;
}

/** The scenarios that a revision requires of `client` or `server`. */
export function required(revision, side) {
  const lines = readFileSync(join(SUITE, "requirements", `${revision}.yaml`), "utf8").split("\n");
  const rest = lines.slice(lines.indexOf(`${side}:`) + 1);
  const end = rest.findIndex((line) => /^\w/.test(line));
  return rest.slice(0, end < 0 ? undefined : end).flatMap((line) => /^ {2}- (\S+)$/.exec(line)?.[1] ?? []);
}

/** Runs the suite; returns its results by scenario. */
export async function run(side, revision, options) {
  const out = mkdtempSync(join(tmpdir(), "sinew-conformance-"));
  try {
    const loader = pathToFileURL(join(import.meta.dirname, "loader.mjs")).href;
    const args = ["--import", loader, join(SUITE, "dist", "index.js"), side, ...options, "--requirements", revision, "-o", out];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    child.stdout.on("data", (data) => (said += data));
    child.stderr.on("data", (data) => (said += data));
    await new Promise((done) => child.on("close", done));
    const found = new Map();
    for (const file of readdirSync(out, { recursive: true }).filter((name) => name.endsWith("checks.json"))) {
      const folder = dirname(file).replace(/-\d{4}-\d\d-\d\dT.*$/, "");
      const scenario = side === "server" ? folder.replace(/^server-/, "") : folder;
      found.set(scenario, JSON.parse(readFileSync(join(out, file), "utf8")));
    }
    assert.ok(found.size, said.slice(-2000));
    return found;
  } finally {
    rmSync(out, { recursive: true });
  }
}
