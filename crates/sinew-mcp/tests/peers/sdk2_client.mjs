// A client of the second TypeScript SDK in both eras: `sdk2_client.mjs PACKAGE SERVER FOLDER`.
import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";

const [folder, command, ...args] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(`${folder}/dist/${path}`));
const { Client } = await load("index.mjs");
const { StdioClientTransport } = await load("stdio.mjs");

for (const mode of [{ pin: "2026-07-28" }, "auto", "legacy"]) {
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
  await client.connect(new StdioClientTransport({ command, args }));
  const { tools } = await client.listTools();
  assert.equal(tools[0].name, "grep");
  const call = (name, given, options) => client.callTool({ name, arguments: given }, options);
  const found = await call("grep", { pattern: "needle" });
  assert.match(found.content[0].text, /src\/main\.rs:2: {4}needle\(\);/);
  assert.equal((await call("read", { path: "/etc/passwd" })).isError, true);
  await assert.rejects(call("no such tool", {}), /Unknown tool/);
  // Concurrent calls, some of which are cancelled.
  const calls = Number(process.env.SINEW_RANDOM_CALLS ?? 100);
  let state = 1;
  const random = (below) => ((state = (Math.imul(state, 1103515245) + 12345) >>> 0) >>> 8) % below;
  let [answered, givenUp] = [0, 0];
  const one = async (at) => {
    const aborting = new AbortController();
    const calling = call("find", { pattern: `*.none${at}` }, { signal: aborting.signal });
    if (random(3) > 0) {
      assert.ok((await calling).content[0].text.length > 0);
      answered += 1;
      return;
    }
    queueMicrotask(() => aborting.abort());
    await calling.then(() => (answered += 1), () => (givenUp += 1));
  };
  for (let at = 0; at < calls; ) {
    await Promise.all(Array.from({ length: Math.min(1 + random(16), calls - at) }, () => one(at++)));
  }
  assert.equal(answered + givenUp, calls);
  assert.ok(answered > calls / 2 && givenUp > 0, `${answered} answered, ${givenUp} given up`);
  assert.match((await call("grep", { pattern: "needle" })).content[0].text, /needle/);
  await client.close();
}
console.log("all is well");
