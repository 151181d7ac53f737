// Packs the agent as npm packages, archives and Debian packages, for every platform whose program has been built.
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { gzipSync } from "node:zlib";
import { readElf } from "../lib/elf.mjs";
import { PLATFORMS, programOf } from "../lib/platforms.mjs";
import { ROOT, ask, run } from "../lib/steps.mjs";
import { notices, sourceTime } from "./crates.mjs";
import { LICENSES, checkFile, crossFolder, libcOf, manifestOf, report, tarball } from "./files.mjs";

const SOURCE = join(ROOT, "packages", "sinew");
const DEBIAN = { x64: "amd64", arm64: "arm64" };
/** The maintainer. A Debian package must name one, but no particular person makes releases. */
const MAINTAINER = "The Sinew project <packages@sinew.invalid>";

/** The platforms of the agent. A static musl program runs on every Linux, so there is one for each processor. */
export const AGENT_PLATFORMS = PLATFORMS.filter(({ libc }) => libc !== "musl");

const isHost = ({ os, cpu }) => os === process.platform && cpu === process.arch;

/** The program of a platform and its Rust target; undefined if there is none. `own` is the path for this machine. */
function programFor(platform, own) {
  const name = programOf(platform, "sinew");
  const musl = PLATFORMS.find(({ tag }) => tag === `${platform.tag}-musl`);
  const crossed = [musl, platform].filter(Boolean).map((built) => ({ built, path: join(crossFolder(built), name) }));
  const local = { built: platform, path: own ?? join(ROOT, "dist", name) };
  const places = isHost(platform) ? [...(own ? [] : crossed), local] : crossed;
  const found = places.find(({ path }) => existsSync(path));
  return found && { ...found, platform, name, target: found.built.targets[0] };
}

/**
 * What the program generates: the completion scripts of shells and the manual page. They are the same on all platforms.
 */
async function generated(programs, stage) {
  const own = programs.find(({ platform }) => isHost(platform));
  if (!own) throw new Error(`the manual page requires an agent that runs on this machine; run: npm run build -- --agent`);
  const program = join(stage, own.name);
  // Downloaded files are not executable.
  put(stage, own.name, readFileSync(own.path), 0o755);
  const say = async (...words) => {
    const text = await ask(program, words);
    if (!text) throw new Error(`${own.path} ${words.join(" ")} failed; build it again: npm run build -- --agent`);
    return `${text}\n`;
  };
  const shells = await Promise.all(["bash", "zsh", "fish"].map((shell) => say("completions", shell)));
  return { bash: shells[0], zsh: shells[1], fish: shells[2], man: await say("man"), notices: await notices("sinew") };
}

function put(folder, path, content, mode = 0o644) {
  const to = join(folder, path);
  mkdirSync(dirname(to), { recursive: true });
  writeFileSync(to, content);
  chmodSync(to, mode);
}

const licenses = () => LICENSES.map((name) => [name, readFileSync(join(ROOT, name))]);

/** Packs the agent in all forms. */
export async function packAgent({ stage, out, anyBuild, program: own }) {
  const programs = AGENT_PLATFORMS.map((platform) => programFor(platform, own)).filter(Boolean);
  if (!programs.length) throw new Error("no agent in dist and dist/cross; run: npm run build -- --agent");
  for (const { path, built } of programs) checkFile(path, built, anyBuild);
  const texts = await generated(programs, stage);
  const { version } = manifestOf(SOURCE);
  const paths = [await npmMain({ stage, out, texts })];
  for (const program of programs) {
    paths.push(await npmProgram(program, { stage, out, texts }), await archive(program, { stage, out, texts, version }));
    if (program.platform.os === "linux") paths.push(await debian(program, { stage, out, texts, version, anyBuild }));
  }
  return paths;
}

async function npmMain({ stage, out, texts }) {
  const folder = join(stage, "agent");
  const manifest = manifestOf(SOURCE);
  cpSync(join(SOURCE, "bin"), join(folder, "bin"), { recursive: true });
  copyFileSync(join(SOURCE, "README.md"), join(folder, "README.md"));
  for (const [name, content] of licenses()) put(folder, name, content);
  put(folder, "man/sinew.1", texts.man);
  const optionalDependencies = Object.fromEntries(AGENT_PLATFORMS.map(({ tag }) => [`${manifest.name}-${tag}`, manifest.version]));
  put(folder, "package.json", JSON.stringify({ ...manifest, man: "./man/sinew.1", optionalDependencies }, null, 2));
  return tarball(folder, out);
}

async function npmProgram({ platform: { tag, os, cpu }, path, name }, { stage, out, texts }) {
  const folder = join(stage, `agent-${tag}`);
  const manifest = manifestOf(SOURCE);
  const libc = os === "linux" && libcOf(readElf(path).needed);
  put(folder, `bin/${name}`, readFileSync(path), 0o755);
  for (const [file, content] of licenses()) put(folder, file, content);
  put(folder, "THIRD-PARTY.txt", texts.notices);
  put(folder, "README.md", `# ${manifest.name}-${tag}\n\nThe program of \`${manifest.name}\` for ${tag}. Install that package, which chooses this one.\n`);
  const own = {
    name: `${manifest.name}-${tag}`,
    version: manifest.version,
    description: `The program of ${manifest.name} for ${tag}`,
    license: manifest.license,
    os: [os],
    cpu: [cpu],
    ...(libc && { libc: [libc] }),
    // A program inside an archive cannot be started.
    preferUnplugged: true,
    files: ["bin", "THIRD-PARTY.txt", ...LICENSES],
  };
  put(folder, "package.json", JSON.stringify(own, null, 2));
  return tarball(folder, out);
}

