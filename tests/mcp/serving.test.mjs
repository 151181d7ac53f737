// Runs the protocol's conformance suite with our server over HTTP: what a revision requires of servers, as far as we
// support it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { REVISIONS, example, required, run, skipped } from "./suite.mjs";

const ASKS = "the server asks its client nothing: no question of a tool of ours needs an answer";
const MODEL = "the server uses no model of its client: sampling is deprecated, and costs its user money";
const LOGS = "the server writes no log to its client";
const WATCHES = "the server lends tools that read files; there is nothing to be told about";

/** Required scenarios that do not pass, each with the reason. Only remove entries from these lists. */
const NOT_SERVED = {
  "2026-07-28": {
    "input-required-result-basic-elicitation": ASKS,
    "input-required-result-basic-sampling": MODEL,
    "input-required-result-basic-list-roots": ASKS,
    "input-required-result-request-state": ASKS,
    "input-required-result-multiple-input-requests": ASKS,
    "input-required-result-multi-round": ASKS,
    "input-required-result-non-tool-request": ASKS,
    "input-required-result-result-type": ASKS,
    "input-required-result-tampered-state": ASKS,
    "input-required-result-capability-check": ASKS,
  },
  "2025-11-25": {
    "logging-set-level": LOGS,
    "tools-call-with-logging": LOGS,
    "tools-call-sampling": MODEL,
    "tools-call-elicitation": ASKS,
    "elicitation-sep1034-defaults": ASKS,
    "elicitation-sep1330-enums": ASKS,
    "resources-subscribe": WATCHES,
    "resources-unsubscribe": WATCHES,
    "server-sse-multiple-streams": "the suite asks for a session first, and requests of ours stand for themselves (reach.md 5)",
  },
};

/** Starts our server with the fixtures of the suite; returns its address. */
async function start() {
  const server = spawn(example("conformance_server"), { stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of createInterface({ input: server.stdout })) return { server, url: line };
  throw new Error("the server printed no address");
}

for (const revision of REVISIONS) {
  test(`the server passes what ${revision} requires and it serves`, { skip: skipped("conformance_server") }, async () => {
    const { server, url } = await start();
    try {
      const found = await run("server", revision, ["--url", url]);
      const failing = (scenario) => (found.get(scenario) ?? []).filter((check) => check.status === "FAILURE");
      const succeeded = (scenario) => (found.get(scenario) ?? []).some((check) => check.status === "SUCCESS");
      const scenarios = required(revision, "server");
      assert.ok(scenarios.length >= 30, `${scenarios.length} scenarios`);
      const listed = NOT_SERVED[revision];
      for (const scenario of scenarios.filter((scenario) => !listed[scenario])) {
        assert.deepEqual(failing(scenario).map((check) => `${check.id}: ${check.errorMessage}`), [], scenario);
        assert.ok(succeeded(scenario), `${scenario} checked nothing`);
      }
      const passing = Object.keys(listed).filter((scenario) => !failing(scenario).length && succeeded(scenario));
      assert.deepEqual(passing, [], "these pass: take them off the list");
    } finally {
      server.kill();
    }
  });
}
