// Tests collected output, programs without a shell, input that is written meanwhile, and failures that reject.
import assert from "node:assert/strict";
import { readdirSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { Readable } from "node:stream";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { noShell, printsFolder, shownByBash } from "./able.mjs";
import { isThere } from "./host.mjs";

const { CommandError, executeShell, quote, run } = createRequire(import.meta.url)("..");

const bash = { skip: noShell };
/** For tests with Unix programs. On Windows they run if Git's folder of them is on PATH. */
const programs = { skip: noShell || (!isThere("sh") && "no program sh") };
const FOLDER = realpathSync(tmpdir());

test("output is collected apart and together, without the last line end", programs, async () => {
  const result = await executeShell({ command: "echo out; echo err >&2; exit 3", buffer: true });
  const { all, ...rest } = result;
  assert.deepEqual(rest, { exitCode: 3, cancelled: false, timedOut: false, stdout: "out", stderr: "err" });
  assert.deepEqual(all.split("\n").sort(), ["err", "out"]);
  assert.equal((await run(["printf", "a\\n\\n"], { stripFinalNewline: false })).stdout, "a\n\n");
  assert.equal((await run(["printf", "a\\r\\n"])).stdout, "a");
  assert.equal("stdout" in (await executeShell({ command: "echo" })), false);
  assert.equal("stdout" in (await run(["echo"], { buffer: false })), false);
});

test("bytes stay bytes", programs, async () => {
  const { stdout, all } = await run(["printf", "\\377\\000\\n"], { encoding: "buffer" });
  assert.deepEqual([...stdout], [255, 0]);
  assert.deepEqual([...all], [255, 0]);
  const chunks = [];
  await executeShell({ command: "printf '\\376'", encoding: "buffer" }, (chunk) => chunks.push(chunk));
  assert.deepEqual(chunks.map((chunk) => [...chunk]), [[254]]);
});

test("a callback gets each chunk with its stream, and output is collected beside it", programs, async () => {
  const seen = { stdout: "", stderr: "" };
  const { stdout, stderr } = await run(["sh", "-c", "echo a; echo b >&2; echo c"], null, (chunk, stream) => void (seen[stream] += chunk));
  assert.deepEqual(seen, { stdout: "a\nc\n", stderr: "b\n" });
  assert.deepEqual([stdout, stderr], ["a\nc", "b"]);
});

test("arguments reach a program as they stand, in its folder, with its variables", programs, async () => {
  const { stdout } = await run(["printf", "%s|", "two words", "$HOME", "*", "it's", "@no/file", "a\\b\\", 'say "no"\\', "C:\\x y\\", ""]);
  assert.equal(stdout, "two words|$HOME|*|it's|@no/file|a\\b\\|say \"no\"\\|C:\\x y\\||");
  const env = { GIVEN: "x y", HOME: undefined };
  assert.equal((await run(["sh", "-c", `${printsFolder}; echo $GIVEN`], { cwd: FOLDER, env })).stdout, `${shownByBash(FOLDER)}\nx y`);
  // Git's bash sets its own HOME if it gets none.
  const none = process.platform === "win32" ? /^x y .+$/ : /^x y none$/;
  assert.match((await executeShell({ command: "echo $GIVEN ${HOME-none}", env, buffer: true })).stdout, none);
  const { stdout: given } = await run(["env"], { sessionEnv: { PATH: process.env.PATH, ONLY: "1" } });
  assert.deepEqual(given.split(/\r?\n/).filter((line) => process.platform !== "win32" || line.startsWith("ONLY=")).filter((line) => !line.startsWith("PATH=")), ["ONLY=1"]);
});

test("what cannot be run rejects", programs, async () => {
  await assert.rejects(run(["no-such-program"]), { code: "ENOENT", message: 'run: no program "no-such-program" on PATH' });
  await assert.rejects(run(["./no/such"]), { code: "ENOENT" });
  await assert.rejects(run([]), { code: "ERR_INVALID_ARG_VALUE" });
  await assert.rejects(run("ls -l"), { name: "TypeError", message: 'run: argv must be an array of strings, not "ls -l"' });
  await assert.rejects(run(["echo", 1]), TypeError);
  await assert.rejects(run(["echo"], { encoding: "latin1" }), TypeError);
  await assert.rejects(run(["echo"], { stdin: 5 }), TypeError);
  await assert.rejects(run(["true"], { cwd: "/nope" }), { code: "ENOENT" });
});

test("a failure rejects where that is asked for, and tells all of it", programs, async () => {
  const failed = await run(["sh", "-c", "echo out; echo oops >&2; exit 7"], { reject: true }).catch((error) => error);
  assert.ok(failed instanceof CommandError);
  const { name, code, exitCode, stdout, stderr, cancelled, timedOut } = failed;
  assert.deepEqual({ name, code, exitCode, stdout, stderr, cancelled, timedOut }, { name: "CommandError", code: "ERR_COMMAND_FAILED", exitCode: 7, stdout: "out", stderr: "oops", cancelled: false, timedOut: false });
  assert.equal(failed.message, "Command failed with exit code 7: sh -c 'echo out; echo oops >&2; exit 7'\noops");
  assert.equal((await run(["true"], { reject: true })).exitCode, 0);
  await assert.rejects(executeShell({ command: "kill -9 $$", reject: true }), { code: "ERR_COMMAND_FAILED", signal: "SIGKILL", message: "Command was ended by SIGKILL: kill -9 $$" });
  await assert.rejects(executeShell({ command: "sleep 1000", reject: true, timeoutMs: 20 }), { name: "TimeoutError", code: "ERR_TIMEOUT", timedOut: true });
  const signal = AbortSignal.abort("enough");
  await assert.rejects(run(["true"], { reject: true, signal }), { name: "AbortError", code: "ABORT_ERR", cause: "enough" });
  assert.equal((await run(["true"], { signal })).stdout, "");
});

test("a command that prints more than is to be kept is ended", programs, async () => {
  const error = { name: "RangeError", code: "ERR_CHILD_PROCESS_STDIO_MAXBUFFER" };
  await assert.rejects(run(["yes"], { maxBuffer: 1000 }), error);
  await assert.rejects(executeShell({ command: "yes >&2", buffer: true, encoding: "buffer", maxBuffer: 1000 }), error);
  assert.equal((await run(["printf", "1234"], { maxBuffer: 4 })).stdout, "1234");
  let seen;
  const arrived = new Promise((resolve) => (seen = resolve));
  async function* line() {
    await arrived;
    yield "\n";
  }
  const partial = await run(["sh", "-c", "printf oops >&2; read line; printf '123456'; exec sleep 100"], { maxBuffer: 4, stdin: line() }, () => seen()).catch((error) => error);
  assert.deepEqual([partial.code, partial.stdout, partial.stderr, partial.all], ["ERR_CHILD_PROCESS_STDIO_MAXBUFFER", "1234", "oops", "oops1234"]);
  const bytes = await run(["printf", "123456"], { maxBuffer: 4, encoding: "buffer" }).catch((error) => error);
  assert.equal(Buffer.from(bytes.stdout).toString(), "1234");
  const emoji = await run(["printf", "ab👩"], { maxBuffer: 3 }).catch((error) => error);
  assert.equal(emoji.stdout, "ab");
});

test("input is written piece by piece as the program takes it", programs, async () => {
  async function* pieces() {
    for (let index = 0; index < 50; index++) yield index % 2 ? "x".repeat(10_000) : Buffer.alloc(10_000, "y");
  }
  assert.equal((await run(["wc", "-c"], { stdin: pieces() })).stdout.trim(), "500000");
  assert.equal((await run(["sort"], { stdin: ["b\n", "a\n"] })).stdout, "a\nb");
  assert.equal((await run(["cat"], { stdin: Readable.from(["one ", "two"]) })).stdout, "one two");
  assert.equal((await run(["cat"], { stdin: new Blob(["web"]).stream() })).stdout, "web");
  assert.equal((await executeShell({ command: "read a; echo got $a; cat", stdin: pieces2(), buffer: true })).stdout, "got first\nsecond");
  async function* pieces2() {
    yield "first\n";
    yield "second";
  }
});

test("a program answers before its input is at its end", programs, async () => {
  let answer;
  const answered = new Promise((resolve) => (answer = resolve));
  async function* dialogue() {
    yield "question\n";
    await answered;
    yield "thanks\n";
  }
  const { stdout } = await run(["sh", "-c", "read a; echo answer; read b; echo $b"], { stdin: dialogue() }, (chunk) => chunk.includes("answer") && answer());
  assert.equal(stdout, "answer\nthanks");
});

test("a source that is not read to its end is closed, and one that waits does not hold up the end", programs, async () => {
  let closed = false;
  async function* endless() {
    try {
      for (;;) yield "x".repeat(100_000);
    } finally {
      closed = true;
    }
  }
  assert.equal((await run(["head", "-c", "3"], { stdin: endless() })).stdout, "xxx");
  assert.equal(closed, true);
  const silent = new Readable({ read() {} });
  assert.equal((await run(["echo", "done"], { stdin: silent })).stdout, "done");
  assert.equal(silent.destroyed, true);
});

test("a source that fails ends the command, and the call rejects with that", programs, async () => {
  const fault = new Error("no more");
  async function* faulty() {
    yield "a";
    throw fault;
  }
  await assert.rejects(run(["sleep", "1000"], { stdin: faulty() }), (error) => error === fault);
  await assert.rejects(run(["sleep", "1000"], { stdin: [1] }), TypeError);
});

test("a signal ends a program whose input nobody takes", programs, async () => {
  const controller = new AbortController();
  async function* endless() {
    for (let index = 0; ; index++) {
      // More than fits into the pipe, so the second one waits.
      if (index === 1) controller.abort();
      yield "x".repeat(60_000);
    }
  }
  const { cancelled } = await run(["sleep", "1000"], { stdin: endless(), signal: controller.signal });
  assert.equal(cancelled, true);
});

test("quoted words are read back as they were", bash, async () => {
  const words = ["plain", "", "two words", "it's", "$HOME `id` \\ \"", "*?[a]", "~", "a=b", "-x", "new\nline", "日本", "#c", "!x", "a;b|c&d", "{a,b}"];
  const { stdout } = await executeShell({ command: `printf '%s\\0' ${quote(words)}`, buffer: true });
  assert.deepEqual(stdout.split("\0").slice(0, -1), words);
  assert.equal(quote("a b"), "'a b'");
  assert.equal(quote(["git", "log", "--format=%H"]), "git log '--format=%H'");
  assert.throws(() => quote("a\0b"), { code: "ERR_INVALID_ARG_VALUE" });
  assert.throws(() => quote([1]), { name: "TypeError", message: "quote: words[0] must be a string, not 1" });
});

test("a command that was fed leaves no descriptor", { skip: noShell || (process.platform !== "linux" && "counts descriptors in /proc") }, async () => {
  const feed = async () => {
    async function* source() {
      yield "a";
      yield "b";
    }
    assert.equal((await executeShell({ command: "cat", stdin: source(), buffer: true })).stdout, "ab");
  };
  await feed();
  const before = readdirSync("/proc/self/fd").length;
  for (let index = 0; index < 50; index++) await feed();
  const after = readdirSync("/proc/self/fd").length;
  // Without the release each call would leak two.
  assert.ok(after < before + 50, `${before} descriptors became ${after}`);
});
