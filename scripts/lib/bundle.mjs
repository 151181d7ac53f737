// Joins the compiled modules of @sinew/natives into dist/index.js: one file loads in half the time of twenty-five.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** `embedded` is written anew for compiled hosts, and `loader-extract` is needed by those alone. */
const APART = ["embedded", "loader-extract"];

const REQUIRE = /require\("\.\/([\w-]+)\.js"\)/g;

/** The files of `dist` that the joined one needs beside it. */
export const BESIDE = APART.map((name) => `${name}.js`);

export function bundle(dist) {
  const parts = new Map();
  const visit = (name) => {
    if (parts.has(name)) return;
    parts.set(name, "");
    const text = readFileSync(join(dist, `${name}.js`), "utf8").replace(/^"use strict";\n/, "");
    const joined = text.replaceAll(REQUIRE, (whole, wanted) => {
      if (APART.includes(wanted)) return whole;
      visit(wanted);
      return `part("${wanted}")`;
    });
    parts.set(name, joined);
  };
  visit("index");
  const table = [...parts].map(([name, text]) => `  ${JSON.stringify(name)}(exports, part) {\n${text}\n  },\n`).join("");
  writeFileSync(
    join(dist, "index.js"),
    `"use strict";
// Written by scripts/build.mjs from the modules of src/.
const parts = {
${table}};
const loaded = {};
function part(name) {
  if (!(name in loaded)) {
    loaded[name] = {};
    parts[name](loaded[name], part);
  }
  return loaded[name];
}
module.exports = part("index");
`,
  );
}
