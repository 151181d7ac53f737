// Compiles the TypeScript of the packages, and writes the module that lets `import` of @sinew/natives have the same
// names as `require`.
import { cpSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bundle } from "./bundle.mjs";
import { ROOT, ask, dim, run } from "./steps.mjs";

/** The packages that use @sinew/natives or are independent of it. */
export const MORE_PACKAGES = ["tokens", "pi-natives"];

/** The modules of `compat` that the package exports. */
function compatModules(folder) {
  const { exports } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return Object.keys(exports).filter((name) => name.startsWith("./compat/")).map((name) => name.slice("./compat/".length));
}

/** Writes `dist` of every package. Needs the addon, whose exports it lists. */
export async function buildTypescript() {
  await buildNativesTypescript();
  for (const name of MORE_PACKAGES) {
    const folder = join(ROOT, "packages", name);
    await run("npx", ["--no-install", "tsc", "--project", folder], { quiet: true });
    console.log(dim(`packages/${name}/dist`));
  }
}

/**
 * Returns the declarations for `import` of a module that is an object for `require`, with its properties and the types of its namespace. `import` and
 * `export from` cannot be used: some bundlers would take the object's property `default`, which has no types.
 */
function objectDeclarations(name, declared, properties) {
  const types = [...declared.matchAll(/^ {4}(?:type|interface) (\w+)/gm)].map(([, type]) => `export type ${type} = module.${type};\n`);
  const values = properties.map((property) => `export declare const ${property}: typeof module.${property};\n`);
  return `// Written by scripts/build.mjs.\nimport module = require("./${name}.js");\nexport default module;\n${types.join("")}${values.join("")}`;
}

/** Writes only the JavaScript of @sinew/natives, without types and `compat`: what `require` of a checkout needs. */
export async function buildNativesJavaScript() {
  const folder = join(ROOT, "packages", "natives");
  await bundle(join(folder, "src"), join(folder, "dist"));
}

/** Writes `packages/natives/dist`. The old contents work until the end. */
async function buildNativesTypescript() {
  const folder = join(ROOT, "packages", "natives");
  const dist = join(folder, "dist");
  // A folder next to the old one, with a name that no other build uses.
  const next = `${dist}.${process.pid}.part`;
  try {
    await run("npx", ["--no-install", "tsc", "--project", folder, "--outDir", next], { quiet: true });
    cpSync(join(folder, "src", "native.d.ts"), join(next, "native.d.ts"));
    await bundle(join(folder, "src"), next);
    const names = await ask("node", ["-p", `Object.keys(require(${JSON.stringify(next)})).join(',')`]);
    if (!names) throw new Error(`the package does not load; run: npx tsc --project ${folder} && node -e "require('${folder}')"`);
    const list = names.split(",").filter((name) => name !== "__esModule").sort();
    const lines = list.map((name) => `  ${name},\n`).join("");
    writeFileSync(join(next, "index.mjs"), `// Written by scripts/build.mjs: the same objects for import as for require.\nimport natives from "./index.js";\nexport const {\n${lines}} = natives;\n`);
    writeFileSync(join(next, "index.d.mts"), `// Written by scripts/build.mjs.\nexport * from "./index.js";\n`);
    for (const name of compatModules(folder)) {
      const file = join(next, "compat", name);
      const declared = readFileSync(`${file}.d.ts`, "utf8");
      const isObject = /^export = /m.test(declared);
      let more = (await ask("node", ["-p", `Object.keys(require(${JSON.stringify(`${file}.js`)})).join(',')`])).split(",").filter((key) => key !== "default" && key !== "__esModule");
      // Of an object, only what it declares.
      if (isObject) more = more.filter((key) => new RegExp(`\\b${key}\\b`).test(declared));
      const named = more.length ? `export const { ${more.join(", ")} } = module;\n` : "";
      writeFileSync(`${file}.mjs`, `// Written by scripts/build.mjs.\nimport module from "./${name}.js";\nexport default module${isObject ? "" : ".default"};\n${named}`);
      // The declarations again: what `import` of the CommonJS ones gives as the default differs between Node and bundlers.
      if (isObject) writeFileSync(`${file}.d.mts`, objectDeclarations(name, declared, more));
      else cpSync(`${file}.d.ts`, `${file}.d.mts`);
    }
    rmSync(dist, { recursive: true, force: true });
    renameSync(next, dist);
  } finally {
    rmSync(next, { recursive: true, force: true });
  }
  console.log(dim("packages/natives/dist"));
}
