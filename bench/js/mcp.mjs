// Measures our tools over the Model Context Protocol: a call against the same search without the protocol, the start of
// the server, and the memory of our client when a server floods it.
//
// Needs the program: `npm run build -- --agent`, or its path in SINEW_BIN. SINEW_BENCH_TREE sets the tree that is
// searched (default: the sources of this repository).
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "../../scripts/lib/steps.mjs";
import { Client } from "../lib/mcp-client.mjs";
import { median, sinew } from "../lib/program.mjs";

const STARTS = 25;
/** Matches in few places, so that most of the time goes to the search and no rows are cut. */
const PATTERN = "fn (overflowing|parse|decode)_\\w+_\\w+\\(";

const tree = () => process.env.SINEW_BENCH_TREE ?? join(ROOT, "crates");

/** Milliseconds from the start of the server to its first answer. */
async function start(command, args, env) {
  const begun = process.hrtime.bigint();
  const client = new Client(command, args, env);
  await client.greet();
  const ms = Number(process.hrtime.bigint() - begun) / 1e6;
  await client.end();
  return ms;
}

/** A server that writes this many MB without a line end and then continues normally. */
const FLOOD = `
import { createInterface } from "node:readline";
const megabytes = Number(process.argv[2]);
const chunk = Buffer.alloc(1 << 20, "x");
const answers = {
  initialize: (params) => ({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "flood", version: "1" } }),
  "tools/list": () => ({ tools: [{ name: "t", description: "d", inputSchema: { type: "object" } }] }),
};
const write = (data) => new Promise((resolve) => process.stdout.write(data, resolve));
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  if (method === "tools/list") {
    for (let i = 0; i < megabytes; i++) await write(chunk);
    if (megabytes) await write("\\n");
  }
  const answer = answers[method] ? { result: answers[method](params) } : { error: { code: -32601, message: "unknown" } };
  await write(JSON.stringify({ jsonrpc: "2.0", id, ...answer }) + "\\n");
}
`;

/** Our peak memory in MB while we ask such a server for its tools; undefined if there is no /proc. */
async function peak(program, folder, env, megabytes) {
  if (!existsSync("/proc/self/status")) return undefined;
  writeFileSync(join(folder, "flood.mjs"), FLOOD);
  const servers = { mcpServers: { flood: { command: process.execPath, args: [join(folder, "flood.mjs"), String(megabytes)] } } };
  const config = join(folder, `flood-${megabytes}.json`);
  writeFileSync(config, JSON.stringify(servers));
  const child = spawn(program, ["mcp", "test", "flood", "--mcp-config", config], { env, cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (data) => (said += data));
  let most;
  // The kernel records the peak, so the last reading before the end is close to the final one.
  const look = setInterval(() => {
    const found = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, { encoding: "utf8", flag: "r" }));
    if (found) most = Number(found[1]) / 1024;
  }, 2);
  const code = await new Promise((resolve) => child.once("exit", resolve));
  clearInterval(look);
  if (code !== 0 || most === undefined) throw new Error(`mcp test ended with ${code}: ${said}`);
  return most;
}

export default async function (bench) {
  const program = sinew();
  if (!program) return;
  const folder = mkdtempSync(join(tmpdir(), "mcp-bench-"));
  const env = { PATH: process.env.PATH, HOME: folder, SINEW_HOME: join(folder, "sinew") };
  const root = tree();
  const args = ["mcp", "serve", "--root", root];
  try {
    const client = new Client(program, args, env);
    await client.greet();
    const { grep } = bench.natives;
    const direct = () => grep({ pattern: PATTERN, path: root, gitignore: true, hidden: true });
    const [text, found] = [await client.call("grep", { pattern: PATTERN }), await direct()];
    const rows = text.split("\n").filter((line) => /^\d+:/.test(line)).length;
    if (!rows || rows !== found.matches.length) throw new Error(`not the same search: ${rows} rows through the server, ${found.matches.length} direct`);
    await bench.compare(`grep of ${root.slice(root.lastIndexOf("/") + 1)}, through the server`, { sinew: () => client.call("grep", { pattern: PATTERN }), direct }, { targets: { direct: 1.2 } });
    await bench.compare("a call that does nothing", { sinew: () => client.call("html_to_markdown", { html: "x" }) });
    await client.end();
    const times = [];
    for (let i = 0; i < STARTS; i++) times.push(await start(program, args, env));
    bench.fact("mcp serve, from its start to its first answer, ms", Number(median(times).toFixed(1)), "≤ 15");
    const calm = await peak(program, folder, env, 0);
    if (calm !== undefined) {
      const flooded = await peak(program, folder, env, 1024);
      bench.fact("our memory while a server writes 1 GB in one line, MB more", Number((flooded - calm).toFixed(1)), "≤ 24");
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}
