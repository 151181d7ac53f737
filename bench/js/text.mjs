// Measures, wraps and cuts terminal text: short and long lines of a terminal UI, against the packages that users pick.
import { deepStrictEqual } from "node:assert";
import fastStringWidth from "fast-string-width";
import stringWidth from "string-width";
import wrapAnsi from "wrap-ansi";
import sliceAnsi from "slice-ansi";
import cliTruncate from "cli-truncate";

const ASCII = "The quick brown fox jumps over the lazy dog";
const MIXED = "\x1b[31mHello\x1b[0m wörld 你好 \x1b[1;32mstyled text\x1b[0m with emoji 🎉 and \x1b[4munderline\x1b[0m, then some more.";
const LONG = `${MIXED} `.repeat(Math.ceil((24 * 1024) / (MIXED.length + 1)));
const PROSE = `${ASCII} `.repeat(Math.ceil((24 * 1024) / (ASCII.length + 1)));

export default async function (bench) {
  // Bound once, as an import does it, so that no call looks them up in the package.
  const { visibleWidth, wrapTextWithAnsi, truncateToWidth, sliceWithWidth, extractSegments, sanitizeText } = bench.natives;
  const peer = bench.peers ? (await bench.optional("@oh-my-pi/pi-natives")) : undefined;
  const has = (name, work) => (typeof peer?.[name] === "function" ? work : undefined);

  for (const [title, text, targets] of [
    ["visibleWidth, 43 ASCII characters", ASCII, { "fast-string-width": 0.5 }],
    ["visibleWidth, styled mixed text, 100 characters", MIXED, { "fast-string-width": 0.5, "string-width": 0.02 }],
    ["visibleWidth, styled mixed text, 24 KB", LONG, { "fast-string-width": 0.15, "string-width": 0.02 }],
    ["visibleWidth, ASCII prose, 24 KB", PROSE, {}],
  ]) {
    deepStrictEqual(visibleWidth(text), stringWidth(text));
    await bench.compare(title, {
      sinew: () => visibleWidth(text),
      "fast-string-width": () => fastStringWidth(text),
      "string-width": () => stringWidth(text),
      "pi-natives": has("visibleWidth", () => peer.visibleWidth(text, 3)),
    }, { targets: { ...targets, "pi-natives": 0.5 } });
  }
  for (const [title, text] of [["styled mixed text", LONG], ["ASCII prose", PROSE]]) {
    await bench.compare(`wrapTextWithAnsi, ${title}, 24 KB to 80 columns`, {
      sinew: () => wrapTextWithAnsi(text, 80),
      "wrap-ansi": () => wrapAnsi(text, 80, { hard: true, trim: false }),
      "pi-natives": has("wrapTextWithAnsi", () => peer.wrapTextWithAnsi(text, 80, 3)),
    }, { targets: { "wrap-ansi": 0.03, "pi-natives": 0.5 } });
  }
  for (const width of [80, 8000]) {
    await bench.compare(`truncateToWidth, 24 KB to ${width} columns`, {
      sinew: () => truncateToWidth(LONG, width),
      "cli-truncate": () => cliTruncate(LONG, width),
      "pi-natives": has("truncateToWidth", () => peer.truncateToWidth(LONG, width, 0, false, 3)),
    }, { targets: { "cli-truncate": 0.01, "pi-natives": 0.5 } });
  }
  for (const start of [0, 8000]) {
    await bench.compare(`sliceWithWidth, 24 KB, 80 columns from ${start}`, {
      sinew: () => sliceWithWidth(LONG, start, 80),
      "slice-ansi": () => sliceAnsi(LONG, start, start + 80),
      "pi-natives": has("sliceWithWidth", () => peer.sliceWithWidth(LONG, start, 80, false, 3)),
    }, { targets: { "slice-ansi": 0.01, "pi-natives": 0.5 } });
  }
  await bench.compare("extractSegments, 100 characters", {
    sinew: () => extractSegments(MIXED, 10, 30, 20),
    "slice-ansi twice": () => [sliceAnsi(MIXED, 0, 10), sliceAnsi(MIXED, 30, 50)],
    "pi-natives": has("extractSegments", () => peer.extractSegments(MIXED, 10, 30, 20, false, 3)),
  }, { targets: { "pi-natives": 0.5 } });
  await bench.compare("sanitizeText, 24 KB", {
    sinew: () => sanitizeText(LONG),
    "pi-natives": has("sanitizeText", () => peer.sanitizeText(LONG)),
  }, { targets: { "pi-natives": 0.5 } });
}
