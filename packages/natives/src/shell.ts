/**
 * Commands in bash, or in an embedded interpreter where there is no bash.
 * @module
 */
import { type CallOptions, called, withCallback } from "./call.js";
import { native, supervisor } from "./loader.js";
import type { ShellHandle, ShellRun, ShellSetup } from "./native.js";
import { type Table, options as check, typeError } from "./options.js";

/** The interpreter of a script. `"auto"` is a bash of version 4.4 or later on `PATH`, else `"brush"`. */
export type ShellEngine = "auto" | "bash" | "brush";

/** The setup of a shell. */
export interface ShellOptions {
  /** The whole environment. Default: that of this process. Shell-private variables (`PS1`, `PWD`, `SHLVL`, …) are left out. */
  sessionEnv?: Record<string, string> | undefined;
  /** A script that is read before the first command: variables, functions, aliases. Default: none. */
  snapshotPath?: string | undefined;
  /** Default: `"auto"`. */
  engine?: ShellEngine | undefined;
}

/** One command. */
export interface ShellRunOptions extends CallOptions {
  /** The script. */
  command: string;
  /** The directory for this run alone. Default: where the shell is. */
  cwd?: string | undefined;
  /** Variables for this run alone, exported. Default: none. */
  env?: Record<string, string> | undefined;
  /** The standard input of the command. Default: empty. */
  stdin?: string | Uint8Array | undefined;
}

/** A command in a shell of its own. */
export interface ShellExecuteOptions extends ShellRunOptions, ShellOptions {}

/** The end of a run. */
export interface ShellRunResult {
  /** The exit code; `undefined` when the run was cancelled or timed out, or a signal ended the shell. */
  exitCode?: number | undefined;
  /** The signal that ended the shell (`"SIGKILL"`); absent where none did. */
  signal?: string;
  /** True when it was stopped, by `abort()` or by the signal. */
  cancelled: boolean;
  /** True when the time limit ended it. */
  timedOut: boolean;
  /** The directory of the shell after the command; absent when it could not be read, and after `executeShell`. */
  workingDir?: string;
  /** Variables, functions and directory are lost: the next run starts a new shell. Absent where they are not. */
  stateLost?: true;
  /** The reason. */
  stateLostReason?: string;
}

/** A process of an earlier run that still lives. */
export interface ShellJob {
  /** Its process id. */
  pid: number;
  /** Its command line. */
  command: string;
}

const ENGINES = ["auto", "bash", "brush"] as const;
const SHELL: Table = { sessionEnv: "env", snapshotPath: "string", engine: ENGINES };
const RUN: Table = { command: "string!", cwd: "string", env: "env", timeoutMs: "u32", signal: "signal", stdin: "bytes" };
const EXECUTE: Table = { ...RUN, ...SHELL };

function setup({ sessionEnv, snapshotPath, engine }: ShellOptions): ShellSetup {
  const file = supervisor();
  if (file === undefined) {
    throw new Error("Failed to initialize shell: sinew-shell-host is not beside the addon; install the package again");
  }
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(sessionEnv ?? process.env)) if (value !== undefined) env[name] = value;
  const request: ShellSetup = { supervisor: file, env };
  if (snapshotPath !== undefined) request.snapshotPath = snapshotPath;
  if (engine !== undefined) request.engine = engine;
  return request;
}

/** The options of a call as they stand, checked against its table; text to read becomes bytes. */
function checked(call: string, table: Table, options: ShellExecuteOptions): ShellExecuteOptions {
  const text = typeof options === "object" && options !== null && typeof options.stdin === "string" ? options.stdin : undefined;
  return check(call, table, text === undefined ? options : { ...options, stdin: Buffer.from(text) });
}

type OnChunk = ((chunk: string) => void | Promise<void>) | null | undefined;

/** Starts a run with `start`; its options are checked. */
async function started(
  call: string,
  { command, cwd, env, stdin, timeoutMs, signal }: ShellRunOptions,
  onChunk: OnChunk,
  start: (run: ShellRun, deliver: ((chunk: string) => void) | undefined, abort: InstanceType<typeof native.Abort>) => Promise<NativeAnswer>,
): Promise<ShellRunResult> {
  if (onChunk !== undefined && onChunk !== null && typeof onChunk !== "function") {
    throw typeError(`${call}: onChunk`, "a function", onChunk);
  }
  if (signal?.aborted) return { exitCode: undefined, cancelled: true, timedOut: false };
  const run: ShellRun = { command };
  if (cwd !== undefined) run.cwd = cwd;
  if (env !== undefined) run.env = env;
  if (stdin !== undefined) run.stdin = stdin as Uint8Array;
  if (timeoutMs !== undefined) run.timeoutMs = timeoutMs;
  const answer = await withCallback({ signal, timeoutMs }, onChunk ?? (() => {}), false, (abort, deliver) => start(run, onChunk ? deliver : undefined, abort));
  const result: ShellRunResult = { exitCode: answer.exitCode ?? undefined, cancelled: answer.cancelled, timedOut: answer.timedOut };
  if (answer.signal != null) result.signal = answer.signal;
  if (answer.workingDir != null) result.workingDir = answer.workingDir;
  if (answer.stateLostReason != null) {
    result.stateLost = true;
    result.stateLostReason = answer.stateLostReason;
  }
  return result;
}

