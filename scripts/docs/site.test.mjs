// Tests the pages of the website before VitePress builds it. look.test.mjs tests the finished one.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { ROOT } from "../lib/steps.mjs";
import { PAGES, forgottenGuides, linkPages, navigation, slug, stage, writeForModels } from "./pages.mjs";
import { drawPlots } from "./plots.mjs";

const folder = mkdtempSync(join(tmpdir(), "sinew-site-"));
after(() => rmSync(folder, { recursive: true, force: true }));

test("every guide is in the menu, every page has its own address", () => {
  assert.deepEqual(forgottenGuides(), []);
  assert.equal(new Set(PAGES.map(({ address }) => address)).size, PAGES.length);
  const { nav, sidebar } = navigation();
  assert.deepEqual(nav.map(({ text }) => text), ["Package", "Agent", "Contribute"]);
  const links = Object.values(sidebar).flat().flatMap(({ items }) => items.map(({ link }) => link));
  for (const { address } of PAGES) assert.ok(links.includes(`/${address.replace(/index$/, "")}`), address);
});

test("links of the pages lead to pages, headings and pictures", () => {
  stage(folder);
  for (const { address } of PAGES) {
    const text = readFileSync(join(folder, `${address}.md`), "utf8").replaceAll(/^```[^]*?^```$/gm, "");
    for (const [, target] of text.matchAll(/\]\((\/[^)#]*)/g)) {
      const file = target.startsWith("/images/") ? join("public", target) : `${target.replace(/\/$/, "/index")}.md`;
      assert.ok(existsSync(join(folder, file)), `${address} links to ${target}`);
    }
    assert.doesNotMatch(text, /\]\([^)]*\.md[)#]/, address);
  }
});

test("a dead link is an error that names the page", () => {
  const page = (source, original) => ({ source, address: source.replace(".md", ""), original: `# Title\n\n${original}\n\n## Part one\n` });
  const link = (text) => linkPages([page("a.md", text), page("docs/b.md", "")]).pages[0].text;
  assert.match(link("[b](docs/b.md#part-one)"), /\[b\]\(\/docs\/b#part-one\)/);
  assert.match(link("![shot](docs/images/shot.svg)"), /!\[shot\]\(\/images\/shot\.svg\)/);
  assert.match(link("```md\n[b](no.md)\n```"), /\[b\]\(no\.md\)/);
  assert.throws(() => link("[b](docs/no.md)"), /a\.md links to docs\/no\.md, which is not a page/);
  assert.throws(() => link("[b](docs/b.md#no)"), /a\.md links to docs\/b\.md#no, and that page has no such heading/);
  assert.throws(() => link("[b](#no)"), /a\.md links to #no/);
});

test("an anchor is that of GitHub", () => {
  assert.equal(slug("Offer Sinew's tools to other agents"), "offer-sinews-tools-to-other-agents");
  assert.equal(slug("sharp-lite: the parts of sharp"), "sharp-lite-the-parts-of-sharp");
});

test("llms.txt names every page with a sentence about it, and the whole text is one file", () => {
  writeForModels(folder);
  const text = readFileSync(join(folder, "llms.txt"), "utf8");
  assert.match(text, /^# Sinew\n\n> /);
  const named = [...text.matchAll(/^- \[([^\]]+)\]\(([^)]+)\): (.+)$/gm)].map(([, , path]) => path);
  assert.deepEqual(named, PAGES.map(({ address }) => `${address}.md`));
  const whole = readFileSync(join(folder, "llms-full.txt"), "utf8");
  for (const path of named) assert.ok(whole.includes(readFileSync(join(folder, path), "utf8")), path);
});

test("a plot has a bar for each contender of each saved row", () => {
  const page = drawPlots(join(ROOT, "bench", "results"));
  const count = (pattern) => (page.match(pattern) ?? []).length;
  const [bars, figures] = [count(/<rect /g), count(/<figure>/g)];
  assert.ok(figures > 40 && bars > 2 * figures - 1, `${bars} bars in ${figures} figures`);
  assert.equal(count(/class="ours"/g), figures);
});
