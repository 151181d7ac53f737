// Round trips: converts a page to Markdown and back with commonmark.js. Both pages must have the same meaning. Tier A
// must come back exactly; for the others only text and links are compared.
import { HtmlRenderer, Parser } from "commonmark";
import { links, normalize, text } from "../html.mjs";

const parser = new Parser();
const renderer = new HtmlRenderer();
const render = (markdown) => renderer.render(parser.parse(markdown));

/** Checks that at least 90 % of the others keep text and links. */
export function gate(rows) {
  const others = rows.filter((row) => row.tier !== "A");
  const passed = others.filter((row) => row.pass).length;
  if (passed < others.length * 0.9) throw new Error(`${passed} of ${others.length} keep text and links: 90 % are asked for`);
}

export async function run(table, natives) {
  const rows = [];
  for (const test of table.cases) {
    const markdown = await natives.htmlToMarkdown(test.html);
    const back = render(markdown);
    const reference = test.upstreamMarkdown === undefined ? test.html : render(test.upstreamMarkdown);
    const exact = normalize(back) === normalize(reference);
    const same = text(back) === text(reference) && String(links(back)) === String(links(reference));
    const pass = test.tier === "A" ? exact : same;
    rows.push({ id: String(test.id), tier: test.tier, pass, detail: `${JSON.stringify(test.html)} became ${JSON.stringify(markdown)}` });
  }
  return rows;
}
