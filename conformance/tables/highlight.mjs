// Compares the category of each character that is not a space with highlight.js, for the categories that both have. A
// case passes if the text is unchanged and at least as many agree as with the addon that the table was recorded with.
const NAMES = ["comment", "keyword", "function", "variable", "string", "number", "type", "operator", "punctuation", "inserted", "deleted"];
const COLORS = Object.fromEntries(NAMES.map((name, index) => [name, `\x1b[38;5;${index + 1}m`]));

/** The share of characters that must agree. Every language of the table has its own lexer here. */
const SHARE = 0.9;

/** The category of each UTF-16 unit, and the text without escape codes. */
function decode(shown) {
  const categories = [];
  let text = "";
  let current;
  for (const [, code, plain] of shown.matchAll(/\x1b\[([0-9;]*)m|([^\x1b]+|\x1b)/g)) {
    if (plain === undefined) {
      current = code === "39" ? undefined : NAMES[Number(code.slice(5)) - 1];
    } else {
      text += plain;
      for (let i = 0; i < plain.length; i++) categories.push(current);
    }
  }
  return { text, categories };
}

function agreement(code, categories, spans) {
  const found = {};
  for (const [start, end, name] of spans) {
    const [good, all] = (found[name] ??= [0, 0]);
    let same = 0;
    let count = 0;
    for (let i = start; i < end; i++) {
      if (/\s/.test(code[i])) continue;
      count++;
      if (categories[i] === name) same++;
    }
    found[name] = [good + same, all + count];
  }
  return found;
}

/** The languages, each over all of its cases. */
export async function run(table, natives) {
  const languages = new Map();
  for (const { lang, code, spans, peer13, tier } of table.cases) {
    const { text, categories } = decode(natives.highlightCode(code, lang, COLORS));
    const row = languages.get(lang) ?? { ours: 0, theirs: 0, all: 0, tier, kept: true, parts: [] };
    languages.set(lang, row);
    row.kept &&= text === code;
    for (const [name, [good, all]] of Object.entries(agreement(code, categories, spans))) {
      row.ours += good;
      row.theirs += (peer13[name] ?? 0) * all;
      row.all += all;
      row.parts.push(`${name} ${(good / all).toFixed(3)} (${peer13[name] ?? 0})`);
    }
  }
  return [...languages].map(([lang, { ours, theirs, all, tier, kept, parts }]) => {
    const pass = kept && ours >= theirs - 0.5 && ours >= SHARE * all;
    return { id: lang, tier, pass, detail: kept ? `${(ours / all).toFixed(3)}: ${parts.join(", ")}` : "the text changed" };
  });
}
