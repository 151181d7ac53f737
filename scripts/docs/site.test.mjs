// The site: every page is whole, every link of one leads to a page, a heading or a file of the site.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { writeSite } from "./site.mjs";

const out = mkdtempSync(join(tmpdir(), "sinew-site-"));
after(() => rmSync(out, { recursive: true, force: true }));
const addresses = writeSite(out, { reference: false });
const html = Object.fromEntries([...addresses, "numbers.html"].map((address) => [address, readFileSync(join(out, address), "utf8")]));

const WITHOUT_END = /^(meta|link|img|br|hr|rect|!doctype)$/;

/** The tags that are not closed, or not in their order. */
function unbalanced(text) {
  const open = [];
  const faults = [];
  for (const [tag, end, name] of text.matchAll(/<(\/?)([a-z!][\w-]*)[^>]*>/g)) {
    if (WITHOUT_END.test(name) || tag.endsWith("/>")) continue;
    if (!end) open.push(name);
    else if (open.pop() !== name) faults.push(tag);
  }
  return [...faults, ...open];
}

test("every guide has a page, and every page is whole", () => {
  for (const folder of ["docs/natives", "docs/agent"]) {
    for (const name of readdirSync(join(import.meta.dirname, "..", "..", folder))) {
      if (name.endsWith(".md") && name !== "README.md") assert.ok(addresses.includes(`${folder}/${name.replace(/md$/, "html")}`), `${folder}/${name}`);
    }
  }
  for (const [address, text] of Object.entries(html)) {
    assert.deepEqual(unbalanced(text), [], address);
    assert.match(text, /<title>[^<]+<\/title>/, address);
    assert.match(text, /<h1[ >]/, address);
    assert.match(text, new RegExp(`aria-current="page"`), address);
  }
});

test("links lead somewhere", () => {
  for (const [address, text] of Object.entries(html)) {
    for (const [, target] of text.matchAll(/(?:href|src)="([^"]*)"/g)) {
      if (/^\w+:/.test(target)) continue;
      const [path, anchor] = target.split("#");
      const file = path === "" ? address : join(dirname(address), path);
      assert.ok(existsSync(join(out, file)), `${address} links to ${target}`);
      if (anchor) assert.ok(html[file].includes(`id="${anchor}"`), `${address} links to ${target}`);
    }
  }
});

test("code is coloured and keeps its text", () => {
  const page = html["docs/natives/search.html"];
  assert.match(page, /<span class="keyword">import ?<\/span>/);
  const source = readFileSync(join(out, "docs/natives/search.md"), "utf8");
  const first = /```js\n([^]*?)```/.exec(source)[1];
  const shown = /<pre><code[^>]*>([^]*?)<\/code><\/pre>/.exec(page)[1].replaceAll(/<[^>]*>/g, "");
  assert.equal(shown.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&amp;", "&"), first);
});

test("llms.txt names every page with a sentence about it, and the whole text is one file", () => {
  const text = readFileSync(join(out, "llms.txt"), "utf8");
  assert.match(text, /^# Sinew\n\n> /);
  const named = [...text.matchAll(/^- \[([^\]]+)\]\(([^)]+)\): (.+)$/gm)].map(([, , path]) => path);
  assert.deepEqual(named, addresses.map((address) => address.replace(/html$/, "md")));
  for (const path of named) assert.ok(existsSync(join(out, path)), path);
  const whole = readFileSync(join(out, "llms-full.txt"), "utf8");
  for (const path of named) assert.ok(whole.includes(readFileSync(join(out, path), "utf8")), path);
});

test("a plot has a bar for each contender of each saved row", () => {
  const bars = (html["numbers.html"].match(/<rect /g) ?? []).length;
  const figures = (html["numbers.html"].match(/<figure>/g) ?? []).length;
  assert.ok(figures > 40 && bars > 2 * figures - 1, `${bars} bars in ${figures} figures`);
  assert.equal((html["numbers.html"].match(/class="ours"/g) ?? []).length, figures);
});
