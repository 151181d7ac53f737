/**
 * Runs git.
 * @module
 */
import { type StdinSource, run } from "@sinew/natives";
import { type VcsErrorCode, vcsError } from "./error.js";

/** The options of a run of git. */
export interface GitOptions {
  /** Ends git, with a `Canceled` error. */
  signal?: unknown;
  /** Variables that are added to those of the process. */
  env?: Record<string, string>;
  /** The standard input. */
  stdin?: StdinSource;
  /** The time limit in milliseconds; a longer run fails with `CliTimeout`. Default: none. */
  timeoutMs?: number | undefined;
  /** Exit codes other than 0 that are not failures. */
  answers?: readonly number[];
  /** The error code of an unrecognized failure. Default: `Backend`. */
  failure?: VcsErrorCode;
  /** The limit of the output in bytes, beyond which the call fails with `OutputTooLarge`. Default: 100,000,000. */
  maxBuffer?: number | undefined;
}

/** The output of git. */
export interface GitOutput {
  exitCode: number;
  stdout: string;
  /** The output as bytes. */
  bytes: Uint8Array;
}

/**
 * Makes the output independent of the language, makes prompts fail instead of waiting, and disables the
 * quoting of paths.
 */
const ENVIRONMENT = { LC_ALL: "C", LANGUAGE: "C", GIT_TERMINAL_PROMPT: "0", GIT_PAGER: "cat", GIT_EDITOR: "true" };
const CONFIGURATION = ["-c", "core.quotePath=false", "-c", "color.ui=false", "-c", "core.fsmonitor=false"];

/** The error codes of failures, by git's messages. */
const CAUSES: readonly (readonly [RegExp, VcsErrorCode])[] = [
  [/not a git repository/i, "NotARepository"],
  [/the previous cherry-pick is now empty|nothing to commit.*cherry-pick/is, "EmptyCherryPick"],
  [/patch does not apply|patch failed|corrupt patch|No valid patches in input|patch fragment without header/i, "PatchFailed"],
  [/CONFLICT|could not apply|would be overwritten by/i, "Conflict"],
  [/unknown revision|invalid reference|bad revision|ambiguous argument|Not a valid object name|invalid object name|pathspec '.*' did not match|does not exist in/i, "ObjectNotFound"],
];

/**
 * Returns the environment of a run: that of this process and the added variables, without those that select a
 * repository.
 */
function environment(env: Record<string, string> | undefined): Record<string, string> {
  const { GIT_DIR: _dir, GIT_WORK_TREE: _tree, GIT_INDEX_FILE: _index, ...rest } = process.env;
  return { ...(rest as Record<string, string>), ...ENVIRONMENT, ...env };
}

/**
 * Runs git in a directory.
 * @throws VcsError if git cannot be started, fails, is ended by the signal or the time limit, or writes too much.
 */
export async function git(cwd: string, args: readonly string[], options: GitOptions = {}): Promise<GitOutput> {
  const { signal, env, stdin, timeoutMs, answers = [], failure = "Backend", maxBuffer } = options;
  const request = { cwd, encoding: "buffer" as const, sessionEnv: environment(env), stdin, timeoutMs, maxBuffer, stripFinalNewline: false, signal: signal instanceof AbortSignal ? signal : undefined };
  const command = `git ${args.find((word) => !word.startsWith("-"))}`;
  let result;
  try {
    result = await run(["git", ...CONFIGURATION, ...args], request);
  } catch (error) {
    const { code, name, message } = error as NodeJS.ErrnoException;
    if (code === "ERR_CHILD_PROCESS_STDIO_MAXBUFFER") throw vcsError("OutputTooLarge", `${command}: the output exceeds ${maxBuffer ?? 100_000_000} bytes`);
    if (name === "AbortError") throw vcsError("Canceled", `${command}: canceled`);
    if (code === "ENOENT") throw vcsError("Cli", "git is not on PATH: install it");
    throw vcsError("Io", `${command}: ${message}`);
  }
  const { cancelled, timedOut, exitCode = 1 } = result;
  const [stdout, stderr] = [Buffer.from(result.stdout).toString(), Buffer.from(result.stderr).toString()];
  if (timedOut) throw vcsError("CliTimeout", `${command}: no answer within ${timeoutMs} ms`, { exitCode, stdout, stderr });
  if (cancelled) throw vcsError("Canceled", `${command}: canceled`, { exitCode, stdout, stderr });
  if (exitCode === 0 || answers.includes(exitCode)) return { exitCode, stdout, bytes: result.stdout };
  const message = stderr.trim() || stdout.trim() || `exit code ${exitCode}`;
  const code = failure === "Cli" ? failure : (CAUSES.find(([text]) => text.test(`${stderr}\n${stdout}`))?.[1] ?? failure);
  throw vcsError(code, failure === "Cli" ? message : `${command}: ${message}`, { exitCode, stdout, stderr });
}

/** Runs git, and returns its output. */
export async function output(cwd: string, args: readonly string[], options?: GitOptions): Promise<string> {
  return (await git(cwd, args, options)).stdout;
}

/** Runs git, and returns the lines of its output. */
export async function lines(cwd: string, args: readonly string[], options?: GitOptions): Promise<string[]> {
  return (await output(cwd, args, options)).split("\n").filter((line) => line !== "");
}

/** Runs git with `-z` among its arguments, and returns the names in its output. */
export async function names(cwd: string, args: readonly string[], options?: GitOptions): Promise<string[]> {
  return (await output(cwd, args, options)).split("\0").filter((name) => name !== "");
}

/** Runs git, and returns its single line of output; null if it exits with one of `answers` or prints nothing. */
export async function line(cwd: string, args: readonly string[], options?: GitOptions): Promise<string | null> {
  const { exitCode, stdout } = await git(cwd, args, options);
  return exitCode === 0 && stdout.trim() ? stdout.replace(/\r?\n$/, "") : null;
}
