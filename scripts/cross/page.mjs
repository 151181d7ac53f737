// Generates the tables of docs/natives/platforms.md from the results of `npm run cross` in scripts/cross/results.json.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../lib/steps.mjs";
import { PARTS, REASONS, TARGETS } from "./targets.mjs";

const RESULTS = join(import.meta.dirname, "results.json");
export const PAGE = join(ROOT, "docs", "natives", "platforms.md");
const MARKS = ["<!-- results -->\n", "<!-- end of results -->"];

/** The results of each target by its tag: { check, builds, releases, tests, require }. */
export function results() {
  return existsSync(RESULTS) ? JSON.parse(readFileSync(RESULTS, "utf8")) : {};
}

/** Saves the results of a run for a target. Results of steps that it did not run stay as they were. */
export function remember(tag, found) {
  const all = results();
  all[tag] = { ...all[tag], ...found };
  const sorted = Object.fromEntries(TARGETS.filter((row) => all[row.tag]).map((row) => [row.tag, all[row.tag]]));
  writeFileSync(RESULTS, `${JSON.stringify(sorted, null, 2)}\n`);
}

const checked = (check, by) => (check ? `${check.ok ? `clean${check.warnings ? `, ${check.warnings} warnings` : ""}` : `${check.errors} errors`}${by ? `, ${by} too` : ""}` : "not run");
const parts = (builds) => Object.entries(builds).map(([part, { ok, bytes }]) => `${part} ${ok ? `${(bytes / 1e6).toFixed(1)} MB` : "**fails**"}`).join(", ");
/** The results of release builds or, if there are none, of test builds. */
const built = ({ releases, builds } = {}) => (releases ? `release: ${parts(releases)}` : builds ? `dev: ${parts(builds)}` : "nothing");

/** The size of a part of a release, with its limit if it has one. */
function size(row, part, { ok, bytes }) {
  if (!ok) return "**fails**";
  const limit = PARTS[part].limit?.(row);
  const over = limit && bytes > limit ? `, **${(bytes - limit).toLocaleString("en")} over**` : "";
  return `${bytes.toLocaleString("en")}${limit ? ` of ${limit.toLocaleString("en")}${over}` : ""}`;
}

/** The table cells of a target. */
export function cells(row, known) {
  const tests = Object.values(known?.tests ?? {});
  const sum = (field) => tests.reduce((all, part) => all + part[field], 0);
  return [row.tag, checked(known?.check, row.check), built(known), tests.length ? String(sum("passed")) : "0", String(sum("failed"))];
}

/** The failed tests, each with its reason if one is known. Tests of a file that share a reason are listed together. */
function said(tag, names) {
  const reasons = REASONS[tag] ?? {};
  const rows = new Map();
  for (const name of names) {
    const file = name.split(": ")[0];
    const key = reasons[name] || !reasons[file] ? name : file;
    rows.set(key, (rows.get(key) ?? 0) + 1);
  }
  const text = ([name, count]) => `\`${name.replaceAll("|", "\\|").replaceAll("`", "'")}\`${count > 1 ? ` × ${count}` : ""}${reasons[name] ? ` (${reasons[name]})` : ""}`;
  return [...rows].map(text).join(", ");
}

/** The number of skipped tests for each reason. */
const leftOut = ({ skipped }) => (skipped ? Object.entries(skipped).sort().map(([reason, count]) => `${count}: ${reason}`).join(", ") || "0" : "not counted");

/** The generated part of the page: a table of targets, one of failures, and one of the runs. */
export function generated(known = results()) {
  const line = (parts) => `| ${parts.join(" | ")} |`;
  const lines = [line(["target", "`cargo check --workspace --tests`", "built and linked, with which cargo profile", "tests passed", "failed", "where tests ran"]), line(Array(6).fill("---"))];
  for (const row of TARGETS) lines.push(line([...cells(row, known[row.tag]), (known[row.tag]?.tests && row.runs) || "nowhere"]));
  lines.push("", line(["target", "release: addon, bytes", "addon for newer processors", "supervisor", "agent", "minutes"]), line(Array(6).fill("---")));
  for (const row of TARGETS) {
    const releases = known[row.tag]?.releases;
    if (!releases) continue;
    const sizes = Object.keys(PARTS).map((part) => (releases[part] ? size(row, part, releases[part]) : row.parts.includes(part) ? "not built" : "none"));
    lines.push(line([row.tag, ...sizes, [...new Set(Object.values(releases).map(({ minutes }) => minutes))].join(" + ")]));
  }
  for (const { tag } of TARGETS) {
    const counts = known[tag]?.require;
    if (counts) lines.push("", `${tag}: \`require\` of the package executes ${counts.more.toLocaleString("en")} instructions; Node with an empty program executes ${counts.bare.toLocaleString("en")} (medians; counted by qemu).`);
  }
  lines.push("", line(["target", "tests", "profile", "passed", "skipped", "failed"]), line(Array(6).fill("---")));
  for (const row of TARGETS) {
    for (const [what, part] of Object.entries(known[row.tag]?.tests ?? {})) {
      const names = said(row.tag, part.names);
      lines.push(line([row.tag, what, part.profile ?? "unknown", part.passed, leftOut(part), part.failed ? `${part.failed}: ${names}` : "0"]));
    }
  }
  lines.push("", line(["target", "not tested"]), line(Array(2).fill("---")));
  for (const row of TARGETS) lines.push(line([row.tag, row.left]));
  return `\n${lines.join("\n")}\n\n`;
}

/** The page with its generated part brought up to date. */
export function page(text = readFileSync(PAGE, "utf8"), known = results()) {
  const [begin, end] = [text.indexOf(MARKS[0]) + MARKS[0].length, text.indexOf(MARKS[1])];
  if (begin < MARKS[0].length || end < begin) throw new Error(`${PAGE} does not contain the lines ${MARKS.map((mark) => mark.trim()).join(" and ")}`);
  return text.slice(0, begin) + generated(known) + text.slice(end);
}

export const writePage = () => writeFileSync(PAGE, page());
