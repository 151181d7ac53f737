#!/usr/bin/env node
// node scripts/publish.mjs: publishes the npm tarballs of a release, platform packages before those that need them.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { PLATFORMS } from "./lib/platforms.mjs";
import { ROOT } from "./lib/steps.mjs";

const HELP = `node scripts/publish.mjs [options]

  --from FOLDER   the folder that npm run pack wrote; default: dist
  --dry-run       let npm check and list the packages, but publish nothing

Every tarball must have its digest in SHA256SUMS. Without --dry-run, npm signs where each was built (--provenance), which works only
in a workflow that is allowed to request an identity token.
`;

const { values } = parseArgs({ options: { from: { type: "string", default: join(ROOT, "dist") }, "dry-run": { type: "boolean", default: false }, help: { type: "boolean", short: "h" } } });

/**
 * Checks and returns the tarballs that SHA256SUMS lists. The packages of platforms come first, so that nobody installs
 * a package whose parts are missing.
 */
function tarballs(folder) {
  const rows = readFileSync(join(folder, "SHA256SUMS"), "utf8").trim().split("\n").map((line) => line.split("  "));
  const found = rows.filter(([, name]) => name.endsWith(".tgz"));
  if (!found.length) throw new Error(`SHA256SUMS in ${folder} lists no npm tarball; run: npm run pack -- --all`);
  for (const [sum, name] of found) {
    const digest = createHash("sha256").update(readFileSync(join(folder, name))).digest("hex");
    if (digest !== sum) throw new Error(`${name} does not have the digest in SHA256SUMS; run: npm run pack -- --all`);
  }
  // Packages of platforms first, then the library, then the packages that use it.
  const rank = (name) => (PLATFORMS.some(({ tag }) => name.includes(`-${tag}-`)) ? 0 : /^sinew-natives-\d/.test(name) ? 1 : 2);
  return found.map(([, name]) => name).sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}

function publish(folder) {
  for (const name of tarballs(folder)) {
    console.log(name);
    const args = ["publish", join(folder, name), "--access", "public", values["dry-run"] ? "--dry-run" : "--provenance"];
    const { status } = spawnSync("npm", args, { stdio: ["ignore", "inherit", "inherit"], shell: process.platform === "win32" });
    if (status !== 0) throw new Error(`npm publish ${name} failed; the packages before it are published`);
  }
}

if (values.help) {
  process.stdout.write(HELP);
} else {
  try {
    publish(resolve(values.from));
  } catch (error) {
    console.error(`publish: ${error.message}`);
    process.exitCode = 1;
  }
}
