// Tests `npx @sinew/natives mcp` by hand, and with the client of the TypeScript SDK if it is installed.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, linkSync, mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

const BIN = fileURLToPath(new URL("../bin/natives.mjs", import.meta.url));
const META = { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} };

const folder = realpathSync(mkdtempSync(join(tmpdir(), "sinew-mcp-")));
after(() => rmSync(folder, { recursive: true, force: true }));
const root = join(folder, "project");
mkdirSync(join(root, "src"), { recursive: true });
mkdirSync(join(folder, "outside"));
writeFileSync(join(root, "src", "main.rs"), "fn main() {\n    needle();\n}\n");
writeFileSync(join(folder, "outside", "secret.txt"), "needle\n");
symlinkSync(join(folder, "outside"), join(root, "link"));

/** Starts the server, lets `work` use it, and ends it. */
async function drive(work, args = ["--root", root]) {
  const child = spawn(process.execPath, [BIN, "mcp", ...args], { stdio: ["pipe", "pipe", "inherit"] });
  const closed = new Promise((done) => child.on("close", done));
  const frames = [];
  const waiting = new Map();
  createInterface({ input: child.stdout }).on("line", (line) => {
    const frame = JSON.parse(line);
    frames.push(frame);
    waiting.get(frame.id)?.(frame);
  });
  const send = (frame) => child.stdin.write(`${typeof frame === "string" ? frame : JSON.stringify({ jsonrpc: "2.0", ...frame })}\n`);
  let next = 0;
  const ask = (method, params) => new Promise((done) => {
    waiting.set(++next, done);
    send({ id: next, method, params });
  });
  const call = async (name, args) => {
    const { result, error } = await ask("tools/call", { name, arguments: args });
    assert.equal(error, undefined);
    return [result.content[0].text, result.isError];
  };
  try {
    await work({ ask, call, send, waiting, frames });
  } finally {
    child.stdin.end();
    assert.equal(await closed, 0);
  }
  return frames;
}

const greet = (ask) => ask("initialize", { protocolVersion: "2025-06-18", capabilities: {} });

test("the server lends what reads, in both eras", async () => {
  await drive(async ({ ask, call, send, waiting }) => {
    assert.equal((await ask("tools/list", {})).error.code, -32602);
    const modern = await ask("tools/list", { _meta: META });
    assert.deepEqual([modern.result.resultType, modern.result.cacheScope], ["complete", "public"]);
    assert.deepEqual((await ask("server/discover", { _meta: META })).result.supportedVersions, ["2026-07-28"]);
    const unknown = await ask("tools/list", { _meta: { ...META, "io.modelcontextprotocol/protocolVersion": "2027-01-01" } });
    assert.deepEqual([unknown.error.code, unknown.error.data.supported], [-32022, ["2026-07-28"]]);
    assert.equal((await greet(ask)).result.protocolVersion, "2025-06-18");
    const { tools } = (await ask("tools/list", {})).result;
    assert.deepEqual(tools, modern.result.tools);
    assert.deepEqual(tools.map(({ name }) => name), ["grep", "find", "fuzzy_find", "read", "ls", "html_to_markdown"]);
    assert.deepEqual(await call("grep", { pattern: "needle" }), ["src/main.rs\n2:    needle();", false]);
    assert.deepEqual(await call("grep", { pattern: "needle", context: 1 }), ["src/main.rs\n1-fn main() {\n2:    needle();\n3-}", false]);
    assert.deepEqual(await call("grep", { pattern: "nothing" }), ["No matches found", false]);
    assert.deepEqual(await call("find", { pattern: "*.rs" }), ["src/main.rs", false]);
    assert.deepEqual(await call("fuzzy_find", { query: "mainrs" }), ["src/main.rs", false]);
    assert.deepEqual(await call("read", { path: "src/main.rs", offset: 2, limit: 1 }), ["2:    needle();\n[Showing lines 2-2 of 3. Use offset=3 to continue.]", false]);
    assert.deepEqual(await call("ls", {}), ["link\nsrc/", false]);
    assert.deepEqual(await call("html_to_markdown", { html: "<h1>Hi</h1>" }), ["# Hi\n", false]);
    assert.deepEqual(await call("grep", {}), ["/pattern is missing", true]);
    assert.deepEqual(await call("ls", { folder: "." }), ["/folder is not an argument of this tool", true]);
    assert.deepEqual(await call("read", { path: 7 }), ["/path must be a string", true]);
    assert.equal((await call("grep", { pattern: "(" }))[1], true);
    assert.equal((await ask("tools/call", { name: "edit" })).error.code, -32602);
    assert.equal((await ask("resources/list", {})).error.code, -32601);
    const garbage = new Promise((done) => waiting.set(null, done));
    send("this is no JSON");
    assert.equal((await garbage).error.code, -32700);
  });
});

