#!/usr/bin/env node
// npm test: installs what is missing, then runs every test of Rust and of Node. Ends with a non-zero exit code on any failure.
// npm run test:more: slow checks that rarely fail: the reference of the libraries, the website, the checks for other
// systems.
import { mkdirSync, readdirSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { lintedEnvironment } from "./lib/linted.mjs";
import { ROOT, bold, counts, run, step } from "./lib/steps.mjs";
import { useTemporaryFolder } from "./lib/temporary.mjs";
import { TEST_PROGRAMS, acpClient, compilers, mcpServers, packages, pi, programs, ripgrep } from "./lib/tools.mjs";
import { MORE_PACKAGES } from "./lib/typescript.mjs";

const HELP = `npm test
npm run test:more

npm test runs every test: Rust, Node and the tables of conformance/. npm run test:more writes the reference of the Rust libraries,
where a broken link is an error, builds the website and looks at its pages in a browser, runs agents from the npm registry on our
packages, and compiles the workspace for other systems if their tools are installed.
`;
const GIB = 1024 ** 3;
/** Test files of Node that run against the agent's program. */
const AGENT_TESTS = ["pi/pi", "acp/acp", "acp/flows", "mcp/conformance", "mcp/serving", "subagents/stories", "subagents/schedules", "guide/guide", "attacks/rules", "attacks/addresses", "attacks/files", "attacks/guards", "attacks/keys", "attacks/own-files", "attacks/servers", "attacks/trust"].map((name) => `tests/${name}.test.mjs`);
/** Test files of Node outside the packages. */
const SCRIPT_TESTS = ["scripts/docs/pictures.test.mjs", "scripts/docs/site.test.mjs", "scripts/cross/page.test.mjs", "tests/examples/examples.test.mjs", "tests/release/release.test.mjs", "tests/subagents/patterns.test.mjs"];

/** Agents from the npm registry that are installed with our packages as overrides. */
const OVERRIDE_TESTS = ["oh-my-pi", "pi", "qwen-code", "types"].map((name) => `tests/overrides/${name}.test.mjs`);

const failures = [];
// A clean build gains nothing from incremental files, and they are half of the target folder.
const env = { CARGO_INCREMENTAL: "0" };

/** Runs test files of Node, `atOnce` at a time. */
function nodeTests(files, atOnce) {
  return run("node", ["--test", `--test-concurrency=${atOnce}`, "--test-reporter=spec", ...files], { env });
}

/**
 * Runs a command of `cargo xtask`, but without that alias, which builds only the package: its dependencies would get
 * other features and be compiled twice.
 */
function xtask(command) {
  return run("cargo", ["run", "--quiet", "--bin", "xtask", "--", command], { env });
}

async function installTools() {
  await compilers();
  const { bavail, bsize } = statfsSync(ROOT);
  const free = (bavail * bsize) / GIB;
  console.log(`${free.toFixed(1)} GiB free`);
  if (free < 12) console.log("a full run writes about 10 GiB to target/, so the disk may become full");
  await programs(TEST_PROGRAMS);
  env.SINEW_RG = await ripgrep();
  env.SINEW_PI = await pi();
  env.SINEW_MCP_SERVERS = await mcpServers();
  env.SINEW_ACP = await acpClient();
}

/** Creates one folder for everything that the steps write outside the checkout. It is deleted at the end. */
function prepareFolders() {
  const folder = useTemporaryFolder();
  env.SINEW_ACP_FRAMES = join(folder, "acp-frames");
  // The binding's macros write its types there.
  env.NAPI_TYPE_DEF_TMP_FOLDER = join(folder, "definitions");
  for (const each of [env.SINEW_ACP_FRAMES, env.NAPI_TYPE_DEF_TMP_FOLDER]) mkdirSync(each);
}

async function testAll() {
  await step("tools", installTools);
  await step("packages", packages);
  prepareFolders();
  Object.assign(env, await lintedEnvironment());
  await step("rust", () => xtask("ci"), failures);
  env.SINEW_BIN = join(process.env.CARGO_TARGET_DIR ?? join(ROOT, "target"), "debug", "sinew");
  if (!failures.includes("rust")) await step("agent", () => nodeTests(AGENT_TESTS, 2), failures);
  // Reuses what the Rust tests have compiled.
  await step("build", () => run("node", ["scripts/build.mjs", "--profile", "test"], { env }), failures);
  if (failures.includes("build")) return;
  const folders = ["natives", ...MORE_PACKAGES].map((name) => join(ROOT, "packages", name, "test"));
  const files = folders.flatMap((folder) => readdirSync(folder).filter((name) => name.endsWith(".test.mjs")).map((name) => join(folder, name)));
  await step("node", () => nodeTests([...files, ...SCRIPT_TESTS], 2), failures);
  await step("conformance", async () => {
    await nodeTests(["conformance/judge.test.mjs"], 1);
    await run("node", ["conformance/run.mjs"], { env });
  }, failures);
}

async function testMore() {
  await step("tools", compilers);
  await step("reference", () => xtask("docs"), failures);
  await step("website", async () => {
    await packages();
    await programs({ chromium: TEST_PROGRAMS.chromium });
    await run("node", ["scripts/docs/build.mjs"]);
    await nodeTests(["scripts/docs/look.test.mjs"], 1);
  }, failures);
  await step("agents on our packages", async () => {
    // Reuses what the Rust tests have compiled, if they ran before.
    await run("node", ["scripts/build.mjs", "--profile", "test"], { env });
    await nodeTests(OVERRIDE_TESTS, 1);
  }, failures);
  // Takes half a minute each if the dependencies are compiled already. Targets that are not done in time are listed.
  await step("other systems", () => run("node", ["scripts/cross/run.mjs", "win32-x64", "darwin-arm64", "linux-arm64", "--check", "--if-ready", "--limit", "170"], { env }), failures);
}

const more = process.argv.includes("--more");
if (process.argv.includes("--help")) {
  process.stdout.write(HELP);
} else {
  try {
    await (more ? testMore() : testAll());
    console.log(`\n${bold(failures.length ? `failed: ${failures.join(", ")}` : more ? "all checks passed" : "all tests passed")}`);
    // These checks have no counts.
    if (!more) console.log(`${counts.passed} passed, ${counts.failed + (failures.length && !counts.failed ? failures.length : 0)} failed`);
    if (counts.skipped) console.log(`${counts.skipped} of those that passed were skipped: what they run against is not installed`);
    process.exitCode = failures.length ? 1 : 0;
  } catch {
    // The step has printed the reason.
    process.exitCode = 1;
  }
}
