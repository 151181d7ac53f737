// Calls every export of @sinew/natives once, in any runtime and thread, and ends by itself.
//
//   node smoke.mjs            every export
//   node smoke.mjs NAME       that one
//   node smoke.mjs --threads  every export in a worker, then workers that are started and stopped 50 times
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Worker, isMainThread, parentPort, workerData } from "node:worker_threads";
import * as natives from "@sinew/natives";

const gif = Buffer.from("R0lGODlhAQABAIAAAP8AAP///yH5BAAAAAAALAAAAAABAAEAAAICRAEAOw==", "base64");
const HERE = fileURLToPath(new URL(".", import.meta.url));
const RED = "\x1b[31m";
const WINDOWS = process.platform === "win32";

/** Creates a folder with two files for the duration of `work`. */
async function withFolder(work) {
  const path = mkdtempSync(join(tmpdir(), "sinew-smoke-"));
  try {
    writeFileSync(join(path, "one.txt"), "alpha\nbeta\n");
    writeFileSync(join(path, "two.rs"), "fn beta() {}\n");
    return await work(path);
  } finally {
    rmSync(path, { recursive: true, force: true });
  }
}

/** Starts a child process for the duration of `work`. */
async function withChild(work) {
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
  const ended = once(child, "exit");
  try {
    return await work(child.pid);
  } finally {
    child.kill("SIGKILL");
    await ended;
  }
}

/** Checks that shells run if there is a bash, or report that there is none. Linux has an embedded interpreter. */
async function whereShellsRun(work) {
  try {
    await work();
  } catch (error) {
    if (process.platform === "linux" || !/no bash of version 3\.2/.test(error.message)) throw error;
  }
}

/** A program that fails, and one that prints. */
const [FAILS, PRINTS] = process.platform === "win32" ? [["cmd", "/c", "exit 1"], ["cmd", "/c", "echo a b"]] : [["false"], ["echo", "a b"]];

