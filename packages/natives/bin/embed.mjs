#!/usr/bin/env node
// npx sinew-embed: embeds the addons in a program that is compiled to one executable. It writes the list of files that
// the loader extracts at the first start.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

/** The platform of this process, as packages name it. */
const MUSL = process.platform === "linux" && !process.report.getReport().header.glibcVersionRuntime;
const TAG = `${process.platform}-${process.arch}${MUSL ? "-musl" : ""}`;

const OWN = resolve(dirname(fileURLToPath(import.meta.url)), "..");

const HELP = `npx sinew-embed [options]

Run it before you compile a program that uses @sinew/natives to one executable, and again with --reset afterwards.

  --host NAME       bun (bun build --compile, default) or node (single executable application)
  --tag TAG         the platform of the executable; default: this one (${TAG})
  --variant NAME    embed only the variant modern or baseline; default: all that are installed
  --package FOLDER  the installed @sinew/natives to change; default: the package of this command
  --addons FOLDER   the folder with the addons and the supervisor program; default: @sinew/natives-TAG
  --reset           embed nothing any more

With --host node it prints the value of "assets" for the file that --experimental-sea-config reads.
`;

const HEAD = `"use strict";\n// Written by sinew-embed.\nObject.defineProperty(exports, "__esModule", { value: true });\n`;

/** The modules to write for each host, by file name. They read the embedded files. */
const HOSTS = {
  bun(files, dist) {
    const from = (path) => JSON.stringify(`./${relative(dist, path).replaceAll("\\", "/")}`);
    const imports = files.map(({ path }, i) => `import file${i} from ${from(path)} with { type: "file" };\n`);
    const list = files.map((_, i) => `file${i}`).join(", ");
    return {
      "embedded-files.mjs": `// Written by sinew-embed.\n${imports.join("")}export default [${list}];\n`,
      "embedded.js":
        `${HEAD}const { readFileSync } = require("node:fs");\nconst paths = require("./embedded-files.mjs").default;\n` +
        `exports.EMBEDDED = [\n${files.map((file, i) => `  { ${facts(file)}, read: () => readFileSync(paths[${i}]) },\n`).join("")}];\n`,
    };
  },
  node(files) {
    const read = ({ name }) => `read: () => new Uint8Array(require("node:sea").getRawAsset(${JSON.stringify(name)}))`;
    return { "embedded.js": `${HEAD}exports.EMBEDDED = [\n${files.map((file) => `  { ${facts(file)}, ${read(file)} },\n`).join("")}];\n` };
  },
};

function facts({ name, size, sha256 }) {
  return `name: ${JSON.stringify(name)}, size: ${size}, sha256: "${sha256}"`;
}

/** Returns the directory of a platform's addons: its package, resolved from `folder`, or the build in a checkout. */
function addonsOf(folder, tag) {
  const from = createRequire(join(folder, "package.json"));
  try {
    return dirname(from.resolve(`@sinew/natives-${tag}/package.json`));
  } catch {
    const build = join(OWN, "..", "..", "native", "build");
    if (existsSync(build)) return build;
    throw new Error(`@sinew/natives-${tag} is not installed; run: npm install --force @sinew/natives-${tag}, or set a folder with --addons`);
  }
}

/** Returns the addons of a tag, and their supervisor program. */
function collect(folder, tag, variant) {
  if (!existsSync(folder)) throw new Error(`no such folder: ${folder}`);
  const wanted = variant ? [`sinew_natives.${tag}-${variant}.node`] : [tag, `${tag}-modern`, `${tag}-baseline`].map((name) => `sinew_natives.${name}.node`);
  const names = readdirSync(folder).filter((name) => wanted.includes(name)).sort();
  if (!names.length) throw new Error(`${folder} contains none of ${wanted.join(", ")}; install @sinew/natives-${tag} again, or in a checkout run: npm run build`);
  const program = tag.startsWith("win32") ? "sinew-shell-host.exe" : "sinew-shell-host";
  // The supervisor of the lowest variant runs on every processor that one of the addons supports.
  const kept = names.map((name) => join(folder, name.slice("sinew_natives.".length, -".node".length), program));
  const supervisor = [...kept, join(folder, program)].find((path) => existsSync(path));
  if (!supervisor) throw new Error(`${folder} does not contain ${program}; install @sinew/natives-${tag} again, or in a checkout run: npm run build`);
  return [...names.map((name) => join(folder, name)), supervisor].map((path) => {
    const bytes = readFileSync(path);
    return { path, name: basename(path), size: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") };
  });
}

function main() {
  const { values } = parseArgs({
    options: {
      host: { type: "string", default: "bun" },
      package: { type: "string", default: OWN },
      addons: { type: "string" },
      tag: { type: "string", default: TAG },
      variant: { type: "string" },
      reset: { type: "boolean", default: false },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help) return process.stdout.write(HELP);
  const dist = join(resolve(values.package), "dist");
  if (!existsSync(join(dist, "embedded.js"))) throw new Error(`${dist} does not contain a built package; run: npm run build`);
  const host = HOSTS[values.host];
  if (!host) throw new Error(`unknown host "${values.host}": use ${Object.keys(HOSTS).join(" or ")}`);
  if (values.variant && !["modern", "baseline"].includes(values.variant)) throw new Error(`unknown variant "${values.variant}": use modern or baseline`);
  rmSync(join(dist, "embedded-files.mjs"), { force: true });
  if (values.reset) return writeFileSync(join(dist, "embedded.js"), `${HEAD}exports.EMBEDDED = [];\n`);
  const addons = values.addons ? resolve(values.addons) : addonsOf(resolve(values.package), values.tag);
  const files = collect(addons, values.tag, values.variant);
  for (const [name, text] of Object.entries(host(files, dist))) writeFileSync(join(dist, name), text);
  if (values.host === "node") console.log(JSON.stringify(Object.fromEntries(files.map(({ name, path }) => [name, path])), null, 2));
  else for (const { name, size } of files) console.log(`${name}, ${size} bytes`);
}

try {
  main();
} catch (error) {
  console.error(`embed: ${error.message}`);
  process.exitCode = 1;
}
