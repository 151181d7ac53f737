// Highlights source code of every language that the addon supports, against highlight.js if it supports it too.
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { ROOT } from "../../scripts/lib/steps.mjs";

const NAMES = ["comment", "keyword", "function", "variable", "string", "number", "type", "operator", "punctuation", "inserted", "deleted"];
const COLORS = Object.fromEntries(NAMES.map((name, index) => [name, `\x1b[38;5;${index + 1}m`]));
const SNIPPETS = join(ROOT, "crates/sinew-highlight/tests/all/snippets");

/** Languages that have another name in highlight.js. */
const THEIR_NAMES = { asm: "x86asm", batch: "dos", html: "xml", jinja: "django", objcpp: "objectivec", pascal: "delphi", tsx: "typescript" };

/** Languages whose code looks like that of another one. */
const SAMPLES = { objcpp: "objc", purescript: "haskell", racket: "scheme", systemverilog: "verilog" };

/** Languages for which the slower highlighters are timed too. */
const ALL_PEERS = ["javascript", "c", "typescript", "rust", "python"];

/** Code of a given size: a sample repeated with other names and numbers each time. */
function repeat(sample, bytes) {
  let code = "";
  for (let part = 0; code.length < bytes; part++) code += sample.replaceAll("item", `item${part % 97}`).replaceAll("42", String(part));
  return code;
}

/** The code from the tables of the lexer tests, in which every other line is code. */
function samples() {
  const found = new Map();
  for (const file of readdirSync(SNIPPETS)) {
    const lines = readFileSync(join(SNIPPETS, file), "utf8").split("\n");
    found.set(file.slice(0, -".txt".length), lines.filter((_, index) => index % 2 === 0).join("\n"));
  }
  return found;
}

export default async function (bench) {
  const { default: hljs } = await import("highlight.js");
  const cli = await bench.optional("cli-highlight");
  const shiki = await bench.optional("shiki");
  const peer = bench.peers ? await bench.optional("@oh-my-pi/pi-natives") : undefined;
  const require = createRequire(import.meta.url);
  // A real file of 76 KB, cut at a line.
  const script = readFileSync(require.resolve("highlight.js/lib/core"), "utf8");
  const javascript = script.slice(0, script.lastIndexOf("\n", 76_000) + 1);
  const theme = "github-dark";
  const highlighter = await shiki?.createHighlighter({ themes: [theme], langs: ALL_PEERS });
  const codes = samples();
  const rest = [];
  for (const lang of bench.natives.getSupportedLanguages()) {
    const sample = codes.get(SAMPLES[lang] ?? lang);
    const language = THEIR_NAMES[lang] ?? lang;
    if (sample === undefined || !hljs.getLanguage(language)) {
      rest.push(lang);
      continue;
    }
    const code = lang === "javascript" ? javascript : repeat(sample, lang === "c" ? 294_000 : 76_000);
    const all = ALL_PEERS.includes(lang);
    await bench.compare(`${lang}, ${Math.round(code.length / 1000)} KB`, {
      sinew: () => bench.natives.highlightCode(code, lang, COLORS),
      "highlight.js": () => hljs.highlight(code, { language }),
      "cli-highlight": all && cli && (() => cli.highlight(code, { language, ignoreIllegals: true })),
      shiki: all && highlighter && (() => highlighter.codeToTokensBase(code, { lang, theme })),
      "pi-natives": all && peer?.highlightCode && (() => peer.highlightCode(code, lang, COLORS)),
    }, { targets: { "highlight.js": all ? 0.33 : 0.5, "cli-highlight": 0.1, shiki: 0.1, "pi-natives": 0.5 }, rounds: 5 });
  }
  // Languages that highlight.js does not support or that have no sample here: how long a megabyte blocks the event
  // loop.
  for (const lang of rest) {
    const code = repeat(codes.get(SAMPLES[lang] ?? lang) ?? codes.get("c"), 1_000_000);
    bench.natives.highlightCode("", lang, COLORS);
    bench.natives.highlightCode("x = 1\n", lang, COLORS);
    const begun = process.hrtime.bigint();
    const { plainLines } = bench.natives.highlightCodeDetailed(code, lang, COLORS);
    const ms = Number(process.hrtime.bigint() - begun) / 1e6;
    bench.fact(`${lang}, 1 MB, ${plainLines} lines plain: milliseconds`, ms.toFixed(1), 100);
  }
}
