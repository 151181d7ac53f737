// The pages of the website: their order in the menu, their addresses, and their Markdown with links to other pages.
import { cpSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { ROOT } from "../lib/steps.mjs";
import { drawPlots } from "./plots.mjs";

const { description } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));

/** The menu: sections, their groups, and the pages of a group as `[source, address, name in the menu]`. */
const MENU = [
  {
    section: "Start",
    groups: [
      ["", [
        ["README.md", "index", "What is Sinew?"],
        ["docs/installing.md", "installing", "Installing"],
        ["examples/README.md", "examples", "Examples"],
        ["docs/numbers.md", "numbers", "Numbers"],
      ]],
    ],
  },
  {
    section: "Package",
    groups: [
      ["Get started", [
        ["packages/natives/README.md", "package/index", "@sinew/natives"],
        ["docs/natives/README.md", "package/guides", "Guides"],
        ["docs/natives/agent-tools.md", "package/agent-tools", "Tools for an agent"],
      ]],
      ["Guides", [
        ["docs/natives/search.md", "package/search", "Search"],
        ["docs/natives/workspaces.md", "package/workspaces", "Workspaces"],
        ["docs/natives/watching.md", "package/watching", "Watching files"],
        ["docs/natives/checkpoints.md", "package/checkpoints", "Checkpoints"],
        ["docs/natives/isolated-views.md", "package/isolated-views", "Isolated views"],
        ["docs/natives/patches.md", "package/patches", "Patches"],
        ["docs/natives/shells.md", "package/shells", "Shells and processes"],
        ["docs/natives/sandbox.md", "package/sandbox", "Sandbox"],
        ["docs/natives/terminal.md", "package/terminal", "Terminal text and keys"],
        ["docs/natives/highlighting.md", "package/highlighting", "Highlighting"],
        ["docs/natives/differences.md", "package/differences", "Differences"],
        ["docs/natives/images.md", "package/images", "Images"],
        ["docs/natives/pages.md", "package/pages", "Pages, clipboard, machine"],
        ["docs/natives/tokens.md", "package/tokens", "Tokens"],
      ]],
      ["Ship it", [
        ["docs/natives/drop-ins.md", "package/drop-ins", "Drop-in modules"],
        ["docs/natives/coming-from-pi-natives.md", "package/coming-from-pi-natives", "Coming from pi-natives"],
        ["docs/natives/bundling.md", "package/bundling", "Bundles and executables"],
        ["docs/natives/platforms.md", "package/platforms", "Platforms"],
        ["packages/tokens/README.md", "package/sinew-tokens", "@sinew/tokens"],
        ["packages/pi-natives/README.md", "package/pi-natives", "@sinew/pi-natives"],
      ]],
    ],
  },
  {
    section: "Agent",
    groups: [
      ["Get started", [
        ["docs/agent/README.md", "agent/index", "Overview"],
        ["docs/agent/terminal.md", "agent/terminal", "Use it in a terminal"],
      ]],
      ["Everyday use", [
        ["docs/agent/permissions.md", "agent/permissions", "Permissions"],
        ["docs/agent/sandbox.md", "agent/sandbox", "Sandbox"],
        ["docs/agent/plan.md", "agent/plan", "Plan mode"],
        ["docs/agent/subagents.md", "agent/subagents", "Subagents"],
        ["docs/agent/sessions.md", "agent/sessions", "Sessions"],
        ["docs/agent/undo.md", "agent/undo", "Undo"],
        ["docs/agent/acp.md", "agent/acp", "Use it in an editor"],
      ]],
      ["Customize", [
        ["docs/agent/customizing.md", "agent/customizing", "Models, keys, skills, rules"],
        ["docs/agent/mcp.md", "agent/mcp", "MCP servers"],
        ["docs/agent/hooks.md", "agent/hooks", "Hooks"],
      ]],
      ["Automate", [
        ["docs/agent/scripting.md", "agent/scripting", "Scripts and CI"],
        ["docs/agent/rpc.md", "agent/rpc", "RPC"],
      ]],
      ["Reference", [
        ["crates/sinew-control/SETTINGS.md", "agent/settings", "Settings"],
        ["packages/sinew/README.md", "agent/npm", "@sinew/sinew"],
      ]],
    ],
  },
  {
    section: "Contribute",
    groups: [
      ["", [
        ["CONTRIBUTING.md", "contribute/index", "Contributing"],
        ["ARCHITECTURE.md", "contribute/architecture", "Architecture"],
        ["native/src/README.md", "contribute/binding", "Add an export"],
        ["SECURITY.md", "contribute/security", "Security"],
        ["CHANGELOG.md", "contribute/changelog", "Changelog"],
      ]],
    ],
  },
];

