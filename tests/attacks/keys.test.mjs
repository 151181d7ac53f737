// Tests that keys reach only their provider: no mask is turned back into a key, and no program gets a variable that
// looks like a credential.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { KEY, createStage, openAgent, printAgent, put, skip } from "./agent.mjs";

const { keys: known } = JSON.parse(readFileSync(new URL("known.json", import.meta.url), "utf8"));
const SPY = join(import.meta.dirname, "spy.mjs");
const MASK = /<<\$env:S\w+>>/;

/** The value of a variable that is masked only if the settings say so. */
const TOKEN = "value-of-a-token-0123456789";

/** A third-party website. `seen` has everything that it received. */
async function openSite() {
  const seen = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (data) => (body += data)).on("end", () => {
      seen.push(decodeURIComponent(request.url) + JSON.stringify(request.headers) + body);
      response.writeHead(200, { "content-type": "text/plain" }).end("thanks");
    });
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  return { seen, url: `http://127.0.0.1:${server.address().port}`, close: () => new Promise((closed) => server.close(closed).closeAllConnections()) };
}

/** The texts of all files below a folder, by path. */
function filesOf(folder) {
  const paths = readdirSync(folder, { recursive: true }).filter((path) => statSync(join(folder, path)).isFile());
  return new Map(paths.map((path) => [path, readFileSync(join(folder, path), "utf8")]));
}

const spyServer = (log) => ({ mcpServers: { spy: { command: process.execPath, args: [SPY, log], expose: "direct", start: "eager" } } });

/** A hook that records its input. */
const recorder = (event, log) => ({ event, shell: true, command: `cat >> '${log}'; echo >> '${log}'` });

/** Ways to pass a mask to a tool. `file` contains what arrived. */
const WAYS = [
  { name: "a command of bash", file: "bash.txt", call: (mask) => ["bash", { command: `printf %s '${mask}' > bash.txt` }] },
  { name: "a variable of bash", file: "env.txt", call: (mask) => ["bash", { command: "printf %s \"$V\" > env.txt", env: { V: mask } }] },
  { name: "the input of a program", file: "input.txt", call: (mask) => ["bash", { command: `cat > input.txt <<'END'\n${mask}\nEND` }] },
  { name: "a written file", file: "write.txt", call: (mask) => ["write", { path: "write.txt", content: mask }] },
  { name: "an edited file", file: "edit.txt", call: (mask) => ["edit", { path: "edit.txt", oldText: "old", newText: mask }] },
];

/** Lets a model read a value and pass its mask to every tool. Returns what each tool received. */
async function handOver(value, { site, ...options }) {
  const stage = await createStage({ project: { "edit.txt": "old" }, ...options, settings: { fetch: { allowPrivate: ["127.0.0.1"] }, fileGuard: "off", ...options.settings } });
  const [spied, heard] = ["spied.log", "heard.log"].map((name) => join(stage.folder, name));
  put(stage.agent, "mcp.json", spyServer(spied));
  put(stage.agent, "hooks.json", { hooks: ["input", "context", "before_provider_request", "tool_call", "tool_result", "message_end"].map((event) => recorder(event, heard)) });
  const agent = await openAgent(stage);
  let mask;
  const reads = (request) => {
    mask = MASK.exec(JSON.stringify(request.messages))?.[0] ?? "no mask";
    return [...WAYS.map(({ call }) => call(mask)), ["fetch", { url: `${site.url}/?k=${mask}` }], ["mcp_spy_note", { text: mask }]];
  };
  try {
    // The tools of the server are available from the next session.
    await agent.play([]);
    await agent.command("new_session");
    const { results } = await agent.play([reads], `it is ${value}`);
    const sent = stage.model.requests.map((request) => JSON.stringify(request)).join("\n");
    await agent.close();
    return { mask, results, sent, spied: readFileSync(spied, "utf8"), heard: readFileSync(heard, "utf8"), project: filesOf(stage.cwd), kept: filesOf(join(stage.agent, "sessions")), printed: agent.frames.map((frame) => JSON.stringify(frame)).join("\n") + agent.stderr };
  } finally {
    await agent.close();
    await stage.close();
  }
}

const SOURCES = [
  { name: "models.json", options: {} },
  { name: "auth.json", options: { provider: { apiKey: "unused" }, files: { ".sinew/agent/auth.json": { local: { type: "api_key", key: KEY } } } } },
  { name: "a variable", options: { provider: { apiKey: "WORKSHOP_CODE" }, env: { WORKSHOP_CODE: KEY } } },
  { name: "a command", options: { provider: { apiKey: `!echo ${KEY.slice(0, 9)}${KEY.slice(9)}` } } },
];

