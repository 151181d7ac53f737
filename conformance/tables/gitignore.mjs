// Trees with ignore files: glob must list and grep must search the files that git shows.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** Whether glob and grep see what git sees. */
export async function run(table, natives) {
  const rows = [];
  for (const test of table.cases) {
    const path = mkdtempSync(join(tmpdir(), "gitignore-"));
    try {
      mkdirSync(join(path, ".git"));
      for (const file of test.files) write(join(path, file), "x");
      for (const [file, text] of Object.entries(test.gitignores)) write(join(path, file), text);
      const files = new Set(test.files);
      const kept = (matches) => matches.map((match) => match.path).filter((file) => files.has(file)).sort();
      const expected = [...test.visible].sort();
      const listed = kept((await natives.glob({ pattern: "**/*", path, hidden: true, fileType: natives.FileType.File, includeNodeModules: true })).matches);
      const searched = kept((await natives.grep({ pattern: "x", path, hidden: true, mode: "filesWithMatches" })).matches);
      const same = (found) => JSON.stringify(found) === JSON.stringify(expected);
      const faults = [];
      if (!same(listed)) faults.push(`glob lists ${JSON.stringify(listed)}`);
      if (test.grepScored !== false && !same(searched)) faults.push(`grep searches ${JSON.stringify(searched)}`);
      rows.push({ id: test.test, tier: test.tier, pass: !faults.length, detail: `${faults.join(", ")}, not ${JSON.stringify(expected)}` });
    } catch (error) {
      rows.push({ id: test.test, tier: test.tier, pass: false, detail: error.message });
    } finally {
      rmSync(path, { recursive: true, force: true });
    }
  }
  return rows;
}

function write(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
