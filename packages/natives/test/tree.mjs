// Creates folders with files for tests of searches.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after } from "node:test";

const folders = [];
after(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

/**
 * Creates a folder with these files (texts by path) and returns its real path. It is removed after the tests of the
 * file.
 */
export function tree(files) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "sinew-tree-")));
  folders.push(folder);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}
