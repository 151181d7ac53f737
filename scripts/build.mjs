#!/usr/bin/env node
// npm run build: the addon, the shells' supervisor program and the TypeScript of @sinew/natives, for this machine or for a target.
import { parseArgs } from "node:util";
import { buildNatives, hostTarget, platformOf } from "./lib/natives.mjs";
import { variantsOf } from "./lib/platforms.mjs";
import { buildTypescript } from "./lib/typescript.mjs";

const HELP = `npm run build -- [options]

  --profile NAME    release (default), quick (no fat LTO), dev (compiles fast), test (what cargo test has compiled)
  --variant NAME    modern or baseline; x64 only; default: what this CPU runs; also TARGET_VARIANT; all: each that the target has
  --target TRIPLE   a Rust target; default: this machine
  --glibc VERSION   Linux: link for this glibc and later (2.28 for releases), through cargo-zigbuild
  --agent           build the agent too: dist/sinew
  --collect         put everything into dist/cross/TAG, where npm run pack looks for platforms that are not this machine's
  --dev             write sinew_natives.dev.node, which SINEW_DEV loads
  --natives-only    leave out the TypeScript
  --typescript-only build the TypeScript alone, beside an addon that is there
  --verbose         show what cargo says; without it only when a build fails
`;

/** Seconds of a first build on two cores of x86-64, as measured. */
const SECONDS = { release: 570, quick: 245 };

const { values } = parseArgs({
  options: {
    profile: { type: "string", default: "release" },
    variant: { type: "string" },
    target: { type: "string" },
    glibc: { type: "string" },
    agent: { type: "boolean", default: false },
    collect: { type: "boolean", default: false },
    dev: { type: "boolean", default: false },
    "natives-only": { type: "boolean", default: false },
    "typescript-only": { type: "boolean", default: false },
    verbose: { type: "boolean", default: false },
    help: { type: "boolean", short: "h" },
  },
});

if (values.help) {
  process.stdout.write(HELP);
} else {
  try {
    if (!values["typescript-only"]) {
      const { profile, variant = process.env.TARGET_VARIANT, target, glibc, agent, collect, dev, verbose } = values;
      const variants = variant === "all" ? variantsOf(platformOf(target ?? (await hostTarget()))) : [variant];
      for (const [at, each] of variants.entries()) {
        // One agent, of the variant that runs everywhere.
        const parts = ["addon", "supervisor", ...(agent && at === 0 ? ["agent"] : [])];
        await buildNatives({ parts, profile, variant: each || undefined, target, glibc, dev, verbose, collect, seconds: SECONDS[profile] });
      }
    }
    if (!values["natives-only"]) await buildTypescript();
  } catch (error) {
    console.error(`build: ${error.message}`);
    process.exitCode = 1;
  }
}
