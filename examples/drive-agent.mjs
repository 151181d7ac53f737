#!/usr/bin/env node
// Sends one message to the agent over RPC, offers it a tool of this program, and prints what happens.
//
//   node examples/drive-agent.mjs MESSAGE [options of sinew, such as --model or --script]
//
// The program is `sinew` on the PATH, or the one that SINEW_BIN names. A call that a rule asks about is refused.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const [message, ...options] = process.argv.slice(2);
if (!message) {
  console.error("usage: drive-agent.mjs MESSAGE [options of sinew]");
  process.exit(2);
}

const agent = spawn(process.env.SINEW_BIN ?? "sinew", ["--mode", "rpc", "--no-session", ...options], { stdio: ["pipe", "pipe", "inherit"] });
agent.on("error", (error) => {
  console.error(`failed to start sinew: ${error.message}`);
  process.exit(1);
});
const send = (command) => agent.stdin.write(`${JSON.stringify(command)}\n`);

/** The tools of this program: what the model reads about each, and what runs. */
const tools = {
  current_time: {
    description: "Returns the current time of the user's machine, as ISO 8601.",
    parameters: { type: "object", properties: {} },
    run: () => new Date().toISOString(),
  },
};

const handlers = {
  ready() {
    send({ type: "set_host_tools", tools: Object.entries(tools).map(([name, { description, parameters }]) => ({ name, description, parameters })) });
    send({ type: "prompt", message });
  },
  message_update({ assistantMessageEvent: { type, delta } }) {
    if (type === "text_delta") process.stdout.write(delta);
    if (type === "text_end") process.stdout.write("\n");
  },
  tool_execution_start({ toolName, args }) {
    console.log(`[${toolName} ${JSON.stringify(args)}]`);
  },
  host_tool_call({ id, toolName, arguments: args }) {
    send({ type: "host_tool_result", id, result: tools[toolName].run(args) });
  },
  extension_ui_request({ id, method, title }) {
    if (method !== "confirm") return;
    console.log(`[refused: ${title}]`);
    send({ type: "extension_ui_response", id, confirmed: false });
  },
  agent_settled() {
    send({ type: "get_session_stats" });
  },
  response({ command, success, data, error }) {
    if (!success) console.error(`${command} failed: ${error}`);
    if (command !== "get_session_stats") return;
    console.log(`[${data.tokens.total} tokens, $${data.cost.toFixed(4)}]`);
    // The agent exits when its standard input is closed.
    agent.stdin.end();
  },
};

for await (const line of createInterface({ input: agent.stdout })) {
  const frame = JSON.parse(line);
  handlers[frame.type]?.(frame);
}
