// Tests that rules for tools of MCP servers apply to every way to call one.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createStage, isRefused, openAgent, put, skip } from "./agent.mjs";

const SPY = join(import.meta.dirname, "spy.mjs");

/** Ways to call the tool `note` of the server `spy`, by how its tools are offered. */
const WAYS = {
  direct: [["mcp_spy_note", { text: "canary" }]],
  deferred: [
    ["call_tool", { name: "mcp_spy_note", arguments: { text: "canary" } }],
    ["call_tool", { name: " mcp_spy_note", arguments: { text: "canary" } }],
    ["call_tool", { name: "note", arguments: { text: "canary" } }],
    ["mcp_spy_note", { text: "canary" }],
  ],
};

/** Rules under which the tool is refused. */
const RULES = [{ deny: ["mcp_spy_note"] }, { deny: ["mcp_spy_*"] }, { deny: ["mcp__spy__note"] }, { deny: ["mcp__spy"] }, { deny: ["mcp_spy_note(*canary*)"] }, { deny: ["*(*canary*)"] }, { ask: ["mcp_*"] }];

/** Rules under which the tool runs. */
const OTHERS = [{ deny: ["mcp_other_*", "mcp_spy_note(*secret*)"] }, { ask: ["mcp_*"], allow: ["mcp_spy_note"] }];

/** Calls the tool in all ways. Returns the results, and what the server received. */
async function play(permissions, expose) {
  const stage = await createStage({ settings: { permissions } });
  const log = join(stage.folder, "spied.log");
  put(stage.agent, "mcp.json", { mcpServers: { spy: { command: process.execPath, args: [SPY, log], expose, start: "eager" } } });
  const agent = await openAgent(stage);
  try {
    // The tools of the server are available from the next session.
    await agent.command("mcp_reload", { name: "spy" });
    await agent.command("new_session");
    const found = expose === "deferred" ? [[["tool_search", { query: "note" }]]] : [];
    const { results } = await agent.play([...found, WAYS[expose]]);
    const called = await agent.command("mcp_call", { server: "spy", tool: "note", arguments: { text: "canary" } }).then(({ isError }) => !isError, () => false);
    const spied = existsSync(log) ? readFileSync(log, "utf8") : "";
    return { results: results.slice(found.length), called, heard: spied.split("\n").filter((line) => line.startsWith('{"text"')) };
  } finally {
    await agent.close();
    await stage.close();
  }
}

for (const expose of Object.keys(WAYS)) {
  test(`a denied tool of a server is not called (${expose})`, { skip, concurrency: 2 }, async (t) => {
    await Promise.all(RULES.map((rules) => t.test(JSON.stringify(rules), async () => {
      const { results, called, heard } = await play(rules, expose);
      assert.deepEqual(heard, []);
      assert.equal(called, false, "the user's call is refused too");
      assert.ok(isRefused(results[0]), results[0].text);
      assert.ok(results.every(({ isError }) => isError));
    })));
  });

  test(`a tool of a server that no rule denies is called (${expose})`, { skip, concurrency: 2 }, async (t) => {
    await Promise.all(OTHERS.map((rules) => t.test(JSON.stringify(rules), async () => {
      const { results, called, heard } = await play(rules, expose);
      assert.ok(!results[0].isError && called, results[0].text);
      assert.ok(heard.length >= 2, heard.join());
    })));
  });
}
