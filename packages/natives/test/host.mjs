// Makes copies of the package for tests of its loader, and provides the runtimes that it must support.
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { cpSync, existsSync, linkSync, mkdirSync, mkdtempSync, copyFileSync, readdirSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The checkout, the package, and the folder of the addon under test. */
export const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
export const PACKAGE = join(ROOT, "packages", "natives");
export const BUILD = join(ROOT, "native", "build");
export const MUSL = process.platform === "linux" && !process.report.getReport().header.glibcVersionRuntime;
export const TAG = `${process.platform}-${process.arch}${MUSL ? "-musl" : ""}`;

/** The addon built on this machine. x64 has two, of which one is enough. */
export const ADDON = readdirSync(BUILD).filter((name) => name.startsWith(`sinew_natives.${TAG}`) && name.endsWith(".node")).sort()[0];

/** A folder that is removed when the test ends; on Windows when the process ends, because others may use its files. */
export function temporary(t) {
  // The system's folder may be a link, but the loader reports real paths.
  const path = realpathSync(mkdtempSync(join(tmpdir(), "sinew-host-")));
  const remove = () => rmSync(path, { recursive: true, force: true, maxRetries: 5 });
  if (process.platform === "win32") process.on("exit", remove);
  else t.after(remove);
  return path;
}

/** A copy of the built package without an addon. The folders above it have none either. */
export function bare(t) {
  const folder = join(temporary(t), "a", "b", "natives");
  mkdirSync(folder, { recursive: true });
  cpSync(join(PACKAGE, "dist"), join(folder, "dist"), { recursive: true });
  copyFileSync(join(PACKAGE, "package.json"), join(folder, "package.json"));
  return folder;
}

/** Puts a file under another name, as a hard link if the disk allows. */
export function place(from, to) {
  mkdirSync(dirname(to), { recursive: true });
  // Windows does not delete a link to a library that a process has loaded, and others load `from`.
  if (process.platform === "win32") return copyFileSync(from, to);
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to);
  }
}

/** Installs packages of the checkout below `folder`, as links or, if the system has none, as copies with the addon. */
export function install(folder, ...names) {
  const scope = join(folder, "node_modules", "@sinew");
  mkdirSync(scope, { recursive: true });
  for (const name of names) {
    const from = join(ROOT, "packages", name);
    const to = join(scope, name);
    try {
      symlinkSync(from, to, "junction");
      // Wine creates some broken links.
      readdirSync(to);
    } catch {
      rmSync(to, { recursive: true, force: true });
      // The dependencies of a copy are where it was copied from.
      process.env.NODE_PATH = join(ROOT, "node_modules");
      for (const part of ["package.json", "dist", "bin"]) if (existsSync(join(from, part))) cpSync(join(from, part), join(to, part), { recursive: true });
      if (name === "natives") for (const file of readdirSync(BUILD, { withFileTypes: true })) if (file.isFile()) place(join(BUILD, file.name), join(to, "native", file.name));
    }
  }
}

/** Why a terminal of Windows does not work here; undefined if it does. */
export const terminalLacks = () => (process.platform !== "win32" ? undefined : process.env.WINEPREFIX ? "wine shows nothing of a ConPTY" : isThere("sh") ? undefined : "no program sh");

export const isThere = (program) => spawnSync(program, ["--version"]).error === undefined;
const PROGRAM = /\b(?:spawn\(|run\(\[|execFileSync\(|argv: \[)"(\w+)"/g;

/** What an example needs that this system does not have; undefined if it can run, as all can on Linux. */
export function lacking(code) {
  if (process.platform === "linux") return undefined;
  if (/\b(?:new Shell|executeShell|bash)\(/.test(code)) {
    if (!isThere("bash")) return "no program bash";
    if (process.platform === "win32" && code.includes('"/')) return "names folders as a Unix has them";
  }
  if (process.platform === "win32" && /\bnew TtyWriter\(|compat\/node-pty/.test(code)) return "for Unix alone";
  if (/\bnew PtySession\(/.test(code) && terminalLacks()) return terminalLacks();
  if (/\.changes\(/.test(code)) return "what changed is known on Linux alone";
  const programs = [...code.matchAll(PROGRAM)].map(([, name]) => name);
  if (/\.start\(\{ command:/.test(code)) programs.push("sh");
  const missing = programs.find((name) => !isThere(name));
  return missing && `no program ${missing}`;
}

/** Runs a program to its end. `code` is null if a signal ended it. */
export function run(program, args, { cwd, env = {} } = {}) {
  // Variants and folders in the outer environment must not affect the tests.
  const { SINEW_DEV, SINEW_NATIVE_VARIANT, SINEW_COMPILED, XDG_DATA_HOME, ...outer } = process.env;
  return new Promise((done, fail) => {
    const child = spawn(program, args, { cwd, env: { ...outer, ...env }, stdio: ["ignore", "pipe", "pipe"] });
    const said = { out: "", err: "" };
    child.stdout.on("data", (chunk) => (said.out += chunk));
    child.stderr.on("data", (chunk) => (said.err += chunk));
    child.on("error", fail);
    child.on("close", (code, signal) => done({ code, signal, ...said }));
  });
}

const RUNTIMES = { bun: "1.4.5", deno: "2.9.6", esbuild: "0.28.2", postject: "1.0.0-alpha.6" };

/** Bun, Deno, and tools that bundle and compile programs, installed from npm into the scripts' cache at first use. */
export function runtimes() {
  const cache = process.env.SINEW_CACHE ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "sinew");
  const folder = join(cache, `runtimes-${Object.values(RUNTIMES).join("-")}`);
  const at = (name) => join(folder, "node_modules", ".bin", name);
  const isComplete = () => Object.keys(RUNTIMES).every((name) => existsSync(at(name)));
  if (!isComplete()) {
    // Test files run concurrently. Each installs for itself, and the folder of the first to finish is used by all.
    const own = `${folder}.${process.pid}.part`;
    mkdirSync(own, { recursive: true });
    writeFileSync(join(own, "package.json"), JSON.stringify({ private: true, dependencies: RUNTIMES }));
    execFileSync("npm", ["install", "--no-audit", "--no-fund", "--no-package-lock"], { cwd: own, stdio: ["ignore", "ignore", "inherit"], shell: process.platform === "win32" });
    try {
      renameSync(own, folder);
    } catch {
      // Another one was first, or an interrupted one left an incomplete folder.
      if (!isComplete()) rmSync(folder, { recursive: true });
      if (isComplete()) rmSync(own, { recursive: true });
      else renameSync(own, folder);
    }
  }
  return Object.fromEntries(Object.keys(RUNTIMES).map((name) => [name, at(name)]));
}
