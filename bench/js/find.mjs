// Finds files by what a person types, against fuzzysort and fuse.js. Their time does not include listing the files.
import { tree } from "./glob.mjs";

// Keeps a scan cached for longer than the rounds of the others take, so that only the search is timed.
process.env.FS_SCAN_CACHE_TTL_MS = "600000";

export default async function (bench) {
  const path = tree();
  if (!path) return console.log("  no tree: set SINEW_BENCH_TREE");
  const { fuzzyFind, glob } = bench.natives;
  const fuzzysort = await bench.optional("fuzzysort");
  const Fuse = (await bench.optional("fuse.js"))?.default;
  const paths = (await glob({ pattern: "**/*", path, includeNodeModules: true })).matches.map((match) => match.path);
  const fuse = Fuse && new Fuse(paths, { ignoreLocation: true });
  for (const query of ["schedcore", "main", "mian", "e"]) {
    const options = { query, path, maxResults: 20 };
    await bench.compare(`"${query}" among ${paths.length} paths`, {
      sinew: () => fuzzyFind({ ...options, cache: true }),
      "sinew, nothing kept": () => fuzzyFind(options),
      fuzzysort: fuzzysort && (() => fuzzysort.default.go(query, paths, { limit: 20 })),
      "fuse.js": fuse && (() => fuse.search(query, { limit: 20 })),
    }, { targets: { fuzzysort: 1, "fuse.js": 0.1 }, rounds: 7 });
  }
}
