// Calls the package like an agent that was written for @oh-my-pi/pi-natives.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import * as natives from "@sinew/pi-natives";
import * as clipboard from "@sinew/pi-natives/clipboard";

function tree(t, files) {
  const folder = mkdtempSync(join(tmpdir(), "pi-natives-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, name, ".."), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

test("searches give pi's shapes and callbacks", async (t) => {
  const path = tree(t, { "a.ts": "one\nTODO two\n", "b/c.ts": "TODO\n", "b/AGENTS.md": "x", "AGENTS.md": "x", "b/.hidden": "" });
  const rows = [];
  const found = await natives.grep({ pattern: "TODO", path, mode: natives.GrepOutputMode.Content }, (...row) => rows.push(row));
  assert.deepEqual(found.matches.map(({ path, lineNumber, line }) => [path, lineNumber, line]), [["a.ts", 2, "TODO two"], ["b/c.ts", 1, "TODO"]]);
  assert.deepEqual(rows, found.matches.map((match) => [null, match]));
  assert.deepEqual([found.totalMatches, found.filesWithMatches, found.skippedOversized], [2, 2, undefined]);
  const globbed = [];
  const files = await natives.glob({ pattern: "*.ts", path, fileType: natives.FileType.File, maxResults: 1 }, (...row) => globbed.push(row));
  assert.deepEqual([files.totalMatches, files.matches.map(({ path }) => path)], [1, ["a.ts"]]);
  assert.deepEqual(globbed, [[null, files.matches[0]]]);
  assert.equal((await natives.fuzzyFind({ query: "bc", path })).matches[0].path, "b/c.ts");
  assert.deepEqual((await natives.fuzzyFind({ query: "b/", path })).matches.filter((match) => match.isDirectory).map((match) => match.path), ["b/"]);
  assert.deepEqual([natives.hasMatch("ABC", "b"), natives.hasMatch("ABC", "b", true), natives.hasMatch(Buffer.from("a\nb"), "a\\nb", false, true)], [false, true, true]);
  assert.equal(natives.search("a\nb", { pattern: "b" }).matches[0].lineNumber, 2);
  const listed = await natives.listWorkspace({ path, maxDepth: 1, collectAgentsMd: true });
  assert.deepEqual(listed.entries.map(({ path }) => path), ["AGENTS.md", "a.ts", "b"]);
  assert.deepEqual([listed.agentsMdFiles, listed.truncated, typeof listed.entries[0].mtime, listed.entries[0].size], [["b/AGENTS.md"], false, "number", 1]);
  await assert.rejects(natives.grep({ pattern: "x", path, signal: AbortSignal.abort() }), { name: "AbortError" });
});

test("text, keys, highlighting and pages answer with pi's arguments", async () => {
  assert.equal(natives.visibleWidth("日本\t", 4), 8);
  assert.deepEqual(natives.wrapTextWithAnsi("one two", 3, 3), ["one", "two"]);
  assert.equal(natives.truncateToWidth("abcdef", 4, natives.Ellipsis.Unicode, false, 3), "abc…");
  assert.deepEqual(natives.sliceWithWidth("abcdef", 1, 2, false, 3), { text: "bc", width: 2 });
  assert.deepEqual(natives.extractSegments("abcdef", 2, 4, 2, false, 3), { before: "ab", beforeWidth: 2, after: "ef", afterWidth: 2 });
  assert.equal(natives.parseKey("\x1b[A", false), "up");
  assert.equal(natives.highlightCode("let a", null, {}), "let a");
  assert.equal(natives.supportsLanguage("rust"), true);
  assert.equal(await natives.warmHighlighter(), undefined);
  assert.equal((await natives.htmlToMarkdown("<b>a</b>", { cleanContent: true })).trim(), "**a**");
  assert.equal(natives.countTokens(["The quick", " brown fox"]), 4);
  assert.equal(natives.countTokens("The quick brown fox", natives.Encoding.Cl100kBase), 4);
  assert.throws(() => natives.countTokens("a", natives.Encoding.ClaudeV5), /ClaudeV5 does not match any variant of enum Encoding in @sinew\/pi-natives; use Encoding.O200kBase/);
  assert.equal(natives.getWorkProfile(600).sampleCount > 0, true);
  assert.equal(clipboard.copyToClipboard, natives.copyToClipboard);
});

const unix = { skip: process.platform === "win32" && "Unix only" };

test("shells and terminals run with pi's callbacks", unix, async () => {
  const shell = new natives.Shell({ sessionEnv: { PI_WHO: "you" } });
  const chunks = [];
  const { exitCode, cancelled, timedOut } = await shell.run({ command: 'echo $PI_WHO; test -n "$PATH"' }, (error, chunk) => chunks.push([error, chunk]));
  assert.deepEqual([exitCode, cancelled, timedOut, chunks], [0, false, false, [[null, "you\n"]]]);
  await shell.run({ command: "sleep 1000 &" });
  assert.equal(await shell.liveBackgroundJobCount(), 1);
  await shell.run({ command: "kill %1; wait" });
  assert.equal(await shell.liveBackgroundJobCount(), 0);
  assert.equal((await natives.executeShell({ command: "exit 3", minimizer: {} })).exitCode, 3);

  const starts = [
    (pty, ...rest) => pty.start({ command: "tty && exit 4" }, ...rest),
    (pty, ...rest) => pty.startArgv({ application: "sh", args: ["-c", "tty && exit 4"] }, ...rest),
  ];
  for (const start of starts) {
    let [text, pid] = ["", 0];
    const ended = await start(new natives.PtySession(), (_, chunk) => (text += chunk), (_, started) => (pid = started));
    assert.deepEqual([ended.exitCode, /^\/dev\//.test(text), pid > 0], [4, true, true]);
  }
});

test("processes and locks", unix, async (t) => {
  const child = spawn("sleep", ["1000"]);
  t.after(() => child.kill("SIGKILL"));
  const found = natives.Process.fromPid(child.pid);
  assert.deepEqual([found.pid, found.ppid, found.status()], [child.pid, process.pid, natives.ProcessStatus.Running]);
  if (process.platform === "linux") {
    assert.equal(found.groupId(), Number(readFileSync(`/proc/${child.pid}/stat`, "utf8").split(" ")[4]));
    assert.ok(natives.Process.fromPath(readlinkSync(`/proc/${child.pid}/exe`)).some(({ pid }) => pid === child.pid));
  }
  assert.equal(await found.waitForExit({ timeoutMs: 1 }), false);
  assert.equal(await found.terminate({ gracefulMs: -1, timeoutMs: 600_000 }), true);
  assert.equal(await found.waitForExit(), true);
  assert.deepEqual([found.status(), found.killTree()], [natives.ProcessStatus.Exited, 0]);
  assert.equal(natives.Process.fromPid(0x7fff_fffe), null);

  const path = join(tree(t, {}), "lock");
  const [first, second] = [natives.FileLock.tryAcquire(path), natives.FileLock.tryAcquire(path)];
  assert.deepEqual([first.acquired, second.acquired], [true, false]);
  second.release();
  first.release();
  const third = natives.FileLock.tryAcquire(path);
  assert.deepEqual([first.acquired, third.acquired], [false, true]);
  third.release();
});
