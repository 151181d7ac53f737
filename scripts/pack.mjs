#!/usr/bin/env node
// npm run pack: builds for this machine's platform and writes the files of a release.
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { buildNatives, hostTarget, platformOf } from "./lib/natives.mjs";
import { variantsOf } from "./lib/platforms.mjs";
import { ROOT } from "./lib/steps.mjs";
import { buildTypescript } from "./lib/typescript.mjs";
import { packAgent } from "./pack/agent.mjs";
import { PRODUCTS, writeBill } from "./pack/crates.mjs";
import { GLIBC, manifestOf } from "./pack/files.mjs";
import { writeNpmBill } from "./pack/npm-bill.mjs";
import { packMain, packMore, packPlatforms } from "./pack/natives.mjs";

const HELP = `npm run pack -- [options]

  --out FOLDER      write the packages to this directory; default: dist
  --package FOLDER  pack this built package; default: packages/natives
  --addons FOLDER   use the addons and supervisor programs in this directory; default: native/build, then dist/cross/TAG
  --program FILE    use this agent; default: dist/cross/TAG, then dist/sinew
  --no-build        do not build, and fail if something is missing; implied by --package, --addons and --program
  --only PART       pack only main and platforms (@sinew/natives), more (@sinew/tokens, @sinew/pi-natives), agent (npm packages,
                    archives, .deb) or bills (of materials); can be repeated; default: main, more and platforms
  --all             pack all five parts
  --complete        fail unless each x64 platform has both variants
  --any-glibc       accept the files of any build, whatever their size and required glibc; for tests

Builds a release for this platform first (both variants on x64; for glibc ${GLIBC} on Linux), which takes minutes the first time. Writes
packages for every platform whose addon or agent is found; on Linux a static agent in dist/cross is preferred to the one in dist.
SHA256SUMS has the digest of every file.
`;

const { values } = parseArgs({
  options: {
    out: { type: "string", default: join(ROOT, "dist") },
    package: { type: "string" },
    addons: { type: "string" },
    program: { type: "string" },
    only: { type: "string", multiple: true },
    all: { type: "boolean", default: false },
    complete: { type: "boolean", default: false },
    "any-glibc": { type: "boolean", default: false },
    "no-build": { type: "boolean", default: false },
    help: { type: "boolean", short: "h" },
  },
});

/** What is packed, by the names for --only. */
const PARTS = { main: packMain, more: packMore, platforms: packPlatforms, agent: packAgent, bills: writeBills };

async function writeBills({ source, out }) {
  const { version } = manifestOf(source);
  return Promise.all([...Object.keys(PRODUCTS).map((product) => writeBill(product, { version, out })), writeNpmBill({ version, out })]);
}

/** Builds the files for the packages of this machine's platform. Cargo skips what is up to date. */
async function build(parts) {
  const platform = platformOf(await hostTarget());
  const glibc = platform.libc === "glibc" ? GLIBC : undefined;
  if (parts.includes("platforms")) {
    for (const variant of variantsOf(platform)) {
      const what = `the addon for ${platform.tag}${variant ? `, ${variant}` : ""}`;
      await buildNatives({ parts: ["addon", "supervisor"], profile: "release", variant: variant || undefined, glibc, what });
    }
  }
  if (parts.includes("agent")) await buildNatives({ parts: ["agent"], profile: "release", glibc, variant: variantsOf(platform)[0] || undefined, what: "the agent" });
  if (parts.includes("main") || parts.includes("more")) await buildTypescript();
}

async function pack() {
  const unknown = values.only?.find((part) => !PARTS[part]);
  if (unknown) throw new Error(`unknown part "${unknown}": use ${Object.keys(PARTS).join(", ")}`);
  const parts = values.all ? Object.keys(PARTS) : (values.only ?? ["main", "more", "platforms"]);
  if (!values["no-build"] && !values["any-glibc"] && !values.package && !values.addons && !values.program) await build(parts);
  const out = resolve(values.out);
  mkdirSync(out, { recursive: true });
  const stage = mkdtempSync(join(tmpdir(), "sinew-pack-"));
  const options = {
    source: resolve(values.package ?? join(ROOT, "packages", "natives")),
    addons: values.addons && resolve(values.addons),
    program: values.program && resolve(values.program),
    complete: values.complete,
    anyBuild: values["any-glibc"],
    stage,
    out,
  };
  try {
    const paths = [];
    for (const part of parts) paths.push(...(await PARTS[part](options)));
    const sums = paths.sort().map((path) => `${createHash("sha256").update(readFileSync(path)).digest("hex")}  ${basename(path)}\n`);
    writeFileSync(join(out, "SHA256SUMS"), sums.join(""));
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

if (values.help) {
  process.stdout.write(HELP);
} else {
  try {
    await pack();
  } catch (error) {
    console.error(`pack: ${error.message}`);
    process.exitCode = 1;
  }
}
