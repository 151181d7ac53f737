// Runs the protocol's conformance suite with our client: every scenario that a revision requires of clients.
import assert from "node:assert/strict";
import { test } from "node:test";
import { REVISIONS, example, required, run, skipped } from "./suite.mjs";

/** Scenarios that are run but need not pass, each with the reason. Only remove entries from this list. */
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

for (const revision of REVISIONS) {
  test(`the client passes all that ${revision} requires`, { skip: skipped("conformance") }, async () => {
    const found = await run("client", revision, ["--command", example("conformance"), "--timeout", "300000"]);
    const scenarios = required(revision, "client");
    assert.ok(scenarios.length >= 18, `${scenarios.length} scenarios`);
    for (const scenario of scenarios) {
      const checks = found.get(scenario) ?? [];
      const failed = checks.filter((check) => check.status === "FAILURE" && !TIMED.includes(check.id));
      assert.deepEqual(failed.map((check) => `${check.id}: ${check.errorMessage}`), [], scenario);
      assert.ok(checks.some((check) => check.status === "SUCCESS"), `${scenario} checked nothing`);
    }
    // All other failures are known, with a reason.
    const failing = [...found].filter(([, checks]) => checks.some((check) => check.status === "FAILURE" && !TIMED.includes(check.id)));
    assert.deepEqual(failing.map(([scenario]) => scenario).filter((scenario) => !NOT_SERVED[scenario]), []);
  });
}
