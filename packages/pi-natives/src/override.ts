/**
 * Checks an override of `@oh-my-pi/pi-natives` by this package.
 * @module
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

/** The replaced package. */
const REPLACED = "@oh-my-pi/pi-natives";
/** The supported versions of the replaced package, as major and minor version. Callbacks of 13 have another form. */
const FIRST = [14, 0] as const;
const LAST = [18, 2] as const;
const SUPPORTED = `${FIRST[0]} to ${LAST.join(".")}`;
const OVERRIDE = `npm pkg set 'overrides[${REPLACED}]=npm:@sinew/pi-natives@^0.1.0'`;

interface Manifest {
  name?: string;
  version?: string;
  dependencies?: Record<string, string>;
  engines?: Record<string, string>;
}

function manifest(folder: string): Manifest | undefined {
  const path = join(folder, "package.json");
  return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as Manifest) : undefined;
}

/** A problem that prevents an agent from running, and its solution. */
export interface OverrideProblem {
  problem: string;
  fix: string;
}

/** Returns the problem with the version that a package needs; undefined if it is supported. */
function versionProblem({ name, version, dependencies }: Manifest): OverrideProblem | undefined {
  const wanted = dependencies?.[REPLACED];
  const [, major, minor] = /(\d+)(?:\.(\d+))?/.exec(wanted ?? "") ?? [];
  if (wanted === undefined || major === undefined) return undefined;
  // A range without a minor version, such as "^18", allows the supported ones.
  const least = `${major}.${minor ?? 0}.0`;
  if (!isOlder(least, `${FIRST.join(".")}.0`) && !isOlder(`${LAST.join(".")}.0`, least)) return undefined;
  return {
    problem: `${name} ${version} needs ${REPLACED} ${wanted}, and @sinew/pi-natives has the exports of ${SUPPORTED}`,
    fix: `install ${name} ${SUPPORTED}, or remove the override: npm pkg delete 'overrides[${REPLACED}]' && npm install`,
  };
}

/** The agent, and packages of its that depend on the replaced one in all versions. */
const AGENT = "pi-coding-agent";
const PARTS = ["pi-utils", "pi-tui"];

/** Returns the packages in `node_modules/@oh-my-pi` that depend on the replaced one, the agent first. */
function dependents(scope: string): Manifest[] {
  const names = existsSync(scope) ? readdirSync(scope).sort((a, b) => Number(b === AGENT) - Number(a === AGENT)) : [];
  return names.map((name) => manifest(join(scope, name))).filter((found) => found?.dependencies?.[REPLACED] !== undefined) as Manifest[];
}

/** Returns the version of Bun on `PATH`. */
function bunVersion(): string | undefined {
  try {
    return execFileSync("bun", ["--version"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"], shell: process.platform === "win32" }).trim();
  } catch {
    return undefined;
  }
}

function isOlder(version: string, least: string): boolean {
  const [a, b] = [version, least].map((each) => each.split(".").map(Number));
  for (let at = 0; at < 3; at++) {
    const difference = (a?.[at] ?? 0) - (b?.[at] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}

function bunProblem(agents: readonly Manifest[]): OverrideProblem | undefined {
  const agent = agents.find(({ engines }) => engines?.["bun"] !== undefined);
  const least = /\d+\.\d+\.\d+/.exec(agent?.engines?.["bun"] ?? "")?.[0];
  if (!agent || !least) return undefined;
  const found = bunVersion();
  if (found !== undefined && !isOlder(found, least)) return undefined;
  const state = found === undefined ? "no Bun is on PATH" : `Bun ${found} is on PATH`;
  return { problem: `${agent.name} ${agent.version} runs under Bun ${least} or later, and ${state}; Node cannot run it`, fix: "npm install --global bun@latest, then start the agent with bun" };
}

/** Returns the problem with the addon: its package for this platform is missing or cannot be loaded. */
function addonProblem(from: string): OverrideProblem | undefined {
  try {
    createRequire(join(from, "package.json"))("@sinew/natives");
    return undefined;
  } catch (error) {
    const { message } = error as Error;
    const fix = /To fix this, (.+)/.exec(message)?.[1] ?? "npm install --include=optional";
    return { problem: (message.split("\n")[0] ?? message).replace(/ Tried:$/, ""), fix };
  }
}

/**
 * Finds the problems that prevent an agent from running with this package.
 * @param folder The directory with the agent's `node_modules`.
 * @returns The problems; empty if there are none.
 */
export function overrideProblems(folder: string): OverrideProblem[] {
  const scope = join(folder, "node_modules", "@oh-my-pi");
  const here = join(scope, "pi-natives");
  const found = manifest(here);
  if (!found) return [{ problem: `${folder} has no ${REPLACED} in node_modules`, fix: "run this command in the folder in which the agent is installed" }];
  if (found.name !== "@sinew/pi-natives") {
    return [{ problem: `the override has no effect: ${found.name} ${found.version} is installed`, fix: `${OVERRIDE} && rm -rf node_modules package-lock.json && npm install` }];
  }
  const agents = dependents(scope);
  // The packages of an agent have its version, so that the first problem is enough.
  const version = agents.map(versionProblem).find((problem) => problem !== undefined);
  return [version, addonProblem(here), bunProblem(agents)].filter((problem) => problem !== undefined);
}

/**
 * Throws if the package is installed instead of a version that it does not support.
 * @param here The directory of this module.
 */
export function checkVersion(here: string): void {
  if (!/[\\/]node_modules[\\/]@oh-my-pi[\\/]pi-natives[\\/]dist$/.test(here)) return;
  const read = (name: string) => manifest(join(here, "..", "..", name));
  // One file is enough, because it is read at each start.
  const dependent = [...PARTS, AGENT].map(read).find((each) => each?.dependencies?.[REPLACED]);
  const found = dependent && versionProblem(dependent);
  if (!found) return;
  const { problem, fix } = versionProblem(read(AGENT) ?? dependent) ?? found;
  throw new Error(`${problem}. To fix this, ${fix}`);
}
