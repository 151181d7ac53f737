#!/usr/bin/env node
// npm run docs: draws the agent's picture, docs/images/terminal.svg, from a session that it plays, and writes the site to dist/docs: guides,
// plots of the saved benchmarks, llms.txt, and the reference of @sinew/natives from the doc comments (what lacks one is an error).
import { existsSync } from "node:fs";
import { join, relative } from "node:path";
import { ROOT, run } from "../lib/steps.mjs";

const folder = join(ROOT, "scripts", "docs");
const natives = join(ROOT, "packages", "natives");
const site = join(ROOT, "dist", "docs");

try {
  if (!existsSync(join(folder, "node_modules", "@xterm", "headless"))) await run("npm", ["install", "--no-audit", "--no-fund", "--no-package-lock"], { cwd: folder });
  await run("npx", [
    "--no-install",
    "typedoc",
    join(natives, "src", "index.ts"),
    ...["--tsconfig", join(natives, "tsconfig.json")],
    ...["--readme", join(natives, "README.md")],
    ...["--name", "@sinew/natives"],
    ...["--out", join(site, "reference")],
    "--excludeInternal",
    "--excludePrivate",
    "--disableSources",
    "--validation.notDocumented",
    "--treatValidationWarningsAsErrors",
    ...["--requiredToBeDocumented", "Class", "--requiredToBeDocumented", "Enum", "--requiredToBeDocumented", "EnumMember"],
    ...["--requiredToBeDocumented", "Function", "--requiredToBeDocumented", "Interface", "--requiredToBeDocumented", "Method"],
    ...["--requiredToBeDocumented", "Accessor", "--requiredToBeDocumented", "TypeAlias", "--requiredToBeDocumented", "Variable"],
    // A type that only names a parameter's shape is shown in its place.
    ...["--validation.notExported", "false"],
  ], { cwd: folder });
  const { drawPicture } = await import("./picture.mjs");
  await drawPicture();
  const { writeSite } = await import("./site.mjs");
  const pages = writeSite(site, { reference: true });
  console.log(`${pages.length} pages and the reference in ${relative(process.cwd(), site)}; begin at index.html`);
} catch (error) {
  console.error(`docs: ${error.message}`);
  process.exitCode = 1;
}
