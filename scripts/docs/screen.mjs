// Draws the screen of a terminal emulator as SVG.
//
// Browsers disagree about spaces in SVG text, so no run begins or ends with one, and spaces inside a run are no-break
// spaces. Every run is positioned by its column and carries the width of its cells, so that it stays aligned in any
// monospace font.

const CELL = { width: 8.4, height: 18, size: 14, baseline: 13 };
const PADDING = 16;
const NO_BREAK_SPACE = "\u00a0";

/** The colors of a terminal: background, foreground, and the sixteen named colors. */
export const THEMES = {
  dark: {
    background: "#16181d",
    foreground: "#d7dae0",
    named: [
      "#2b2f37", "#e5707a", "#8fc47a", "#dcb86a", "#6aa7e8", "#bd8ae0", "#5fbcc4", "#c5c9d1",
      "#6f7681", "#f08a93", "#a7d894", "#ebcc86", "#88bdf5", "#d0a3ee", "#7ed0d7", "#ffffff",
    ],
  },
  light: {
    background: "#fbfbfc",
    foreground: "#24292f",
    named: [
      "#24292f", "#b3202c", "#2c7a2e", "#8a6100", "#0b5cad", "#7c3aa8", "#127a83", "#6e7781",
      "#57606a", "#cf3440", "#36913a", "#a87700", "#1f72c9", "#9350c4", "#1a8f99", "#32383f",
    ],
  },
};

/** A color of the 256-color palette. */
function paletteColor(index, theme) {
  if (index < 16) return theme.named[index];
  const hex = (value) => value.toString(16).padStart(2, "0");
  if (index >= 232) return `#${hex(8 + 10 * (index - 232)).repeat(3)}`;
  const level = (step) => hex(step === 0 ? 0 : 55 + 40 * step);
  const cube = index - 16;
  return `#${level(Math.floor(cube / 36))}${level(Math.floor(cube / 6) % 6)}${level(cube % 6)}`;
}

function colorOf(cell, part, theme) {
  if (cell[`is${part}RGB`]()) return `#${cell[`get${part}Color`]().toString(16).padStart(6, "0")}`;
  return cell[`is${part}Palette`]() ? paletteColor(cell[`get${part}Color`](), theme) : undefined;
}

/** The style of a cell: the attributes of its text, and its background color. */
function styleOf(cell, theme) {
  let [fill, behind] = [colorOf(cell, "Fg", theme) ?? theme.foreground, colorOf(cell, "Bg", theme)];
  if (cell.isInverse()) [fill, behind] = [behind ?? theme.background, fill];
  const attributes = [`fill="${fill}"`];
  if (cell.isBold()) attributes.push('font-weight="bold"');
  if (cell.isItalic()) attributes.push('font-style="italic"');
  if (cell.isUnderline()) attributes.push('text-decoration="underline"');
  if (cell.isDim()) attributes.push('opacity="0.65"');
  return { attributes: attributes.join(" "), behind };
}

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

/** Neighboring cells with the same style. */
function runsOf(line, cols, theme) {
  const runs = [];
  for (let column = 0; column < cols; column++) {
    const cell = line.getCell(column);
    if (cell.getWidth() === 0) continue;
    const { attributes, behind } = styleOf(cell, theme);
    const last = runs.at(-1);
    const text = cell.getChars() || " ";
    if (last && last.attributes === attributes && last.behind === behind) {
      last.text += text;
      last.width += cell.getWidth();
    } else runs.push({ column, width: cell.getWidth(), text, attributes, behind });
  }
  return runs;
}

/** A run without the spaces around it. A space is one cell wide. */
function trimmed({ column, width, text }) {
  const begin = text.length - text.trimStart().length;
  const end = text.length - text.trimEnd().length;
  return { column: column + begin, width: width - begin - end, text: text.trim() };
}

/**
 * Draws the screen of `terminal` (of @xterm/headless) as SVG, down to its last row that is not empty. `label` describes
 * it for screen readers.
 */
export function drawScreen(terminal, theme, label) {
  const { active } = terminal.buffer;
  const { cols } = terminal;
  const line = (row) => active.getLine(active.baseY + row);
  let rows = terminal.rows;
  while (rows > active.cursorY + 1 && line(rows - 1).translateToString(true).trim() === "") rows--;

  const left = (column) => (PADDING + column * CELL.width).toFixed(1);
  const parts = [];
  for (let row = 0; row < rows; row++) {
    const top = PADDING + row * CELL.height;
    for (const run of runsOf(line(row), cols, theme)) {
      if (run.behind) parts.push(`<rect x="${left(run.column)}" y="${top}" width="${(run.width * CELL.width).toFixed(1)}" height="${CELL.height}" fill="${run.behind}"/>`);
      const { column, width, text } = trimmed(run);
      if (!text) continue;
      const shown = escaped(text).replaceAll(" ", NO_BREAK_SPACE);
      parts.push(`<text x="${left(column)}" y="${top + CELL.baseline}" textLength="${(width * CELL.width).toFixed(1)}" ${run.attributes}>${shown}</text>`);
    }
  }
  const caret = `<rect x="${left(active.cursorX)}" y="${PADDING + active.cursorY * CELL.height}" width="${CELL.width}" height="${CELL.height}" fill="${theme.foreground}" opacity="0.6"/>`;
  const [width, height] = [Math.ceil(2 * PADDING + cols * CELL.width), 2 * PADDING + rows * CELL.height];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(label)}">
<rect width="${width}" height="${height}" rx="10" fill="${theme.background}"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="${CELL.size}" style="white-space: pre">
${[...parts, caret].join("\n")}
</g>
</svg>
`;
}
