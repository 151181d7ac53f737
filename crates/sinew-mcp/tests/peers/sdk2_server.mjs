// A server of the second TypeScript SDK, for both eras: `sdk2_server.mjs PACKAGE stdio|http`.
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";

const [folder, transport] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(`${folder}/dist/${path}`));
const { Server, createMcpHandler } = await load("index.mjs");

const number = { type: "number" };
const tools = [
  { name: "add", inputSchema: { type: "object", properties: { a: number, b: number } } },
  { name: "wait", inputSchema: { type: "object" } },
  { name: "count", inputSchema: { type: "object" } },
];
let cancelled = 0;
const factory = ({ era }) => {
  const server = new Server({ name: "sdk2", version: "1" }, { capabilities: { tools: {} }, instructions: era });
  server.setRequestHandler("tools/list", () => ({ tools }));
  server.setRequestHandler("tools/call", async ({ params: { name, arguments: given } }, { mcpReq: { signal } }) => {
    if (name === "wait") {
      // The call may have been cancelled already.
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
      cancelled += 1;
    }
    const text = name === "count" ? cancelled : given?.a + given?.b;
    return { content: [{ type: "text", text: String(text) }] };
  });
  return server;
};

if (transport === "stdio") {
  const { serveStdio } = await load("stdio.mjs");
  serveStdio(factory);
} else {
  const handler = createMcpHandler(factory);
  const server = createServer(async (request, response) => {
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    const left = new AbortController();
    response.on("close", () => left.abort());
    const { method, headers } = request;
    const body = pieces.length ? Buffer.concat(pieces) : undefined;
    const url = `http://${headers.host}${request.url}`;
    const answer = await handler.fetch(new Request(url, { method, headers, body, signal: left.signal }));
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    for await (const piece of answer.body ?? []) response.write(piece);
    response.end();
  });
  server.listen(Number(process.env.PORT), "127.0.0.1", () => console.error("it listens"));
}
