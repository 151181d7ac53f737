// Measures the agent inside an editor: the time from its start to its first answer, a new session, and the time from
// sending a prompt to the first word of the answer.
//
// Needs the program: `npm run build -- --agent`, or its path in SINEW_BIN.
import { rmSync } from "node:fs";
import { Client } from "../lib/mcp-client.mjs";
import { median, sinew } from "../lib/program.mjs";
import { home, serve } from "../lib/provider.mjs";

const ROUNDS = 25;

export default async function (bench) {
  const program = sinew();
  if (!program) return;
  const { server, state, url } = await serve();
  const { folder, cwd, env } = home("acp", url);
  const times = { start: [], session: [], update: [] };
  const since = (begun) => Number(process.hrtime.bigint() - begun) / 1e6;
  try {
    for (let round = 0; round < ROUNDS; round++) {
      let begun = process.hrtime.bigint();
      let said;
      const editor = new Client(program, ["--mode", "acp", "--model", "local/m"], env, ({ params }) => {
        if (params?.update?.sessionUpdate === "agent_message_chunk") said ??= since(begun);
      });
      await editor.ask("initialize", { protocolVersion: 1, clientCapabilities: {} });
      times.start.push(since(begun));
      begun = process.hrtime.bigint();
      const { sessionId } = await editor.ask("session/new", { cwd, mcpServers: [] });
      times.session.push(since(begun));
      // Starts when the provider has received the request. Its answer is one piece.
      state.asked = () => (begun = process.hrtime.bigint());
      await editor.ask("session/prompt", { sessionId, prompt: [{ type: "text", text: "hi" }] });
      times.update.push(said);
      await editor.end();
    }
  } finally {
    server.close();
    server.closeAllConnections();
    rmSync(folder, { recursive: true, force: true });
  }
  const fact = (title, list, target) => bench.fact(title, Number(median(list).toFixed(1)), target);
  fact("sinew --mode acp, from its start to the answer to initialize, ms", times.start, "≤ 15");
  fact("session/new, ms", times.session, "≤ 10");
  fact("from a provider's request to the update with its answer, ms", times.update, "≤ 2");
}
