// Tests qwen-code from npm under Node with our module instead of node-pty.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { run } from "../../packages/natives/test/host.mjs";
import { installedAgents } from "./agents.mjs";
import { serveModel, textsOf } from "./model.mjs";

test("qwen-code runs commands on a terminal of ours", { skip: process.platform === "win32" && "Unix only" }, async (t) => {
  const program = join(installedAgents("qwen-code"), "@qwen-code", "qwen-code", "cli.js");
  const folder = mkdtempSync(join(tmpdir(), "overrides-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const cwd = join(folder, "project");
  for (const each of [cwd, join(folder, ".qwen")]) mkdirSync(each);
  writeFileSync(join(folder, ".qwen", "settings.json"), JSON.stringify({ tools: { shell: { enableInteractiveShell: true } } }));
  // In our terminals the supervisor is the parent of the shell.
  const command = 'test -t 1 && echo "on-$((40 + 2))-a-terminal under $(cat /proc/$PPID/comm 2>/dev/null || ps -o comm= -p $PPID)"';
  const model = await serveModel([[["run_shell_command", { command, description: "test", is_background: false }]], "that was all"]);
  t.after(model.close);
  const env = { HOME: folder, OPENAI_API_KEY: "none", OPENAI_BASE_URL: `${model.url}/v1`, OPENAI_MODEL: "m", TERM: "xterm-256color" };
  const { code, out, err } = await run(process.execPath, [program, "--yolo", "-p", "go"], { cwd, env });
  assert.deepEqual([code, out.trim()], [0, "that was all"], err);
  assert.match(textsOf("tool", model.requests.at(-1))[0], /on-42-a-terminal under sinew-shell-ho/);
});
