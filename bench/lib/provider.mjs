// A provider on this machine that gives the same short answer to every request.
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

const sse = (events) => events.map((event) => (typeof event === "string" ? `data: ${event}\n\n` : `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)).join("");
const message = { type: "message", id: "m", role: "assistant", status: "completed", content: [{ type: "output_text", text: "hi", annotations: [] }] };
const usage = { input_tokens: 8, input_tokens_details: null, output_tokens: 2, output_tokens_details: null, total_tokens: 10 };
/** The text of one event of chat completions. */
export const chunk = (delta, finish_reason) => sse([JSON.stringify({ id: "c", object: "chat.completion.chunk", model: "m", choices: [{ index: 0, delta, finish_reason }] })]);
/** The end of an answer after the chunk with its reason. */
export const ENDING = sse([JSON.stringify({ id: "c", object: "chat.completion.chunk", model: "m", choices: [], usage: { prompt_tokens: 8, completion_tokens: 2, total_tokens: 10 } }), "[DONE]"]);
/** A short answer in the format of each protocol. */
const ANSWERS = {
  "/chat/completions": chunk({ role: "assistant", content: "hi" }) + chunk({}, "stop") + ENDING,
  "/responses": sse([
    { type: "response.created", response: { id: "r" } },
    { type: "response.output_item.added", output_index: 0, item: { ...message, status: "in_progress", content: [] } },
    { type: "response.output_text.delta", output_index: 0, content_index: 0, item_id: "m", delta: "hi" },
    { type: "response.output_item.done", output_index: 0, item: message },
    { type: "response.completed", response: { id: "r", status: "completed", output: [message], usage } },
  ]),
};

/** Listens on this machine. `asked` is called when a request for an answer has arrived. */
export async function serve() {
  const state = { asked: undefined };
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      const path = Object.keys(ANSWERS).find((path) => request.url.split("?")[0].endsWith(path));
      if (!path) return response.writeHead(404).end("{}");
      state.asked?.();
      response.writeHead(200, { "content-type": "text/event-stream" }).end(ANSWERS[path]);
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, state, url: `http://127.0.0.1:${server.address().port}/v1` };
}

/** Creates a temporary folder with a project and an agent's settings, in which `local/m` is the model at `url`. */
export function home(name, url) {
  const folder = mkdtempSync(join(tmpdir(), `${name}-bench-`));
  const cwd = join(folder, "project");
  const agent = join(folder, "sinew", "agent");
  mkdirSync(cwd);
  mkdirSync(agent, { recursive: true });
  const model = { id: "m", name: "m", contextWindow: 100000, maxTokens: 8000 };
  writeFileSync(join(agent, "models.json"), JSON.stringify({ providers: { local: { baseUrl: url, api: "openai-completions", apiKey: "none", models: [model] } } }));
  return { folder, cwd, env: { PATH: process.env.PATH, HOME: folder, SINEW_HOME: join(folder, "sinew") } };
}