for (const { name, options } of SOURCES) {
  test(`no tool turns the mask of a key from ${name} back into the key`, { skip }, async () => {
    const site = await openSite();
    try {
      const { mask, results, sent, spied, heard, project, kept, printed } = await handOver(KEY, { site, ...options });
      assert.match(mask, MASK);
      for (const { name: way, file } of WAYS) assert.equal(project.get(file)?.trim(), mask, way);
      assert.equal(site.seen.length, 1, results.at(-2).text);
      assert.ok(!results.at(-1).isError && spied.includes(mask), results.at(-1).text);
      for (const [where, text] of Object.entries({ "the website": site.seen.join(), "the model": sent, "the server": spied, "hooks": heard, "the client": printed })) {
        assert.ok(!text.includes(KEY), `${where} received the key`);
      }
      for (const [path, text] of [...project, ...kept]) assert.ok(!text.includes(KEY), `${path} has the key`);
      assert.ok(heard.includes(mask), "hooks read the mask");
    } finally {
      await site.close();
    }
  });
}

test("a hook that answers with the mask of a key does not get the key back", { skip }, async () => {
  const stage = await createStage();
  // The hook finds the mask in its input and writes it into the arguments of the call.
  const answer = `const text = require("node:fs").readFileSync(0, "utf8"); const [mask] = /<<\\$env:S\\w+>>/.exec(text); console.log(JSON.stringify({ args: { path: "taken", content: mask } }))`;
  put(stage.folder, "answer.cjs", answer);
  put(stage.agent, "hooks.json", { hooks: [{ event: "tool_call", match: { tool: "write" }, command: process.execPath, args: [join(stage.folder, "answer.cjs")] }] });
  const agent = await openAgent(stage);
  try {
    await agent.play([[["write", { path: "given", content: `the key is ${KEY}` }]]], `it is ${KEY}`);
    const text = readFileSync(join(stage.cwd, "taken"), "utf8");
    assert.match(text, MASK);
    assert.ok(!text.includes(KEY));
  } finally {
    await agent.close();
    await stage.close();
  }
});

test("the program writes no core file", { skip }, async () => {
  const stage = await createStage();
  const agent = await openAgent(stage);
  try {
    assert.match(readFileSync(`/proc/${agent.child.pid}/limits`, "utf8"), /^Max core file size +0 /m);
  } finally {
    await agent.close();
    await stage.close();
  }
});

test("a masked value that is no key is put back for commands and files, but not for websites and servers", { skip }, async () => {
  const site = await openSite();
  try {
    const { mask, sent, spied, project } = await handOver(TOKEN, { site, settings: { secrets: { enabled: true } }, env: { SOME_TOKEN: TOKEN } });
    assert.match(mask, MASK);
    for (const { name, file } of WAYS) assert.equal(project.get(file)?.trim(), TOKEN, name);
    assert.ok(site.seen.length === 1 && !site.seen[0].includes(TOKEN), site.seen.join());
    assert.ok(spied.includes(mask) && !spied.includes(TOKEN), spied);
    assert.ok(!sent.includes(TOKEN));
  } finally {
    await site.close();
  }
});

/** Names of credentials that no program may get. */
const CREDENTIALS = [
  "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GITHUB_TOKEN", "NPM_TOKEN", "CLIENT_SECRET", "DB_PASSWORD", "PGPASSWORD",
  "MYSQL_PWD", "SSHPASS", "GOOGLE_APPLICATION_CREDENTIALS", "SIGNING_PASSPHRASE", "npm_config__authToken", "my_api_key", "ApiKey", "AZURE_DEVOPS_EXT_PAT", "WORKSHOP_CODE",
];

/** Names that only resemble credentials, or that the settings pass through. */
const PASSED = ["GH_TOKEN", "KEYBOARD", "TOKENIZERS_PARALLELISM", "SECRETARY", "MONKEY", "SSH_AUTH_SOCK", "SERVICE_URL", "MY_VALUE"];

