#!/usr/bin/env node
// npm run pack: builds @sinew/natives for this machine's platform and writes the tarballs of it and of its platform packages.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { buildNatives, hostTarget, platformOf } from "./lib/natives.mjs";
import { variantsOf } from "./lib/platforms.mjs";
import { ROOT } from "./lib/steps.mjs";
import { buildTypescript } from "./lib/typescript.mjs";
import { GLIBC } from "./pack/files.mjs";
import { packMain, packPlatforms } from "./pack/natives.mjs";

const HELP = `npm run pack -- [options]

  --out FOLDER      where the tarballs go; default: dist
  --package FOLDER  a built package; default: packages/natives
  --addons FOLDER   the one folder of addons and supervisor programs; default: native/build, then dist/cross/TAG of each platform
  --no-build        pack what is there, and fail where something is missing; so do --package and --addons
  --only PART       main or platforms; default: both
  --complete        fail unless both variants of each x64 platform found are there
  --any-glibc       pack the files of any build as they are, whatever their size and the glibc they ask for; for tests

Builds a release of both variants for this platform first, on Linux for glibc ${GLIBC} (some minutes each the first time). Platform
packages are written for every platform whose addon is in the folders.
`;

const { values } = parseArgs({
  options: {
    out: { type: "string", default: join(ROOT, "dist") },
    package: { type: "string" },
    addons: { type: "string" },
    only: { type: "string" },
    complete: { type: "boolean", default: false },
    "any-glibc": { type: "boolean", default: false },
    "no-build": { type: "boolean", default: false },
    help: { type: "boolean", short: "h" },
  },
});

/** What is packed, by the name that --only takes. */
const PARTS = { main: packMain, platforms: packPlatforms };

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
  if (parts.includes("main")) await buildTypescript();
}

async function pack() {
  if (values.only && !PARTS[values.only]) throw new Error(`unknown part "${values.only}": use ${Object.keys(PARTS).join(" or ")}`);
  const parts = values.only ? [values.only] : ["main", "platforms"];
  if (!values["no-build"] && !values["any-glibc"] && !values.package && !values.addons) await build(parts);
  const out = resolve(values.out);
  mkdirSync(out, { recursive: true });
  const stage = mkdtempSync(join(tmpdir(), "sinew-pack-"));
  const options = {
    source: resolve(values.package ?? join(ROOT, "packages", "natives")),
    addons: values.addons && resolve(values.addons),
    complete: values.complete,
    anyBuild: values["any-glibc"],
    stage,
    out,
  };
  try {
    for (const part of parts) await PARTS[part](options);
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
