// The trees and searches of ripgrep's own integration tests, with the results of rg.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, posix } from "node:path";
import { gunzipSync } from "node:zlib";

/** Whether grep and glob agree with rg in each case. */
export async function run(table, natives) {
  const rows = [];
  for (const [index, test] of table.cases.entries()) {
    const root = mkdtempSync(join(tmpdir(), "rg-"));
    const id = `${test.test}#${index} ${JSON.stringify(test.pattern ?? test.options.glob ?? "")} in ${test.path}`;
    try {
      plant(root, test.tree, table.blobs);
      const [found, expected] = test.op === "files" ? await listed(natives, root, test) : await searched(natives, root, test);
      const pass = JSON.stringify(found) === JSON.stringify(expected);
      rows.push({ id, tier: test.tier, pass, detail: pass ? undefined : `found ${short(found)}, rg ${short(expected)}` });
    } catch (error) {
      rows.push({ id, tier: test.tier, pass: false, detail: error.message });
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  }
  return rows;
}

function plant(root, tree, blobs) {
  for (const [name, value] of Object.entries(tree)) {
    const path = join(root, name);
    mkdirSync(dirname(path), { recursive: true });
    if (value.dir !== undefined) mkdirSync(path, { recursive: true });
    else if (value.link !== undefined) symlinkSync(target(root, value.link), path);
    else if (value.blob !== undefined) writeFileSync(path, blob(blobs[value.blob]));
    else writeFileSync(path, value.b64 === undefined ? value.text : Buffer.from(value.b64, "base64"));
  }
}

/** The target of a link, with `root` instead of the folder of the recorded run. */
function target(root, link) {
  return link.replace(/^\/tmp\/ripgrep-tests\/[^/]+\/\d+/, root);
}

function blob(value) {
  const data = Buffer.from(typeof value === "string" ? value : (value.b64 ?? value.gz ?? value.gzb64), "base64");
  return data[0] === 0x1f && data[1] === 0x8b ? gunzipSync(data) : data;
}

async function searched(natives, root, { pattern, path, options, matches }) {
  const { mode, ...rest } = options;
  const result = await natives.grep({ pattern, path: join(root, path), mode, ...rest });
  const name = (found) => posix.normalize(found.startsWith(root) ? posix.relative(root, found) : posix.join(path, found));
  if (mode === "content" || mode === undefined) {
    return [
      result.matches.map((row) => `${name(row.path)}:${row.lineNumber}:${row.line}`).sort(),
      matches.map((row) => `${posix.normalize(row.path)}:${row.line}:${row.text.replace(/\r$/, "")}`).sort(),
    ];
  }
  const expected = new Map();
  for (const row of matches) expected.set(posix.normalize(row.path), (expected.get(posix.normalize(row.path)) ?? 0) + 1);
  const counts = [...expected].map(([file, count]) => (mode === "count" ? `${file}:${count}` : file));
  return [result.matches.map((row) => (mode === "count" ? `${name(row.path)}:${row.matchCount}` : name(row.path))).sort(), counts.sort()];
}

async function listed(natives, root, { path, options, files }) {
  const { hidden, gitignore, glob } = options;
  const result = await natives.glob({ pattern: glob || "**/*", path: join(root, path), hidden, gitignore, fileType: natives.FileType.File });
  const found = result.matches.map((row) => posix.join(posix.normalize(path), row.path)).filter((file) => !/(^|\/)\.git(\/|$)/.test(file));
  return [found.sort(), files.map((file) => posix.normalize(file)).sort()];
}

function short(value) {
  const text = JSON.stringify(value);
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
