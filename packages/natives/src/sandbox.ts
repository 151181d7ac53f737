/**
 * Limits what programs can read, write, connect to and signal.
 * @module
 */
import { called } from "./call.js";
import { native } from "./loader.js";
import type { SandboxHandle, SandboxSetup } from "./native.js";
import { type Table, illegal, options as check, rangeError, typeError } from "./options.js";
import { keepHandle } from "./sandbox-handle.js";

/** The promises of a sandbox. */
export type SandboxPromiseName = "write" | "read" | "network" | "sockets" | "signals" | "protect";

/**
 * The limits of a sandbox. An entry of a list is a path or a glob (`*`, `?`, `[a-z]`, `{a,b}`, `**`). `~`, `$HOME`, `.`, `..` and trailing slashes are resolved;
 * a relative entry is relative to each root. Deny wins over allow. A path that does not exist yet is valid.
 */
export interface SandboxPolicy {
  /**
   * The base. `"workspace"`: programs write to the roots, the temporary directories and `write`; the network is off. `"read-only"`: they write to
   * the temporary directories only; the network is off. In both they cannot read the user's secrets (`~/.ssh`, `~/.aws`, `~/.gnupg`, browser
   * profiles, the keys of Sinew). `"rules"`: only the deny lists limit them.
   */
  mode: "workspace" | "read-only" | "rules";
  /** Directories that programs may write in mode `"workspace"`; relative to the working directory. Not `/`, not the home directory, and no links. Default: none. */
  roots?: readonly string[] | undefined;
  /** Further writable paths and globs, in mode `"workspace"`. Default: none. */
  write?: readonly string[] | undefined;
  /** Paths and globs that are never writable. Default: none. */
  denyWrite?: readonly string[] | undefined;
  /** Paths and globs that are never readable. Default: none. */
  denyRead?: readonly string[] | undefined;
  /** Programs that cannot be executed: names on `PATH`, or paths. A copy of a program is another file. Default: none. */
  denyExec?: readonly string[] | undefined;
  /**
   * Paths in the roots that can start programs later, and so cannot be changed. `"default"`: hooks and configuration of git, and the configuration of agents, editors and
   * package managers, whether or not it exists. Default: `"default"`, and none in mode `"rules"`.
   */
  protect?: "default" | readonly string[] | undefined;
  /** The network. `{ loopback: true }` is a loopback interface of the sandbox's own. Default: `"off"`, and `"on"` in mode `"rules"`. */
  network?: "off" | "on" | { loopback: true } | undefined;
  /**
   * Unix sockets that programs may connect to, beside those that are created in a writable directory after the sandbox. Default: `"none"`, and all of
   * them in mode `"rules"`.
   */
  unixSockets?: "none" | readonly string[] | undefined;
  /** Promises that must be enforced. `create` rejects if one of them is not. Default: none. */
  required?: readonly SandboxPromiseName[] | undefined;
}

/** The state of one promise. */
export interface SandboxPromiseStatus {
  /** `"enforced"`: the kernel enforces all of it. `"partial"`: all but what `missing` lists. `"advisory"`: nothing is enforced. */
  held: "enforced" | "partial" | "advisory";
  /** The mechanisms of the kernel: `namespaces`, `landlock`, `seccomp`, `notification`. */
  by: string[];
  /** What is not enforced, one phrase each. */
  missing: string[];
}

/** The state of every promise. */
export type SandboxStatus = Record<SandboxPromiseName, SandboxPromiseStatus>;

/** A call that a sandbox refused, or a protected path that was created, and then removed. */
export interface SandboxRefusal {
  /** The promise that the call would have broken. */
  kind: "network" | "read" | "write" | "socket" | "signal";
  /** The address or path, if it is known. */
  target?: string;
}

const POLICY: Table = { mode: ["workspace", "read-only", "rules"], roots: "strings", write: "strings", denyWrite: "strings", denyRead: "strings", denyExec: "strings" };
const KEYS = [...Object.keys(POLICY), "protect", "network", "unixSockets", "required"];

/** Checks a list of strings, or a keyword in its place. */
function wordOr(where: string, word: string, value: unknown): string[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (value === word) return [];
  if (!Array.isArray(value) || value.some((item) => typeof item !== "string")) throw typeError(where, `${JSON.stringify(word)} or an array of strings`, value);
  return [...value];
}

