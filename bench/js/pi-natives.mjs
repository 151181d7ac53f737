// The calls of an agent through @sinew/pi-natives, beside those of the original, which loads under Bun only: bun bench/run.mjs pi-natives --peers
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../scripts/lib/steps.mjs";
import { tree } from "./glob.mjs";

const COLORS = Object.fromEntries(["comment", "keyword", "function", "variable", "string", "number", "type", "operator", "punctuation"].map((name, at) => [name, `\x1b[3${at % 8}m`]));
const TEXT = "the quick brown \x1b[31mfox 日本\x1b[0m jumps ".repeat(200);
const PAGE = `<html><body>${"<h1>T</h1><p>Some <b>bold</b> text and <a href='x'>link</a></p><ul><li>a</li><li>b</li></ul>".repeat(2000)}</body></html>`;

/** The calls by their title. Calls that search a tree are left out if no tree is given. */
function calls(path, code) {
  const changed = code.replaceAll("return", "RETURN");
  return {
    ...(path && {
      "grep for a word in a tree": (natives) => natives.grep({ pattern: "unsafe", path, hidden: true }),
      "glob **/*.rs": (natives) => natives.glob({ pattern: "**/*.rs", path, hidden: true }),
      fuzzyFind: (natives) => natives.fuzzyFind({ query: "libmod", path }),
      listWorkspace: (natives) => natives.listWorkspace({ path, maxDepth: 3 }),
    }),
    "highlightCode, JavaScript": (natives) => natives.highlightCode(code, "javascript", COLORS),
    wrapTextWithAnsi: (natives) => natives.wrapTextWithAnsi(TEXT, 80, 3),
    visibleWidth: (natives) => natives.visibleWidth(TEXT, 3),
    "executeShell of echo": (natives) => natives.executeShell({ command: "echo hi" }),
    countTokens: (natives) => natives.countTokens(TEXT),
    diffLines: (natives) => natives.diffLines(code, changed),
    htmlToMarkdown: (natives) => natives.htmlToMarkdown(PAGE),
  };
}

export default async function (bench) {
  const peer = bench.peers ? await bench.optional("@oh-my-pi/pi-natives") : undefined;
  if (!peer) return console.log("  the original does not load here: run bun bench/run.mjs pi-natives --peers");
  const ours = await import("../../packages/pi-natives/dist/index.js");
  const code = readFileSync(join(ROOT, "packages", "natives", "dist", "keys.js"), "utf8").repeat(4);
  for (const [title, call] of Object.entries(calls(tree(), code))) {
    await bench.compare(title, { sinew: () => call(ours), "pi-natives": () => call(peer) }, { rounds: 9 });
  }
}
