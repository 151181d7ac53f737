// Tests the RPC mode with pi's own client, and session files that pi changes and we read again.
//
// SINEW_PI is the folder of `@earendil-works/pi-coding-agent`, SINEW_BIN our program: `npm test` sets both.
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

const PI = process.env.SINEW_PI;
const skip = PI && process.env.SINEW_BIN ? false : "set SINEW_PI and SINEW_BIN";
const load = (path) => import(pathToFileURL(join(PI, "dist", path)).href);
const { RpcClient } = skip ? {} : await load("modes/rpc/rpc-client.js");
const sessions = skip ? {} : await load("core/session-manager.js");
const { convertToLlm } = skip ? {} : await load("core/messages.js");

const folders = [];
after(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

/** Creates a project with a scripted model; returns how to start our program in it. */
function project(turns, settings = {}) {
  const folder = mkdtempSync(join(tmpdir(), "sinew-pi-"));
  folders.push(folder);
  mkdirSync(join(folder, "home", "agent"), { recursive: true });
  writeFileSync(join(folder, "home", "agent", "settings.json"), JSON.stringify(settings));
  const cwd = join(folder, "project");
  mkdirSync(cwd);
  const script = join(folder, "script.jsonl");
  writeFileSync(script, turns.map((turn) => `${JSON.stringify(turn)}\n`).join(""));
  const env = { SINEW_HOME: join(folder, "home"), HOME: folder };
  const options = { cliPath: fileURLToPath(new URL("sinew.mjs", import.meta.url)), cwd, env };
  return { folder, cwd, start: (...args) => new RpcClient({ ...options, args: ["--script", script, ...args] }) };
}

/** Starts a client, and ends it whatever happens. */
async function drive(client, work) {
  await client.start();
  const { process: child } = client;
  const closed = once(child, "close");
  try {
    return await work(client);
  } finally {
    // The client waits only for a second. A slower program holds its session until it closes its output.
    await client.stop();
    child.stdout.resume();
    await closed;
  }
}

/** A steered message would end a tool at once, and be delivered. */
const WAIT = { interruptMode: "wait" };
const REPEAT = { type: "script", version: 1, onExhausted: "repeat" };
const answer = (text) => ({ type: "turn", content: [{ text }] });
const texts = (messages) => messages.map(({ content }) => (typeof content === "string" ? content : content.map((block) => block.text).join("")));

/** The texts of the user in a tree, parents first. */
function said(nodes) {
  return nodes.flatMap(({ entry, children }) => [...(entry.message?.role === "user" ? texts([entry.message]) : []), ...said(children)]);
}

for (const flags of [[], ["--no-session"]]) {
  test(`pi's client forks, clones and reads the tree${flags.map((flag) => ` with ${flag}`).join("")}`, { skip }, async () => {
    await drive(project([REPEAT, answer("answer")]).start(...flags), async (client) => {
      await client.promptAndWait("one");
      await client.promptAndWait("two");
      await client.setSessionName("a name");
      const whole = await client.getState();
      assert.equal(whole.sessionName, "a name");
      assert.equal(whole.pendingMessageCount, 0);
      const points = await client.getForkMessages();
      assert.deepEqual(points.map((point) => point.text), ["one", "two"]);
      const { entries, leafId } = await client.getEntries();
      assert.equal(entries.filter((entry) => entry.type === "message").length, 4);
      assert.ok(entries.some((entry) => entry.id === leafId));
      assert.deepEqual((await client.getEntries(entries.at(-2).id)).entries, [entries.at(-1)]);
      await assert.rejects(client.getEntries("nowhere"), /Entry not found: nowhere/);
      const tree = await client.getTree();
      assert.deepEqual([said(tree.tree), tree.leafId], [["one", "two"], leafId]);

      assert.deepEqual(await client.fork(points[1].entryId), { text: "two", cancelled: false });
      assert.deepEqual(texts(await client.getMessages()), ["one", "answer"]);
      const forked = await client.getState();
      assert.notEqual(forked.sessionId, whole.sessionId);
      assert.equal(forked.sessionFile === null, whole.sessionFile === null);
      await client.promptAndWait("other");
      assert.deepEqual(await client.clone(), { cancelled: false });
      assert.deepEqual(texts(await client.getMessages()), ["one", "answer", "other", "answer"]);
      assert.notEqual((await client.getState()).sessionId, forked.sessionId);
      assert.equal(await client.getLastAssistantText(), "answer");
      assert.deepEqual(await client.newSession(), { cancelled: false });
      await assert.rejects(client.fork("nowhere"), /no entry "nowhere"/);
      assert.deepEqual((await client.getEntries()).entries.filter((entry) => entry.type === "message"), []);
      if (whole.sessionFile) {
        assert.deepEqual(await client.switchSession(whole.sessionFile), { cancelled: false });
        assert.deepEqual(texts(await client.getMessages()), ["one", "answer", "two", "answer"]);
      }
    });
  });
}

test("pi's client takes back what is queued", { skip }, async () => {
  const { cwd, start } = project([{ type: "turn", content: [{ toolCall: { name: "bash", arguments: { command: "touch begun; sleep 1000" } } }] }, answer("B")], WAIT);
  await drive(start(), async (client) => {
    const begun = new Promise((resolve) => client.onEvent((event) => event.type === "tool_execution_start" && resolve()));
    await client.prompt("go");
    await begun;
    await client.followUp("later");
    await client.steer("now");
    assert.equal((await client.getState()).pendingMessageCount, 2);
    assert.deepEqual(await client.clearQueue(), { steering: ["now"], followUp: ["later"] });
    assert.deepEqual(await client.clearQueue(), { steering: [], followUp: [] });
    await client.abort();
    assert.deepEqual(texts(await client.getMessages()).filter((text) => text === "now" || text === "later"), []);
    assert.ok(readdirSync(cwd).every((name) => name === "begun"));
  });
});

test("pi's client chooses levels, and runs commands", { skip }, async () => {
  await drive(project([{ type: "script", version: 1, reasoning: true }, answer("B")]).start(), async (client) => {
    const levels = await client.getAvailableThinkingLevels();
    assert.ok(levels.includes("off") && levels.includes("high"), levels.join());
    await client.setThinkingLevel("high");
    assert.equal((await client.getState()).thinkingLevel, "high");
    const { level } = await client.cycleThinkingLevel();
    assert.equal(level, levels[(levels.indexOf("high") + 1) % levels.length]);
    await client.setSteeringMode("all");
    await client.setFollowUpMode("all");
    await client.setAutoCompaction(false);
    await client.setAutoRetry(false);
    const { steeringMode, followUpMode, autoCompactionEnabled } = await client.getState();
    assert.deepEqual([steeringMode, followUpMode, autoCompactionEnabled], ["all", "all", false]);
    const ran = await client.bash("echo a; exit 3");
    assert.deepEqual([ran.output.trim(), ran.exitCode, ran.cancelled, ran.truncated], ["a", 3, false, false]);
    assert.ok(Array.isArray(await client.getCommands()));
    assert.equal((await client.getAvailableModels())[0].provider, (await client.getState()).model.provider);
    await assert.rejects(client.setModel("nobody", "m"), /Model not found: nobody\/m/);
  });
  await drive(project([{ type: "script", version: 1, reasoning: false }, answer("B")]).start(), async (client) => {
    assert.deepEqual(await client.getAvailableThinkingLevels(), ["off"]);
  });
});

test("pi's client hears of compactions", { skip }, async () => {
  const long = "words ".repeat(20_000);
  await drive(project([answer(long), answer("B"), { type: "turn", lane: "compact", content: [{ text: "the summary" }] }]).start(), async (client) => {
    await client.promptAndWait("one");
    await client.promptAndWait("two");
    const heard = [];
    client.onEvent((event) => event.type.startsWith("compaction_") && heard.push(event));
    const done = await client.compact();
    assert.match(done.summary, /the summary/);
    assert.ok(done.estimatedTokensAfter < done.tokensBefore, JSON.stringify(done));
    const [start, end] = heard;
    assert.deepEqual(start, { type: "compaction_start", reason: "manual" });
    assert.deepEqual([heard.length, end.type, end.reason, end.aborted, end.willRetry], [2, "compaction_end", "manual", false, false]);
    assert.equal(end.result.firstKeptEntryId, done.firstKeptEntryId);
    await assert.rejects(client.compact(), /Nothing to compact/);
    assert.deepEqual([heard.length, heard.at(-1).result, heard.at(-1).errorMessage], [4, undefined, "Nothing to compact"]);
  });
});

test("titles, models and mentioned files go to pi and come back", { skip }, async () => {
  const { cwd, start } = project([REPEAT, answer("answer")]);
  writeFileSync(join(cwd, "mentioned.txt"), "the text of the file\n");
  const { sessionFile } = await drive(start(), async (client) => {
    await client.promptAndWait("look at @mentioned.txt");
    await client.setSessionName("Ours");
    return client.getState();
  });
  const theirs = sessions.SessionManager.open(sessionFile);
  assert.equal(theirs.getSessionName(), "Ours");
  const context = theirs.buildSessionContext();
  const asked = convertToLlm(context.messages);
  assert.deepEqual(asked.map((message) => message.role), ["user", "user", "assistant"]);
  assert.match(JSON.stringify(asked[0].content), /the text of the file/);
  // pi continues the session: it adds a name, another model and a message.
  theirs.appendSessionInfo("Theirs");
  theirs.appendModelChange("someone", "a/model");
  theirs.appendMessage({ role: "user", content: "said in pi", timestamp: 1 });
  theirs.appendMessage({ ...asked[2], content: [{ type: "text", text: "answered in pi" }] });
  await drive(start("--session", sessionFile), async (client) => {
    assert.equal((await client.getState()).sessionName, "Theirs");
    const messages = await client.getMessages();
    const [mention] = messages;
    assert.deepEqual([mention.role, mention.files[0].path, mention.files[0].content.trim()], ["fileMention", "mentioned.txt", "the text of the file"]);
    assert.deepEqual(texts(messages.slice(-2)), ["said in pi", "answered in pi"]);
    await client.promptAndWait("and here");
    // A fork has the title too.
    const points = await client.getForkMessages();
    await client.fork(points.at(-1).entryId);
    await client.promptAndWait("forked");
    const fork = (await client.getState()).sessionFile;
    assert.equal(sessions.SessionManager.open(fork).getSessionName(), "Theirs");
  });
  // A name that pi removes is gone.
  sessions.SessionManager.open(sessionFile).appendSessionInfo("");
  await drive(start("--session", sessionFile), async (client) => assert.equal((await client.getState()).sessionName, null));
  assert.ok(readFileSync(sessionFile, "utf8").includes("and here"));
});
