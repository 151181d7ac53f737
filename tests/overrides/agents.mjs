// Agents of the npm registry, installed on our packages by `overrides`.
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CACHE } from "../../scripts/lib/tools.mjs";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** The agents by the name under which npm installs them, so that two versions of one are beside each other. */
const AGENTS = {
  "omp-18": "npm:@oh-my-pi/pi-coding-agent@18.2.3",
  "omp-17": "npm:@oh-my-pi/pi-coding-agent@17.3.5",
  "qwen-code": "npm:@qwen-code/qwen-code@0.24.4",
};

/** What a program that requires a package gets instead, as a package of two files. */
const REPLACED = { "@lydell/node-pty": "@sinew/natives/compat/node-pty", sharp: "@sinew/natives/compat/sharp-lite" };

/** Our packages as an override names them; the versions are those of the checkout. */
const OURS = ["natives", "tokens", "pi-natives"];

const nameOf = (replaced) => replaced.replaceAll(/[@/]/g, "-").replace(/^-/, "");

function writeReplacements(folder) {
  for (const [replaced, by] of Object.entries(REPLACED)) {
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

/** Packs our packages, and returns the overrides that name the files. */
function packed(folder) {
  return Object.fromEntries(OURS.map((name) => {
    const file = npm(["pack", "--silent", "--pack-destination", folder], join(ROOT, "packages", name)).trim().split("\n").at(-1);
    return [name === "pi-natives" ? "@oh-my-pi/pi-natives" : `@sinew/${name}`, `file:${file}`];
  }));
}

/** Puts the checkout where npm put the packed files, so that the build under test runs and nothing is installed again. */
function linkCheckout(folder) {
  const places = { "@oh-my-pi/pi-natives": "pi-natives", "@sinew/natives": "natives", "@sinew/tokens": "tokens" };
  for (const [place, name] of Object.entries(places)) {
    const at = join(folder, "node_modules", place);
    rmSync(at, { recursive: true, force: true });
    symlinkSync(join(ROOT, "packages", name), at, "junction");
  }
}

/** The folder with the agents, which is installed once for each content of this list; undefined where the registry cannot be reached. */
export function installedAgents() {
  const overrides = { ...Object.fromEntries(Object.keys(REPLACED).map((name) => [name, `file:replacements/${nameOf(name)}`])) };
  const content = JSON.stringify([AGENTS, REPLACED]);
  const folder = join(CACHE, `overrides-${createHash("sha256").update(content).digest("hex").slice(0, 12)}`);
  const stamp = join(folder, "installed.json");
  if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== content) {
    console.log("installing agents on the packages of this checkout, once");
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    writeReplacements(folder);
    writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, dependencies: AGENTS, overrides: { ...packed(folder), ...overrides } }));
    // What is optional is 700 MB of models and browsers that no test uses. The modules that are replaced are optional for their agents.
    npm(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--omit=optional", "--engine-strict=false"], folder);
    for (const name of Object.keys(REPLACED)) {
      const at = join(folder, "node_modules", name);
      mkdirSync(join(at, ".."), { recursive: true });
      if (!existsSync(at)) symlinkSync(join(folder, "replacements", nameOf(name)), at, "junction");
    }
    writeFileSync(stamp, content);
  }
  linkCheckout(folder);
  return folder;
}
