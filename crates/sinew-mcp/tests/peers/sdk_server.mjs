// A server of the TypeScript SDK over standard streams: `sdk_server.mjs SDK`.
import { pathToFileURL } from "node:url";

const [sdk] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(`${sdk}/dist/esm/${path}`));
const { Server } = await load("server/index.js");
const { StdioServerTransport } = await load("server/stdio.js");
const { CallToolRequestSchema, ListToolsRequestSchema } = await load("types.js");

const server = new Server({ name: "sdk", version: "1" }, { capabilities: { tools: {} } });
const number = { type: "number" };
const tools = [
  { name: "add", inputSchema: { type: "object", properties: { a: number, b: number } } },
  { name: "wait", inputSchema: { type: "object" } },
];
let cancelled = 0;
server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
server.setRequestHandler(CallToolRequestSchema, async ({ params: { name, arguments: given } }, { signal }) => {
  if (name === "wait") {
    // The call may have been cancelled already.
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
    cancelled += 1;
  }
  const text = name === "count" ? cancelled : given?.a + given?.b;
  return { content: [{ type: "text", text: String(text) }] };
});
await server.connect(new StdioServerTransport());
