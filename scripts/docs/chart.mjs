// Draws the charts of the documentation from the saved benchmark runs: Sinew against well-known alternatives, and how
// times grow with a tree.
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { draw as drawSeries, fit } from "../../bench/js/growth.mjs";
import { ROOT } from "../lib/steps.mjs";

const RUNS = join(ROOT, "bench", "results");

/** The rows: the task, the alternative, and where the saved time is. */
const ROWS = [
  { work: "search 29,000 files with an index", other: "ripgrep", run: "grep-glob-find-index-2026-11-27", row: "a rare word", contender: "rg" },
  { work: "search 26,000 files", other: "ripgrep", run: "grep-glob-find-index-2026-11-27", row: "grep of a tree, a rare word", contender: "rg" },
  { work: "find files by pattern", other: "fast-glob", run: "grep-glob-find-index-2026-11-27", row: "**/*.ts in a tree", contender: "fast-glob" },
  { work: "list files", other: "rg --files", run: "grep-glob-find-index-2026-11-27", row: "every entry", contender: "rg --files" },
  { work: "measure text", other: "fast-string-width", run: "text-keys-highlight-2026-11-23", row: "visibleWidth, styled mixed text, 24 KB", contender: "fast-string-width" },
  { work: "highlight JavaScript", other: "highlight.js", run: "text-keys-highlight-2026-11-23", row: "javascript, 76 KB", contender: "highlight.js" },
  { work: "HTML to Markdown", other: "turndown", run: "html-image-2026-11-23", row: "500 KB page to Markdown", contender: "turndown" },
  { work: "command in a shell session", other: "child_process", run: "shell-pty-process-2026-11-23", row: "true in a shell that lives", contender: "child_process" },
  { work: "resize a photo", other: "sharp", run: "html-image-2026-11-23", row: "4000×3000 JPEG to 2000 wide, as JPEG", contender: "sharp" },
  { work: "start a single command", other: "child_process", run: "shell-pty-process-2026-11-23", row: "true in a shell of its own", contender: "child_process" },
];

const LIGHT = { background: "#ffffff", text: "#1f2328", quiet: "#59636e", other: "#d1d9e0", ours: "#0969da", slower: "#bc4c00" };
const DARK = { background: "#0d1117", text: "#f0f6fc", quiet: "#9198a1", other: "#3d444d", ours: "#4493f8", slower: "#db6d28" };

const WIDTH = 820;
const [LABEL, BAR, HEIGHT, TOP] = [370, 260, 30, 64];

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

/** The time of Sinew divided by that of the alternative, for each row. */
export function ratios() {
  const results = new Map();
  return ROWS.map(({ run, row, contender, ...rest }) => {
    if (!results.has(run)) results.set(run, JSON.parse(readFileSync(join(RUNS, `${run}.json`), "utf8")).results);
    const found = results.get(run).find(({ title }) => title === row);
    const ratio = found?.others?.[contender]?.ratio;
    if (!ratio) throw new Error(`${run}.json has no time of ${contender} in the row "${row}"`);
    return { ...rest, ratio };
  });
}

/** How many times as fast Sinew is, as text. */
function factor(ratio) {
  if (ratio > 1) return `${ratio.toFixed(2)}× the time`;
  const times = 1 / ratio;
  return `${times < 10 ? times.toFixed(1) : Math.round(times)}× as fast`;
}

/** The chart as SVG, in the colors of `theme`. */
function draw(rows, theme) {
  const bars = rows.map(({ work, other, ratio }, index) => {
    const y = TOP + index * HEIGHT;
    const ours = Math.max(2, BAR * ratio).toFixed(1);
    return `<text x="${LABEL - 12}" y="${y + 16}" text-anchor="end"><tspan fill="${theme.text}">${escaped(work)}</tspan><tspan fill="${theme.quiet}"> vs. ${escaped(other)}</tspan></text>
<rect x="${LABEL}" y="${y + 14}" width="${BAR}" height="8" rx="2" fill="${theme.other}"/>
<rect x="${LABEL}" y="${y + 3}" width="${ours}" height="8" rx="2" fill="${ratio > 1 ? theme.slower : theme.ours}"/>
<text x="${Math.max(LABEL + BAR, LABEL + Number(ours)) + 12}" y="${y + 16}" fill="${theme.text}">${factor(ratio)}</text>`;
  });
  const height = TOP + rows.length * HEIGHT + 16;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="Time of Sinew relative to its alternatives">
<rect width="${WIDTH}" height="${height}" rx="10" fill="${theme.background}"/>
<g font-family="system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif" font-size="13">
<text x="24" y="32" font-size="16" font-weight="bold" fill="${theme.text}">Time of Sinew and of the alternative, less is better</text>
<rect x="${LABEL + BAR - 148}" y="42" width="10" height="10" rx="2" fill="${theme.ours}"/><text x="${LABEL + BAR - 132}" y="51" fill="${theme.quiet}">Sinew</text>
<rect x="${LABEL + BAR - 76}" y="42" width="10" height="10" rx="2" fill="${theme.other}"/><text x="${LABEL + BAR - 60}" y="51" fill="${theme.quiet}">alternative</text>
${bars.join("\n")}
</g>
</svg>
`;
}

/** The measurements of the newest run of `npm run bench -- growth`: for each row its points and the line through them. */
function growth() {
  const name = readdirSync(RUNS).filter((name) => name.startsWith("growth-")).sort().at(-1);
  const points = new Map();
  for (const { title, value } of JSON.parse(readFileSync(join(RUNS, name), "utf8")).results) {
    const [, files, row] = /^(\d+) files: (.*) \(ms\)$/.exec(title) ?? [];
    if (row) points.set(row, [...(points.get(row) ?? []), [Number(files), Number(value)]]);
  }
  return [...points].map(([name, points]) => ({ name, points, line: fit(points) }));
}

/** Writes the charts to docs/images: benchmarks.svg, its dark variant, and growth.svg. */
export function drawCharts() {
  const rows = ratios();
  const write = (name, svg) => writeFileSync(join(ROOT, "docs", "images", name), svg);
  write("benchmarks.svg", draw(rows, LIGHT));
  write("benchmarks-dark.svg", draw(rows, DARK));
  write("growth.svg", drawSeries(growth()));
}
