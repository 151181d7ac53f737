// Renders every picture of the documentation in Chromium and tests that texts are as wide as their cells, lie inside
// the picture, and do not overlap.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { evaluate } from "./browser.mjs";
import { ROOT } from "../lib/steps.mjs";

const FOLDER = join(ROOT, "docs", "images");
/** How much a text may be wider or narrower than its cells. */
const TOLERANCE = 0.03;
/** Pixels by which the box of a text may be wider, because browsers round that of a single character up. */
const ROUNDING = 1;
/**
 * Pixels by which the boxes of two texts may overlap, because italic and bold letters extend a little beyond their
 * cell.
 */
const TOUCH = 2;

/** Measures each text of the SVGs: its box, its requested width, and its natural width in the font. */
const MEASURE = `
  return [...document.querySelectorAll("svg")].map((svg) => ({
    width: svg.viewBox.baseVal.width,
    height: svg.viewBox.baseVal.height,
    texts: [...svg.querySelectorAll("text")].map((text) => {
      const { x, y, width, height } = text.getBBox();
      const asked = text.hasAttribute("textLength") ? text.textLength.baseVal.value : null;
      const plain = text.cloneNode(true);
      plain.removeAttribute("textLength");
      text.after(plain);
      const natural = plain.getComputedTextLength();
      plain.remove();
      return { content: text.textContent, x, y, width, height, asked, natural };
    }),
  }));`;

/** Describes each text of a measured picture that does not look as intended. */
function faultsOf({ width, height, texts }) {
  const faults = [];
  const differs = (value, wanted, slack = 0) => Math.abs(value - wanted) > TOLERANCE * wanted + slack;
  for (const [index, text] of texts.entries()) {
    const name = JSON.stringify(text.content);
    if (text.asked !== null) {
      if (differs(text.natural, text.asked)) faults.push(`${name} is ${text.natural.toFixed(1)} wide in the font and has cells for ${text.asked}`);
      if (differs(text.width, text.asked, ROUNDING)) faults.push(`${name} is shown ${text.width.toFixed(1)} wide and has cells for ${text.asked}`);
    }
    if (text.x < 0 || text.y < 0 || text.x + text.width > width || text.y + text.height > height) faults.push(`${name} leaves the picture`);
    for (const other of texts.slice(index + 1)) {
      const across = Math.min(text.x + text.width, other.x + other.width) - Math.max(text.x, other.x);
      const down = Math.min(text.y + text.height, other.y + other.height) - Math.max(text.y, other.y);
      if (across > TOUCH && down > Math.min(text.height, other.height) / 2) faults.push(`${name} overlaps ${JSON.stringify(other.content)}`);
    }
  }
  return faults;
}

async function check(svgs) {
  return (await evaluate(svgs.join("\n"), MEASURE)).map(faultsOf);
}

test("every picture is shown as it was drawn", async () => {
  const names = readdirSync(FOLDER).filter((name) => name.endsWith(".svg"));
  assert.ok(names.length >= 5, `${names}`);
  const pictures = names.map((name) => readFileSync(join(FOLDER, name), "utf8"));
  const faults = await check(pictures);
  assert.deepEqual(Object.fromEntries(names.map((name, index) => [name, faults[index]])), Object.fromEntries(names.map((name) => [name, []])));
});

test("texts that are stretched, overlap or leave the picture are found", async () => {
  const svg = (texts) => `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 40" width="400" height="40"><g font-family="monospace" font-size="14">${texts}</g></svg>`;
  const cases = [
    ['<text x="0" y="20" textLength="25.2">abc</text>', []],
    ['<text x="0" y="20" textLength="252">abc   </text>', [/"abc {3}" is .* wide in the font and has cells for 252/]],
    ['<text x="0" y="20">one</text><text x="10" y="20">two</text>', [/"one" overlaps "two"/]],
    ['<text x="390" y="20">outside</text>', [/"outside" leaves the picture/]],
  ];
  const found = await check(cases.map(([texts]) => svg(texts)));
  for (const [index, [texts, expected]] of cases.entries()) {
    assert.equal(found[index].length >= expected.length, true, texts);
    assert.equal(expected.length === 0, found[index].length === 0, `${texts}: ${found[index]}`);
    expected.forEach((pattern, at) => assert.match(found[index][at], pattern, texts));
  }
});

test("each picture of the terminal has a light and a dark variant with the same text", () => {
  const texts = (name) => [...readFileSync(join(FOLDER, name), "utf8").matchAll(/<text x="([\d.]+)" y="(\d+)"[^>]*>([^<]*)</g)].map(([, x, y, text]) => [x, y, text]);
  const dark = texts("terminal.svg");
  assert.ok(dark.length > 20);
  assert.deepEqual(texts("terminal-light.svg"), dark);
});
