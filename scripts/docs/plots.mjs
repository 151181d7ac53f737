// Plots the saved benchmark runs as SVG in a page: for each row a bar per contender, whose length is its time.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const [NAME, BAR, ROW] = [190, 420, 20];

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

function shownTime(ms) {
  if (ms < 0.001) return `${(ms * 1e6).toPrecision(3)} ns`;
  if (ms < 1) return `${(ms * 1000).toPrecision(3)} µs`;
  return ms < 1000 ? `${ms.toPrecision(3)} ms` : `${(ms / 1000).toPrecision(3)} s`;
}

/** The bars of one row of a benchmark. */
function plot({ title, sinew, others }) {
  const bars = [["sinew", sinew], ...Object.entries(others).map(([name, { ms }]) => [name, ms])];
  const longest = Math.max(...bars.map(([, ms]) => ms));
  const parts = bars.map(([name, ms], index) => {
    const width = Math.max(1, (BAR * ms) / longest).toFixed(1);
    const top = index * ROW;
    return `<text x="${NAME - 8}" y="${top + 14}" text-anchor="end">${escaped(name)}</text>` +
      `<rect class="${index === 0 ? "ours" : "other"}" x="${NAME}" y="${top + 3}" width="${width}" height="${ROW - 6}" rx="2"/>` +
      `<text x="${NAME + Number(width) + 6}" y="${top + 14}">${shownTime(ms)}</text>`;
  });
  const [width, height] = [NAME + BAR + 90, bars.length * ROW];
  return `<figure><figcaption>${escaped(title)}</figcaption><svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(title).replaceAll('"', "&quot;")}">${parts.join("")}</svg></figure>`;
}

/** Returns all saved runs below `folder` as a Markdown page. */
export function drawPlots(folder) {
  const runs = readdirSync(folder).filter((name) => name.endsWith(".json")).sort().flatMap((name) => {
    const { host, results } = JSON.parse(readFileSync(join(folder, name), "utf8"));
    const [, subjects, date] = /^(.*)-(\d{4}-\d{2}-\d{2})\.json$/.exec(name);
    const rows = results.filter(({ sinew, others }) => sinew !== undefined && Object.keys(others ?? {}).length > 0);
    if (rows.length === 0) return [];
    return `## ${subjects.replaceAll("-", ", ")}, ${date}

${host.cpu}, ${host.cores} cores, Node ${host.node}, load ${host.load.join(" ")}.

<div v-pre>
${rows.map(plot).join("\n")}
</div>`;
  });
  return `# All benchmarks

Saved runs of \`npm run bench -- --save\`. All contenders of a plot ran in one process and in one run, by turns. The time is the median; less is better. A busy
machine slows all of them.

${runs.join("\n\n")}
`;
}
