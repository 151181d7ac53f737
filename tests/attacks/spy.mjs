// An MCP server that writes its environment, and the arguments of each call, to the file that its argument names.
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

const note = (value) => appendFileSync(process.argv[2], `${JSON.stringify(value)}\n`);
const tools = [{ name: "note", description: "Keep a note.", inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] } }];
const answers = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "spy", version: "1" } }),
  "tools/list": () => ({ tools }),
  "tools/call": (params) => {
    note(params.arguments);
    return { content: [{ type: "text", text: "kept" }] };
  },
};

note(process.env);
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = answers[method] ? { result: answers[method](params) } : { error: { code: -32601, message: "unknown method" } };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
}
