// The picture of the agent in the README: a scripted session in a real terminal of ours, read by an emulator, drawn as SVG.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "../lib/steps.mjs";

const SIZE = { cols: 92, rows: 34 };
const CELL = { width: 8.4, height: 18, size: 14 };
const PADDING = 16;
const BACKGROUND = "#16181d";
const FOREGROUND = "#d7dae0";
const LIMIT_MS = 30_000;

/** The sixteen colours that a terminal names by itself. */
const NAMED = [
  "#2b2f37", "#e5707a", "#8fc47a", "#dcb86a", "#6aa7e8", "#bd8ae0", "#5fbcc4", "#c5c9d1",
  "#6f7681", "#f08a93", "#a7d894", "#ebcc86", "#88bdf5", "#d0a3ee", "#7ed0d7", "#ffffff",
];

/** A colour of the table of 256. */
function paletteColour(index) {
  if (index < 16) return NAMED[index];
  const hex = (value) => value.toString(16).padStart(2, "0");
  if (index >= 232) return `#${hex(8 + 10 * (index - 232)).repeat(3)}`;
  const level = (step) => hex(step === 0 ? 0 : 55 + 40 * step);
  const cube = index - 16;
  return `#${level(Math.floor(cube / 36))}${level(Math.floor(cube / 6) % 6)}${level(cube % 6)}`;
}

function colourOf(cell, part) {
  if (cell[`is${part}RGB`]()) return `#${cell[`get${part}Color`]().toString(16).padStart(6, "0")}`;
  return cell[`is${part}Palette`]() ? paletteColour(cell[`get${part}Color`]()) : undefined;
}

/** How a cell looks, as attributes of a text and the colour behind it. */
function lookOf(cell) {
  let [fill, behind] = [colourOf(cell, "Fg") ?? FOREGROUND, colourOf(cell, "Bg")];
  if (cell.isInverse()) [fill, behind] = [behind ?? BACKGROUND, fill];
  const attributes = [`fill="${fill}"`];
  if (cell.isBold()) attributes.push('font-weight="bold"');
  if (cell.isItalic()) attributes.push('font-style="italic"');
  if (cell.isUnderline()) attributes.push('text-decoration="underline"');
  if (cell.isDim()) attributes.push('opacity="0.6"');
  return { attributes: attributes.join(" "), behind };
}

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

/** Cells of one look side by side. */
function runsOf(line) {
  const runs = [];
  for (let column = 0; column < SIZE.cols; column++) {
    const cell = line.getCell(column);
    if (cell.getWidth() === 0) continue;
    const { attributes, behind } = lookOf(cell);
    const last = runs.at(-1);
    const text = cell.getChars() || " ";
    if (last && last.attributes === attributes && last.behind === behind) {
      last.text += text;
      last.width += cell.getWidth();
    } else runs.push({ column, width: cell.getWidth(), text, attributes, behind });
  }
  return runs;
}

/** The screen of a terminal as SVG. */
function drawn(terminal) {
  const parts = [];
  const { active } = terminal.buffer;
  for (let row = 0; row < SIZE.rows; row++) {
    const top = PADDING + row * CELL.height;
    for (const { column, width, text, attributes, behind } of runsOf(active.getLine(active.baseY + row))) {
      const [left, long] = [(PADDING + column * CELL.width).toFixed(1), (width * CELL.width).toFixed(1)];
      if (behind) parts.push(`<rect x="${left}" y="${top}" width="${long}" height="${CELL.height}" fill="${behind}"/>`);
      if (text.trim()) parts.push(`<text x="${left}" y="${top + 13}" textLength="${long}" ${attributes}>${escaped(text)}</text>`);
    }
  }
  const caret = `<rect x="${(PADDING + active.cursorX * CELL.width).toFixed(1)}" y="${PADDING + active.cursorY * CELL.height}" width="${CELL.width}" height="${CELL.height}" fill="${FOREGROUND}" opacity="0.7"/>`;
  const [width, height] = [Math.ceil(2 * PADDING + SIZE.cols * CELL.width), 2 * PADDING + SIZE.rows * CELL.height];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="The agent mends a small project in a terminal">
<rect width="${width}" height="${height}" rx="10" fill="${BACKGROUND}"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="${CELL.size}" xml:space="preserve">
${[...parts, caret].join("\n")}
</g>
</svg>
`;
}

/** A project with a fault, in a home of its own. */
function makeProject(home) {
  const project = join(home, "shop");
  mkdirSync(project);
  writeFileSync(join(project, "cart.mjs"), `export function total(prices) {\n  let sum = 1;\n  for (const price of prices) sum += price;\n  return sum;\n}\n`);
  writeFileSync(join(project, "check.mjs"), `import { total } from "./cart.mjs";\n\nconst sum = total([2, 3]);\nconsole.log(sum === 5 ? "all sums are right" : \`total([2, 3]) is \${sum}, not 5\`);\nprocess.exitCode = sum === 5 ? 0 : 1;\n`);
  execFileSync("git", ["init", "--quiet", "--initial-branch=main"], { cwd: project });
  return project;
}

/** Plays the scene and gives the emulator that saw it. */
async function play(agent) {
  const require = createRequire(import.meta.url);
  const { Terminal } = require("@xterm/headless");
  const { PtySession } = require(join(ROOT, "packages", "natives"));
  const home = mkdtempSync(join(tmpdir(), "sinew-picture-"));
  try {
    const terminal = new Terminal({ ...SIZE, allowProposedApi: true });
    const session = new PtySession();
    terminal.onData((reply) => session.write(reply));
    const scene = join(ROOT, "scripts", "docs", "scene.jsonl");
    const quoted = [agent, "--script", scene].map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
    const env = { HOME: home, SINEW_HOME: join(home, ".sinew"), TERM: "xterm-256color", COLORTERM: "truecolor", NO_COLOR: "" };
    let look = () => {};
    const ended = session.start({ command: quoted, cwd: makeProject(home), env, timeoutMs: LIMIT_MS, ...SIZE }, (chunk) => new Promise((done) => terminal.write(chunk, () => (look(), done()))));
    const shown = (text) => new Promise((done) => {
      look = () => {
        const { active } = terminal.buffer;
        const rows = Array.from({ length: SIZE.rows }, (_, row) => active.getLine(active.baseY + row)?.translateToString(true) ?? "");
        if (rows.some((row) => row.includes(text))) done();
      };
      look();
    });
    const step = async (keys, text) => {
      session.write(keys);
      await Promise.race([shown(text), ended.then(() => { throw new Error(`the agent ended before it showed ${JSON.stringify(text)}`); })]);
    };
    await step("", "ready");
    await step("the sums in my cart are wrong", "sums in my cart");
    await step("\r", "total([]); // 0");
    await step("", "ready");
    await step("now add a test for an empty cart", "an empty cart");
    const picture = drawn(terminal);
    session.write("\x15\x04");
    await ended;
    return picture;
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** Writes docs/images/terminal.svg with the agent that was built: `SINEW_BIN`, a release in dist, or what the tests built. */
export async function drawPicture() {
  const candidates = [process.env.SINEW_BIN, join(ROOT, "dist", "sinew"), join(ROOT, "target", "debug", "sinew")];
  const agent = candidates.find((path) => path && existsSync(path));
  if (!agent) throw new Error("no agent to draw; run: npm run build -- --agent");
  const path = join(ROOT, "docs", "images", "terminal.svg");
  mkdirSync(join(ROOT, "docs", "images"), { recursive: true });
  const picture = await play(agent);
  if (existsSync(path) && readFileSync(path, "utf8") === picture) return;
  writeFileSync(path, picture);
}
