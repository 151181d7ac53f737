// Measures how times grow with the size of a tree: generated texts at four sizes. Each row is fitted as a power of the
// number of files.
//
// Runs only if you name it. SINEW_BENCH_SIZES sets other sizes; the largest default size takes 5 GB of disk space and
// some minutes. With --save it draws docs/images/growth.svg.
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { ROOT } from "../../scripts/lib/steps.mjs";
import { ripgrep } from "../../scripts/lib/tools.mjs";
import { workspaceMemory } from "../lib/workspace-memory.mjs";
import { output } from "./grep.mjs";

const SIZES = (process.env.SINEW_BENCH_SIZES ?? "1000,10000,100000,1000000").split(",").map(Number);
const FILES_PER_FOLDER = 20;
const FOLDERS_PER_FOLDER = 50;
const RARE = "zq_rare_name";
/** The files that contain the rare word: four, whatever the size. */
const RARE_FILES = new Set([3, 250, 500, 900]);
const ROUNDS = 5;
/** The largest power allowed for our rows: they grow with the number of files, plus some effect of processor caches. */
const MOST_POWER = 1.1;

/** Pseudo-random numbers, the same in each run. */
function dice(seed) {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

const SYLLABLES = ["ba", "co", "di", "fu", "ga", "hel", "in", "jo", "ka", "lu", "mer", "no", "or", "pa", "qui", "re", "sto", "ti", "un", "vex"];

function words() {
  const next = dice(7);
  return Array.from({ length: 5000 }, () => Array.from({ length: 2 + next(3) }, () => SYLLABLES[next(SYLLABLES.length)]).join(""));
}

/** Adds the files from `first` up to `end`: a kilobyte of words each, twenty per folder, fifty folders per parent. */
function grow(root, vocabulary, first, end) {
  let folder;
  for (let file = first; file < end; file++) {
    const number = Math.floor(file / FILES_PER_FOLDER);
    if (file % FILES_PER_FOLDER === 0 || folder === undefined) {
      const name = (at) => `${vocabulary[at % vocabulary.length]}${at}`;
      folder = join(root, name(Math.floor(number / FOLDERS_PER_FOLDER)), name(number));
      mkdirSync(folder, { recursive: true });
    }
    const next = dice(file + 1);
    const line = () => Array.from({ length: 7 }, () => vocabulary[next(vocabulary.length)]).join(" ");
    const text = Array.from({ length: 24 }, line).join("\n");
    writeFileSync(join(folder, `${vocabulary[next(vocabulary.length)]}${file}.txt`), RARE_FILES.has(file) ? `${text}\n${RARE}\n` : `${text}\n`);
  }
}

async function median(work, rounds = ROUNDS) {
  const times = [];
  for (let round = 0; round < rounds; round++) {
    const begun = performance.now();
    await work();
    times.push(performance.now() - begun);
  }
  return times.sort((a, b) => a - b)[rounds >> 1];
}

/**
 * The median times of `works`, which take turns. The first round is not counted, because files are not yet cached in
 * it. If a work returns a function, the function is called after the time is taken.
 */
async function turns(works, rounds) {
  const names = Object.keys(works);
  const times = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = 0; round <= rounds; round++) {
    for (const name of round % 2 ? names : names.toReversed()) {
      const begun = performance.now();
      const tidy = await works[name]();
      if (round) times[name].push(performance.now() - begun);
      if (typeof tidy === "function") await tidy();
    }
  }
  return Object.fromEntries(names.map((name) => [name, times[name].sort((a, b) => a - b)[rounds >> 1]]));
}

/** The rows of one size, in milliseconds, and the memory and disk space that it takes. */
async function measure({ Workspace, fuzzyFind, glob, grep }, path, cacheDir, rg) {
  const rare = { pattern: RARE };
  const find = { query: "merstoka9", maxResults: 20 };
  const open = async (options, ask) => {
    const workspace = await Workspace.open(path, options);
    await ask(workspace);
    return () => workspace.close();
  };
  const rows = await turns({
    "walk without an index": () => glob({ pattern: "*", path, maxResults: 1 }),
    "open": () => open({ cacheDir: null }, (workspace) => workspace.list({ maxResults: 1 })),
  }, ROUNDS);
  const workspace = await Workspace.open(path, { cacheDir });
  rows["build"] = await median(() => workspace.ready(), 1);
  const { indexed, textBytes, mode, unwatched } = workspace.status();
  rows["grep, a rare word"] = await median(() => workspace.grep(rare));
  const { totalMatches } = await workspace.grep(rare);
  if (totalMatches !== RARE_FILES.size) throw new Error(`the rare word was found ${totalMatches} times`);
  rows["fuzzyFind, the first"] = await median(() => workspace.fuzzyFind(find), 1);
  rows["fuzzyFind, later"] = await median(() => workspace.fuzzyFind(find));
  rows["barrier"] = await median(() => workspace.changes());
  await workspace.close();
  const memory = workspaceMemory(path, cacheDir);
  Object.assign(rows, await turns({ "reopen until the first answer": () => open({ cacheDir }, (workspace) => workspace.grep(rare)) }, 3));
  const plain = { "plain grep": () => grep({ ...rare, path }) };
  const ripgrep = rg ? { ripgrep: () => output(rg, ["--no-config", "-n", "--hidden", "-e", RARE, path]) } : {};
  Object.assign(rows, await turns({ ...plain, ...ripgrep }, 3));
  const files = readdirSync(cacheDir, { withFileTypes: true, recursive: true }).filter((entry) => entry.isFile());
  const disk = files.reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
  return { indexed, mode, unwatched, rows, memory: memory / 1e6, disk: disk / textBytes };
}

