// Measures the agent from its start to its first request and to its end, and other agents on the same loopback server.
//
// Needs the program: `npm run build -- --agent`, or its path in SINEW_BIN.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { median, program, sinew } from "../lib/program.mjs";
import { serve } from "../lib/provider.mjs";

const ROUNDS = 11;

/**
 * Runs a command and returns the ms to the first request, the ms to the end, and the exit code. With `weigh`, also
 * returns its peak memory in MB if GNU time is installed. GNU time itself takes some ms, so ignore the times of such
 * a run.
 */
function measure({ command, env, cwd }, state, weigh = false) {
  return new Promise((resolve) => {
    const begun = process.hrtime.bigint();
    const since = () => Number(process.hrtime.bigint() - begun) / 1e6;
    let first;
    if (state) state.asked = () => (first ??= since());
    // It reports the peak of the largest process in the whole tree.
    const timed = weigh && existsSync("/usr/bin/time") ? ["/usr/bin/time", "-f", "peak %M", ...command] : command;
    const child = spawn(timed[0], timed.slice(1), { cwd, env: { PATH: process.env.PATH, HOME: env.HOME, ...env }, stdio: ["ignore", "pipe", "pipe"] });
    let errors = "";
    let output = "";
    child.stdout.on("data", (data) => (output += data));
    child.stderr.on("data", (data) => (errors += data));
    child.on("close", (code) => {
      const peak = /peak (\d+)/.exec(errors);
      resolve({ first, end: since(), peak: peak && Number(peak[1]) / 1024, code, output, errors });
    });
  });
}

export default async function (bench) {
  const own = sinew();
  if (!own) return;
  const folder = mkdtempSync(join(tmpdir(), "agent-bench-"));
  const cwd = join(folder, "project");
  mkdirSync(cwd);
  const { server, state, url } = await serve();
  const model = { id: "m", name: "m", reasoning: false, input: ["text"], contextWindow: 100000, maxTokens: 8000, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } };
  const models = JSON.stringify({ providers: { local: { baseUrl: url, api: "openai-completions", apiKey: "none", models: [model] } } });
  const put = (name, text) => {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  };
  put("sinew/agent/models.json", models);
  put("pi/models.json", models);
  put("codex/config.toml", `model = "m"\nmodel_provider = "local"\n[model_providers.local]\nname = "local"\nbase_url = "${url}"\nwire_api = "responses"\n`);
  put("script.jsonl", `${JSON.stringify({ type: "turn", content: [{ text: "hi" }] })}\n`);
  const HOME = folder;
  const pi = program("@earendil-works/pi-coding-agent", "pi");
  // This agent needs a newer Node than the benchmarks.
  const node = program("node", "node") ?? process.execPath;
  const codex = program("@openai/codex", "codex");
  const agents = {
    sinew: { run: [own], env: { HOME, SINEW_HOME: join(folder, "sinew") }, ask: ["-p", "--model", "local/m", "hi"] },
    pi: pi && { run: [node, pi], env: { HOME, PI_CODING_AGENT_DIR: join(folder, "pi"), PI_OFFLINE: "1" }, ask: ["-p", "--provider", "local", "--model", "m", "hi"] },
    codex: codex && { run: [process.execPath, codex], env: { HOME, CODEX_HOME: join(folder, "codex") }, ask: ["exec", "--skip-git-repo-check", "hi"] },
  };
  const runs = [
    { title: "--version", words: () => ["--version"], of: "end", most: 5 },
    { title: "first request on the wire", words: (agent) => agent.ask, of: "first", most: 50 },
    { title: "one turn over a loopback server", words: (agent) => agent.ask, of: "end" },
  ];
  for (const { title, words, of, most } of runs) {
    const contenders = {};
    for (const [name, agent] of Object.entries(agents)) {
      if (!agent) continue;
      const job = { command: [...agent.run, ...words(agent)], env: agent.env, cwd };
      const trial = await measure(job, state, true);
      if (trial.code !== 0 || (of === "first" && trial.first === undefined)) {
        console.log(`  ${name}: ${title}: did not run here: ${trial.errors.trim().split("\n").slice(-2)[0]}`);
        continue;
      }
      contenders[name] = { job, ms: [], peak: trial.peak ?? 0 };
    }
    for (let round = 0; round < ROUNDS; round++) {
      for (const contender of Object.values(contenders)) {
        contender.ms.push((await measure(contender.job, state))[of]);
      }
    }
    for (const [name, { ms, peak }] of Object.entries(contenders)) {
      const target = name === "sinew" && most ? `≤ ${most} ms` : undefined;
      bench.fact(`${title}, ${name}`, `${median(ms).toFixed(1)} ms, ${peak.toFixed(1)} MB`, target);
    }
  }
  const job = { command: [own, "--script", join(folder, "script.jsonl"), "-p", "hi"], env: agents.sinew.env, cwd };
  const scripted = [];
  const { peak = 0 } = await measure(job, undefined, true);
  for (let round = 0; round < ROUNDS; round++) scripted.push(await measure(job));
  const ms = median(scripted.map((ran) => ran.end)).toFixed(1);
  bench.fact("one scripted turn, sinew", `${ms} ms, ${peak.toFixed(1)} MB`, "≤ 40 ms, ≤ 20 MB");
  server.close();
  rmSync(folder, { recursive: true, force: true });
}
