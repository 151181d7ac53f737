#!/usr/bin/env node
// npm run build: builds the addon, the supervisor program and the TypeScript of @sinew/natives, for this machine or for a target.
import { parseArgs } from "node:util";
import { buildNatives, hostTarget, platformOf } from "./lib/natives.mjs";
import { variantsOf } from "./lib/platforms.mjs";
import { buildTypescript } from "./lib/typescript.mjs";

const HELP = `npm run build -- [options]

  --profile NAME    release (default), quick (no fat LTO), dev (compiles fast), test (reuses what cargo test has compiled)
  --variant NAME    modern or baseline on x64, or all; default: the one that this CPU supports; also TARGET_VARIANT
  --target TRIPLE   build for this Rust target; default: this machine
  --glibc VERSION   Linux: link for this glibc and later (2.28 for releases), with cargo-zigbuild
  --agent           also build the agent: dist/sinew
  --collect         write everything to dist/cross/TAG, where npm run pack looks for other platforms
  --dev             write sinew_natives.dev.node, which SINEW_DEV loads
  --natives-only    do not build the TypeScript
  --typescript-only build only the TypeScript, with the existing addon
  --verbose         show the output of cargo, which is otherwise shown only if a build fails
`;

/** The measured seconds of a first build on two cores of x86-64. */
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
        // There is one agent, the variant that runs everywhere.
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