/** The page of all saved benchmarks, and the reference of the types, which typedoc generates. */
const BENCHMARKS = { address: "benchmarks", name: "All benchmarks" };
export const REFERENCE = { link: "/reference/index.html", text: "Type reference", target: "_self" };

/** Folders that pages may link to although they are only in the repository, not on the website. */
const REPOSITORY_ONLY = ["bench/results"];

/** The pages in the order of the menu. */
export const PAGES = MENU.flatMap(({ section, groups }) =>
  groups.flatMap(([group, pages]) => pages.map(([source, address, name]) => ({ section, group, source, address, name }))),
);

/** The anchor of a heading, as GitHub forms it. */
export function slug(heading) {
  return heading.toLowerCase().replaceAll(/[^\p{L}\p{N} _-]/gu, "").trim().replaceAll(" ", "-");
}

/** The menu in the form of VitePress: the sections at the top, and for each its groups at the side. */
export function navigation() {
  const link = (address) => `/${address.replace(/index$/, "")}`;
  const items = (pages) => pages.map(([, address, name]) => ({ text: name, link: link(address) }));
  const sections = MENU.map(({ section, groups }) => ({ section, groups: groups.map(([text, pages]) => ({ ...(text && { text }), items: items(pages) })) }));
  sections[0].groups[0].items.push({ text: BENCHMARKS.name, link: link(BENCHMARKS.address) });
  sections[1].groups.at(-1).items.push(REFERENCE);
  const first = (groups) => groups[0].items[0].link;
  return {
    nav: sections.slice(1).map(({ section, groups }) => ({ text: section, link: first(groups), activeMatch: `^${first(groups)}` })),
    sidebar: Object.fromEntries(sections.toReversed().map(({ section, groups }) => [section === "Start" ? "/" : first(groups), groups])),
  };
}

const BLOCK = /^```[^]*?^```$/gm;

/** Returns the text without its code blocks, and a function that puts them back. */
function withoutBlocks(text) {
  const blocks = [];
  const bare = text.replaceAll(BLOCK, (block) => `\0${blocks.push(block) - 1}\0`);
  return { bare, restore: (text) => text.replaceAll(/\0(\d+)\0/g, (_, index) => blocks[Number(index)]) };
}