/** Writes the files of an installation below a prefix such as /usr/local, where shells and man look for them. */
function tree(folder, { path, name }, texts, zsh) {
  put(folder, `bin/${name}`, readFileSync(path), 0o755);
  put(folder, "share/bash-completion/completions/sinew", texts.bash);
  put(folder, `share/zsh/${zsh}/_sinew`, texts.zsh);
  put(folder, "share/fish/vendor_completions.d/sinew.fish", texts.fish);
  put(folder, "share/doc/sinew/README.md", readFileSync(join(ROOT, "README.md")));
}

const zipped = (content) => gzipSync(content, { level: 9 });

/** Sets the time of every file to that of the source, so that the same source gives the same archive. */
function setTimes(folder, time) {
  for (const entry of readdirSync(folder, { recursive: true })) utimesSync(join(folder, entry), time, time);
  utimesSync(folder, time, time);
}

async function archive(program, { stage, out, texts, version }) {
  const name = `sinew-${version}-${program.target}`;
  const folder = join(stage, name);
  tree(folder, program, texts, "site-functions");
  put(folder, "share/man/man1/sinew.1", texts.man);
  put(folder, "share/doc/sinew/THIRD-PARTY.txt", texts.notices);
  for (const [file, content] of licenses()) put(folder, `share/doc/sinew/${file}`, content);
  const time = await sourceTime();
  setTimes(folder, time);
  const tar = join(stage, `${name}.tar`);
  await run("tar", ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--format=ustar", "-cf", tar, "-C", stage, name], { quiet: true });
  const path = join(out, `${name}.tar.gz`);
  writeFileSync(path, zipped(readFileSync(tar)));
  return report(path);
}

/** The libraries that a program needs, as Debian packages. */
function depends(path) {
  const { glibc, needed } = readElf(path);
  const packages = needed.includes("libc.so.6") ? [`libc6 (>= ${glibc})`] : [];
  if (needed.includes("libgcc_s.so.1")) packages.push("libgcc-s1");
  return packages.join(", ");
}

/** The licences in the format of Debian's tools. Debian systems have the text of the second one. */
function copyright() {
  const mit = readFileSync(join(ROOT, "LICENSE-MIT"), "utf8").trim().split("\n").map((line) => ` ${line.trim() || "."}\n`).join("");
  const apache = " On Debian systems its text is in /usr/share/common-licenses/Apache-2.0.\n";
  const notes = "Comment: The licences of linked libraries are in THIRD-PARTY.txt.gz.\n";
  const head = "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\nFiles: *\nCopyright: the authors of Sinew\n";
  return `${head}License: Expat or Apache-2.0\n${notes}\nLicense: Expat\n${mit}\nLicense: Apache-2.0\n${apache}`;
}

/** Builds a Debian package with dpkg-deb. cargo-deb would have nothing to do, because the tree already exists. */
async function debian(program, { stage, out, texts, version, anyBuild }) {
  const { cpu } = program.platform;
  const folder = join(stage, `deb-${cpu}`);
  const usr = join(folder, "usr");
  tree(usr, program, texts, "vendor-completions");
  put(usr, "share/man/man1/sinew.1.gz", zipped(texts.man));
  const time = await sourceTime();
  const revision = `${version}-1`;
  const date = new Date(time * 1000).toUTCString().replace("GMT", "+0000");
  const entry = `sinew (${revision}) stable; urgency=medium\n\n  * Release ${version}; see changelog.gz.\n\n -- ${MAINTAINER}  ${date}\n`;
  put(usr, "share/doc/sinew/changelog.Debian.gz", zipped(entry));
  put(usr, "share/doc/sinew/changelog.gz", zipped(readFileSync(join(ROOT, "CHANGELOG.md"))));
  put(usr, "share/doc/sinew/THIRD-PARTY.txt.gz", zipped(texts.notices));
  put(usr, "share/doc/sinew/copyright", copyright());
  // The parser of YAML was translated from that library's sources; the archive that lintian speaks of is Debian's own.
  put(usr, "share/lintian/overrides/sinew", "sinew: embedded-library libyaml *\nsinew: initial-upload-closes-no-bugs *\n");
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const size = files.reduce((sum, entry) => sum + statSync(join(entry.parentPath ?? entry.path, entry.name)).size, 0);
  const needs = depends(program.path);
  const control = {
    Package: "sinew",
    Version: revision,
    Architecture: DEBIAN[cpu],
    Maintainer: MAINTAINER,
    "Installed-Size": Math.ceil(size / 1024),
    ...(needs && { Depends: needs }),
    Recommends: "git",
    Section: "devel",
    Priority: "optional",
    Description: "coding agent for the terminal\n One native program: interactive at the terminal, in scripts and CI, for editors\n (ACP), as client and server of the Model Context Protocol.",
  };
  put(folder, "DEBIAN/control", Object.entries(control).map(([key, value]) => `${key}: ${value}\n`).join(""));
  setTimes(folder, time);
  const path = join(out, `sinew_${revision}_${DEBIAN[cpu]}.deb`);
  await run("dpkg-deb", ["--root-owner-group", ...(anyBuild ? ["-Zgzip", "-z1"] : ["-Zxz"]), "--build", folder, path], { quiet: true, env: { SOURCE_DATE_EPOCH: String(time) } });
  return report(path);
}
