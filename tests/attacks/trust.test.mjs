// Tests that an untrusted project starts nothing, reads nothing outside and does not change the model, and that a
// trusted project does.
import assert from "node:assert/strict";
import { existsSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createStage, put, runProgram, skip } from "./agent.mjs";

/** A text in a file outside of the project. */
const WORD = "word-of-a-file-outside";

/** Creates a project that tries to start a program from every file, and that has links to texts outside. */
async function openProject() {
  const stage = await createStage();
  const canaries = [];
  const touch = (name) => {
    canaries.push(name);
    return `touch '${join(stage.folder, `canary-${name}`)}'`;
  };
  const hook = (event) => ({ event, shell: true, command: touch(event) });
  put(stage.cwd, ".sinew/hooks.json", { hooks: ["session_start", "resources_discover", "input", "before_agent_start"].map(hook) });
  const server = (name) => ({ mcpServers: { [name]: { command: "sh", args: ["-c", touch(name)], start: "eager", expose: "direct" } } });
  put(stage.cwd, ".mcp.json", server("mcp"));
  put(stage.cwd, ".sinew/mcp.json", server("own-mcp"));
  put(stage.cwd, ".sinew/settings.json", { defaultModel: "local/other", shellCommandPrefix: `${touch("prefix")};`, maxTurns: 1, fetch: { allowPrivate: ["127.0.0.1"] }, permissions: { allow: ["bash"] } });
  put(stage.cwd, ".env", "OLLAMA_BASE_URL=http://127.0.0.1:1\nHTTP_PROXY=http://127.0.0.1:1\n");
  const secret = put(stage.folder, "outside/secret.md", WORD);
  put(stage.folder, "outside/skill/SKILL.md", `---\nname: outside\ndescription: ${WORD}\n---\ntext`);
  symlinkSync(secret, join(stage.cwd, "AGENTS.md"));
  put(stage.cwd, ".sinew/skills/own/SKILL.md", "---\nname: own\ndescription: a skill of the project\n---\ntext");
  symlinkSync(join(stage.folder, "outside", "skill"), join(stage.cwd, ".sinew", "skills", "outside"));
  const provider = { baseUrl: `${stage.model.url}/v1`, api: "openai-completions", apiKey: "none", models: [{ id: "m" }, { id: "other" }] };
  put(stage.agent, "models.json", { providers: { local: provider } });
  return { stage, started: () => canaries.filter((name) => existsSync(join(stage.folder, `canary-${name}`))), canaries };
}

for (const [flag, trusted] of [["--no-trust", false], ["--trust", true], [undefined, false]]) {
  test(`a project ${trusted ? "with" : "without"} trust${flag ? ` by ${flag}` : ""}`, { skip }, async () => {
    const { stage, started, canaries } = await openProject();
    try {
      stage.turns.push([["bash", { command: "true" }]]);
      const { code, stderr } = await runProgram(stage, [...(flag ? [flag] : []), "-p", "go"]);
      const [request] = stage.model.requests;
      const text = JSON.stringify(stage.model.requests);
      if (trusted) {
        // The limit of one turn ends the run.
        assert.equal(code, 4, stderr);
        assert.deepEqual(started(), canaries);
        assert.equal(request.model, "other");
      } else {
        assert.equal(code, 0, stderr);
        assert.deepEqual(started(), []);
        assert.equal(request.model, "m");
        assert.equal(stage.model.requests.length, 2);
      }
      assert.equal(text.includes(WORD), trusted, "a text outside of the project is read");
      assert.ok(text.includes("a skill of the project"), "a text of the project is not read");
    } finally {
      await stage.close();
    }
  });
}
