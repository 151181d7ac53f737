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
await client.close();
console.log("all is well");
