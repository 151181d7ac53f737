/**
 * One command or program: its output collected or as it comes, its input whole or while it runs.
 * @module
 */
import { withCallback } from "./call.js";
import { CommandError, type Data, OutputBuffer } from "./command-output.js";
import { native } from "./loader.js";
import type { Abort, OutputChunk, ShellSetup, ShellStreams } from "./native.js";
import { type Table, options as check, typeError } from "./options.js";
import { handleOf } from "./sandbox-handle.js";
import type { ShellOptions, ShellRunOptions, ShellRunResult } from "./shell.js";
import { RUN, SHELL, checkCallback, request, resultOf, setup } from "./shell-request.js";
import { type StdinSource, feeding } from "./stdin.js";

export { CommandError } from "./command-output.js";
export type { StdinSource } from "./stdin.js";

/** The way in which the output of one command is taken; the words are those of execa. */
export interface OutputOptions {
  /**
   * Collect the output: `stdout`, `stderr` and `all` of the result. Standard error then comes through a pipe of its own.
   * Default: false for `executeShell`, true for `run`.
   */
  buffer?: boolean | undefined;
  /** `"buffer"` gives bytes (`Uint8Array`) in place of text. Default: `"utf8"`; what is not UTF-8 becomes U+FFFD. */
  encoding?: "utf8" | "buffer" | undefined;
  /**
   * The most that is collected of standard output, and of standard error: characters, or bytes with `encoding: "buffer"`. A
   * command that prints more is ended, and the call rejects with `ERR_CHILD_PROCESS_STDIO_MAXBUFFER`. Default: 100,000,000.
   */
  maxBuffer?: number | undefined;
  /** Leave out the line end at the end of what is collected. Default: true. */
  stripFinalNewline?: boolean | undefined;
  /** Reject with a {@link CommandError} unless the command ends with exit code 0. Default: false, every end resolves. */
  reject?: boolean | undefined;
}

/** A command in a shell of its own. */
export interface ShellExecuteOptions extends Omit<ShellRunOptions, "env" | "stdin">, ShellOptions, OutputOptions {
  /** Variables beside those of `sessionEnv`; they beat them, and `undefined` takes one away. Default: none. */
  env?: Record<string, string | undefined> | undefined;
  /** The standard input: whole, or written while the command runs. Default: empty. */
  stdin?: StdinSource | undefined;
}

/** A program that is run without a shell. */
export type RunOptions = Omit<ShellExecuteOptions, "command" | "snapshotPath" | "engine">;

/** The end of a command and what it printed. */
export interface CommandResult extends ShellRunResult {
  /** Its standard output. */
  stdout: string;
  /** Its standard error. */
  stderr: string;
  /** Both, in the order in which they were read. */
  all: string;
}

/** The same with `encoding: "buffer"`. */
export interface CommandBytesResult extends ShellRunResult {
  /** Its standard output. */
  stdout: Uint8Array;
  /** Its standard error. */
  stderr: Uint8Array;
  /** Both, in the order in which they were read. */
  all: Uint8Array;
}

/** Takes output as it comes; a promise that it returns holds the command back. */
export type OnOutput<T = string> = ((chunk: T, stream: "stdout" | "stderr") => void | Promise<void>) | null | undefined;

const OUTPUT: Table = { buffer: "boolean", encoding: ["utf8", "buffer"], maxBuffer: "u32", stripFinalNewline: "boolean", reject: "boolean", env: "environ", stdin: "stdin" };
const EXECUTE: Table = { ...RUN, ...SHELL, ...OUTPUT };
const PROGRAM: Table = { ...Object.fromEntries(Object.entries(RUN).filter(([key]) => key !== "command")), sessionEnv: "env", sandbox: "sandbox", ...OUTPUT };

/** A variable without a value is taken out of the environment; the rest stays with the run. */
function splitEnvironment(shell: ShellSetup, env: Record<string, string | undefined> = {}): Record<string, string> {
  const given: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined) delete shell.env[name];
    else given[name] = value;
  }
  return given;
}

/** Runs a script, or the program of `args`. */
async function execute(call: string, options: ShellExecuteOptions, args: readonly string[] | undefined, onChunk: OnOutput<never>): Promise<ShellRunResult> {
  checkCallback(call, onChunk);
  const { stdin, env, buffer = false, encoding, maxBuffer, stripFinalNewline, reject, signal, timeoutMs } = options;
  const whole = typeof stdin === "string" ? Buffer.from(stdin) : stdin instanceof Uint8Array ? stdin : undefined;
  const shell = setup(options);
  const sandbox = handleOf(options.sandbox);
  const run = request({ ...options, env: splitEnvironment(shell, env), stdin: whole });
  const streams: ShellStreams = { separate: buffer, bytes: encoding === "buffer" };
  if (args) streams.args = [...args];
  const output = buffer ? new OutputBuffer(encoding === "buffer", maxBuffer) : undefined;
  const name = args ? quote(args) : options.command;
  const finish = (result: ShellRunResult) => {
    if (output) Object.assign(result, output.result(stripFinalNewline ?? true));
    if (reject && result.exitCode !== 0) throw new CommandError(name, result, signal?.reason);
    return result;
  };
  if (signal?.aborted) return finish({ exitCode: undefined, cancelled: true, timedOut: false });
  const take = ({ stderr, data }: OutputChunk) => {
    const stream = stderr ? "stderr" : "stdout";
    output?.push(stream, data);
    return (onChunk as OnOutput<Data>)?.(data, stream);
  };
  const taken = output || onChunk ? take : undefined;
  const start = async (abort: Abort, deliver: (chunk: OutputChunk) => void) => {
    const source = whole || stdin === undefined ? undefined : feeding(`${call}: stdin`, stdin as Exclude<StdinSource, string | Uint8Array>, abort);
    try {
      return await native.executeShell(shell, run, streams, source?.input, sandbox, taken && deliver, abort);
    } finally {
      await source?.end();
    }
  };
  return finish(resultOf(await withCallback({ signal, timeoutMs }, taken ?? (() => {}), false, start), sandbox !== undefined));
}

