// Finding a file by what a person types, beside fuzzysort and fuse.js over a list that they are given for nothing.
import { tree } from "./glob.mjs";

// A scan outlives the rounds of the others: what is timed beside them is the search alone.
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
