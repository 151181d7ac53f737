/**
 * Shell sessions: bash, or an embedded interpreter if there is no bash.
 * @module
 */
import { type CallOptions, called, withCallback } from "./call.js";
import type { IsolatedView } from "./isolated-view.js";
import { native } from "./loader.js";
import type { ShellHandle } from "./native.js";
import { options as check } from "./options.js";
import { handleOf } from "./sandbox-handle.js";
import type { Sandbox, SandboxRefusal } from "./sandbox.js";
import { RUN, SHELL, checkCallback, inheritedEnv, request, resultOf, setup } from "./shell-request.js";
import { inPlace } from "./view-place.js";

/** The interpreter of a script. `"auto"` is bash 4.4 or later on `PATH`, else `"brush"`. */
export type ShellEngine = "auto" | "bash" | "brush";

/** The options of a shell. */
export interface ShellOptions {
  /** The complete environment. Default: that of this process. Variables of the shell itself (`PS1`, `PWD`, `SHLVL`, …) are removed. */
  sessionEnv?: Record<string, string> | undefined;
  /** A script that is read before the first command: variables, functions, aliases. Default: none. */
  snapshotPath?: string | undefined;
  /** Default: `"auto"`. */
  engine?: ShellEngine | undefined;
  /** Limits the shell and everything that it starts. Default: none. */
  sandbox?: Sandbox | undefined;
  /** The initial directory. Default: that of `view`, or the current one of the process. */
  cwd?: string | undefined;
  /** Runs the commands in this view: they begin in its directory, with its variables. Default: none. */
  view?: IsolatedView | undefined;
}

/** A command to run. */
export interface ShellRunOptions extends CallOptions {
  /** The script. */
  command: string;
  /** The directory for this run only. Default: the current directory of the shell. */
  cwd?: string | undefined;
  /** Exported variables for this run only. Default: none. */
  env?: Record<string, string> | undefined;
  /** The standard input of the command. Default: empty. */
  stdin?: string | Uint8Array | undefined;
}

/** How a run ended. */
export interface ShellRunResult {
  /** The exit code; `undefined` when the run was cancelled or timed out, or a signal ended the shell. */
  exitCode?: number | undefined;
  /** The signal that ended the shell (`"SIGKILL"`); otherwise absent. */
  signal?: string;
  /** True if it was stopped by `abort()` or by the signal. */
  cancelled: boolean;
  /** True if the time limit stopped it. */
  timedOut: boolean;
  /** The directory of the shell after the command; absent if it could not be read, and for `executeShell`. */
  workingDir?: string;
  /** True if variables, functions and directory are lost, so that the next run starts a new shell; otherwise absent. */
  stateLost?: true;
  /** Why they are lost. */
  stateLostReason?: string;
  /** What the sandbox refused, as far as it is known; absent without a sandbox. */
  refused?: SandboxRefusal[];
}

/** A process of an earlier run that still runs. */
export interface ShellJob {
  /** Its process id. */
  pid: number;
  /** Its command line. */
  command: string;
}

/** Checks the options of a run, and converts the standard input to bytes. */
function checked(options: ShellRunOptions): ShellRunOptions {
  const text = typeof options === "object" && options !== null && typeof options.stdin === "string" ? options.stdin : undefined;
  return check("Shell.run", RUN, text === undefined ? options : { ...options, stdin: Buffer.from(text) });
}

type OnChunk = ((chunk: string) => void | Promise<void>) | null | undefined;

/**
 * A shell session. Variables, functions, aliases, options, directory and background jobs persist between commands. Nothing is started
 * before the first run. If the shell exits or is killed, the next run starts a new one.
 *
 * A command that is stopped ends with everything it started (TERM, and KILL after 1.5 s), and the shell keeps its state. If that is
 * impossible, the result has `stateLost`. The embedded interpreter always loses its state.
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
   * @param options Environment, snapshot and engine.
   * @throws `Failed to initialize shell` if the supervisor program is missing (Linux); `TypeError` for an option of the wrong type.
   */
  constructor(options: ShellOptions = {}) {
    const { sessionEnv, ...checked } = check("Shell", SHELL, options) as ShellOptions;
    const placed = inPlace({ ...checked, env: (sessionEnv ?? inheritedEnv()) as Record<string, string | undefined> });
    const sandbox = handleOf(checked.sandbox);
    this.#isSandboxed = sandbox !== undefined;
    this.#shell = new native.ShellHandle(setup(placed), sandbox);
  }

  /**
   * Runs a command after the ones that were queued before it. Background jobs continue afterwards: the promise resolves at most 100 ms after
   * the command itself, and later output of the jobs is discarded.
   *
   * @param options The command and its options.
   * @param onChunk See {@link executeShell}; output and errors arrive in the order written.
   * @returns How the command ended.
   * @throws Like {@link executeShell}; `ERR_INVALID_STATE` after `close()`.
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

  /** Stops the running command, and resolves when it has settled. Does nothing if the shell is idle. Queued commands still run. */
  abort(): Promise<void> {
    return called(() => this.#shell.abort());
  }

  /** Returns the processes of earlier runs that still run, after the running command has ended. */
  jobs(): Promise<ShellJob[]> {
    return called(() => this.#shell.jobs());
  }

  /** Stops the running command and every job (TERM, and KILL after 1.5 s). Later runs reject. */
  close(): Promise<void> {
    return called(() => this.#shell.close());
  }

  /** The interpreter of this shell: `"bash"` or `"brush"`. */
  get engine(): "bash" | "brush" {
    return this.#shell.engine as "bash" | "brush";
  }
}