/**
 * Runs one command in a shell of its own, as `bash -c COMMAND` does.
 *
 * A timeout and a signal end every process of the command (TERM, and KILL after 1.5 s) and resolve; they reject with
 * `reject: true` alone. Background jobs end with the shell; while they hold its output, that is read until it is silent for
 * 250 ms, at most 2 s.
 *
 * @param options What to run, and how.
 * @param onChunk Gets output and errors, decoded, at most once per 8 ms or 64 KiB, and the name of their stream; all of it before
 *   the promise settles. In the order written; with `buffer` in the order read, as each stream has a pipe. A promise that it
 *   returns is awaited before the next chunk. While it runs the command may have to wait. When it throws or its promise rejects,
 *   the command is ended and the call rejects with that.
 * @returns How it ended; with `buffer` also what it printed.
 * @throws `Failed to initialize shell`; `Failed to set cwd: …`; bad variable names; what a `stdin` that is iterated throws;
 *   `TypeError` or `RangeError` for an option of the wrong type or range.
 * @example
 * ```js
 * import { executeShell } from "@sinew/natives";
 * const result = await executeShell({ command: "echo hello; exit 3" }, (chunk) => process.stdout.write(chunk));
 * console.log(result.exitCode); // 3
 *
 * const { stdout, stderr } = await executeShell({ command: "sort; echo done >&2", stdin: ["b\n", "a\n"], buffer: true });
 * console.log(stdout.split("\n"), stderr); // [ 'a', 'b' ] done
 * ```
 */
export async function executeShell(options: ShellExecuteOptions & { buffer: true; encoding: "buffer" }, onChunk?: OnOutput<Uint8Array>): Promise<CommandBytesResult>;
export async function executeShell(options: ShellExecuteOptions & { buffer: true; encoding?: "utf8" | undefined }, onChunk?: OnOutput): Promise<CommandResult>;
export async function executeShell(options: ShellExecuteOptions & { encoding: "buffer" }, onChunk?: OnOutput<Uint8Array>): Promise<ShellRunResult>;
export async function executeShell(options: ShellExecuteOptions, onChunk?: OnOutput): Promise<ShellRunResult>;
export async function executeShell(options: ShellExecuteOptions, onChunk?: OnOutput<never>): Promise<ShellRunResult> {
  return execute("executeShell", check("executeShell", EXECUTE, options), undefined, onChunk);
}

/**
 * Runs a program with its arguments as they stand: no shell reads them, so nothing has to be quoted. Collects what it prints.
 * It is supervised as a command of {@link executeShell} is: nothing that it started is left when it ends, nor when this process does.
 *
 * @param argv The program, a name on `PATH` or a path, and its arguments.
 * @param options How to run it.
 * @param onChunk As for {@link executeShell}.
 * @returns How it ended and, unless `buffer` is false, what it printed.
 * @throws `ENOENT` for a program that is not there; a {@link CommandError} with `reject`; else as {@link executeShell}.
 * @example
 * ```js
 * import { run } from "@sinew/natives";
 * const { stdout, exitCode } = await run(["printf", "%s|", "two words", "$HOME", "*"]);
 * console.log(stdout, exitCode); // two words|$HOME|*| 0
 * ```
 */
export async function run(argv: readonly string[], options: RunOptions & { buffer: false }, onChunk?: OnOutput<never>): Promise<ShellRunResult>;
export async function run(argv: readonly string[], options: RunOptions & { encoding: "buffer" }, onChunk?: OnOutput<Uint8Array>): Promise<CommandBytesResult>;
export async function run(argv: readonly string[], options?: RunOptions | null, onChunk?: OnOutput): Promise<CommandResult>;
export async function run(argv: readonly string[], options?: RunOptions | null, onChunk?: OnOutput<never>): Promise<ShellRunResult> {
  const { argv: args } = check("run", { argv: "strings!" }, { argv });
  const program = check("run", PROGRAM, options ?? {}) as RunOptions;
  return execute("run", { buffer: true, ...program, command: "" }, args, onChunk);
}

/** Words that every shell of Unix reads as they stand. */
const PLAIN = /^[\w@%+:,./-]+$/;

/**
 * Words as a line for a shell (`sh`, `bash`, `zsh`), which reads each as it stands: quoted where that is needed.
 *
 * @param words One word, or several that are joined by blanks.
 * @throws `TypeError` for what is no text; `ERR_INVALID_ARG_VALUE` for a NUL, which no shell can take.
 * @example
 * ```js
 * import { executeShell, quote } from "@sinew/natives";
 * quote(["grep", "it's $5", "a b.txt"]); // "grep 'it'\\''s $5' 'a b.txt'"
 * const { stdout } = await executeShell({ command: `printf '%s' ${quote("$HOME *")}`, buffer: true });
 * console.log(stdout); // $HOME *
 * ```
 */
export function quote(words: string | readonly string[]): string {
  const list = typeof words === "string" ? [words] : words;
  if (!Array.isArray(list)) throw typeError("quote: words", "a string or an array of strings", words);
  return list
    .map((word: unknown, index) => {
      if (typeof word !== "string") throw typeError(`quote: words[${index}]`, "a string", word);
      if (word.includes("\0")) throw Object.assign(new RangeError(`quote: words[${index}] holds a NUL character: no shell can take it`), { code: "ERR_INVALID_ARG_VALUE" });
      return PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
    })
    .join(" ");
}
