// Runs a page in headless Chromium and reads its result.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const LIMIT_MS = 120_000;

/** The flags of every run. Chromium's sandbox does not work for root, which runs the tests in containers. */
const FLAGS = ["--headless", "--disable-gpu", "--no-first-run", "--hide-scrollbars", ...(process.getuid?.() === 0 ? ["--no-sandbox"] : [])];

async function chromium(args) {
  const profile = mkdtempSync(join(tmpdir(), "sinew-chromium-"));
  try {
    const { stdout } = await run(process.env.CHROMIUM ?? "chromium", [...FLAGS, `--user-data-dir=${profile}`, ...args], { timeout: LIMIT_MS, maxBuffer: 1 << 28 });
    return stdout;
  } finally {
    rmSync(profile, { recursive: true, force: true });
  }
}

/**
 * Loads a page with `body`, runs `script` (the body of an async function) once it has loaded, and returns its result,
 * which must be JSON. `width` and `height` are those of the window, in pixels. `served` is a folder and its address,
 * for a page that reads other pages of a server; without it the page is a local file.
 */
export async function evaluate(body, script, { width = 1280, height = 900, served } = {}) {
  const folder = mkdtempSync(join(served?.folder ?? tmpdir(), "sinew-page-"));
  try {
    const page = join(folder, "page.html");
    writeFileSync(page, `<!doctype html><meta charset="utf-8"><body>${body}<script type="module">
const report = (value) => { const result = document.createElement("pre"); result.id = "result"; result.textContent = encodeURIComponent(JSON.stringify(value)); document.body.append(result); };
try { report({ value: await (async () => { ${script} })() }); } catch (error) { report({ error: String(error.stack ?? error) }); }
</script>`);
    // Virtual time continues until the page has nothing left to do.
    const dom = await chromium(["--virtual-time-budget=60000", `--window-size=${width},${height}`, "--dump-dom", served ? `${served.address}/${basename(folder)}/page.html` : pathToFileURL(page).href]);
    const found = /<pre id="result">([^<]*)<\/pre>/.exec(dom)?.[1];
    if (!found) throw new Error(`the page reported nothing:\n${dom.slice(0, 2000)}`);
    const { value, error } = JSON.parse(decodeURIComponent(found));
    if (error) throw new Error(error);
    return value;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Writes a picture of the page at `url` to `path`, as PNG. `dark` asks for the dark color scheme. */
export async function screenshot(url, path, { width = 1280, height = 900, dark = false } = {}) {
  const scheme = dark ? ["--blink-settings=preferredColorScheme=0"] : [];
  await chromium([...scheme, "--virtual-time-budget=10000", `--window-size=${width},${height}`, `--screenshot=${path}`, url]);
}