/** Fits a·n^b to the points by least squares of the logarithms. */
export function fit(points) {
  const [xs, ys] = [points.map(([n]) => Math.log(n)), points.map(([, ms]) => Math.log(ms))];
  const mean = (list) => list.reduce((sum, value) => sum + value, 0) / list.length;
  const [x, y] = [mean(xs), mean(ys)];
  const power = xs.reduce((sum, at, i) => sum + (at - x) * (ys[i] - y), 0) / xs.reduce((sum, at) => sum + (at - x) ** 2, 0);
  return { power, at: (n) => Math.exp(y + power * (Math.log(n) - x)) };
}

const COLOURS = ["#8a8f98", "#c9803a", "#b0413e", "#2f7ed8", "#7b4fb5", "#a07bd0", "#5a9e54", "#17838f", "#d0a52f", "#333333"];

/** Draws a chart with logarithmic axes, a dot for each measurement, and a line for each fit. */
export function draw(series) {
  const [width, height, left, top, bottom, legend] = [920, 470, 90, 30, 50, 290];
  const all = series.flatMap(({ points }) => points);
  const range = (list) => [Math.floor(Math.log10(Math.min(...list)) + 1e-9), Math.ceil(Math.log10(Math.max(...list)) - 1e-9)];
  const [[x0, x1], [y0, y1]] = [range(all.map(([n]) => n)), range(all.map(([, ms]) => ms))];
  const x = (n) => left + ((Math.log10(n) - x0) / (x1 - x0)) * (width - left - legend);
  const y = (ms) => height - bottom - ((Math.log10(ms) - y0) / (y1 - y0)) * (height - top - bottom);
  const shown = (power, unit) => (power < 0 ? String(10 ** power) : (10 ** power).toLocaleString("en")) + unit;
  const svg = [`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="13">`, `<rect width="${width}" height="${height}" fill="#ffffff"/>`];
  for (let power = x0; power <= x1; power++) {
    svg.push(`<path d="M${x(10 ** power)} ${top}V${height - bottom}" stroke="#e3e5e8"/>`, `<text x="${x(10 ** power)}" y="${height - bottom + 20}" text-anchor="middle">${shown(power, "")}</text>`);
  }
  for (let power = y0; power <= y1; power++) {
    svg.push(`<path d="M${left} ${y(10 ** power)}H${width - legend}" stroke="#e3e5e8"/>`, `<text x="${left - 8}" y="${y(10 ** power) + 4}" text-anchor="end">${shown(power, " ms")}</text>`);
  }
  svg.push(`<text x="${(left + width - legend) / 2}" y="${height - 8}" text-anchor="middle">files</text>`);
  series.forEach(({ name, points, line }, at) => {
    const colour = COLOURS[at % COLOURS.length];
    const ends = [points[0][0], points.at(-1)[0]];
    svg.push(`<path d="M${ends.map((n) => `${x(n).toFixed(1)} ${y(line.at(n)).toFixed(1)}`).join("L")}" stroke="${colour}" stroke-width="1.5" fill="none"/>`);
    svg.push(...points.map(([n, ms]) => `<circle cx="${x(n).toFixed(1)}" cy="${y(ms).toFixed(1)}" r="3.5" fill="${colour}"/>`));
    const row = top + 20 + at * 24;
    svg.push(`<circle cx="${width - legend + 24}" cy="${row - 4}" r="4" fill="${colour}"/>`, `<text x="${width - legend + 36}" y="${row}">${name}: n^${line.power.toFixed(2)}</text>`);
  });
  return `${svg.join("\n")}\n</svg>\n`;
}

export default async function (bench) {
  const rg = await ripgrep();
  const vocabulary = words();
  const folder = mkdtempSync(join(tmpdir(), "sinew-growth-"));
  const path = join(folder, "tree");
  try {
    const points = {};
    let before = 0;
    for (const files of SIZES) {
      grow(path, vocabulary, before, files);
      before = files;
      const cacheDir = join(folder, `cache-${files}`);
      const { indexed, mode, unwatched, rows, memory, disk } = await measure(bench.natives, path, cacheDir, rg);
      rmSync(cacheDir, { recursive: true });
      for (const [name, ms] of Object.entries(rows)) {
        (points[name] ??= []).push([files, ms]);
        bench.fact(`${files} files: ${name} (ms)`, ms.toFixed(ms < 10 ? 3 : 0));
      }
      bench.fact(`${files} files: memory (MB), index beside the text, texts, how it is kept`, `${memory.toFixed(0)}, ${disk.toFixed(3)}, ${indexed}, ${mode} (${unwatched} folders without)`);
    }
    const series = Object.entries(points).map(([name, points]) => ({ name, points, line: fit(points) }));
    for (const { name, line } of series) bench.fact(`${name} grows with the number of files to the power of`, line.power.toFixed(2), name === "ripgrep" ? undefined : MOST_POWER);
    if (bench.saves) writeFileSync(join(ROOT, "docs", "images", "growth.svg"), draw(series));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
