// The published tests of the packages that `@sinew/natives/compat` stands in for, unchanged, against our modules.
import { execFile } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ROOT } from "../../scripts/lib/steps.mjs";
import { compatPackages } from "../../scripts/lib/tools.mjs";

const MODULES = join(ROOT, "packages", "natives", "dist", "compat");
const LIMIT_MS = 120_000;

/** What a program prints, whatever it ends with. */
function output(program, args, cwd) {
  return new Promise((done) => {
    const options = { cwd, timeout: LIMIT_MS, maxBuffer: 1 << 26, env: { ...process.env, NODE_TEST_CONTEXT: undefined } };
    execFile(program, args, options, (error, out, err) => done({ out, err, ended: error?.signal ?? error?.code ?? 0 }));
  });
}

/** The tests of TAP output: of its top level, which is where files have theirs. */
function testsOf(tap) {
  const lines = [...tap.matchAll(/^(?: {4})?(not ok|ok) \d+ - (.*?)(?: # (?:time|duration).*)?$/gm)];
  return lines.map(([, verdict, title]) => ({ pass: verdict === "ok", title: title.replace(/^test › /, "") }));
}

async function runPackage(name, tests, tools) {
  const folder = mkdtempSync(join(tmpdir(), "sinew-compat-"));
  try {
    symlinkSync(join(tools, "node_modules"), join(folder, "node_modules"));
    writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
    writeFileSync(join(folder, "index.js"), `export { default } from ${JSON.stringify(pathToFileURL(join(MODULES, `${name}.mjs`)))};\n`);
    copyFileSync(join(tests, "test.js"), join(folder, "test.js"));
    const { ava } = JSON.parse(readFileSync(join(tests, "package.json"), "utf8")).devDependencies;
    const { out, err, ended } = ava
      ? await output(process.execPath, [join(tools, "node_modules", "ava", "entrypoints", "cli.mjs"), "--tap", "test.js"], folder)
      : await output(process.execPath, ["--test", "--test-reporter=tap", "test.js"], folder);
    const found = testsOf(out).filter(({ title }) => title !== "test.js");
    if (!found.length) return [{ id: `${name}: runs`, tier: "A", pass: false, detail: `no test ran (${ended}): ${err.trim().slice(0, 300)}` }];
    return found.map(({ pass, title }) => ({ id: `${name}: ${title}`, tier: "A", pass, detail: pass ? undefined : "its own test fails" }));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export async function run({ folder }) {
  const tools = await compatPackages();
  const names = readdirSync(folder).filter((name) => existsSync(join(MODULES, `${name}.mjs`)) && existsSync(join(folder, name, "test.js")));
  const rows = [];
  for (const name of names.sort()) rows.push(...(await runPackage(name, join(folder, name), tools)));
  return rows;
}
