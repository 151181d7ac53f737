/**
 * Shells that live on from command to command: bash, or an embedded interpreter where there is no bash.
 * @module
 */
import { type CallOptions, called, withCallback } from "./call.js";
import { native } from "./loader.js";
import type { ShellHandle } from "./native.js";
import { options as check } from "./options.js";
import { handleOf } from "./sandbox-handle.js";
import type { Sandbox, SandboxRefusal } from "./sandbox.js";
import { RUN, SHELL, checkCallback, request, resultOf, setup } from "./shell-request.js";

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
  /** Limits the shell and everything that it starts. Default: none. */
  sandbox?: Sandbox | undefined;
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
  /** What the sandbox refused, as far as it is known; absent without a sandbox. */
  refused?: SandboxRefusal[];
}

/** A process of an earlier run that still lives. */
export interface ShellJob {
  /** Its process id. */
  pid: number;
  /** Its command line. */
  command: string;
}

/** The options of a run, checked; text to read becomes bytes. */
function checked(options: ShellRunOptions): ShellRunOptions {
  const text = typeof options === "object" && options !== null && typeof options.stdin === "string" ? options.stdin : undefined;
  return check("Shell.run", RUN, text === undefined ? options : { ...options, stdin: Buffer.from(text) });
}

type OnChunk = ((chunk: string) => void | Promise<void>) | null | undefined;

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
  readonly #isSandboxed: boolean;

  /**
   * @param options The environment, a snapshot, the engine.
   * @throws `Failed to initialize shell` where the supervisor program of Linux is missing; `TypeError` for an option of the wrong type.
   */
  constructor(options: ShellOptions = {}) {
    const checked = check("Shell", SHELL, options) as ShellOptions;
    const sandbox = handleOf(checked.sandbox);
    this.#isSandboxed = sandbox !== undefined;
    this.#shell = new native.ShellHandle(setup(checked), sandbox);
  }

  /**
   * Runs one command, after those that were asked for before it. Background jobs go on after it: it resolves at most 100 ms
   * after the command itself, and what they print later is thrown away.
   *
   * @param options What to run.
   * @param onChunk As for {@link executeShell}; output and errors come in the order written.
   * @returns How it ended.
   * @throws As {@link executeShell}; `ERR_INVALID_STATE` after `close()`.
   */
  async run(options: ShellRunOptions, onChunk?: OnChunk): Promise<ShellRunResult> {
    const run = checked(options);
    checkCallback("Shell.run", onChunk);
    const { signal, timeoutMs } = run;
    if (signal?.aborted) return { exitCode: undefined, cancelled: true, timedOut: false };
    const start = (abort: InstanceType<typeof native.Abort>, deliver: (chunk: string) => void) =>
      this.#shell.run(request(run), onChunk ? deliver : undefined, abort);
    return resultOf(await withCallback({ signal, timeoutMs }, onChunk ?? (() => {}), false, start), this.#isSandboxed);
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
