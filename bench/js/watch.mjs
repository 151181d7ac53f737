// Watches a large tree, against chokidar and @parcel/watcher: the time until everything is watched, and until changes
// are reported.
//
// SINEW_BENCH_FILES sets the number of files (default: 20,000), or several numbers separated by commas. The numbers in
// the contract are for 80000,300000.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const SIZES = (process.env.SINEW_BENCH_FILES ?? "20000").split(",").map(Number);
const CHANGED = 100;
const ROUNDS = 5;

/**
 * The watchers by name. `open(root, each)` resolves once everything is watched, with a function that closes it. `each`
 * is called with the absolute path of a change.
 */
async function watchers(bench) {
  const { watch } = bench.natives;
  const chokidar = await bench.optional("chokidar");
  const parcel = (await bench.optional("@parcel/watcher"))?.default;
  return {
    sinew: async (root, each) => {
      const watcher = await watch(root, {}, (events) => events.forEach(({ path, to }) => each(join(root, to ?? path))));
      return () => watcher.close();
    },
    chokidar: chokidar && (async (root, each) => {
      const watcher = chokidar.watch(root, { ignoreInitial: true });
      watcher.on("all", (_, path) => each(path));
      await new Promise((ready, failed) => watcher.once("ready", ready).once("error", failed));
      return () => watcher.close();
    }),
    "@parcel/watcher": parcel && (async (root, each) => {
      const subscription = await parcel.subscribe(root, (error, events) => {
        if (error) throw error;
        for (const { path } of events) each(path);
      });
      return () => subscription.unsubscribe();
    }),
  };
}

function median(list) {
  return [...list].sort((a, b) => a - b)[list.length >> 1];
}

/** Milliseconds until a watcher is ready, and from the first write until the last changed file is reported. */
async function measure(open, root, round) {
  const missing = new Set();
  let all;
  const memory = process.memoryUsage().rss;
  const begun = performance.now();
  const close = await open(root, (path) => missing.delete(path) && missing.size === 0 && all());
  const ready = performance.now() - begun;
  const resident = (process.memoryUsage().rss - memory) / 2 ** 20;
  const paths = Array.from({ length: CHANGED }, (_, at) => join(root, `d${at}`, `f${at}.ts`));
  for (const path of paths) missing.add(path);
  const reported = new Promise((resolve) => (all = resolve));
  const changed = performance.now();
  for (const path of paths) writeFileSync(path, `changed in round ${round}\n`);
  await reported;
  const report = performance.now() - changed;
  await close();
  return { ready, report, resident };
}

export default async function (bench) {
  const known = Object.entries(await watchers(bench)).filter(([, open]) => open);
  for (const files of SIZES) {
    const root = mkdtempSync(join(tmpdir(), "sinew-bench-watch-"));
    try {
      for (let at = 0; at < files; at++) {
        const sub = join(root, `d${at % 200}`);
        if (at < 200) mkdirSync(sub);
        writeFileSync(join(sub, `f${at}.ts`), "text\n");
      }
      const figures = Object.fromEntries(known.map(([name]) => [name, []]));
      for (let round = 0; round < ROUNDS; round++) {
        for (const [name, open] of known) figures[name].push(await measure(open, root, round));
      }
      const title = `${files.toLocaleString("en")} files`;
      const row = (key, unit) => known.map(([name]) => `${name} ${median(figures[name].map((each) => each[key])).toFixed(1)} ${unit}`).join(", ");
      bench.fact(`${title}, until all is watched`, row("ready", "ms"));
      bench.fact(`${title}, until ${CHANGED} changes are reported`, row("report", "ms"));
      bench.fact(`${title}, memory of the first watch`, known.map(([name]) => `${name} ${figures[name][0].resident.toFixed(1)} MiB`).join(", "));
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  }
}
