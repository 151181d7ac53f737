/**
 * Runs one command or program, and collects or streams its output.
 * @module
 */
import { withCallback } from "./call.js";
import { CommandError, type Data, OutputBuffer } from "./command-output.js";
import type { IsolatedView } from "./isolated-view.js";
import { native } from "./loader.js";
import type { Abort, OutputChunk, ShellSetup, ShellStreams } from "./native.js";
import { type Table, options as check, typeError } from "./options.js";
import { handleOf } from "./sandbox-handle.js";
import type { ShellOptions, ShellRunOptions, ShellRunResult } from "./shell.js";
import { RUN, SHELL, checkCallback, inheritedEnv, request, resultOf, setup } from "./shell-request.js";
import { type StdinSource, feeding } from "./stdin.js";
import { inPlace } from "./view-place.js";

export { CommandError } from "./command-output.js";
export type { StdinSource } from "./stdin.js";

/** The options for output. They are named as in execa. */
export interface OutputOptions {
  /**
   * Collect the output in `stdout`, `stderr` and `all` of the result. Standard error then uses a separate pipe.
   * Default: false for `executeShell`, true for `run`.
   */
  buffer?: boolean | undefined;
  /** `"buffer"` returns bytes (`Uint8Array`) instead of text. Default: `"utf8"`; invalid UTF-8 becomes U+FFFD. */
  encoding?: "utf8" | "buffer" | undefined;
  /**
   * Limit of standard output, and of standard error: in characters, or in bytes with `encoding: "buffer"`. A command that prints
   * more is stopped, and the call rejects with `ERR_CHILD_PROCESS_STDIO_MAXBUFFER`; the error has the output up to the limit in `stdout`,
   * `stderr` and `all`. Default: 100,000,000.
   */
  maxBuffer?: number | undefined;
  /** Remove the last line end of the collected output. Default: true. */
  stripFinalNewline?: boolean | undefined;
  /** Reject with a {@link CommandError} unless the command ends with exit code 0. Default: false, every exit code resolves. */
  reject?: boolean | undefined;
}

/** The options of a command in a separate shell. */
export interface ShellExecuteOptions extends Omit<ShellRunOptions, "env" | "stdin">, ShellOptions, OutputOptions {
  /** Environment variables that are added to those of `sessionEnv` or replace them; `undefined` removes one. Default: none. */
  env?: Record<string, string | undefined> | undefined;
  /** The standard input: whole, or written while the command runs. Default: empty. */
  stdin?: StdinSource | undefined;
  /** Runs the command in this view: in its directory, unless `cwd` is given, with its variables. Default: none. */
  view?: IsolatedView | undefined;
}

/** The options of a program that is run without a shell. */
export type RunOptions = Omit<ShellExecuteOptions, "command" | "snapshotPath" | "engine">;

/** How a command ended, and its output. */
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

/** Receives output while the command runs. If it returns a promise, the command waits for it. */
export type OnOutput<T = string> = ((chunk: T, stream: "stdout" | "stderr") => void | Promise<void>) | null | undefined;

const OUTPUT: Table = { buffer: "boolean", encoding: ["utf8", "buffer"], maxBuffer: "u32", stripFinalNewline: "boolean", reject: "boolean", env: "environ", stdin: "stdin", view: "view" };
const EXECUTE: Table = { ...RUN, ...SHELL, ...OUTPUT };
const PROGRAM: Table = { ...Object.fromEntries(Object.entries(RUN).filter(([key]) => key !== "command")), sessionEnv: "env", sandbox: "sandbox", ...OUTPUT };

/** Removes variables without a value from the environment, and returns the other ones for the run. */
function splitEnvironment(shell: ShellSetup, env: Record<string, string | undefined> = {}): Record<string, string> {
  const given: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined) delete shell.env[name];
    else given[name] = value;
  }
  return given;
}

/** Runs a script, or the program of `args`. */
async function execute(call: string, given: ShellExecuteOptions, args: readonly string[] | undefined, onChunk: OnOutput<never>): Promise<ShellRunResult> {
  checkCallback(call, onChunk);
  const options = inPlace(given);
  const { stdin, env, buffer = false, encoding, maxBuffer, stripFinalNewline, reject, signal, timeoutMs } = options;
  const whole = typeof stdin === "string" ? Buffer.from(stdin) : stdin instanceof Uint8Array ? stdin : undefined;
  const shell = setup({ env: options.sessionEnv ?? inheritedEnv(), snapshotPath: options.snapshotPath, engine: options.engine });
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
    output?.push(stream, data, stripFinalNewline ?? true);
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
 * Runs one command in a separate shell, like `bash -c COMMAND`.
 *
 * A timeout or a signal stops every process of the command (TERM, and KILL after 1.5 s). The promise then resolves, or rejects with
 * `reject: true`. Background jobs end with the shell. While they have its output open, it is read until it is silent for 250 ms, at most
 * for 2 s.
 *
 * @param options The command and its options.
 * @param onChunk Receives decoded output and errors with the name of their stream, at most once per 8 ms or 64 KiB, and all of it before the
 *   promise settles. Chunks arrive in the order written; with `buffer`, in the order read, because each stream has its own pipe. If it
 *   returns a promise, the next chunk waits for it, and the command may have to wait. If it throws or its promise rejects, the command
 *   is stopped and the call rejects with that error.
 * @returns How the command ended; with `buffer` also its output.
 * @throws `Failed to initialize shell`; `Failed to set cwd: …`; an error for invalid variable names; an error that an iterated `stdin` throws;
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
 * Runs a program and collects its output. No shell is involved, so arguments need no quotes.
 * The program is supervised like a command of {@link executeShell}: everything that it started ends with it, and with this process.
 *
 * @param argv The program (a name on `PATH`, or a path) and its arguments.
 * @param options Options of the run.
 * @param onChunk See {@link executeShell}.
 * @returns How the program ended and, unless `buffer` is false, its output.
 * @throws `ENOENT` if the program does not exist; a {@link CommandError} with `reject`; otherwise like {@link executeShell}.
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

/** Words that need no quotes in any Unix shell. */
const PLAIN = /^[\w@%+:,./-]+$/;

/**
 * Quotes words for a shell (`sh`, `bash`, `zsh`), where quotes are needed.
 *
 * @param words One word, or several, which are joined with spaces.
 * @throws `TypeError` for a word that is not a string; `ERR_INVALID_ARG_VALUE` for a NUL character, which no shell supports.
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
      if (word.includes("\0")) throw Object.assign(new RangeError(`quote: words[${index}] contains a NUL character, which no shell supports`), { code: "ERR_INVALID_ARG_VALUE" });
      return PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
    })
    .join(" ");
}