function networkOf(value: unknown): "off" | "on" | "loopback" | undefined {
  if (value === undefined || value === null) return undefined;
  if (value === "off" || value === "on") return value;
  if (typeof value === "object" && (value as { loopback?: unknown }).loopback === true) return "loopback";
  throw typeError("Sandbox.create: network", '"off", "on" or { loopback: true }', value);
}

/** Converts a policy for the addon. */
function setupOf(policy: SandboxPolicy): SandboxSetup {
  const known = check("Sandbox.create", POLICY, policy) as SandboxPolicy;
  if (known.mode === undefined) throw typeError("Sandbox.create: mode", '"workspace", "read-only" or "rules"', policy.mode);
  // A misspelled limit would have no effect.
  const unknown = Object.keys(policy).find((key) => !KEYS.includes(key));
  if (unknown !== undefined) throw rangeError(`Sandbox.create: ${unknown}`, `one of ${KEYS.join(", ")}`, policy[unknown as keyof SandboxPolicy]);
  const { roots = [], write = [], denyWrite = [], denyRead = [], denyExec = [] } = known;
  const protect = wordOr("Sandbox.create: protect", "default", policy.protect);
  const sockets = wordOr("Sandbox.create: unixSockets", "none", policy.unixSockets);
  const required = wordOr("Sandbox.create: required", "", policy.required) ?? [];
  const network = networkOf(policy.network);
  const setup: SandboxSetup = {
    mode: known.mode,
    roots: [...roots],
    write: [...write],
    denyWrite: [...denyWrite],
    denyRead: [...denyRead],
    denyExec: [...denyExec],
    protectsDefault: policy.protect === "default",
    required,
    cwd: process.cwd(),
  };
  if (protect && policy.protect !== "default") setup.protect = protect;
  if (network) setup.network = network;
  if (sockets) setup.unixSockets = sockets;
  const { HOME, TMPDIR, PATH } = process.env;
  if (HOME) setup.home = HOME;
  if (TMPDIR) setup.temp = TMPDIR;
  if (PATH) setup.path = PATH;
  return setup;
}

/**
 * Limits what programs, and everything that they start, can read, write, connect to and signal. The kernel enforces the limits, so they hold for `bash`, Python,
 * compilers and every program in between. Pass a sandbox to {@link run}, {@link executeShell}, {@link Shell} or {@link PtySession}.
 *
 * Any number of sandboxes can exist at once. No external program and no root is needed. Linux only: elsewhere `create` rejects.
 *
 * @example
 * ```js
 * import { mkdtempSync } from "node:fs";
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 * import { Sandbox, run } from "@sinew/natives";
 * const root = mkdtempSync(join(tmpdir(), "project-"));
 * const sandbox = await Sandbox.create({ mode: "workspace", roots: [root], denyRead: ["**\/.env"] });
 * console.log(sandbox.status().network.held); // enforced
 * const { exitCode } = await run(["touch", "/etc/new"], { sandbox });
 * console.log(exitCode); // 1
 * sandbox.close();
 * ```
 */
export class Sandbox {
  readonly #handle: SandboxHandle;

  private constructor(handle: SandboxHandle) {
    if (!(handle instanceof native.SandboxHandle)) throw illegal("Sandbox", "Sandbox.create(policy)");
    this.#handle = handle;
    keepHandle(this, handle);
  }

  /**
   * Compiles a policy, and tries on this system what it needs. Commands then start without that work.
   *
   * @param policy The limits.
   * @returns A sandbox.
   * @throws `ERR_INVALID_ARG_VALUE` that names the entry if the policy contradicts itself, or a root is a link or too wide; `ENOENT` for a root that does not
   *   exist; `ERR_UNSUPPORTED` if a promise of `required` cannot be enforced, and on systems other than Linux; `TypeError` or `RangeError` for a key of the wrong
   *   type, and for an unknown key.
   */
  static async create(policy: SandboxPolicy): Promise<Sandbox> {
    const setup = setupOf(policy);
    return new Sandbox(await called(() => native.createSandbox(setup)));
  }

  /** Returns what is enforced on this system, by what, and what is missing. */
  status(): SandboxStatus {
    const rows = this.#handle.status().map(({ name, held, by, missing }) => [name, { held, by, missing }]);
    return Object.fromEntries(rows) as SandboxStatus;
  }

  /** Closes the sandbox. Commands that run keep their limits; new ones reject with `ERR_INVALID_STATE`. */
  async close(): Promise<void> {
    this.#handle.close();
  }

  /** The same as `close`, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#handle.close();
  }
}
