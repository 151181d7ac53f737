// Measures the time that a sandbox adds to a command, against the sandboxes of other agents and the tool that most of
// them use.
//
// SINEW_BENCH_FILES sets the number of files in the tree that masks and globs search (default: 20,000). The numbers in
// the contract are for 300,000.
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { program } from "../lib/program.mjs";

const FILES = Number(process.env.SINEW_BENCH_FILES ?? 20_000);
const GLOBS = 40;
const ROUNDS = 40;

/** Runs a program to its end and discards its output; rejects unless it succeeds. */
function spawned(file, args, options) {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { stdio: "ignore", ...options });
    child.once("error", reject);
    child.once("close", (code) => (code === 0 ? resolve() : reject(new Error(`${file} ended with ${code}`))));
  });
}

/** Tells whether a sandbox of another project works on this machine, which may forbid what it needs. */
function runs(name, file, args, options) {
  const { status, stderr = "", error } = spawnSync(file, args, { encoding: "utf8", timeout: 30_000, ...options });
  if (status !== 0) console.log(`  ${name} does not run here: ${error?.message ?? (stderr.trim().split("\n").at(-1) || `status ${status}`)}`);
  return status === 0;
}

/** The commands of other sandboxes that run `true` without network, with one writable directory. */
async function others(bench, root, settings) {
  const found = {};
  const mounts = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", root, root, "--unshare-net", "--unshare-pid", "--die-with-parent", "true"];
  if (runs("bwrap", "bwrap", mounts)) found.bwrap = () => spawned("bwrap", mounts);
  const runtime = program("@anthropic-ai/sandbox-runtime", "srt");
  const srt = [runtime, "--settings", settings, "true"];
  if (runtime && runs("@anthropic-ai/sandbox-runtime", process.execPath, srt, { cwd: root })) found["@anthropic-ai/sandbox-runtime"] = () => spawned(process.execPath, srt, { cwd: root });
  const codex = program("@openai/codex", "codex");
  for (const words of [["sandbox", "linux", "--full-auto"], ["sandbox"]]) {
    const args = [codex, ...words, "--", "true"];
    if (!codex || found["codex sandbox"] || !runs(`codex ${words.join(" ")}`, process.execPath, args, { cwd: root })) continue;
    found["codex sandbox"] = () => spawned(process.execPath, args, { cwd: root });
  }
  return found;
}

function median(list) {
  return [...list].sort((a, b) => a - b)[list.length >> 1];
}

/** The median milliseconds of each command. The commands take turns. */
async function turns(commands) {
  const times = Object.fromEntries(Object.keys(commands).map((name) => [name, []]));
  for (let round = 0; round <= ROUNDS; round++) {
    const entries = Object.entries(commands);
    for (const [name, work] of [...entries.slice(round % entries.length), ...entries.slice(0, round % entries.length)]) {
      const begun = performance.now();
      await work();
      // The first round warms up.
      if (round) times[name].push(performance.now() - begun);
    }
  }
  return Object.fromEntries(Object.entries(times).map(([name, list]) => [name, median(list)]));
}

export default async function (bench) {
  const { Sandbox, run } = bench.natives;
  const folder = mkdtempSync(join(tmpdir(), "sinew-bench-sandbox-"));
  const root = join(folder, "project");
  const opened = [];
  const create = async (policy) => {
    const sandbox = await Sandbox.create({ mode: "workspace", roots: [root], ...policy });
    opened.push(sandbox);
    return sandbox;
  };
  try {
    for (let at = 0; at < FILES; at++) {
      const sub = join(root, `d${at % 300}`);
      if (at < 300) mkdirSync(sub, { recursive: true });
      writeFileSync(join(sub, at % 1000 ? `f${at}.ts` : `f${at}.secret`), "text\n");
    }
    const settings = join(folder, "settings.json");
    writeFileSync(settings, JSON.stringify({ network: { allowedDomains: [], deniedDomains: [] }, filesystem: { denyRead: [], allowWrite: [root], denyWrite: [] } }));
    await bench.compare("Sandbox.create and close", { sinew: async () => (await Sandbox.create({ mode: "workspace", roots: [root] })).close() });

    const masks = { denyRead: Array.from({ length: 3 }, (_, at) => join(root, `d${at}`)), denyWrite: [join(root, "d9")] };
    const globs = { denyRead: Array.from({ length: GLOBS }, (_, at) => (at ? `**/*.secret${at}` : "**/*.secret")) };
    const [plain, masked] = [await create({}), await create(masks)];
    const begun = performance.now();
    const globbed = await create(globs);
    await run(["true"], { cwd: root, sandbox: globbed });
    const first = performance.now() - begun;
    const probe = [[plain, ["touch", "/etc/sinew-bench"]], [masked, ["cat", join(root, "d1", "f1.ts")]], [globbed, ["cat", join(root, "d0", "f0.secret")]]];
    for (const [sandbox, argv] of probe) {
      // A masked file may look empty.
      const { exitCode, stdout } = await run(argv, { cwd: root, sandbox });
      if (exitCode === 0 && (stdout || sandbox === plain)) throw new Error(`${argv.join(" ")} is not refused`);
    }
    const command = (sandbox) => () => run(["true"], { cwd: root, ...(sandbox && { sandbox }) });
    const peers = await others(bench, root, settings);
    // The others run separately, because a command that follows a slow program is slower itself.
    const usual = { ...(await turns({ alone: command(), workspace: command(plain), masks: command(masked), globs: command(globbed) })), ...(await turns(peers)) };
    const shown = (ms) => ms.toFixed(2);
    bench.fact("`true` without a sandbox, ms", shown(usual.alone));
    bench.fact("more in `workspace`, ms", shown(usual.workspace - usual.alone), 0.6);
    bench.fact("more with masks, ms", shown(usual.masks - usual.alone), 2.5);
    bench.fact(`more with ${GLOBS} globs over ${FILES.toLocaleString("en")} files, ms, beside \`workspace\``, shown(usual.globs - usual.workspace), 5);
    bench.fact(`sandbox and first command with ${GLOBS} globs, ms`, shown(first), 500);
    for (const name of Object.keys(peers)) bench.fact(`\`true\` in ${name}, ms`, shown(usual[name]));
  } finally {
    for (const sandbox of opened) sandbox.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
