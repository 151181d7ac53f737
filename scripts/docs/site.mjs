// The site: the project's Markdown as pages with a menu, the saved benchmarks as plots, and `llms.txt` for models that read documents.
import { cpSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, posix } from "node:path";
import { ROOT } from "../lib/steps.mjs";
import { drawPlots } from "./plots.mjs";

const require = createRequire(import.meta.url);
const { description } = require(join(ROOT, "package.json"));

/** The groups of the menu: a title and the pages below it, each by its file. The first line of a page is its title. */
function groups() {
  const folder = (path) => {
    const names = readdirSync(join(ROOT, path)).filter((name) => name.endsWith(".md")).sort((a, b) => (a === "README.md" ? -1 : b === "README.md" ? 1 : a < b ? -1 : 1));
    return names.map((name) => `${path}/${name}`);
  };
  return [
    { title: "Sinew", sources: ["README.md", "docs/installing.md"] },
    { title: "@sinew/natives", sources: ["packages/natives/README.md", ...folder("docs/natives")] },
    { title: "The agent", sources: [...folder("docs/agent"), "crates/sinew-cli/SETTINGS.md"] },
    { title: "The project", sources: ["ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"] },
  ];
}

/** The address of a page within the site: `docs/agent/README.md` is `docs/agent/index.html`. */
function addressOf(source) {
  return source.replace(/README\.md$/, "index.md").replace(/\.md$/, ".html");
}

const title = (text) => /^# (.*)$/m.exec(text)[1].replaceAll("`", "");

const BLOCK = /^```[^]*?^```$/gm;

