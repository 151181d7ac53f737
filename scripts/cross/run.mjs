#!/usr/bin/env node
// npm run cross: builds for other systems on a Linux machine with x64, and tests where an emulator can run the
// programs.
import { copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join, relative } from "node:path";
import { parseArgs } from "node:util";
import { LEVEL } from "../lib/natives.mjs";
import { addonOf, PLATFORMS, variantsOf } from "../lib/platforms.mjs";
import { ROOT, bold, dim, red } from "../lib/steps.mjs";
import { clock } from "../lib/cargo.mjs";
import { ripgrep } from "../lib/tools.mjs";
import { cargo } from "./cargo.mjs";
import { requireCounts } from "./counts.mjs";
import { cells, remember, results, writePage } from "./page.mjs";
import { PARTS, TARGETS, targetOf } from "./targets.mjs";
import { count, output } from "./tests.mjs";
import { FOLDER, counting, foreign, isReady, libnode, node, ripgrepForWindows, rust, wine } from "./toolchain.mjs";

const HELP = `npm run cross -- TARGET... [options]

  Builds the addon, the supervisor of shells and the agent for another system, runs the tests that can run here, prints a table,
  saves it in scripts/cross/results.json, and updates docs/natives/platforms.md from it.

  TARGET   ${TARGETS.map((row) => row.tag).join(", ")}, or all

  --check            only run cargo check --workspace --tests (one minute if its dependencies are compiled, otherwise ten)
  --build            only check and build; run nothing
  --from STAGE       start with build or test, and use the results of the earlier stages
  --parts A,B        build only these parts: addon, modern (the addon for newer processors), companion, agent; without
                     --profile release, the default is all except modern
  --crates A,B       run only the tests of these crates; default: programs, addon, and those of ${TARGETS[0].crates.slice(0, 3).join(", ")} …
  --no-crates        run no tests of crates, so that nothing is compiled
  --smoke            run only the agent's turn and each export of the addon once
  --profile NAME     use this cargo profile; default: dev
  --if-ready         do nothing if the tools are not installed; for CI, which must not fail then
  --limit SECONDS    with --check: stop after this time, and list what was skipped
  --page             only update the page from the saved results

  The tools are installed in ${FOLDER} (set SINEW_CROSS to use another folder; 10 GB with
  builds): the sources of Rust's library, qemu and wine from Debian, zig from PyPI, Node from npm. The system itself is not
  changed. wine requires root for its chroot.

  Examples:  npm run cross -- win32-x64 --check
             npm run cross -- linux-arm64 --crates sinew-walk,sinew-search
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    check: { type: "boolean", default: false },
    build: { type: "boolean", default: false },
    from: { type: "string", default: "check" },
    parts: { type: "string" },
    crates: { type: "string" },
    smoke: { type: "boolean", default: false },
    "no-crates": { type: "boolean", default: false },
    profile: { type: "string", default: "dev" },
    "if-ready": { type: "boolean", default: false },
    limit: { type: "string" },
    page: { type: "boolean", default: false },
    help: { type: "boolean", short: "h" },
  },
});

const platform = (row) => PLATFORMS.find(({ tag }) => tag === row.tag);
/** The file of a part. For an addon without a variant, the one that runs everywhere. */
function fileOf(row, part) {
  const { file, isAddon, variant = variantsOf(platform(row))[0] } = PARTS[part];
  return isAddon ? addonOf(platform(row), variant) : file[platform(row).os];
}

/** Compiles everything for a target, including tests, without linking. */
async function check(row, env, limit) {
  const made = await cargo((!values["if-ready"] && row.check) || "check", ["--workspace", "--tests", "--keep-going"], { ...row, flags: row.flags?.program, env, limit });
  const { ok, errors, warnings, late, seconds } = made;
  if (late) {
    console.log(`  skipped: not finished after ${clock(seconds * 1000)}; run npm run cross -- ${row.tag} --check`);
    return true;
  }
  if (!values["if-ready"]) remember(row.tag, { check: { ok, errors, warnings } });
  console.log(`  ${ok ? "compiles" : red("does not compile")}: ${errors} errors, ${warnings} warnings, ${clock(seconds * 1000)}`);
  return ok;
}

/**
 * Builds the parts into dist/cross/TAG. Parts with the same flags are built together, because they share dependencies.
 * A release is built as `npm run pack` builds it: for the processors that its packages require, and with the agent
 * separate, because crates get more features if the agent is built with them.
 */
async function build(row, env) {
  const { os, cpu } = platform(row);
  const released = values.profile === "release";
  const kept = released ? "releases" : "builds";
  const builds = {};
  const level = (part) => (released && cpu === "x64" ? `-Ctarget-cpu=${LEVEL[PARTS[part].variant ?? "baseline"]}` : "");
  const flagsOf = (part) => [row.flags?.[part === "agent" ? "program" : "addon"], level(part)].filter(Boolean).join(" ") || undefined;
  const groupOf = (part) => `${flagsOf(part)} ${released && part === "agent"}`;
  const wanted = row.parts.filter((part) => (values.parts ? values.parts.split(",").includes(part) : released || !PARTS[part].variant));
  if (!wanted.length) throw new Error(`none of "${values.parts}" is a part of ${row.tag}: use ${row.parts.join(", ")}`);
  for (const group of new Set(wanted.map(groupOf))) {
    const parts = wanted.filter((part) => groupOf(part) === group);
    const flags = flagsOf(parts[0]);
    const made = await cargo("zigbuild", [...parts.flatMap((part) => PARTS[part].words), "--profile", values.profile], { ...row, flags, env });
    console.log(dim(`  ${clock(made.seconds * 1000)}`));
    for (const part of parts) {
      const found = made.programs.find(({ path }) => path.endsWith(`/${PARTS[part].file[os]}`));
      builds[part] = { ok: Boolean(found), bytes: found ? statSync(found.path).size : 0, ...(released && { minutes: Math.ceil(made.seconds / 60) }) };
      if (!found) {
        console.log(red(`  ${part} was not built`));
        continue;
      }
      const place = join(ROOT, "dist", "cross", row.tag, fileOf(row, part));
      mkdirSync(dirname(place), { recursive: true });
      copyFileSync(found.path, place);
      console.log(`  ${relative(ROOT, place)}  ${(builds[part].bytes / 1e6).toFixed(1)} MB`);
    }
    remember(row.tag, { [kept]: { ...results()[row.tag]?.[kept], ...builds } });
  }
}

const RUNNERS = { foreign, wine };

/** How long one test program may run, in milliseconds. A program that runs longer is considered hung. */
const minutes = ({ minutes = 10 }) => minutes * 60_000;

/** The path of ripgrep, as a program of the system under test writes it. */
const oracle = async (row) => (row.runner === "wine" ? `Z:${await ripgrepForWindows()}` : ripgrep());

/** The package whose tests run in Node. */
const PACKAGE = join("packages", "natives");
/** Its tests of this machine's tools for packing, building and measuring. */
const OF_TOOLS = ["package", "build-output", "program"];
/** Its tests that start Node a hundred times, which takes an hour under qemu. */
const OF_STARTS = ["documents", "examples"];
/** How many test programs run at once. More than there are processors would only slow each of them. */
const AT_ONCE = availableParallelism();

/** Runs `work` for each item, several at a time; resolves to the sum of the counts. */
async function sum(items, work) {
  const all = { passed: 0, failed: 0, names: [], skipped: {} };
  const rest = [...items];
  const one = async () => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) {
      const { passed, failed, names, skipped } = await work(item);
      all.passed += passed;
      all.failed += failed;
      all.names.push(...names);
      for (const reason of skipped) all.skipped[reason] = (all.skipped[reason] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  return { ...all, names: all.names.sort() };
}

/** Runs the tests of the crates, then those that need Node or the whole program. */
async function test(row, env) {
  if (!row.runner) return;
  const built = join(ROOT, "dist", "cross", row.tag);
  const runner = await RUNNERS[row.runner](built);
  const note = (what, profile, counted) => {
    remember(row.tag, { tests: { ...results()[row.tag]?.tests, [what]: { profile, ...counted } } });
    console.log(`  ${what}, ${profile}: ${counted.passed} passed, ${counted.failed ? red(`${counted.failed} failed`) : "0 failed"}`);
    for (const name of counted.names) console.log(`    ${name}`);
  };
  if (!values.crates) await whole(row, built, runner, note);
  if (row.counts && values.profile === "release") {
    const words = [...(await counting(env)), await node(row.node)];
    const counts = await requireCounts(words, join(built, fileOf(row, "addon")), join(built, fileOf(row, "companion")));
    remember(row.tag, { require: counts });
    console.log(`  require of the package: ${counts.more.toLocaleString("en")} instructions, Node alone ${counts.bare.toLocaleString("en")}`);
  }
  if (values.smoke || values["no-crates"]) return;
  const crates = values.crates?.split(",") ?? row.crates;
  const made = await cargo("test", ["--no-run", "--no-fail-fast", ...crates.flatMap((name) => ["-p", name])], { ...row, flags: row.flags?.program, env });
  if (!made.ok) note("crates", "dev", { passed: 0, failed: 1, names: ["the tests were not built"] });
  // An emulator is slow, so it draws an eighth of the random cases that this machine draws.
  const limit = minutes(row);
  const more = { PROPTEST_RNG_SEED: "1", PROPTEST_CASES: "32", SINEW_RG: await oracle(row) };
  for (const name of crates) {
    const programs = made.programs.filter((program) => program.package === name && /\/deps\//.test(program.path));
    note(`crate ${name}`, "dev", await sum(programs, async ({ path }) => count(await output([...runner, path, "--test-threads=2"], { cwd: join(ROOT, "crates", name), env: more, limit }))));
  }
}

/** The cargo profile of a part in dist/cross. It is from the last release if it has that release's size. */
const profileOf = ({ tag }, part, path) => (results()[tag]?.releases?.[part]?.bytes === statSync(path).size ? "release" : "dev");

/** The counts of one test that passes if a program ends without an error. */
const passes = ({ code, text }) => ({
  passed: Number(code === 0),
  failed: Number(code !== 0),
  names: code === 0 ? [] : [`ended with ${code}: ${text.trim().split(/\r?\n/).slice(-4).join(" / ").slice(0, 300)}`],
  skipped: {},
});

/** Runs a turn of the agent, and the tests in Node. */
async function whole(row, built, runner, note) {
  const { os } = platform(row);
  const agent = join(built, fileOf(row, "agent"));
  if (existsSync(agent)) note("the agent's scripted turn", profileOf(row, "agent", agent), passes(await output([...runner, agent, "--script", join(ROOT, "scripts", "demo.jsonl"), "--no-session", "--cwd", ROOT, "-p", "What is in this folder?"])));
  const addons = row.parts.filter((part) => PARTS[part].isAddon && existsSync(join(built, fileOf(row, part))));
  if (!row.node || !addons.length) return;
  // wine's server reads files for all programs, so one program cannot be shown another folder.
  if (os === "win32") cpSync(built, join(ROOT, "native", "build"), { recursive: true });
  if (!existsSync(join(ROOT, PACKAGE, "dist"))) throw new Error(`no ${PACKAGE}/dist: run npm run build -- --profile dev first`);
  const words = [...runner, await node(row.node)];
  for (const part of addons) await inNode(row, part, profileOf(row, part, join(built, fileOf(row, part))), words, note);
}

/** Calls each export of an addon once, and runs the tests of its package. */
async function inNode(row, part, profile, words, note) {
  const { os, cpu } = platform(row);
  const { variant } = PARTS[part];
  const title = variant ? `addon of ${LEVEL[variant]} in Node` : "addon in Node";
  const chosen = cpu === "x64" ? { SINEW_NATIVE_VARIANT: variant ?? variantsOf(platform(row))[0] } : {};
  note(`${title}: every export once (smoke.mjs)`, profile, passes(await output([...words, join(PACKAGE, "test", "smoke.mjs")], { env: chosen })));
  if (values.smoke) return;
  const without = [...OF_TOOLS, ...(os === "linux" && cpu === "arm64" ? OF_STARTS : [])];
  const files = readdirSync(join(ROOT, PACKAGE, "test")).filter((name) => name.endsWith(".test.mjs") && !without.includes(name.split(".")[0]));
  const env = { ...chosen, SINEW_RG: await oracle(row) };
  const run = async (name) => {
    const counted = count(await output([...words, "--test-reporter=tap", join(PACKAGE, "test", name)], { env, limit: minutes(row) }));
    return { ...counted, names: counted.names.map((each) => `${name}: ${each}`) };
  };
  note(`${title}: tests of @sinew/natives`, profile, await sum(files, run));
}

function table(rows) {
  const known = results();
  const lines = [["target", "check", "built", "passed", "failed"], ...rows.map((row) => cells(row, known[row.tag]))];
  const widths = lines[0].map((_, at) => Math.max(...lines.map((line) => line[at].length)));
  console.log(`\n${bold("all results")}  ${dim("(scripts/cross/results.json)")}`);
  for (const line of lines) console.log(line.map((cell, at) => cell.padEnd(widths[at])).join("  ").trimEnd());
  for (const row of rows) console.log(dim(`${row.tag}, not tested: ${row.left}`));
}

async function main() {
  if (values.help || (!positionals.length && !values.page)) return void process.stdout.write(HELP);
  if (values.page) return writePage();
  if (process.platform !== "linux" || process.arch !== "x64") throw new Error("cross builds are set up for Linux on x64; on other systems build natively: npm run build");
  const begin = ["check", "build", "test"].indexOf(values.from);
  if (begin < 0) throw new Error(`unknown stage "${values.from}": use check, build or test`);
  const rows = positionals.includes("all") ? TARGETS : positionals.map(targetOf);
  if (values["if-ready"] && !(await isReady())) return console.log("skipped: the compile check for other systems, because the tools for cross builds are not installed. To install and run it: npm run cross -- all --check");
  const env = await rust();
  const end = values.limit ? Date.now() + 1000 * Number(values.limit) : undefined;
  let fails = false;
  for (const row of rows) {
    console.log(`\n${bold(`== ${row.tag}`)}  ${dim(row.target)}`);
    const more = platform(row).os === "win32" ? { ...env, ...(await libnode(env)) } : env;
    if (begin === 0 && !(await check(row, more, end && Math.max(1, end - Date.now())))) fails = true;
    if (values.check) continue;
    if (begin <= 1) await build(row, more);
    if (!values.build) await test(row, more);
  }
  if (values["if-ready"]) return void (process.exitCode = Number(fails));
  writePage();
  table(rows);
  const parts = rows.flatMap(({ tag }) => Object.values(results()[tag]?.[values.profile === "release" ? "releases" : "builds"] ?? {}));
  if (fails || parts.some(({ ok }) => !ok)) process.exitCode = 1;
}

// Ends the started programs with this one: cargo and emulators are in process groups of their own.
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130));
main().catch((error) => {
  console.error(`cross: ${error.message}`);
  process.exitCode = 1;
});
