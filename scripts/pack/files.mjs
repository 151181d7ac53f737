// Finds the files for packages, checks them, and runs npm to write tarballs.
import { existsSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { BUILD } from "../lib/natives.mjs";
import { compareVersions, readElf } from "../lib/elf.mjs";
import { ROOT, ask } from "../lib/steps.mjs";

/** The oldest glibc that releases support: that of RHEL 8 and Debian 10. */
export const GLIBC = "2.28";
export const MIB = 1024 * 1024;
export const LICENSES = ["LICENSE-MIT", "LICENSE-APACHE"];

/** The folder into which a cross build puts the files of a platform. */
export const crossFolder = ({ tag }) => join(ROOT, "dist", "cross", tag);

/**
 * The folders to search for the addons of a platform, in order: only the named one, else those of builds and cross
 * builds.
 */
export const foldersOf = (platform, named) => (named ? [named] : [BUILD, crossFolder(platform)]);

/** The path of a file in the first of `folders` that has it; undefined if none has it. */
export const findFile = (folders, name) => folders.map((folder) => join(folder, name)).find((path) => existsSync(path));

/**
 * Fails if a program or addon is not for the platform, would not run on the systems that releases support, or would not
 * load together with other addons. `anyBuild` accepts any glibc.
 */
export function checkFile(path, { tag, os, cpu, libc }, anyBuild) {
  if (os !== "linux") return;
  const { arch, glibc, needed, staticTls } = readElf(path);
  if (arch !== cpu) throw new Error(`${path} is built for ${arch}, not for ${cpu}`);
  if (staticTls && path.endsWith(".node")) throw new Error(`${path} uses static TLS: it may fail to load next to other addons`);
  const found = libcOf(needed);
  if (found && found !== libc) throw new Error(`${path} is linked with ${found}; ${tag} needs ${libc}`);
  if (!anyBuild && glibc && compareVersions(glibc, GLIBC) > 0) {
    throw new Error(`${path} requires glibc ${glibc}, which is newer than ${GLIBC}; build it with: npm run build -- --glibc ${GLIBC}, or leave out --no-build`);
  }
}

/** The C library among the libraries that a file needs; undefined for a static program, which runs with any. */
export function libcOf(needed) {
  if (needed.includes("libc.so.6")) return "glibc";
  return needed.some((name) => /^libc\.(musl-.*|so)$/.test(name)) ? "musl" : undefined;
}

/** Runs `npm pack` in a folder; returns the tarball's path below `out`. */
export async function tarball(folder, out) {
  const text = await ask("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", out], { cwd: folder });
  // npm prints a list; newer versions print an object by package name.
  const [entry] = text ? Object.values(JSON.parse(text)) : [];
  if (!entry?.filename) throw new Error(`npm pack failed in ${folder}`);
  return report(join(out, basename(entry.filename)));
}

/** Prints that a file was written; returns its path. */
export function report(path) {
  console.log(`${path}  ${(statSync(path).size / 1024).toFixed(0)} kB`);
  return path;
}

/** The manifest of `@sinew/natives` in a folder, whose version all packages have. */
export const manifestOf = (folder) => JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