/** One use of each export. */
const USES = {
  Checkpoints: ({ Checkpoints }) =>
    withFolder(async (path) => {
      const [project, store] = [join(path, "project"), join(path, "store")];
      mkdirSync(project);
      if (process.platform === "win32") return assert.rejects(Checkpoints.open(project, { store }), { code: "ERR_UNSUPPORTED" });
      const checkpoints = await Checkpoints.open(project, { store });
      const { id } = await checkpoints.take();
      writeFileSync(join(project, "new"), "x");
      assert.equal((await checkpoints.restore(id)).done, 1);
    }),
  CommandError: ({ CommandError, run }) => assert.rejects(run(FAILS, { reject: true }), CommandError),
  IsolatedView: ({ IsolatedView }) =>
    withFolder(async (path) => {
      const [project, home] = [join(path, "project"), join(path, "home")];
      mkdirSync(project);
      if (process.platform === "win32") return assert.rejects(IsolatedView.open(project, { home }), { code: "ERR_UNSUPPORTED" });
      const view = await IsolatedView.open(project, { home });
      writeFileSync(join(view.path, "new"), "x");
      assert.equal((await view.apply()).files.length, 1);
      await view.discard();
    }),
  Ellipsis: ({ Ellipsis }) => assert.equal(typeof Ellipsis.Unicode, "number"),
  FileLock: ({ FileLock }) =>
    withFolder(async (path) => {
      const lock = await FileLock.acquire(join(path, "lock"));
      assert.equal(await FileLock.tryAcquire(join(path, "lock")), null);
      lock.release();
    }),
  FileType: ({ FileType }) => assert.deepEqual([FileType.File, FileType.Dir, FileType.Symlink], [1, 2, 3]),
  HighlightStream: ({ HighlightStream }) => assert.match(new HighlightStream("rust", { keyword: RED }).push("fn f() {}\n"), /fn/),
  ImageFormat: ({ ImageFormat }) => assert.equal(ImageFormat.PNG, 0),
  KeyEventType: ({ KeyEventType }) => assert.equal(typeof KeyEventType.Press, "number"),
  TtyWriter: ({ TtyWriter }) => {
    if (process.platform === "win32") return;
    const writer = new TtyWriter(2);
    assert.equal(writer.flushSync(600_000), true);
    writer.stop(600_000);
  },
  htmlNodes: ({ htmlNodes }) => assert.ok(htmlNodes("<p>a").text.includes("a")),
  listWorkspace: ({ listWorkspace }) => withFolder(async (path) => assert.ok((await listWorkspace({ path, maxDepth: 1 })).entries.some((entry) => entry.path === "one.txt"))),
  OutputSink: ({ OutputSink }) => {
    const sink = new OutputSink();
    sink.push("hello\n");
    assert.match(sink.dump().text, /hello/);
  },
  PhotonImage: async ({ PhotonImage }) => assert.equal((await PhotonImage.parse(gif)).width, 1),
  Process: ({ Process }) => assert.equal(Process.fromPid(process.pid).pid, process.pid),
  PtySession: async ({ PtySession }) => {
    let text = "";
    const program = WINDOWS ? { argv: ["cmd.exe", "/c", "echo here& exit 3"] } : { command: "echo here; exit 3" };
    assert.equal((await new PtySession().start(program, (chunk) => (text += chunk))).exitCode, 3);
    // wine shows no output of programs on a ConPTY.
    if (!process.env.WINEPREFIX) assert.match(text, /here/);
  },
  SamplingFilter: ({ SamplingFilter }) => assert.equal(SamplingFilter.Lanczos3, 5),
  Sandbox: async ({ Sandbox, run }) => {
    const made = Sandbox.create({ mode: "rules", denyRead: [join(tmpdir(), "none")] });
    if (process.platform !== "linux") return assert.rejects(made, { code: "ERR_UNSUPPORTED" });
    const sandbox = await made;
    assert.deepEqual((await run(["true"], { sandbox })).refused, []);
    await sandbox.close();
  },
  Shell: ({ Shell }) =>
    whereShellsRun(async () => {
      const shell = new Shell();
      await shell.run({ command: "x=7" });
      assert.equal((await shell.run({ command: "exit $x" })).exitCode, 7);
      await shell.close();
    }),
  StdinBuffer: ({ StdinBuffer }) => {
    const buffer = new StdinBuffer();
    assert.ok(buffer instanceof EventEmitter);
    const seen = [];
    buffer.on("data", (key) => seen.push(key));
    buffer.process("a\x1b[A");
    buffer.destroy();
    assert.deepEqual(seen, ["a", "\x1b[A"]);
  },
  Workspace: ({ Workspace }) =>
    withFolder(async (path) => {
      const workspace = await Workspace.open(path, { cacheDir: null });
      assert.equal((await workspace.grep({ pattern: "beta" })).totalMatches, 2);
      await workspace.ready();
      assert.equal((await workspace.grep({ pattern: "alpha" })).totalMatches, 1);
      await workspace.close();
    }),
  Watcher: ({ Watcher }) => assert.throws(() => new Watcher({}), { code: "ERR_ILLEGAL_CONSTRUCTOR" }),
  watch: ({ watch }) =>
    withFolder(async (path) => {
      const opened = watch(path, {}, () => {});
      if (process.platform !== "linux") return assert.rejects(opened, { code: "ERR_UNSUPPORTED" });
      const watcher = await opened;
      watcher.close();
      await watcher.closed;
    }),
  applyPatch: ({ applyPatch }) =>
    withFolder(async (path) => {
      const patch = "*** Begin Patch\n*** Update File: one.txt\n@@\n alpha\n-beta\n+gamma\n*** End Patch\n";
      const applied = applyPatch(patch, { root: path });
      if (WINDOWS) await assert.rejects(applied, { code: "ERR_UNSUPPORTED" });
      else assert.equal((await applied).files[0].action, "modified");
    }),
  copyToClipboard: async ({ copyToClipboard }) => assert.equal(await copyToClipboard("smoke"), undefined),
  diff: async ({ diff }) => assert.deepEqual((await diff("a \ud83d b", "a \ud83d c", { unit: "word" })).map(({ text }) => text), ["a \ud83d ", "b", "c"]),
  unifiedDiff: async ({ unifiedDiff }) => assert.match(await unifiedDiff("a", "\u65e5"), /^-a$/m),
  executeShell: ({ executeShell }) =>
    whereShellsRun(async () => assert.equal((await executeShell({ command: "exit 4" })).exitCode, 4)),
  run: async ({ run }) => assert.equal((await run(PRINTS)).stdout, "a b"),
  extractSegments: ({ extractSegments }) => assert.equal(extractSegments("abcdef", 2, 4, 2).after, "ef"),
  fitImage: async ({ fitImage }) => assert.equal((await fitImage(gif)).width, 1),
  fuzzyFind: ({ fuzzyFind }) => withFolder(async (path) => assert.equal((await fuzzyFind({ query: "two", path })).matches[0].path, "two.rs")),
  getSupportedLanguages: ({ getSupportedLanguages }) => assert.ok(getSupportedLanguages().length > 20),
  getSystemInfo: ({ getSystemInfo }) => assert.equal(getSystemInfo().platform, process.platform),
  getWorkProfile: ({ getWorkProfile }) => assert.equal(typeof getWorkProfile(60).sampleCount, "number"),
  glob: ({ glob }) => withFolder(async (path) => assert.equal((await glob({ pattern: "*.txt", path })).matches[0].path, "one.txt")),
  globSync: ({ globSync }) => withFolder((path) => assert.equal(globSync({ pattern: ["*.txt"], path }).matches[0].path, "one.txt")),
  grepSync: ({ grepSync }) => withFolder((path) => assert.equal(grepSync({ pattern: "beta", path }).totalMatches, 2)),
  grep: ({ grep }) => withFolder(async (path) => assert.equal((await grep({ pattern: "beta", path })).totalMatches, 2)),
  hasMatch: ({ hasMatch }) => assert.equal(hasMatch("alpha", "^al"), true),
  highlightCode: ({ highlightCode }) => assert.ok(highlightCode("fn f() {}", "rust", { keyword: RED }).includes(RED)),
  highlightCodeDetailed: ({ highlightCodeDetailed }) => assert.equal(highlightCodeDetailed("fn f() {}", "rust", { keyword: RED }).plainLines, 0),
  htmlToMarkdown: async ({ htmlToMarkdown }) => assert.match(await htmlToMarkdown("<h1>Title</h1>"), /^# Title/),
  invalidateFsScanCache: ({ invalidateFsScanCache }) => assert.equal(invalidateFsScanCache(), undefined),
  killTree: ({ killTree }) => withChild((pid) => assert.equal(killTree(pid, 9), 1)),
  listDescendants: ({ listDescendants }) => withChild((pid) => assert.ok(listDescendants(process.pid).includes(pid))),
  matchesKey: ({ matchesKey }) => assert.equal(matchesKey("\x03", "ctrl+c"), true),
  matchesKittySequence: ({ matchesKittySequence }) => assert.equal(matchesKittySequence("\x1b[97;5u", 97, 4), true),
  matchesLegacySequence: ({ matchesLegacySequence }) => assert.equal(matchesLegacySequence("\x1b[A", "up"), true),
  parseKey: ({ parseKey }) => assert.equal(parseKey("\x1b[A"), "up"),
  countAmbiguous: ({ countAmbiguous }) => assert.equal(countAmbiguous("5 ± 1 日本"), 1),
  parseKittySequence: ({ parseKittySequence }) => assert.equal(parseKittySequence("\x1b[97;5u").codepoint, 97),
  quote: ({ quote }) => assert.equal(quote(["a", "b c"]), "a 'b c'"),
  readImageFromClipboard: async ({ readImageFromClipboard }) => clipboard(readImageFromClipboard),
  readTextFromClipboard: async ({ readTextFromClipboard }) => clipboard(readTextFromClipboard),
  sanitizeText: ({ sanitizeText }) => assert.equal(sanitizeText("a\x1b[31mb\x07"), "ab"),
  search: ({ search }) => assert.equal(search("alpha\nbeta", { pattern: "beta" }).matches[0].lineNumber, 2),
  searchContent: ({ searchContent }) => assert.equal(searchContent("alpha", { pattern: "zeta" }).matchCount, 0),
  sliceWithWidth: ({ sliceWithWidth }) => assert.equal(sliceWithWidth("日本語", 2, 2).text, "本"),
  supportsLanguage: ({ supportsLanguage }) => assert.equal(supportsLanguage("rust"), true),
  truncateToWidth: ({ truncateToWidth }) => assert.equal(truncateToWidth("日本語", 4, natives.Ellipsis.Omit), "日本"),
  visibleWidth: ({ visibleWidth }) => assert.equal(visibleWidth("\x1b[31m日本\x1b[0m"), 4),
  wrapTextWithAnsi: ({ wrapTextWithAnsi }) => assert.deepEqual(wrapTextWithAnsi("one two", 4), ["one", "two"]),
};

/** On other systems the clipboard may contain anything. On Linux without a display there is none. */
async function clipboard(read) {
  const value = await read();
  if (process.platform === "linux" && !process.env.DISPLAY && !process.env.WAYLAND_DISPLAY) assert.equal(value, null);
}

async function every() {
  const exported = Object.keys(natives).filter((name) => name !== "default" && name !== "__esModule" && name !== "module.exports").sort();
  assert.deepEqual(exported, Object.keys(USES).sort(), "each export has its use in smoke.mjs");
  for (const [name, use] of Object.entries(USES)) {
    try {
      await use(natives);
    } catch (error) {
      throw new Error(`${name}: ${error.stack ?? error}`);
    }
  }
  return exported.length;
}

/** Runs this file in a thread and resolves with its message. */
async function thread(task) {
  const worker = new Worker(fileURLToPath(import.meta.url), { workerData: task });
  const [said] = await once(worker, "message");
  return { worker, said };
}

async function threads() {
  const { worker, said } = await thread("every");
  assert.ok(said > 40);
  await worker.terminate();
  // Half of them are stopped during a search that continues in the pool.
  for (let round = 0; round < 50; round++) {
    const { worker } = await thread(round % 2 ? "busy" : "idle");
    await worker.terminate();
  }
  assert.equal(natives.visibleWidth("日本"), 4);
}

const TASKS = {
  every,
  idle: () => natives.visibleWidth("日本"),
  busy: () => {
    for (let i = 0; i < 8; i++) natives.grep({ pattern: "[a-z]{9,}", path: HERE }).catch(() => {});
    return 0;
  },
};

if (!isMainThread && parentPort) {
  parentPort.postMessage(await TASKS[workerData]());
} else {
  const [task] = process.argv.slice(2);
  if (task === "--threads") await threads();
  else if (task) await USES[task](natives);
  else await every();
  console.log("smoke: done");
}
