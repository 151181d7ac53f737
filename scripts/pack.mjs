#!/usr/bin/env node
// npm run pack: builds for this machine's platform and writes what a release consists of.
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

  --out FOLDER      where the tarballs go; default: dist
  --package FOLDER  a built package; default: packages/natives
  --addons FOLDER   the one folder of addons and supervisor programs; default: native/build, then dist/cross/TAG of each platform
  --program FILE    the agent of this machine; default: dist/cross/TAG, then dist/sinew
  --no-build        pack what is there, and fail where something is missing; so do --package, --addons and --program
  --only PART       main and platforms (packages of @sinew/natives), more (@sinew/tokens, @sinew/pi-natives), agent (npm packages,
                    archives, .deb) or bills (of materials); may be repeated; default: main, more and platforms
  --all             all five
  --complete        fail unless both variants of each x64 platform found are there
  --any-glibc       pack the files of any build as they are, whatever their size and the glibc they ask for; for tests

Builds a release for this platform first (both variants on x64; for glibc ${GLIBC} on Linux): minutes each the first time. Packages
are written for every platform whose addon or agent is in the folders; on Linux a static agent in dist/cross comes before the
one of dist. SHA256SUMS has the digest of every file that was written.
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

/** What is packed, by the name that --only takes. */
const PARTS = { main: packMain, more: packMore, platforms: packPlatforms, agent: packAgent, bills: writeBills };

async function writeBills({ source, out }) {
  const { version } = manifestOf(source);
  return Promise.all([...Object.keys(PRODUCTS).map((product) => writeBill(product, { version, out })), writeNpmBill({ version, out })]);
}

/** Builds what the packages of this machine's platform are made of; cargo leaves alone what is up to date. */
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
