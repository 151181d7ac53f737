// A local model that plays a script: an OpenAI-compatible server.
import { createServer } from "node:http";

const chunk = (choice, more = {}) => `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: choice ? [{ index: 0, ...choice }] : [], ...more })}\n\n`;

/** One answer: a text, or calls of tools as `[name, arguments]`. */
function answer(turn, number) {
  const calls = typeof turn === "string" ? undefined : turn;
  const tool_calls = calls?.map(([name, args], index) => ({ index, id: `call_${number}_${index}`, type: "function", function: { name, arguments: JSON.stringify(args) } }));
  const usage = { prompt_tokens: 8, completion_tokens: 2, total_tokens: 10 };
  return [
    chunk({ delta: calls ? { role: "assistant", content: null, tool_calls } : { role: "assistant", content: turn } }),
    chunk({ delta: {}, finish_reason: calls ? "tool_calls" : "stop" }),
    chunk(undefined, { usage }),
    "data: [DONE]\n\n",
  ].join("");
}

/**
 * Listens on the own machine. Requests without tools, such as one for a title, get a text. A turn may be a function of the request.
 * `pages` are texts by path, as of a website; `aside` answers requests of other conversations, and returns undefined for those of the script.
 */
export async function serveModel(turns, { pages = {}, aside = () => undefined } = {}) {
  const requests = [];
  const left = [...turns];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (data) => (body += data)).on("end", () => {
      const path = request.url.split("?")[0];
      if (path in pages) return response.writeHead(200, { "content-type": "text/html" }).end(pages[path]);
      if (!path.endsWith("/chat/completions")) return response.writeHead(404).end("{}");
      const json = JSON.parse(body);
      requests.push(json);
      const next = json.tools?.length ? (aside(json) ?? left.shift() ?? "the end") : "a title";
      response.writeHead(200, { "content-type": "text/event-stream" }).end(answer(typeof next === "function" ? next(json) : next, requests.length));
    });
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  const url = `http://127.0.0.1:${server.address().port}`;
  return { url, requests, close: () => new Promise((closed) => server.close(closed).closeAllConnections()) };
}

/** The texts of one role in a request. */
export function textsOf(wanted, { messages }) {
  const text = (content) => (typeof content === "string" ? content : content.map((part) => part.text ?? "").join(""));
  return messages.filter(({ role }) => role === wanted).map(({ content }) => text(content));
}
