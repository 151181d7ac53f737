// A client of the TypeScript SDK: `mcp_client.mjs SDK PROGRAM ARGUMENT...`, or `mcp_client.mjs SDK ADDRESS TOKEN`.
import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";

const [sdk, command, ...args] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(`${sdk}/dist/esm/${path}`));
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");
const { StreamableHTTPClientTransport } = await load("client/streamableHttp.js");

const client = new Client({ name: "test", version: "1" });
const transport = command.startsWith("http://")
  ? new StreamableHTTPClientTransport(new URL(command), { requestInit: { headers: { Authorization: `Bearer ${args[0]}` } } })
  : new StdioClientTransport({ command, args, env: process.env });
await client.connect(transport);
const { tools } = await client.listTools();
assert.equal(tools[0].name, "grep");
const found = await client.callTool({ name: "grep", arguments: { pattern: "needle" } });
assert.match(found.content[0].text, /needle\(\);/);
const best = await client.callTool({ name: "fuzzy_find", arguments: { query: "mainrs" } });
assert.deepEqual(best.structuredContent.paths, ["src/main.rs"]);
const refused = await client.callTool({ name: "read", arguments: { path: "/etc/passwd" } });
assert.equal(refused.isError, true);
await client.close();
console.log("all is well");
