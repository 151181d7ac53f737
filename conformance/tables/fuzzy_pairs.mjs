// Ranks two files for a query: the better one must come first.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** Whether fuzzyFind lists `better`, and before `worse`. */
export async function run(table, natives) {
  const rows = [];
  for (const { query, better, worse, tier } of table.cases) {
    const path = mkdtempSync(join(tmpdir(), "pairs-"));
    for (const file of [better, worse]) {
      mkdirSync(dirname(join(path, file)), { recursive: true });
      writeFileSync(join(path, file), "");
    }
    const found = (await natives.fuzzyFind({ query, path, hidden: true, maxResults: 50 })).matches.map((match) => match.path);
    rmSync(path, { recursive: true, force: true });
    const [first, second] = [found.indexOf(better), found.indexOf(worse)];
    rows.push({ id: `${query}: ${better} before ${worse}`, tier, pass: first >= 0 && (second < 0 || first < second), detail: found.join(" ") });
  }
  return rows;
}
