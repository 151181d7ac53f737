// Runs the published, unchanged tests of the packages that `@sinew/natives/compat` replaces against our modules.
import { execFile } from "node:child_process";
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { ROOT } from "../../scripts/lib/steps.mjs";
import { compatPackages, compatRunners } from "../../scripts/lib/tools.mjs";

const MODULES = join(ROOT, "packages", "natives", "dist", "compat");
const LIMIT_MS = 900_000;

/** The output of a program, whatever its exit code. */
function output(program, args, cwd) {
  return new Promise((done) => {
    // With CI set, test runners write no new snapshots.
    const options = { cwd, timeout: LIMIT_MS, maxBuffer: 1 << 26, env: { ...process.env, NODE_TEST_CONTEXT: undefined, CI: "1" } };
    execFile(program, args, options, (error, out, err) => done({ out, err, ended: error?.signal ?? error?.code ?? 0 }));
  });
}

/** The tests in TAP output, at the top level, where files have theirs. */
function testsOf(tap) {
  const lines = [...tap.matchAll(/^(?: {4})?(not ok|ok) \d+ - (.*?)(?: # (?:time|duration).*)?$/gm)];
  return lines.map(([, verdict, title]) => ({ pass: verdict === "ok", title: title.replace(/^test › /, "") }));
}

/** Makes `file` export `module` to `require`. */
function redirect(file, module, more = "") {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `module.exports = require(${JSON.stringify(join(MODULES, `${module}.js`))});\n${more}`);
}

/** Compiles the TypeScript of a folder to CommonJS, file by file, without type checks. */
function transpile(from, to) {
  const ts = createRequire(import.meta.url)("typescript");
  for (const entry of readdirSync(from, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith(".ts")) continue;
    const path = join(entry.parentPath, entry.name);
    const target = join(to, path.slice(from.length)).replace(/\.ts$/, ".js");
    mkdirSync(dirname(target), { recursive: true });
    const compilerOptions = { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022 };
    writeFileSync(target, ts.transpileModule(readFileSync(path, "utf8"), { compilerOptions }).outputText);
  }
}

/**
 * Runs the mocha tests in `folder` and reads the file of its reporter. Mocha's limit of 2 s is for idle machines only.
 */
async function mocha(folder, files) {
  const report = join(folder, "report.json");
  const { out, err, ended } = await output(process.execPath, [join(folder, "node_modules", "mocha", "bin", "mocha.js"), "--exit", "--timeout", "60000", "--reporter", "json", "--reporter-option", `output=${report}`, ...files], folder);
  if (!existsSync(report)) return { found: [], said: `${ended} ${err || out}` };
  const { tests, pending } = JSON.parse(readFileSync(report, "utf8"));
  const skipped = new Set(pending.map(({ fullTitle }) => fullTitle));
  const run = tests.filter(({ fullTitle }) => !skipped.has(fullTitle));
  return { found: run.map(({ fullTitle, err: fault }) => ({ title: fullTitle, pass: !fault.message, detail: fault.message })), said: err };
}

/** A package by its files `index.js` and `test.js`, for ava or Node's own runner. */
async function flat(name, tests, folder) {
  const tools = await compatPackages();
  symlinkSync(join(tools, "node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  writeFileSync(join(folder, "index.js"), `export { default } from ${JSON.stringify(pathToFileURL(join(MODULES, `${name}.mjs`)))};\n`);
  copyFileSync(join(tests, "test.js"), join(folder, "test.js"));
  const { ava } = JSON.parse(readFileSync(join(tests, "package.json"), "utf8")).devDependencies;
  const { out, err, ended } = ava
    ? await output(process.execPath, [join(tools, "node_modules", "ava", "entrypoints", "cli.mjs"), "--tap", "test.js"], folder)
    : await output(process.execPath, ["--test", "--test-reporter=tap", "test.js"], folder);
  return { found: testsOf(out).filter(({ title }) => title !== "test.js"), said: `${ended} ${err}` };
}

const RUNNERS = {
  "fast-glob": async (_, tests, folder) => {
    symlinkSync(join(await compatRunners(), "node_modules"), join(folder, "node_modules"));
    writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "fast-glob" }));
    cpSync(join(tests, "fixtures"), join(folder, "fixtures"), { recursive: true });
    cpSync(join(tests, "__snapshots__"), join(folder, "__snapshots__"), { recursive: true });
    // What its own root holds beside.
    for (const name of ["LICENSE", "README.md", "eslint.config.mjs", "herebyfile.mjs", "tsconfig.json"]) writeFileSync(join(folder, name), "");
    transpile(join(tests, "src"), join(folder, "out"));
    redirect(join(folder, "out", "index.js"), "fast-glob");
    writeFileSync(join(folder, "out", "tests", "index.js"), 'exports.task = require("./utils/task");\nexports.platform = require("./utils/platform");\n');
    return mocha(folder, ["out/**/*.spec.js", "out/**/*.e2e.js"]);
  },
  "node-pty": async (_, tests, folder) => {
    symlinkSync(join(await compatRunners(), "node_modules"), join(folder, "node_modules"));
    writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "node-pty" }));
    cpSync(join(tests, "fixtures"), join(folder, "fixtures"), { recursive: true });
    transpile(join(tests, "src"), join(folder, "lib"));
    // Outside Windows its suite only imports modules.
    rmSync(join(folder, "lib", "windowsTerminal.test.js"));
    for (const name of ["index", "terminal", "unixTerminal"]) redirect(join(folder, "lib", `${name}.js`), "node-pty");
    return mocha(folder, ["lib/**/*.test.js"]);
  },
  turndown: async (_, tests, folder) => {
    symlinkSync(join(await compatRunners(), "node_modules"), join(folder, "node_modules"));
    cpSync(join(tests, "test"), join(folder, "test"), { recursive: true });
    redirect(join(folder, "lib", "turndown.cjs"), "turndown", "const { edgeWhitespace } = module.exports;\n");
    const runs = await Promise.all(["turndown-test.js", "internals-test.js"].map((file) => output(process.execPath, [join("test", file)], folder)));
    let name = "";
    const found = runs.flatMap(({ out }) => [...out.matchAll(/^(?:# (.*)|(ok|not ok) (\d+) (.*))$/gm)].flatMap(([, title, verdict, number, text]) => {
      if (title !== undefined) name = title;
      return verdict ? [{ title: `${name}: ${text} ${number}`, pass: verdict === "ok" }] : [];
    }));
    return { found, said: runs.map(({ err }) => err).join("\n") };
  },
};

async function runPackage(name, tests) {
  const folder = mkdtempSync(join(tmpdir(), "sinew-compat-"));
  try {
    const { found, said } = await (RUNNERS[name] ?? flat)(name, tests, folder);
    if (!found.length) return [{ id: `${name}: runs`, tier: "A", pass: false, detail: `no test ran: ${said.trim().slice(0, 300)}` }];
    return found.map(({ pass, title, detail }) => ({ id: `${name}: ${title}`, tier: "A", pass, detail: pass ? undefined : (detail?.slice(0, 300) ?? "its own test fails") }));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export async function run({ folder }) {
  const names = readdirSync(folder).filter((name) => existsSync(join(MODULES, `${name}.js`)));
  const rows = [];
  for (const name of names.sort()) rows.push(...(await runPackage(name, join(folder, name))));
  return rows;
}
