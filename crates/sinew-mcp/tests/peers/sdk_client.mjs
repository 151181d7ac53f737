// A client of the TypeScript SDK: `sdk_client.mjs SDK SERVER FOLDER`.
import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";

const [sdk, command, ...args] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(`${sdk}/dist/esm/${path}`));
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");

const client = new Client({ name: "test", version: "1" });
await client.connect(new StdioClientTransport({ command, args }));
const { tools } = await client.listTools();
assert.equal(tools[0].name, "grep");
const found = await client.callTool({ name: "grep", arguments: { pattern: "needle" } });
assert.match(found.content[0].text, /src\/main\.rs:2: {4}needle\(\);/);
const refused = await client.callTool({ name: "read", arguments: { path: "/etc/passwd" } });
assert.equal(refused.isError, true);
await assert.rejects(client.callTool({ name: "no such tool", arguments: {} }), /Unknown tool/);
// Concurrent calls, some of which are cancelled. Every call must get its own answer.
const calls = Number(process.env.SINEW_RANDOM_CALLS ?? 100);
let state = 1;
const random = (below) => ((state = (Math.imul(state, 1103515245) + 12345) >>> 0) >>> 8) % below;
let [answered, givenUp] = [0, 0];
const one = async (at) => {
  const aborting = new AbortController();
  const glob = `*.none${at}`;
  const call = client.callTool({ name: "find", arguments: { pattern: glob } }, undefined, { signal: aborting.signal });
  if (random(3) > 0) {
    assert.ok((await call).content[0].text.length > 0);
    answered += 1;
    return;
  }
  queueMicrotask(() => aborting.abort());
  await call.then(() => (answered += 1), () => (givenUp += 1));
};
for (let at = 0; at < calls; ) {
  const batch = Array.from({ length: Math.min(1 + random(16), calls - at) }, () => one(at++));
  await Promise.all(batch);
}
assert.equal(answered + givenUp, calls);
assert.ok(answered > calls / 2 && givenUp > 0, `${answered} answered, ${givenUp} given up`);
assert.match((await client.callTool({ name: "grep", arguments: { pattern: "needle" } })).content[0].text, /needle/);
await client.close();
console.log("all is well");