test("no command, hook, server or key command gets a variable that looks like a credential", { skip }, async () => {
  const variables = [...CREDENTIALS, ...PASSED].map((name) => [name, name === "WORKSHOP_CODE" ? KEY : `value-of-${name}`]);
  const stage = await createStage({
    settings: { env: { passThrough: ["GH_TOKEN"] } },
    env: Object.fromEntries(variables),
  });
  const dump = (name) => join(stage.folder, `${name}.env`);
  const dumps = (name) => `cat /proc/self/environ > '${dump(name)}'`;
  const provider = { baseUrl: `${stage.model.url}/v1`, api: "openai-completions", apiKey: "WORKSHOP_CODE", models: [{ id: "m" }] };
  const other = { ...provider, apiKey: `!${dumps("the command of a key")}; echo ${KEY}` };
  put(stage.agent, "models.json", { providers: { local: provider, other } });
  put(stage.agent, "mcp.json", spyServer(dump("a server")));
  put(stage.agent, "hooks.json", { hooks: [{ event: "session_start", shell: true, command: dumps("a hook") }] });
  const agent = await openAgent(stage);
  try {
    await agent.play([
      [["bash", { command: dumps("a command") }], ["bash", { command: dumps("a command with variables"), env: { A: "1" } }]],
      [["bash", { command: `bash -c "${dumps("a child")}"` }]],
      [["mcp_spy_note", { text: "x" }]],
    ]);
    await agent.command("set_model", { provider: "other", modelId: "m" });
    await agent.play([]);
    await agent.close();
    // The RPC mode has no background jobs.
    await printAgent(stage, [[["bash", { command: dumps("a job"), background: true }]], [["job", { action: "wait" }]]]);
  } finally {
    await agent.close();
    await stage.close();
  }
  const names = ["a command", "a command with variables", "a child", "a job", "a hook", "a server", "the command of a key"];
  for (const name of names) {
    assert.ok(existsSync(dump(name)), `${name} has run`);
    const text = readFileSync(dump(name), "utf8");
    assert.deepEqual(CREDENTIALS.filter((each) => text.includes(`value-of-${each}`) || text.includes(each === "WORKSHOP_CODE" ? KEY : `${each}=`)), [], `${name} gets credentials`);
    assert.deepEqual(PASSED.filter((each) => !text.includes(`value-of-${each}`)), [], `${name} lacks variables`);
  }
});

/** Ways by which a model could see the variables of a command that the user types: lines before it, and after it. */
const LEAKS = {
  "the shell keeps nothing": { after: ["env > leak", "export -p > leak", "cat /proc/$$/environ > leak", "declare -p > leak"] },
  "a function of the model": { before: ["ls() { env > leak; }"], typed: "ls" },
  "an alias of the model": { before: ["shopt -s expand_aliases; alias ls='env > leak; ls'"], typed: "ls" },
  "a trap of the model": { before: ["trap 'env > leak' DEBUG"], typed: "ls" },
  "a prompt of the model": { before: ["PROMPT_COMMAND='env > leak'"], typed: "ls" },
  "a folder of programs of the model": { before: ["mkdir -p bin; printf '#!/bin/sh\\nenv > leak\\n' > bin/ls; chmod +x bin/ls; PATH=$PWD/bin:$PATH"], typed: "ls" },
};

test("a command that the user types has all variables, and leaves none to the model", { skip, concurrency: 2 }, async (t) => {
  const tests = Object.entries(LEAKS).map(([name, { before = [], typed = "true", after = [] }]) => t.test(name, async () => {
    const stage = await createStage({ env: { DB_PASSWORD: "value-of-DB_PASSWORD" } });
    const agent = await openAgent(stage);
    const calls = (lines) => lines.map((command) => [["bash", { command }]]);
    try {
      await agent.play(calls(before));
      const seen = await agent.command("bash", { command: "echo $DB_PASSWORD > seen" });
      assert.equal(readFileSync(join(stage.cwd, "seen"), "utf8"), "value-of-DB_PASSWORD\n", seen.output);
      await agent.command("bash", { command: typed });
      const { results } = await agent.play(calls(after));
      const leak = existsSync(join(stage.cwd, "leak")) ? readFileSync(join(stage.cwd, "leak"), "utf8") : "";
      const leaks = leak.includes("value-of-DB_PASSWORD");
      assert.equal(results.length, after.length);
      if (name in known) assert.ok(leaks, `it fits now: remove it from known.json ("${known[name]}")`);
      else assert.ok(!leaks, "the model sees a credential");
    } finally {
      await agent.close();
      await stage.close();
    }
  }));
  await Promise.all(tests);
});
