// Slices, truncates, wraps and strips text as the tests of other libraries expect it. Styles are compared cell by cell:
// the attributes and the link of each grapheme.
import { shareOf } from "../share.mjs";

const SEQUENCE = /(?:\x1b\[|\x9b)([0-9;:]*)m|(?:\x1b\]|\x9d)8;[^;\x07\x1b\x9c]*;([^\x07\x1b\x9c]*)(?:\x07|\x1b\\|\x9c)|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x18\x1a\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c|\x18|\x1a)?|\x1b[ -/]*[0-~]?|[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;
const SLOTS = [
  ["bold", [1], [22]], ["dim", [2], [22]], ["italic", [3], [23]], ["underline", [4, 21], [24]], ["blink", [5, 6], [25]],
  ["inverse", [7], [27]], ["hidden", [8], [28]], ["strike", [9], [29]], ["overline", [53], [55]],
  ["fg", [30, 31, 32, 33, 34, 35, 36, 37, 38, 90, 91, 92, 93, 94, 95, 96, 97], [39]],
  ["bg", [40, 41, 42, 43, 44, 45, 46, 47, 48, 100, 101, 102, 103, 104, 105, 106, 107], [49]],
  ["line", [58], [59]],
];

function sgr(state, parameters) {
  const parts = parameters.split(";");
  for (let i = 0; i < parts.length; i++) {
    let part = parts[i];
    const code = Number.parseInt(part || "0", 10);
    if ([38, 48, 58].includes(code) && !part.includes(":")) {
      const wanted = { 5: 1, 2: 3 }[parts[i + 1]];
      const end = i + 2 + (wanted ?? 0);
      part = parts.slice(i, end).join(";");
      const whole = wanted !== undefined && end <= parts.length;
      i = wanted === undefined ? i + 1 : end - 1;
      if (!whole) continue;
    }
    if (code === 0) for (const [slot] of SLOTS) delete state[slot];
    for (const [slot, set, clear] of SLOTS) {
      if (clear.includes(code) || part === "4:0") { if (part !== "4:0" || slot === "underline") delete state[slot]; }
      else if (set.includes(code)) state[slot] = part;
    }
  }
}

const segmenter = new Intl.Segmenter();

/** Each grapheme with its state; the text of a line that is cut by other lines' ends is taken without line feeds. */
function cells(text) {
  const state = {};
  let link = "";
  const found = [];
  let last = 0;
  const plain = (part) => {
    for (const { segment } of segmenter.segment(part)) {
      if (segment.trim()) found.push(`${segment} ${JSON.stringify(Object.entries(state).sort())} ${link}`);
    }
  };
  for (const match of text.matchAll(SEQUENCE)) {
    plain(text.slice(last, match.index));
    last = match.index + match[0].length;
    if (match[1] !== undefined) sgr(state, match[1]);
    if (match[2] !== undefined) link = match[2];
  }
  plain(text.slice(last));
  return found;
}

const strip = (text) => text.replace(SEQUENCE, "");
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

function wrapped(test, natives) {
  const lines = natives.wrapTextWithAnsi(test.text, test.width);
  const faults = [];
  const narrow = (line) => natives.visibleWidth(line) <= test.width || [...segmenter.segment(strip(line))].length === 1;
  if (!lines.every(narrow)) faults.push("width");
  const squeezed = (text) => strip(text).replace(/\s+/g, "");
  if (squeezed(lines.join("\n")) !== squeezed(test.text)) faults.push("text");
  // Each line is read separately, so it must contain its own state.
  if (!same(lines.flatMap(cells), cells(test.text))) faults.push("style or link");
  return { pass: faults.length === 0, detail: `${faults.join(", ")} of ${JSON.stringify(lines)}` };
}

const OPS = {
  strip: (test, { sanitizeText }) => {
    const found = sanitizeText(test.text);
    return { pass: found === test.expected, detail: `${JSON.stringify(found)}, not ${JSON.stringify(test.expected)}` };
  },
  slice: (test, { sliceWithWidth }) => {
    const { text } = sliceWithWidth(test.text, test.start, test.len, true);
    const plain = strip(text);
    const styled = test.upstreamStyled === undefined || same(cells(text), cells(test.upstreamStyled));
    const detail = `${JSON.stringify(text)}, not ${JSON.stringify(test.upstreamStyled ?? test.expectedPlain)}`;
    return { pass: plain === test.expectedPlain && styled, detail };
  },
  truncate: (test, { truncateToWidth }) => {
    const text = truncateToWidth(test.text, test.width);
    return { pass: strip(text) === test.expectedPlain, detail: `${JSON.stringify(text)}, not ${JSON.stringify(test.expectedPlain)}` };
  },
  wrap: wrapped,
};

export async function run(table, natives) {
  return table.cases.map((test) => {
    const { pass, detail } = OPS[test.op](test, natives);
    const { op, text, width, start, len } = test;
    return { id: [op, JSON.stringify(text), ...[width, start, len].filter((n) => n !== undefined)].join(" "), tier: test.tier, pass, detail };
  });
}

export const gate = (rows) => shareOf(rows, ["A", "B"], 0.98);
