#!/usr/bin/env node
// npm run docs: writes the reference of @sinew/natives as pages to dist/docs, from the doc comments (what lacks one is an error),
// and draws the agent's picture, docs/images/terminal.svg, from a session that it plays.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ROOT, run } from "../lib/steps.mjs";

const folder = join(ROOT, "scripts", "docs");
const natives = join(ROOT, "packages", "natives");

try {
  if (!existsSync(join(folder, "node_modules", "@xterm", "headless"))) await run("npm", ["install", "--no-audit", "--no-fund", "--no-package-lock"], { cwd: folder });
  await run("npx", [
    "--no-install",
    "typedoc",
    join(natives, "src", "index.ts"),
    ...["--tsconfig", join(natives, "tsconfig.json")],
    ...["--readme", join(natives, "README.md")],
    ...["--name", "@sinew/natives"],
    ...["--out", join(ROOT, "dist", "docs")],
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
} catch (error) {
  console.error(`docs: ${error.message}`);
  process.exitCode = 1;
}
