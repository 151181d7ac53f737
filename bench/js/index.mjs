// Searches a workspace, against ripgrep (as a process, including its start), the calls without an index, and another
// index.
//
// SINEW_BENCH_TREE sets the tree (default: the sources in the cargo registry). The patterns suit C and Rust sources.
// The targets were set for the sources of Linux, which Debian packages as linux-source-6.1.
import { appendFileSync, mkdtempSync, rmSync, statSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ripgrep } from "../../scripts/lib/tools.mjs";
import { workspaceMemory } from "../lib/workspace-memory.mjs";
import { output, tree } from "./grep.mjs";

/** A pattern, its options, and the largest time allowed relative to ripgrep. */
const SEARCHES = [
  ["no match", { pattern: "zq_not_there_42" }, 0.02],
  ["a rare word", { pattern: "spi_nor_read_sfdp" }, 0.03],
  ["a rare regex", { pattern: "spi_nor_\\w+_sfdp\\(" }, 0.03],
  ["a rare word, ignoring case", { pattern: "Out Of Memory Killer", ignoreCase: true }, 0.03],
  ["a regex of weak parts", { pattern: "fn \\w+_test\\(" }, 0.06],
  ["many matches", { pattern: "return -EINVAL;" }, 0.25],
  ["three letters", { pattern: "i2c" }, 0.25],
];

function bytesBelow(folder) {
  const entries = readdirSync(folder, { withFileTypes: true, recursive: true });
  return entries.filter((entry) => entry.isFile()).reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}

/** Another index, warmed up; undefined if it does not load here. */
async function finder(bench, path) {
  const { FileFinder } = (await bench.optional("@ff-labs/fff-node")) ?? {};
  const made = FileFinder?.create({ basePath: path });
  if (!made?.ok) return undefined;
  await made.value.waitForIndexReady(600_000);
  const all = { pageSize: 1_000_000, maxMatchesPerFile: 1_000_000, maxFileSize: 2 ** 31, timeBudgetMs: 0 };
  return {
    grep({ pattern, ignoreCase }) {
      const found = made.value.grep(ignoreCase ? pattern.toLowerCase() : pattern, { ...all, mode: "regex", smartCase: !!ignoreCase });
      if (!found.ok) throw new Error(found.error);
      return found.value;
    },
    find: (query) => made.value.fileSearch(query, { pageSize: 20 }),
    close: () => made.value.destroy(),
  };
}

export default async function (bench) {
  const { Workspace, fuzzyFind, glob, grep } = bench.natives;
  const path = tree();
  const rg = await ripgrep();
  const asRg = ({ pattern, ignoreCase }) => rg && (() => output(rg, ["--no-config", "-n", "--hidden", ...(ignoreCase ? ["-i"] : []), "-e", pattern, path]));
  const folder = mkdtempSync(join(tmpdir(), "sinew-bench-"));
  const cacheDir = join(folder, "cache");

  const workspace = await Workspace.open(path, { cacheDir });
  const { mode, files, indexed, textBytes, indexBytes } = await workspace.ready();
  console.log(`  ${path}: ${files} files, ${indexed} texts of ${(textBytes / 1e6).toFixed(0)} MB, kept fresh by ${mode}`);
  bench.fact("index on disk, of the text", (bytesBelow(cacheDir) / textBytes).toFixed(3), 0.13);
  await workspace.grep({ pattern: "zq_not_there_42" });
  bench.fact("memory that the workspace takes (MB)", (workspaceMemory(path, cacheDir) / 1e6).toFixed(0), 48);
  bench.fact("bytes of segments (MB)", (indexBytes / 1e6).toFixed(0));

  for (const [name, options, target] of SEARCHES) {
    const { totalMatches, filesSearched } = await grep({ ...options, path });
    await workspace.grep(options);
    const { candidates } = workspace.status().last;
    const note = `${totalMatches} matches in ${filesSearched} files, ${candidates} opened`;
    const contenders = { sinew: () => workspace.grep(options), rg: asRg(options), plain: () => grep({ ...options, path }) };
    await bench.compare(name, contenders, { targets: { rg: target }, rounds: 5, note });
  }
  // Runs separately, because its garbage is collected while the next contender runs.
  const other = await finder(bench, path);
  for (const [name, options] of other ? SEARCHES : []) {
    const note = `fff finds ${other.grep(options).totalMatched}`;
    await bench.compare(`${name}, beside fff`, { sinew: () => workspace.grep(options), fff: () => other.grep(options) }, { targets: { fff: 1 }, rounds: 3, note });
  }
  other?.close();

  const many = { pattern: "return", maxCount: 100 };
  await bench.compare("maxCount: 100 of many", { sinew: () => workspace.grep(many), "its own full search": () => workspace.grep({ pattern: "return" }) }, {
    targets: { "its own full search": 0.1 }, rounds: 5,
  });
  const all = { pattern: "x", mode: "count" };
  await bench.compare("a pattern that every file may match", { sinew: () => workspace.grep(all), plain: () => grep({ ...all, path }) }, { targets: { plain: 0.9 }, rounds: 5 });
  const quiet = asRg(SEARCHES[0][1]);
  await bench.compare("what changed (the barrier of a quiet tree)", { sinew: () => workspace.changes(), rg: quiet }, { targets: { rg: 0.001 }, rounds: 5 });
  await bench.compare("glob *.h", { sinew: () => workspace.glob({ pattern: "*.h" }), plain: () => glob({ pattern: "*.h", path }) }, { targets: { plain: 0.1 }, rounds: 5 });
  await bench.compare("list", { sinew: () => workspace.list({ hidden: true }), "rg --files": rg && (() => output(rg, ["--files", "--hidden", path])) }, { targets: { "rg --files": 0.1 }, rounds: 5 });
  const find = { query: "schedcore", maxResults: 20 };
  await bench.compare("fuzzyFind", { sinew: () => workspace.fuzzyFind(find), plain: () => fuzzyFind({ ...find, path }) }, { targets: { plain: 0.15 }, rounds: 5 });

  // A file that the benchmark adds to the tree and removes afterwards.
  const own = join(path, `sinew-bench-${process.pid}.c`);
  writeFileSync(own, "int one;\n");
  const rare = SEARCHES[1][1];
  await bench.compare("a search after a save", {
    sinew: () => (appendFileSync(own, "int more;\n"), workspace.grep(rare)),
    "the same search in a quiet tree": () => workspace.grep(rare),
    rg: asRg(rare),
  }, { rounds: 5 });
  rmSync(own);

  const swept = await Workspace.open(path, { cacheDir: null, freshness: "sweep", maxMemoryBytes: 2 ** 31 });
  await swept.ready();
  await bench.compare("a rare word, every stamp looked at", { sinew: () => swept.grep(rare), rg: asRg(rare) }, { targets: { rg: 0.35 }, rounds: 5 });
  await swept.close();
  await workspace.close();

  await bench.compare("reopen until the first answer", {
    sinew: async () => {
      const again = await Workspace.open(path, { cacheDir });
      await again.grep(rare);
      await again.close();
    },
    rg: asRg(rare),
  }, { targets: { rg: 0.45 }, rounds: 5 });
  await bench.compare("build", {
    sinew: async () => {
      const fresh = await Workspace.open(path, { cacheDir: join(folder, "fresh") });
      await fresh.ready();
      await fresh.close();
      await Workspace.remove(path, { cacheDir: join(folder, "fresh") });
    },
    rg: asRg(rare),
  }, { targets: { rg: 12 }, rounds: 3 });
  rmSync(folder, { recursive: true });
}
