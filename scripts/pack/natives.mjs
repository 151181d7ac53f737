// Packs @sinew/natives, and the package of each platform with its addons.
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { BESIDE } from "../lib/bundle.mjs";
import { PLATFORMS, addonOf, programOf, variantsOf } from "../lib/platforms.mjs";
import { ROOT } from "../lib/steps.mjs";
import { MORE_PACKAGES } from "../lib/typescript.mjs";
import { notices } from "./crates.mjs";
import { LICENSES, MIB, checkFile, findFile, foldersOf, manifestOf, tarball } from "./files.mjs";

const LIMIT = { main: 200 * 1024, addon: 16 * MIB };

/** Packs the built package of the folder `source` without the addons. */
export async function packMain({ source, stage, out }) {
  const manifest = manifestOf(source);
  const embedded = join(source, "dist", "embedded.js");
  if (!existsSync(embedded)) throw new Error(`${source} is not built; run: npm run build`);
  if (!/EMBEDDED = \[\];/.test(readFileSync(embedded, "utf8"))) throw new Error(`${embedded} contains files of this machine; run: npx sinew-embed --reset`);
  const folder = join(stage, "main");
  mkdirSync(folder);
  copyFileSync(join(source, "README.md"), join(folder, "README.md"));
  // Only the modules that are not in the joined file.
  const wanted = (path) => !path.endsWith(".js") || basename(dirname(path)) === "compat" || ["index.js", ...BESIDE].includes(basename(path));
  cpSync(join(source, "dist"), join(folder, "dist"), { recursive: true, filter: wanted });
  cpSync(join(ROOT, "packages", "natives", "bin"), join(folder, "bin"), { recursive: true });
  for (const name of LICENSES) copyFileSync(join(ROOT, name), join(folder, name));
  const optionalDependencies = Object.fromEntries(PLATFORMS.map(({ tag }) => [`${manifest.name}-${tag}`, manifest.version]));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ ...manifest, optionalDependencies }, null, 2));
  const path = await tarball(folder, out);
  const { size } = statSync(path);
  if (size > LIMIT.main) throw new Error(`${path} has ${size} bytes, more than ${LIMIT.main}`);
  return [path];
}

/** Packs the packages that use @sinew/natives or are independent of it; they have no addon. */
export async function packMore({ stage, out }) {
  const paths = [];
  for (const name of MORE_PACKAGES) {
    const source = join(ROOT, "packages", name);
    if (!existsSync(join(source, "dist"))) throw new Error(`${source} is not built; run: npm run build`);
    const folder = join(stage, name);
    mkdirSync(folder);
    for (const file of ["package.json", "README.md"]) copyFileSync(join(source, file), join(folder, file));
    // Some of them have no programs.
    for (const part of ["dist", "bin"].filter((each) => existsSync(join(source, each)))) cpSync(join(source, part), join(folder, part), { recursive: true });
    for (const file of LICENSES) copyFileSync(join(ROOT, file), join(folder, file));
    paths.push(await tarball(folder, out));
  }
  return paths;
}

/**
 * Packs the addons of each platform that has one in `addons`, else in the folders of builds. Fails if no platform has
 * one.
 */
export async function packPlatforms(options) {
  const paths = [];
  for (const platform of PLATFORMS) paths.push(...(await packPlatform(platform, options)));
  if (paths.length) return paths;
  const [folder] = foldersOf(PLATFORMS[0], options.addons);
  throw new Error(`no addon in ${folder}; run: npm run build. It contains: ${existsSync(folder) ? readdirSync(folder).join(", ") : "nothing"}`);
}

async function packPlatform(platform, { source, addons, stage, out, complete, anyBuild }) {
  const { tag, os, cpu, libc } = platform;
  const manifest = manifestOf(source);
  const folders = foldersOf(platform, addons);
  const variants = variantsOf(platform);
  const present = variants.filter((variant) => findFile(folders, addonOf(platform, variant)));
  if (!present.length) return [];
  if (present.length < variants.length) {
    const message = `${tag}: only ${present.map((variant) => `${tag}-${variant}`).join(", ")} is there`;
    if (complete) throw new Error(message);
    console.log(message);
  }
  const supervisor = programOf(platform, "sinew-shell-host");
  // The supervisor of the lowest variant, so that it runs wherever one of the addons does. A folder of only this
  // platform has one.
  const kept = join(present[0] ? `${tag}-${present[0]}` : tag, supervisor);
  const paths = [...present.map((variant) => findFile(folders, addonOf(platform, variant))), findFile(folders, kept) ?? findFile(folders.slice(-1), supervisor)];
  const folder = join(stage, tag);
  mkdirSync(folder);
  const files = paths.map((from) => {
    if (!from) throw new Error(`${join(folders[0], kept)} is missing; run: npm run build${present[0] && ` -- --variant ${present[0]}`}`);
    checkFile(from, platform, anyBuild);
    const { size } = statSync(from);
    if (!anyBuild && from.endsWith(".node") && size > LIMIT.addon) throw new Error(`${from} has ${size} bytes, more than ${LIMIT.addon}`);
    const to = join(folder, basename(from));
    copyFileSync(from, to);
    chmodSync(to, 0o755);
    return basename(to);
  });
  for (const name of LICENSES) copyFileSync(join(ROOT, name), join(folder, name));
  writeFileSync(join(folder, "THIRD-PARTY.txt"), await notices("sinew-natives"));
  const name = `${manifest.name}-${tag}`;
  writeFileSync(join(folder, "README.md"), `# ${name}\n\nThe addon of \`${manifest.name}\` for ${tag}. Install that package, which chooses this one.\n`);
  const own = {
    name,
    version: manifest.version,
    description: `The addon of ${manifest.name} for ${tag}`,
    license: manifest.license,
    os: [os],
    cpu: [cpu],
    ...(libc && { libc: [libc] }),
    engines: manifest.engines,
    // An addon inside an archive cannot be loaded.
    preferUnplugged: true,
    files: [...files, "THIRD-PARTY.txt", ...LICENSES],
  };
  writeFileSync(join(folder, "package.json"), JSON.stringify(own, null, 2));
  return [await tarball(folder, out)];
}
