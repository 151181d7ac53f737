#!/usr/bin/env node
// npm run pack: builds @sinew/natives for this machine's platform and writes the tarballs of it and of its platform packages.
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { BESIDE } from "./lib/bundle.mjs";
import { compareVersions, readElf } from "./lib/elf.mjs";
import { buildNatives, hostTarget, tagOf } from "./lib/natives.mjs";
import { ROOT, ask } from "./lib/steps.mjs";
import { buildTypescript } from "./lib/typescript.mjs";

const HELP = `npm run pack -- [options]

  --out FOLDER      where the tarballs go; default: dist
  --package FOLDER  a built package; default: packages/natives
  --addons FOLDER   where addons and supervisor programs lie; default: native/build
  --no-build        pack what is there, and fail where something is missing; so do --package and --addons
  --only PART       main or platforms; default: both
  --complete        fail unless both variants of each x64 platform found are there
  --any-glibc       pack the files of any build as they are, whatever their size and the glibc they ask for; for tests

Builds a release of both variants for this platform first, on Linux for glibc 2.28 (some minutes each the first time). Platform
packages are written for every platform whose addon is in the folder.
`;

/** Of RHEL 8 and Debian 10. */
const GLIBC = "2.28";
const MIB = 1024 * 1024;
const LIMIT = { main: 200 * 1024, addon: 16 * MIB };
const PLATFORMS = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64", "win32-x64"];
const LICENSES = ["LICENSE-MIT", "LICENSE-APACHE"];

const { values } = parseArgs({
  options: {
    out: { type: "string", default: join(ROOT, "dist") },
    package: { type: "string" },
    addons: { type: "string" },
    only: { type: "string" },
    complete: { type: "boolean", default: false },
    "any-glibc": { type: "boolean", default: false },
    "no-build": { type: "boolean", default: false },
    help: { type: "boolean", short: "h" },
  },
});

const source = resolve(values.package ?? join(ROOT, "packages", "natives"));
const addons = resolve(values.addons ?? join(ROOT, "native", "build"));
const out = resolve(values.out);
const manifest = JSON.parse(readFileSync(join(source, "package.json"), "utf8"));

/** Fails where a Linux file would not load on the systems that a release promises, or next to other addons. */
function checkLinux(path, arch) {
  const facts = readElf(path);
  if (facts.arch !== arch) throw new Error(`${path} is built for ${facts.arch}, not for ${arch}`);
  if (facts.staticTls && path.endsWith(".node")) throw new Error(`${path} uses static TLS: it may fail to load next to other addons`);
  if (!values["any-glibc"] && facts.glibc && compareVersions(facts.glibc, GLIBC) > 0) {
    throw new Error(`${path} asks for glibc ${facts.glibc}, newer than ${GLIBC}; build it with: npm run build -- --glibc ${GLIBC}, or leave out --no-build`);
  }
}

/** Runs `npm pack` in a folder; the tarball's path. */
async function tarball(folder) {
  const text = await ask("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", out], { cwd: folder });
  const path = text && findFile(JSON.parse(text));
  if (!path) throw new Error(`npm pack failed in ${folder}`);
  return path;
}

/** npm answers a list, newer ones an object by package name. */
function findFile(answer) {
  const [entry] = Object.values(answer);
  return entry?.filename && join(out, basename(entry.filename));
}

function report(path) {
  console.log(`${path}  ${(statSync(path).size / 1024).toFixed(0)} kB`);
}

/** Builds what the packages of this machine's platform are made of; cargo leaves alone what is up to date. */
async function build() {
  const tag = tagOf(await hostTarget());
  const glibc = tag.startsWith("linux") ? GLIBC : undefined;
  if (values.only !== "main") {
    for (const variant of tag.endsWith("-x64") ? ["baseline", "modern"] : [undefined]) {
      const what = `the addon for ${tag}${variant ? `, ${variant}` : ""}`;
      await buildNatives({ parts: ["addon", "supervisor"], profile: "release", variant, glibc, what });
    }
  }
  if (values.only !== "platforms") await buildTypescript();
}