/** The first paragraph of a page, in a line. */
function summary(text) {
  const paragraph = text.replace(BLOCK, "").split(/\n\n+/).find((part) => /^[A-Za-z`*[-]/.test(part)) ?? "";
  const line = paragraph.replace(/\s+/g, " ").replace(/\[([^\]]*)\]\([^)]*\)/g, "$1");
  return line.length <= 200 ? line : `${line.slice(0, line.lastIndexOf(" ", 200))} …`;
}

const slug = (text) => text.toLowerCase().replaceAll(/[^\p{L}\p{N} _-]/gu, "").trim().replaceAll(" ", "-");
const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** Categories of the highlighter, as colours that no code holds and the page's style gives a look. */
const CATEGORIES = ["comment", "keyword", "function", "variable", "string", "number", "type", "operator", "punctuation", "inserted", "deleted"];
const PALETTE = Object.fromEntries(CATEGORIES.map((name, index) => [name, `\x1b[38;5;${index}m`]));

/** Code as HTML, coloured by the highlighter of this project. */
function colouredCode(code, language) {
  const { highlightCode } = require(join(ROOT, "packages", "natives"));
  let open = "";
  return highlightCode(code, language, PALETTE).split(/\x1b\[([\d;]*)m/).map((part, index) => {
    if (index % 2 === 0) return escaped(part);
    const category = CATEGORIES[Number(/^38;5;(\d+)$/.exec(part)?.[1])];
    const closed = open;
    open = category ? "</span>" : "";
    return closed + (category ? `<span class="${category}">` : "");
  }).join("") + open;
}

/** Makes Markdown to HTML whose links lead to pages of the site. `resolve` gives the address of a file, or throws. */
function renderer(resolve) {
  const MarkdownIt = require("markdown-it");
  const markdown = new MarkdownIt({ html: false, highlight: (code, language) => `<pre><code>${colouredCode(code, language.split(" ")[0])}</code></pre>` });
  const fence = markdown.renderer.rules.fence;
  // A block with a name behind its language is a file.
  markdown.renderer.rules.fence = (tokens, index, ...rest) => {
    const name = tokens[index].info.trim().split(" ")[1];
    return (name ? `<div class="file">${escaped(name)}</div>` : "") + fence(tokens, index, ...rest);
  };
  markdown.renderer.rules.heading_open = (tokens, index) => `<${tokens[index].tag} id="${slug(tokens[index + 1].content.replaceAll("`", ""))}">`;
  markdown.renderer.rules.table_open = () => '<div class="table"><table>';
  markdown.renderer.rules.table_close = () => "</table></div>";
  const rewrite = (attribute) => (tokens, index, options, env, self) => {
    const target = tokens[index].attrGet(attribute);
    if (!/^(\w+:|#)/.test(target)) tokens[index].attrSet(attribute, resolve(target, env.source));
    if (attribute === "src") tokens[index].attrSet("alt", tokens[index].content);
    return self.renderToken(tokens, index, options);
  };
  markdown.renderer.rules.link_open = rewrite("href");
  markdown.renderer.rules.image = rewrite("src");
  return (text, source) => markdown.render(text, { source });
}

function menu(list, current, top) {
  const entry = ({ address, title }) => `<li><a href="${top}${address}"${address === current ? ' aria-current="page"' : ""}>${escaped(title)}</a></li>`;
  return list.map(({ title, pages }) => `<h2>${escaped(title)}</h2><ul>${pages.map(entry).join("")}</ul>`).join("\n");
}

function page({ title, body, address, list }) {
  const top = "../".repeat(address.split("/").length - 1);
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escaped(title)}</title>
<link rel="stylesheet" href="${top}style.css">
<nav aria-label="Pages">
${menu(list, address, top)}
</nav>
<main>
${body}
</main>
</html>
`;
}

/**
 * Writes the site to `out`. `reference` says whether the reference of the functions stands in its folder `reference/`.
 * Throws for a link to a file that is no page and no picture.
 */
export function writeSite(out, { reference }) {
  const list = groups().map(({ title: group, sources }) => ({
    title: group,
    pages: sources.map((source) => {
      const text = readFileSync(join(ROOT, source), "utf8");
      return { source, text, address: addressOf(source), title: title(text) };
    }),
  }));
  const pages = list.flatMap(({ pages }) => pages);
  list[1].pages.push({ address: "numbers.html", title: "Numbers" });
  if (reference) list[1].pages.push({ address: "reference/index.html", title: "Reference" });

  const files = new Set();
  const render = renderer((target, source) => {
    const [path, anchor] = target.split("#");
    const file = posix.normalize(posix.join(posix.dirname(source), path));
    const known = pages.find((page) => page.source === file);
    if (!known && !/\.(svg|png)$/.test(file)) throw new Error(`${source} links to ${target}, which is no page of the site`);
    if (!known) files.add(file);
    const from = posix.dirname(addressOf(source));
    return posix.relative(from, known ? known.address : file) + (anchor ? `#${anchor}` : "");
  });
  const write = (path, text) => {
    mkdirSync(dirname(join(out, path)), { recursive: true });
    writeFileSync(join(out, path), text);
  };
  for (const { source, text, address, title } of pages) {
    write(address, page({ title, body: render(text, source), address, list }));
    write(address.replace(/\.html$/, ".md"), text);
  }
  for (const file of files) cpSync(join(ROOT, file), join(out, file));
  write("numbers.html", page({ title: "Numbers", body: drawPlots(join(ROOT, "bench", "results")), address: "numbers.html", list }));
  cpSync(join(import.meta.dirname, "style.css"), join(out, "style.css"));

  const lines = list.map(({ title, pages }) => {
    const entries = pages.filter(({ source }) => source).map(({ title, address, text }) => `- [${title}](${address.replace(/\.html$/, ".md")}): ${summary(text)}`);
    return `## ${title}\n\n${entries.join("\n")}\n`;
  });
  write("llms.txt", `# Sinew\n\n> ${description.replace("Sinew: the", "The")}: an npm package, Rust crates, and a coding agent.\n\n${lines.join("\n")}`);
  write("llms-full.txt", pages.map(({ text, address }) => `<!-- ${address.replace(/\.html$/, ".md")} -->\n\n${text}`).join("\n"));
  return pages.map(({ address }) => address);
}