test("what lies outside of the roots is refused", async () => {
  await drive(async ({ ask, call }) => {
    await greet(ask);
    for (const [name, args] of [
      ["read", { path: "../outside/secret.txt" }],
      ["read", { path: "link/secret.txt" }],
      ["read", { path: "/etc/passwd" }],
      ["read", { path: "/etc/no-such-file" }],
      ["read", { path: "/proc/self/root/etc/passwd" }],
      ["ls", { path: "link" }],
      ["grep", { pattern: "needle", path: "link" }],
      ["find", { pattern: "*", path: "src/../.." }],
      ["fuzzy_find", { query: "secret", path: "link" }],
    ]) {
      const [text, failed] = await call(name, args);
      assert.ok(failed && text.startsWith("Refused: "), `${name} ${JSON.stringify(args)}: ${text}`);
    }
    assert.deepEqual(await call("read", { path: "nothing.txt" }), ["File not found: nothing.txt", true]);
  });
});

const unix = process.platform === "win32" ? "no pipes, sockets and devices in folders" : false;

test("what is neither a file nor a folder is refused, and holds nothing up", { skip: unix }, async () => {
  const special = join(folder, "special");
  mkdirSync(special);
  execFileSync("mkfifo", [join(special, "pipe")]);
  symlinkSync("pipe", join(special, "link"));
  const listener = createServer().listen(join(special, "socket"));
  await new Promise((done) => listener.once("listening", done));
  writeFileSync(join(special, "plain.txt"), "needle\n");
  // A device is in another folder, so it needs its own root.
  await drive(async ({ ask, call }) => {
    await greet(ask);
    for (const path of ["pipe", "link", "socket", "/dev/zero", "/dev/null"]) {
      // More calls at once than Node has threads for files.
      const calls = Array.from({ length: 8 }, () => ["read", { path }]).concat([["grep", { pattern: "a", path }], ["find", { pattern: "*", path }], ["ls", { path }]]);
      for (const [text, failed] of await Promise.all(calls.map(([name, args]) => call(name, args)))) {
        assert.deepEqual([text, failed], [`${path} is a pipe, a socket or a device`, true]);
      }
    }
    assert.deepEqual(await call("read", { path: "plain.txt" }), ["1:needle", false]);
    assert.deepEqual(await call("grep", { pattern: "needle" }), ["plain.txt\n1:needle", false]);
  }, ["--root", special, "--root", "/dev"]);
  await new Promise((done) => listener.close(done));
});

test("a hard link below a root is a file of that root", async () => {
  const linked = join(folder, "linked");
  mkdirSync(linked);
  linkSync(join(folder, "outside", "secret.txt"), join(linked, "name.txt"));
  await drive(async ({ ask, call }) => {
    await greet(ask);
    assert.deepEqual(await call("read", { path: "name.txt" }), ["1:needle", false]);
  }, ["--root", linked]);
});

test("a folder that takes the place of a root is refused by every tool", async () => {
  const moved = join(folder, "moved");
  mkdirSync(moved);
  writeFileSync(join(moved, "a.txt"), "needle\n");
  await drive(async ({ ask, call }) => {
    await greet(ask);
    assert.deepEqual(await call("read", { path: "a.txt" }), ["1:needle", false]);
    renameSync(moved, `${moved}-aside`);
    mkdirSync(moved);
    writeFileSync(join(moved, "a.txt"), "another needle\n");
    for (const [name, args] of [["read", { path: "a.txt" }], ["ls", {}], ["grep", { pattern: "needle" }], ["find", { pattern: "*" }], ["fuzzy_find", { query: "a" }]]) {
      assert.deepEqual(await call(name, args), [`Refused: ${moved} was replaced by another folder since the server started; restart the server`, true], name);
    }
    // The folder itself, back in its place.
    rmSync(moved, { recursive: true });
    renameSync(`${moved}-aside`, moved);
    assert.deepEqual(await call("read", { path: "a.txt" }), ["1:needle", false]);
  }, ["--root", moved]);
});

test("a call that is cancelled is not answered", async () => {
  const frames = await drive(async ({ ask, call, send }) => {
    await greet(ask);
    // Written in one piece: a call that the server reads alone may be answered before it is cancelled.
    send([
      { id: "slow", method: "tools/call", params: { name: "grep", arguments: { pattern: "needle" } } },
      { method: "notifications/cancelled", params: { requestId: "slow" } },
    ].map((frame) => JSON.stringify({ jsonrpc: "2.0", ...frame })).join("\n"));
    assert.deepEqual(await call("ls", { path: "src" }), ["main.rs", false]);
  });
  assert.ok(frames.every(({ id }) => id !== "slow"));
});

const sdk = process.env.SINEW_MCP_SERVERS && join(process.env.SINEW_MCP_SERVERS, "node_modules", "@modelcontextprotocol", "sdk", "dist", "esm");
const skip = sdk && existsSync(sdk) ? false : "the TypeScript SDK is not installed (SINEW_MCP_SERVERS)";

test("the TypeScript SDK uses the server", { skip }, async () => {
  const load = (path) => import(pathToFileURL(join(sdk, path)).href);
  const { Client } = await load("client/index.js");
  const { StdioClientTransport } = await load("client/stdio.js");
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [BIN, "mcp", "--root", root] }));
  const found = await client.callTool({ name: "grep", arguments: { pattern: "needle" } });
  assert.match(found.content[0].text, /2: {4}needle\(\);/);
  await client.close();
});
