/**
 * Converts requests for shells, and their answers.
 * @module
 */
import { supervisor } from "./loader.js";
import type { SandboxRefusal as NativeRefusal, ShellAnswer, ShellRun, ShellSetup } from "./native.js";
import { type Table, typeError } from "./options.js";
import type { SandboxRefusal } from "./sandbox.js";
import type { ShellOptions, ShellRunOptions, ShellRunResult } from "./shell.js";

const ENGINES = ["auto", "bash", "brush"] as const;
/** The keys of a shell. @internal */
export const SHELL: Table = { sessionEnv: "env", snapshotPath: "string", engine: ENGINES, sandbox: "sandbox", cwd: "string", view: "view" };
/** The keys of a run. @internal */
export const RUN: Table = { command: "string!", cwd: "string", env: "env", timeoutMs: "u32", signal: "signal", stdin: "bytes" };

/** Returns the environment of this process without the functions that a bash exports: they would replace programs in every script. @internal */
export function inheritedEnv(): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("BASH_FUNC_")));
}

/** The native setup of a shell. @internal */
export function setup({ env: given, cwd, snapshotPath, engine }: Omit<ShellOptions, "sessionEnv"> & { env: Record<string, string | undefined> }): ShellSetup {
  // Shells of other systems have no supervisor.
  const file = supervisor() ?? (process.platform === "linux" ? undefined : "");
  if (file === undefined) {
    throw new Error("Failed to initialize shell: sinew-shell-host is not beside the addon; install the package again");
  }
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) if (value !== undefined) env[name] = value;
  const request: ShellSetup = { supervisor: file, env };
  if (cwd !== undefined) request.cwd = cwd;
  if (snapshotPath !== undefined) request.snapshotPath = snapshotPath;
  if (engine !== undefined) request.engine = engine;
  return request;
}

/** Rejects anything but a callback. @internal */
export function checkCallback(call: string, onChunk: unknown): void {
  if (onChunk !== undefined && onChunk !== null && typeof onChunk !== "function") throw typeError(`${call}: onChunk`, "a function", onChunk);
}

/** Converts a refused call in the addon's answer. @internal */
function refusal({ kind, target }: NativeRefusal): SandboxRefusal {
  const refused: SandboxRefusal = { kind: kind as SandboxRefusal["kind"] };
  if (target != null) refused.target = target;
  return refused;
}

/** Converts the addon's answer to the result of a run. @internal */
export function resultOf(answer: ShellAnswer, isSandboxed: boolean): ShellRunResult {
  const result: ShellRunResult = { exitCode: answer.exitCode ?? undefined, cancelled: answer.cancelled, timedOut: answer.timedOut };
  if (answer.signal != null) result.signal = answer.signal;
  if (answer.workingDir != null) result.workingDir = answer.workingDir;
  if (answer.stateLostReason != null) {
    result.stateLost = true;
    result.stateLostReason = answer.stateLostReason;
  }
  if (isSandboxed) result.refused = answer.refused.map(refusal);
  return result;
}

/** Converts a command for the addon. @internal */
export function request({ command, cwd, env, stdin, timeoutMs }: Omit<ShellRunOptions, "stdin"> & { stdin?: unknown }): ShellRun {
  const run: ShellRun = { command };
  if (cwd !== undefined) run.cwd = cwd;
  if (env !== undefined) run.env = env;
  if (stdin !== undefined) run.stdin = stdin as Uint8Array;
  if (timeoutMs !== undefined) run.timeoutMs = timeoutMs;
  return run;
}