interface NativeAnswer {
  exitCode?: number | undefined;
  signal?: string | undefined;
  cancelled: boolean;
  timedOut: boolean;
  workingDir?: string | undefined;
  stateLostReason?: string | undefined;
}

/**
 * Runs one command in a shell of its own, as `bash -c COMMAND` does.
 *
 * A timeout and a signal end every process of the command (TERM, and KILL after 1.5 s) and resolve; they do not reject.
 * Background jobs end with the shell; while they hold its output, that is read until it is silent for 250 ms, at most 2 s.
 *
 * @param options What to run, and how.
 * @param onChunk Gets output and errors in the order written, decoded, at most once per 8 ms or 64 KiB; all of it before
 *   the promise settles. A promise that it returns is awaited before the next chunk. While it runs the command may have to
 *   wait. When it throws or its promise rejects, the command is ended and the call rejects with that.
 * @returns How it ended.
 * @throws `Failed to initialize shell`; `Failed to set cwd: …`; bad variable names; `TypeError` or `RangeError` for an
 *   option of the wrong type or range.
 * @example
 * ```js
 * import { executeShell } from "@sinew/natives";
 * const result = await executeShell({ command: "echo hello; exit 3" }, (chunk) => process.stdout.write(chunk));
 * console.log(result.exitCode); // 3
 * ```
 */
export async function executeShell(options: ShellExecuteOptions, onChunk?: OnChunk): Promise<ShellRunResult> {
  const all = checked("executeShell", EXECUTE, options);
  const shell = setup(all);
  return started("executeShell", all, onChunk, (run, deliver, abort) => native.executeShell(shell, run, deliver, abort));
}

/**
 * A shell that lives on from command to command: variables, functions, aliases, options, directory and background jobs
 * persist. Nothing is started before the first run. `exit` ends it, and so does what kills it; the next run starts a new one.
 *
 * Commands that run longer than wanted are left (TERM, and KILL after 1.5 s, for what they started) and the shell goes on
 * with its state; where that is impossible the result says `stateLost`. The embedded interpreter always loses it then.
 *
 * @example
 * ```js
 * import { Shell } from "@sinew/natives";
 * const shell = new Shell();
 * await shell.run({ command: "cd /usr; X=5" });
 * const result = await shell.run({ command: "echo $X" }, (chunk) => process.stdout.write(chunk)); // 5
 * console.log(result.workingDir); // /usr
 * await shell.close();
 * ```
 */
export class Shell {
  readonly #shell: ShellHandle;

  /**
   * @param options The environment, a snapshot, the engine.
   * @throws `Failed to initialize shell` where the supervisor program is missing; `TypeError` for an option of the wrong type.
   */
  constructor(options: ShellOptions = {}) {
    this.#shell = new native.ShellHandle(setup(check("Shell", SHELL, options) as ShellOptions));
  }

  /**
   * Runs one command, after those that were asked for before it. Background jobs go on after it: it resolves at most 100 ms
   * after the command itself, and what they print later is thrown away.
   *
   * @param options What to run.
   * @param onChunk As for {@link executeShell}.
   * @returns How it ended.
   * @throws As {@link executeShell}; `ERR_INVALID_STATE` after `close()`.
   */
  async run(options: ShellRunOptions, onChunk?: OnChunk): Promise<ShellRunResult> {
    const run = checked("Shell.run", RUN, options);
    return started("Shell.run", run, onChunk, (request, deliver, abort) => this.#shell.run(request, deliver, abort));
  }

  /** Stops the running command and resolves when it has settled. Does nothing to an idle shell; waiting commands go on. */
  abort(): Promise<void> {
    return called(() => this.#shell.abort());
  }

  /** The processes of earlier runs that still live; waits for the running command. */
  jobs(): Promise<ShellJob[]> {
    return called(() => this.#shell.jobs());
  }

  /** Ends the running command and every job (TERM, and KILL after 1.5 s). Later runs reject. */
  close(): Promise<void> {
    return called(() => this.#shell.close());
  }

  /** The interpreter that runs: `"bash"` or `"brush"`. */
  get engine(): "bash" | "brush" {
    return this.#shell.engine as "bash" | "brush";
  }
}
