// Finds paths in a real list by what people type, and compares the mean reciprocal rank with that of fzf and fzy.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** The rank of each target. A row passes if it is among the first ten. */
export async function run(table, natives) {
  const path = mkdtempSync(join(tmpdir(), "queries-"));
  for (const file of table.files) {
    mkdirSync(dirname(join(path, file)), { recursive: true });
    writeFileSync(join(path, file), "");
  }
  const rows = [];
  for (const { query, target, style, fzf, fzy } of table.queries) {
    const { matches } = await natives.fuzzyFind({ query, path, gitignore: false, maxResults: 10_000 });
    const rank = matches.filter((match) => !match.isDirectory).findIndex((match) => match.path === target) + 1;
    rows.push({ id: `${style} ${query}: ${target}`, tier: "mrr", pass: rank > 0 && rank <= 10, rank, fzf, fzy, detail: `rank ${rank}, fzf ${fzf}` });
  }
  rmSync(path, { recursive: true, force: true });
  return rows;
}

const mean = (rows, key) => rows.reduce((sum, row) => sum + (row[key] ? 1 / row[key] : 0), 0) / rows.length;

/** Checks that the mean reciprocal rank is better than that of both. */
export function gate(rows) {
  const figures = ["rank", "fzf", "fzy"].map((key) => mean(rows, key));
  const [ours, fzf, fzy] = figures.map((figure) => figure.toFixed(3));
  console.log(`fuzzy_queries: mean reciprocal rank ${ours}, fzf ${fzf}, fzy ${fzy}`);
  if (figures[0] <= Math.max(figures[1], figures[2])) throw new Error(`the mean reciprocal rank ${ours} is not above fzf's ${fzf} and fzy's ${fzy}`);
}
