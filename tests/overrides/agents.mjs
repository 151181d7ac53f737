// Installs agents from the npm registry with our packages as `overrides`.
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { CACHE } from "../../scripts/lib/tools.mjs";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Versions of the original whose types the table of exports is compared with. */
export const TYPES = ["16.2.2", "17.2.15", "17.3.5", "17.4.0", "18.0.3", "18.1.5", "18.2.0", "18.2.3", "18.2.10"];

/**
 * Agents that are installed together, the modules of theirs that ours replace, and options of npm. Names are those under which npm installs them,
 * so that two versions of one are beside each other. What is optional for oh-my-pi is 700 MB of models and browsers that no test uses.
 */
const GROUPS = {
  "oh-my-pi": { agents: { "omp-18": "npm:@oh-my-pi/pi-coding-agent@18.2.3", "omp-17": "npm:@oh-my-pi/pi-coding-agent@17.3.5" }, replaced: {}, options: ["--omit=optional"] },
  pi: { agents: { "@earendil-works/pi-coding-agent": "1.6.0" }, replaced: { "@silvia-odwyer/photon-node": "@sinew/natives/compat/photon-node" }, options: [] },
  // The original itself, without its addons, for its types. Versions before 16 have their addons inside.
  types: { agents: Object.fromEntries(TYPES.map((version) => [`natives-${version}`, `npm:@oh-my-pi/pi-natives@${version}`])), replaced: {}, options: ["--omit=optional"], original: true },
  "qwen-code": { agents: { "@qwen-code/qwen-code": "0.24.4" }, replaced: { "@lydell/node-pty": "@sinew/natives/compat/node-pty", sharp: "@sinew/natives/compat/sharp-lite" }, options: [] },
};

/** Our packages as an override names them; the versions are those of the checkout. */
const OURS = ["natives", "tokens", "pi-natives"];

const nameOf = (replaced) => replaced.replaceAll(/[@/]/g, "-").replace(/^-/, "");

/** Writes the replacement of each module as a package of two files. */
function writeReplacements(folder, modules) {
  for (const [replaced, by] of Object.entries(modules)) {
    const at = join(folder, "replacements", nameOf(replaced));
    mkdirSync(at, { recursive: true });
    writeFileSync(join(at, "package.json"), JSON.stringify({ name: nameOf(replaced), version: "1.0.0", main: "index.js" }));
    writeFileSync(join(at, "index.js"), `module.exports = require(${JSON.stringify(by)});\n`);
  }
}

function npm(args, cwd) {
  const { status, stdout, stderr } = spawnSync("npm", args, { cwd, encoding: "utf8", shell: process.platform === "win32" });
  if (status !== 0) throw new Error(`npm ${args.join(" ")} failed with ${status}:\n${stderr}`);
  return stdout;
}

/** Packs our packages and returns overrides with the packed files. */
function packed(folder) {
  return Object.fromEntries(OURS.map((name) => {
    const file = npm(["pack", "--silent", "--pack-destination", folder], join(ROOT, "packages", name)).trim().split("\n").at(-1);
    return [name === "pi-natives" ? "@oh-my-pi/pi-natives" : `@sinew/${name}`, `file:${file}`];
  }));
}

/**
 * Replaces the packed files by links to the checkout, so that the build under test runs without another installation.
 */
function linkCheckout(folder) {
  const places = { "@oh-my-pi/pi-natives": "pi-natives", "@sinew/natives": "natives", "@sinew/tokens": "tokens" };
  for (const [place, name] of Object.entries(places)) {
    const at = join(folder, "node_modules", place);
    rmSync(at, { recursive: true, force: true });
    mkdirSync(dirname(at), { recursive: true });
    symlinkSync(join(ROOT, "packages", name), at, "junction");
  }
}

/** The `node_modules` with the agents of a group, installed once for each content of the list. */
export function installedAgents(group) {
  const { agents, replaced, options, original } = GROUPS[group];
  const content = JSON.stringify(GROUPS[group]);
  const folder = join(CACHE, `overrides-${createHash("sha256").update(content).digest("hex").slice(0, 12)}`);
  const stamp = join(folder, "installed.json");
  if (!existsSync(stamp)) {
    console.log(`installing ${Object.keys(agents).join(", ")}${original ? "" : " on the packages of this checkout"}, once`);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    writeReplacements(folder, replaced);
    const overrides = { ...(original ? {} : packed(folder)), ...Object.fromEntries(Object.keys(replaced).map((name) => [name, `file:replacements/${nameOf(name)}`])) };
    writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, dependencies: agents, overrides }));
    npm(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--engine-strict=false", ...options], folder);
    writeFileSync(stamp, content);
  }
  if (!original) linkCheckout(folder);
  return join(folder, "node_modules");
}
