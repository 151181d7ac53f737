// One pattern, one file: does glob list it?
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** Whether glob lists a file named `text`. An invalid pattern matches nothing. */
export async function run(table, natives) {
  const rows = [];
  for (const { pattern, text, match, tier } of table.cases) {
    const id = `${JSON.stringify(pattern)} ${JSON.stringify(text)}`;
    const path = mkdtempSync(join(tmpdir(), "match-"));
    try {
      mkdirSync(dirname(join(path, text)), { recursive: true });
      writeFileSync(join(path, text), "");
      let found = false;
      try {
        const result = await natives.glob({
          pattern, path, recursive: false, hidden: true, gitignore: false, includeNodeModules: true, fileType: natives.FileType.File,
        });
        found = result.matches.some((row) => row.path === text.replace(/^\/+/, ""));
      } catch (error) {
        if (error.code !== "ERR_INVALID_ARG_VALUE") throw error;
      }
      rows.push({ id, tier, pass: found === match, detail: `${found ? "listed" : "not listed"}` });
    } catch (error) {
      rows.push({ id, tier, pass: false, detail: error.message });
    } finally {
      rmSync(path, { recursive: true, force: true });
    }
  }
  return rows;
}