async function main(stage) {
  const embedded = join(source, "dist", "embedded.js");
  if (!existsSync(embedded)) throw new Error(`${source} is not built; run: npm run build`);
  if (!/EMBEDDED = \[\];/.test(readFileSync(embedded, "utf8"))) throw new Error(`${embedded} names files of this machine; run: npx sinew-embed --reset`);
  const folder = join(stage, "main");
  mkdirSync(folder);
  copyFileSync(join(source, "README.md"), join(folder, "README.md"));
  // Of the modules only those that the joined file does not hold.
  const wanted = (path) => !path.endsWith(".js") || basename(dirname(path)) === "compat" || ["index.js", ...BESIDE].includes(basename(path));
  cpSync(join(source, "dist"), join(folder, "dist"), { recursive: true, filter: wanted });
  cpSync(join(ROOT, "packages", "natives", "bin"), join(folder, "bin"), { recursive: true });
  for (const name of LICENSES) copyFileSync(join(ROOT, name), join(folder, name));
  const optionalDependencies = Object.fromEntries(PLATFORMS.map((tag) => [`${manifest.name}-${tag}`, manifest.version]));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ ...manifest, optionalDependencies }, null, 2));
  const path = await tarball(folder);
  const { size } = statSync(path);
  if (size > LIMIT.main) throw new Error(`${path} has ${size} bytes, more than ${LIMIT.main}`);
  report(path);
}

async function platform(stage, tag) {
  const x64 = tag.endsWith("-x64");
  const variants = x64 ? ["baseline", "modern"] : [""];
  const present = variants.map((variant) => (variant ? `${tag}-${variant}` : tag)).filter((name) => existsSync(join(addons, `sinew_natives.${name}.node`)));
  if (!present.length) return false;
  if (present.length < variants.length) {
    const message = `${tag}: only ${present.join(", ")} is there`;
    if (values.complete) throw new Error(message);
    console.log(message);
  }
  const [os, cpu] = tag.split("-");
  const supervisor = os === "win32" ? "sinew-shell-host.exe" : "sinew-shell-host";
  // Of the lowest variant that is there, so that it runs wherever one of the addons does.
  const files = [...present.map((name) => `sinew_natives.${name}.node`), join(present[0], supervisor)];
  const folder = join(stage, tag);
  mkdirSync(folder);
  for (const file of files) {
    const from = join(addons, file);
    if (!existsSync(from)) throw new Error(`${from} is missing; run: npm run build -- --variant ${present[0].split("-")[2] ?? ""}`.trim());
    if (os === "linux") checkLinux(from, cpu);
    if (!values["any-glibc"] && file.endsWith(".node") && statSync(from).size > LIMIT.addon) throw new Error(`${from} has ${statSync(from).size} bytes, more than ${LIMIT.addon}`);
    const to = join(folder, basename(file));
    copyFileSync(from, to);
    chmodSync(to, 0o755);
  }
  for (const name of LICENSES) copyFileSync(join(ROOT, name), join(folder, name));
  const name = `${manifest.name}-${tag}`;
  writeFileSync(join(folder, "README.md"), `# ${name}\n\nThe addon of \`${manifest.name}\` for ${tag}. Install that package, which chooses this one.\n`);
  const own = {
    name,
    version: manifest.version,
    description: `The addon of ${manifest.name} for ${tag}`,
    license: manifest.license,
    os: [os],
    cpu: [cpu],
    ...(os === "linux" ? { libc: ["glibc"] } : {}),
    engines: manifest.engines,
    // An addon cannot be loaded from within an archive.
    preferUnplugged: true,
    files: [...files.map((file) => basename(file)), ...LICENSES],
  };
  writeFileSync(join(folder, "package.json"), JSON.stringify(own, null, 2));
  report(await tarball(folder));
  return true;
}

async function pack() {
  if (values.only && !["main", "platforms"].includes(values.only)) throw new Error(`unknown part "${values.only}": use main or platforms`);
  if (!values["no-build"] && !values["any-glibc"] && !values.package && !values.addons) await build();
  mkdirSync(out, { recursive: true });
  const stage = mkdtempSync(join(tmpdir(), "sinew-pack-"));
  try {
    if (values.only !== "platforms") await main(stage);
    if (values.only === "main") return;
    let count = 0;
    for (const tag of PLATFORMS) count += await platform(stage, tag);
    if (!count) throw new Error(`no addon in ${addons}; run: npm run build. It holds: ${existsSync(addons) ? readdirSync(addons).join(", ") : "nothing"}`);
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

if (values.help) {
  process.stdout.write(HELP);
} else {
  try {
    await pack();
  } catch (error) {
    console.error(`pack: ${error.message}`);
    process.exitCode = 1;
  }
}
