// Tests the READMEs of the packages and the guides: every JavaScript block runs in its module system, with the output
// in its comments. A block with a name after its language is a file that later blocks of the page import.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { MORE_PACKAGES } from "../../../scripts/lib/typescript.mjs";
import { PACKAGE, ROOT, install, lacking, run, temporary } from "./host.mjs";

const GUIDES = join(ROOT, "docs", "natives");
const BLOCK = /^```(\w+) ?(.*)\n([^]*?)^```$/gm;

const README = { name: "README", text: readFileSync(join(PACKAGE, "README.md"), "utf8") };
const MORE = MORE_PACKAGES.map((name) => ({ name: `README of ${name}`, text: readFileSync(join(ROOT, "packages", name, "README.md"), "utf8") }));
const REPOSITORY = { name: "README of the repository", text: readFileSync(join(ROOT, "README.md"), "utf8") };
const GUIDE_PAGES = readdirSync(GUIDES).map((name) => ({ name: `guide ${name}`, text: readFileSync(join(GUIDES, name), "utf8") }));

/** The code blocks of a page, without commands. */
function blocksOf({ text }) {
  const blocks = [...text.matchAll(BLOCK)].map(([, language, file, code]) => ({ language, file, code }));
  return blocks.filter(({ language }) => language !== "sh");
}

/** The values in comments: after `console.log`, and alone after the last statement. */
function shown(code) {
  const behind = [...code.matchAll(/console\.log\(.*\)+;? \/\/ (.*)$/gm)].map(([, value]) => value);
  const below = /\n((?:\/\/ .*\n)+)$/.exec(code)?.[1] ?? "";
  return [...behind, ...below.split("\n").filter(Boolean).map((line) => line.slice(3))];
}

test("all blocks of code are programs or commands", () => {
  for (const page of [REPOSITORY, README, ...MORE, ...GUIDE_PAGES]) {
    const blocks = blocksOf(page);
    for (const { language, file, code } of blocks) {
      assert.match(language, /^(cjs|js)$/, page.name);
      assert.match(code, language === "cjs" ? /require\("@sinew\/natives"\)/ : /^import /m, page.name);
      assert.match(file, /^([\w-]+\.mjs)?$/, page.name);
    }
    assert.ok(blocks.length >= 1, `${page.name} has no example`);
  }
});

test("every exported domain has an example in the README or a guide", () => {
  const text = [README, ...GUIDE_PAGES].flatMap(blocksOf).map(({ code }) => code).join("");
  const domains = ["grep", "glob", "fuzzyFind", "visibleWidth", "parseKey", "StdinBuffer", "highlightCode", "diff", "unifiedDiff", "applyPatch", "watch", "FileLock", "Shell", "executeShell", "PtySession", "Process", "PhotonImage", "fitImage", "htmlToMarkdown", "copyToClipboard", "getSystemInfo", "getWorkProfile"];
  assert.deepEqual(domains.filter((name) => !new RegExp(`\\b${name}\\b`).test(text)), []);
});

test("links between the guides lead somewhere", () => {
  const names = readdirSync(GUIDES);
  for (const { name, text } of GUIDE_PAGES) {
    for (const [, target] of text.matchAll(/\]\(([\w.-]+\.md)\)/g)) assert.ok(names.includes(target), `${name} links to ${target}`);
  }
  const index = readFileSync(join(GUIDES, "README.md"), "utf8");
  assert.deepEqual(names.filter((name) => name !== "README.md" && !index.includes(`(${name})`)), []);
});

/** A folder with a file to search. Its parent folder has the packages. */
const home = temporary({ after });
install(home, "natives", ...MORE_PACKAGES);

function reader() {
  const folder = mkdtempSync(join(home, "block-"));
  mkdirSync(join(folder, "src"));
  writeFileSync(join(folder, "src", "index.ts"), "// TODO: more\n");
  return folder;
}

for (const page of [REPOSITORY, README, ...MORE, ...GUIDE_PAGES]) {
  const blocks = blocksOf(page);
  for (const [index, { language, file, code }] of blocks.entries()) {
    if (file) continue;
    test(`${page.name}, block ${index + 1}: ${/\{ ([^}]*) \} (?:from|=)/.exec(code.replace(/.*node:.*\n/g, ""))?.[1]}`, { skip: lacking(code) }, async () => {
      const folder = reader();
      for (const named of blocks.slice(0, index).filter(({ file }) => file)) writeFileSync(join(folder, named.file), named.code);
      const program = join(folder, language === "cjs" ? "block.cjs" : "block.mjs");
      writeFileSync(program, code);
      // The tests must not use the user's clipboard.
      const { code: status, signal, out, err } = await run(process.execPath, [program], { cwd: folder, env: { DISPLAY: "" } });
      assert.equal(status, 0, `${signal ?? ""} ${err}`);
      let from = 0;
      for (const value of shown(code)) {
        const at = out.indexOf(value, from);
        assert.ok(at >= 0, `${JSON.stringify(value)} is shown, this was printed:\n${out}`);
        from = at + value.length;
      }
    });
  }
}
