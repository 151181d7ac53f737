#!/usr/bin/env node
// npm test: installs what is missing, then runs every test of Rust and of Node. Ends with a non-zero exit code on any failure.
import { mkdtempSync, readdirSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT, bold, counts, run, step } from "./lib/steps.mjs";
import { MORE_PACKAGES } from "./lib/typescript.mjs";
import { TEST_PROGRAMS, acpClient, compilers, mcpServers, packages, pi, programs, ripgrep } from "./lib/tools.mjs";

const GIB = 1024 ** 3;
const failures = [];
const env = {
  // A clean build gains nothing from incremental files, and they are half of the target folder.
  CARGO_INCREMENTAL: "0",
};

await step("tools", async () => {
  await compilers();
  const { bavail, bsize } = statfsSync(ROOT);
  const free = (bavail * bsize) / GIB;
  console.log(`${free.toFixed(1)} GiB free`);
  if (free < 12) console.log("a full run writes about 10 GiB below target/: it may not be enough");
  await programs(TEST_PROGRAMS);
  env.SINEW_RG = await ripgrep();
  env.SINEW_PI = await pi();
  env.SINEW_MCP_SERVERS = await mcpServers();
  env.SINEW_ACP = await acpClient();
  env.SINEW_ACP_FRAMES = mkdtempSync(join(tmpdir(), "acp-frames-"));
});
await step("packages", packages);
// Not `cargo xtask`, which asks for the package alone: its dependencies would get other features, and be compiled twice.
await step("rust", () => run("cargo", ["run", "--quiet", "--bin", "xtask", "--", "ci"], { env }), failures);
// Built by the tests of Rust.
const program = { SINEW_BIN: join(process.env.CARGO_TARGET_DIR ?? join(ROOT, "target"), "debug", "sinew") };
if (!failures.includes("rust")) {
  await step("pi", () => run("node", ["--test", "--test-reporter=spec", "tests/pi/pi.test.mjs", "tests/acp/acp.test.mjs", "tests/acp/flows.test.mjs", "tests/mcp/conformance.test.mjs", "tests/mcp/serving.test.mjs", "tests/guide/guide.test.mjs"], { env: { ...env, ...program } }), failures);
}
// From what the tests of Rust have compiled: unoptimised code of ours on optimised dependencies.
await step("build", () => run("node", ["scripts/build.mjs", "--profile", "dev"], { env }), failures);
if (!failures.includes("build")) {
  await step(
    "node",
    () => {
      const folders = ["natives", ...MORE_PACKAGES].map((name) => join(ROOT, "packages", name, "test"));
      const files = folders.flatMap((folder) => readdirSync(folder).filter((name) => name.endsWith(".test.mjs")).map((name) => join(folder, name)));
      return run("node", ["--test", "--test-concurrency=2", "--test-reporter=spec", ...files, "scripts/docs/site.test.mjs", "scripts/cross/page.test.mjs", "tests/release/release.test.mjs"], { env: { ...env, ...program } });
    },
    failures,
  );
  await step("conformance", async () => {
    await run("node", ["--test", "--test-reporter=spec", "conformance/judge.test.mjs"], { env });
    await run("node", ["conformance/run.mjs"], { env });
  }, failures);
}

// Half a minute each where the dependencies are compiled already, which they are for; what is not done in time is named.
await step("other systems", () => run("node", ["scripts/cross/run.mjs", "win32-x64", "darwin-arm64", "linux-arm64", "--check", "--if-ready", "--limit", "170"], { env }), failures);

rmSync(env.SINEW_ACP_FRAMES, { recursive: true, force: true });
console.log(`\n${bold(failures.length ? `failed: ${failures.join(", ")}` : "all tests passed")}`);
console.log(`${counts.passed} passed, ${counts.failed + (failures.length && !counts.failed ? failures.length : 0)} failed`);
if (counts.skipped) console.log(`${counts.skipped} of those that passed were skipped: what they run against is not installed`);
process.exitCode = failures.length ? 1 : 0;