/** The anchors of a page. */
function anchorsOf(text) {
  return [...withoutBlocks(text).bare.matchAll(/^#+ (.*)$/gm)].map(([, heading]) => slug(heading));
}

/**
 * Links pages of `{ source, address, original }`. In the `text` of each, links to a source point to its page, and
 * pictures to `/images`; `pictures` are their files. Throws for a link to any other file or to a heading that does not
 * exist.
 */
export function linkPages(list) {
  const sources = new Map(list.map((page) => [page.source, page]));
  const pictures = new Set();
  const faults = [];
  const resolve = (target, page) => {
    if (/^\w+:/.test(target)) return target;
    const [path, anchor] = target.split("#");
    const file = path === "" ? page.source : posix.normalize(posix.join(posix.dirname(page.source), path));
    if (/\.(svg|png)$/.test(file)) {
      pictures.add(file);
      return `/images/${posix.basename(file)}`;
    }
    const known = sources.get(file);
    if (!known && REPOSITORY_ONLY.includes(file)) return undefined;
    if (!known) faults.push(`${page.source} links to ${target}, which is not a page of the website`);
    else if (anchor && !anchorsOf(known.original).includes(anchor)) faults.push(`${page.source} links to ${target}, and that page has no such heading`);
    return `/${known?.address.replace(/index$/, "") ?? ""}${anchor ? `#${anchor}` : ""}`;
  };
  const pages = [...sources.values()].map((page) => {
    const { bare, restore } = withoutBlocks(page.original);
    const linked = bare
      .replaceAll(/(!?)\[([^\]]*)\]\(([^)\s]+)\)/g, (_, picture, label, target) => {
        const address = resolve(target, page);
        return address === undefined ? label : `${picture}[${label}](${address})`;
      })
      .replaceAll(/\b(src|srcset)="([^"]+)"/g, (_, attribute, target) => `${attribute}="${resolve(target, page)}"`);
    return { ...page, title: /^# (.*)$/m.exec(bare)[1].replaceAll("`", ""), text: restore(linked) };
  });
  if (faults.length) throw new Error(`dead links:\n  ${faults.join("\n  ")}`);
  return { pages, pictures: [...pictures] };
}

/** The pages of the website, linked. */
export function readPages() {
  return linkPages(PAGES.map((page) => ({ ...page, original: readFileSync(join(ROOT, page.source), "utf8") })));
}

/** The first paragraph of a page as one line. */
function summary(text) {
  const paragraph = withoutBlocks(text).bare.split(/\n\n+/).find((part) => /^[A-Za-z`*[-]/.test(part)) ?? "";
  const line = paragraph.replace(/\s+/g, " ").replace(/\[([^\]]*)\]\([^)]*\)/g, "$1");
  return line.length <= 200 ? line : `${line.slice(0, line.lastIndexOf(" ", 200))} …`;
}

function write(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** Writes the input of VitePress to `folder`: the pages, the pictures, and the page of the benchmarks. */
export function stage(folder) {
  const { pages, pictures } = readPages();
  for (const { address, text } of pages) write(join(folder, `${address}.md`), text);
  write(join(folder, `${BENCHMARKS.address}.md`), drawPlots(join(ROOT, "bench", "results")));
  for (const file of pictures) {
    mkdirSync(join(folder, "public", "images"), { recursive: true });
    cpSync(join(ROOT, file), join(folder, "public", "images", posix.basename(file)));
  }
}

/**
 * Writes the files for models to the finished site: each page as Markdown, `llms.txt` with a line for each, and
 * `llms-full.txt` with all of them.
 */
export function writeForModels(site) {
  const { pages } = readPages();
  for (const { address, text } of pages) write(join(site, `${address}.md`), text);
  const sections = MENU.map(({ section }) => {
    const lines = pages.filter((page) => page.section === section).map(({ title, address, text }) => `- [${title}](${address}.md): ${summary(text)}`);
    return `## ${section}\n\n${lines.join("\n")}\n`;
  });
  write(join(site, "llms.txt"), `# Sinew\n\n> ${description.replace("Sinew: the", "The")}: an npm package, Rust crates, and a coding agent.\n\n${sections.join("\n")}`);
  write(join(site, "llms-full.txt"), pages.map(({ text, address }) => `<!-- ${address}.md -->\n\n${text}`).join("\n"));
}

/** Returns the guides that are not in the menu. */
export function forgottenGuides() {
  const guides = ["docs", "docs/natives", "docs/agent"].flatMap((folder) => readdirSync(join(ROOT, folder)).filter((name) => name.endsWith(".md")).map((name) => `${folder}/${name}`));
  return guides.filter((guide) => !PAGES.some(({ source }) => source === guide));
}
