// Tests the finished website in Chromium: no page scrolls sideways on a phone or a desktop, and no link is broken.
// Run by `npm run test:more`, after `npm run docs`.
import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { ROOT } from "../lib/steps.mjs";
import { evaluate } from "./browser.mjs";
import { serve } from "./build.mjs";
import { PAGES } from "./pages.mjs";

const site = join(ROOT, "dist", "docs");
const server = await serve();
after(() => server.close());
const served = { folder: site, address: `http://127.0.0.1:${server.address().port}` };
const addresses = [...PAGES.map(({ address }) => address), "benchmarks"];
const html = Object.fromEntries(addresses.map((address) => [address, readFileSync(join(site, `${address}.html`), "utf8")]));

for (const [device, width] of [["a phone", 390], ["a desktop", 1280]]) {
  test(`no page scrolls sideways on ${device}`, async () => {
    const wide = await evaluate("", `
      const wide = [];
      for (const address of ${JSON.stringify(addresses)}) {
        const frame = document.createElement("iframe");
        frame.style.cssText = "width: ${width}px; height: 900px; border: 0";
        frame.src = "/" + address + ".html";
        await new Promise((loaded) => { frame.onload = loaded; document.body.append(frame); });
        const { scrollWidth, clientWidth } = frame.contentDocument.documentElement;
        if (clientWidth !== ${width}) throw new Error(address + " is shown " + clientWidth + " pixels wide");
        if (!frame.contentDocument.querySelector("main h1")) throw new Error(address + " has no heading");
        if (scrollWidth > clientWidth) wide.push(address + ": " + scrollWidth);
        frame.remove();
      }
      return wide;`, { width: width + 40, height: 1000, served });
    assert.deepEqual(wide, []);
  });
}

test("links between the pages lead to pages and headings", () => {
  const faults = [];
  for (const [address, text] of Object.entries(html)) {
    const main = /<main[^]*<\/main>/.exec(text)[0];
    for (const [, target] of main.matchAll(/<(?:a|img|source)\b[^>]*?(?:href|src|srcset)="([^"]+)"/g)) {
      if (/^\w+:/.test(target)) continue;
      const [path, anchor] = target.split("#");
      const file = path === "" ? `${address}.html` : [path, `${path}.html`, `${path}index.html`].map((path) => path.replace(/^\//, "")).find((path) => /\.\w+$/.test(path) && existsSync(join(site, path)));
      if (!file) faults.push(`${address} links to ${target}`);
      else if (anchor && !readFileSync(join(site, file), "utf8").includes(`id="${decodeURIComponent(anchor)}"`)) faults.push(`${address} links to ${target}`);
    }
  }
  assert.deepEqual(faults, []);
});

test("the search knows every page", () => {
  const chunks = join(site, "assets", "chunks");
  const index = readFileSync(join(chunks, readdirSync(chunks).find((name) => name.includes("localSearchIndex"))), "utf8");
  assert.deepEqual(addresses.filter((address) => !index.includes(`"/${address.replace(/index$/, "")}#`)), []);
});
