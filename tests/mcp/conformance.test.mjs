// The protocol's own conformance suite drives our client: every scenario that a revision requires of clients.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

const SUITE = process.env.SINEW_MCP_SERVERS && join(process.env.SINEW_MCP_SERVERS, "node_modules", "@modelcontextprotocol", "conformance");
const CLIENT = process.env.SINEW_BIN && join(dirname(process.env.SINEW_BIN), "examples", "conformance");
const skip = SUITE && existsSync(SUITE) && CLIENT && existsSync(CLIENT) ? false : "set SINEW_MCP_SERVERS and SINEW_BIN, with the example conformance beside it";

/** Scenarios that are run and need not pass, each with its reason. The list may only shrink. */
const NOT_SERVED = {
  "auth/client-credentials-jwt": "an extension: logins without a user",
  "auth/client-credentials-basic": "an extension: logins without a user",
  "auth/enterprise-managed-authorization": "an extension: tokens of a company's own server",
  "auth/dpop": "an extension: tokens that are bound to a key",
  "auth/dpop-nonce": "an extension: tokens that are bound to a key",
  "auth/wif-jwt-bearer": "an extension: identities of workloads",
};

/** Checks that measure time, which depends on what else the machine does. */
const TIMED = ["client-sse-retry-timing"];

/** The scenarios that a revision requires of clients. */
function required(revision) {
  const lines = readFileSync(join(SUITE, "requirements", `${revision}.yaml`), "utf8").split("\n");
  const from = lines.indexOf("client:") + 1;
  const rest = lines.slice(from);
  const end = rest.findIndex((line) => /^\w/.test(line));
  return rest.slice(0, end < 0 ? undefined : end).flatMap((line) => /^ {2}- (\S+)$/.exec(line)?.[1] ?? []);
}

/** Runs the suite; what it found, by scenario. */
async function run(revision) {
  const out = mkdtempSync(join(tmpdir(), "sinew-conformance-"));
  try {
    const loader = pathToFileURL(join(import.meta.dirname, "old_node.mjs")).href;
    const args = ["--import", loader, join(SUITE, "dist", "index.js"), "client", "--command", CLIENT];
    const child = spawn(process.execPath, [...args, "--requirements", revision, "--timeout", "300000", "-o", out], { stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    child.stdout.on("data", (data) => (said += data));
    child.stderr.on("data", (data) => (said += data));
    await new Promise((done) => child.on("close", done));
    const found = new Map();
    for (const file of readdirSync(out, { recursive: true }).filter((name) => name.endsWith("checks.json"))) {
      const scenario = dirname(file).replace(/-\d{4}-\d\d-\d\dT.*$/, "");
      found.set(scenario, JSON.parse(readFileSync(join(out, file), "utf8")));
    }
    assert.ok(found.size, said.slice(-2000));
    return found;
  } finally {
    rmSync(out, { recursive: true });
  }
}

for (const revision of ["2026-07-28", "2025-11-25"]) {
  test(`the client passes all that ${revision} requires`, { skip }, async () => {
    const found = await run(revision);
    const scenarios = required(revision);
    assert.ok(scenarios.length >= 18, `${scenarios.length} scenarios`);
    for (const scenario of scenarios) {
      const checks = found.get(scenario) ?? [];
      const failed = checks.filter((check) => check.status === "FAILURE" && !TIMED.includes(check.id));
      assert.deepEqual(failed.map((check) => `${check.id}: ${check.errorMessage}`), [], scenario);
      assert.ok(checks.some((check) => check.status === "SUCCESS"), `${scenario} checked nothing`);
    }
    // What is beyond that is known, with its reason.
    const failing = [...found].filter(([, checks]) => checks.some((check) => check.status === "FAILURE" && !TIMED.includes(check.id)));
    assert.deepEqual(failing.map(([scenario]) => scenario).filter((scenario) => !NOT_SERVED[scenario]), []);
  });
}
