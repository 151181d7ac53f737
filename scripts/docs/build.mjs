#!/usr/bin/env node
// npm run docs: writes the website to dist/docs. npm run docs -- --pictures: first redraws the pictures of docs/images.
import { cpSync, createReadStream, existsSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, relative } from "node:path";
import { parseArgs } from "node:util";
import { ROOT, run } from "../lib/steps.mjs";

const HELP = `npm run docs -- [options]

  --pictures   redraw docs/images: the terminal (needs the agent and the addon) and the charts of the saved benchmarks
  --serve      serve the website on this machine afterwards

Writes dist/docs: the guides with search, plots of the saved benchmarks, the reference of @sinew/natives, llms.txt. A dead link or
an export without a doc comment is an error.
`;

const folder = join(ROOT, "scripts", "docs");
const natives = join(ROOT, "packages", "natives");
const stageFolder = join(folder, ".stage");
const site = join(ROOT, "dist", "docs");

async function install() {
  if (["typedoc", "vitepress"].every((name) => existsSync(join(folder, "node_modules", name)))) return;
  await run("npm", ["install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"], { cwd: folder });
}

/** The website without the reference: VitePress empties its folder, so it comes first. */
async function writePages() {
  const { stage } = await import("./pages.mjs");
  rmSync(stageFolder, { recursive: true, force: true });
  stage(stageFolder);
  const own = join(stageFolder, ".vitepress");
  cpSync(join(folder, "theme"), join(own, "theme"), { recursive: true });
  writeFileSync(join(own, "config.mjs"), `export { default } from ${JSON.stringify(join(folder, "config.mjs"))};\n`);
  await run("npx", ["--no-install", "vitepress", "build", stageFolder, "--outDir", site], { cwd: folder });
}

async function writeReference() {
  await run("npx", [
    "--no-install",
    "typedoc",
    join(natives, "src", "index.ts"),
    ...["--tsconfig", join(natives, "tsconfig.json")],
    ...["--readme", "none"],
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
}

const TYPES = { ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".json": "application/json", ".svg": "image/svg+xml", ".txt": "text/plain", ".md": "text/plain", ".woff2": "font/woff2" };

/** Serves the website on a free port and returns the server. An address without an extension is a page. */
export async function serve() {
  const server = createServer((request, response) => {
    const path = join(site, decodeURIComponent(new URL(request.url, "http://localhost").pathname));
    const file = [path, join(path, "index.html"), `${path}.html`].find((file) => file.startsWith(site) && existsSync(file) && statSync(file).isFile());
    response.writeHead(file ? 200 : 404, { "content-type": `${TYPES[extname(file ?? ".html")] ?? "application/octet-stream"}; charset=utf-8` });
    if (file) createReadStream(file).pipe(response);
    else response.end("not found");
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return server;
}

/** Writes the whole website to dist/docs. */
export async function build({ pictures = false } = {}) {
  await install();
  if (pictures) {
    const { drawPicture } = await import("./picture.mjs");
    const { drawCharts } = await import("./chart.mjs");
    drawCharts();
    await drawPicture();
  }
  await writePages();
  await writeReference();
  const { writeForModels } = await import("./pages.mjs");
  writeForModels(site);
  console.log(`the website is in ${relative(process.cwd(), site)}`);
}

if (process.argv[1] === import.meta.filename) {
  const { values } = parseArgs({ options: { pictures: { type: "boolean" }, serve: { type: "boolean" }, help: { type: "boolean", short: "h" } } });
  if (values.help) process.stdout.write(HELP);
  else {
    try {
      await build(values);
      if (values.serve) console.log(`http://127.0.0.1:${(await serve()).address().port}/`);
    } catch (error) {
      console.error(`docs: ${error.message}`);
      process.exitCode = 1;
    }
  }
}
