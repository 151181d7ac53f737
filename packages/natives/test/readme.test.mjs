// The package's README: every block of JavaScript runs in the module system that it claims, with the output that its comments show.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { PACKAGE, run, temporary } from "./host.mjs";

const README = readFileSync(join(PACKAGE, "README.md"), "utf8");
const BLOCKS = [...README.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].map(([, language, code]) => ({ language, code }));
const PROGRAMS = BLOCKS.filter(({ language }) => language !== "sh");

/** The values that comments behind `console.log` show, in order. */
function shown(code) {
  return [...code.matchAll(/console\.log\(.*\);? \/\/ (.*)$/gm)].map(([, value]) => value);
}

test("all blocks of code are programs or commands", () => {
  assert.deepEqual([...new Set(BLOCKS.map(({ language }) => language))].sort(), ["cjs", "js", "sh"]);
  assert.ok(PROGRAMS.length >= 9, `${PROGRAMS.length} programs`);
  for (const { language, code } of PROGRAMS) assert.match(code, language === "cjs" ? /require\("@sinew\/natives"\)/ : /^import /m);
});

test("every exported domain has an example", async () => {
  const text = PROGRAMS.map(({ code }) => code).join("");
  const domains = ["grep", "glob", "fuzzyFind", "visibleWidth", "parseKey", "StdinBuffer", "highlightCode", "Shell", "executeShell", "PtySession", "Process", "PhotonImage", "fitImage", "htmlToMarkdown", "copyToClipboard", "getSystemInfo", "getWorkProfile"];
  assert.deepEqual(domains.filter((name) => !new RegExp(`\\b${name}\\b`).test(text)), []);
});

for (const [index, { language, code }] of PROGRAMS.entries()) {
  test(`block ${index + 1}: ${/\{ ([^}]*) \} (?:from|=)/.exec(code.replace(/.*node:.*\n/, ""))?.[1]}`, async (t) => {
    const folder = temporary(t);
    mkdirSync(join(folder, "node_modules", "@sinew"), { recursive: true });
    symlinkSync(PACKAGE, join(folder, "node_modules", "@sinew", "natives"), "junction");
    mkdirSync(join(folder, "src"));
    writeFileSync(join(folder, "src", "index.ts"), "// TODO: more\n");
    const file = join(folder, language === "cjs" ? "block.cjs" : "block.mjs");
    writeFileSync(file, code);
    // The clipboard of whoever runs the tests is not for us.
    const { code: status, signal, out, err } = await run(process.execPath, [file], { cwd: folder, env: { DISPLAY: "" } });
    assert.equal(status, 0, `${signal ?? ""} ${err}`);
    let from = 0;
    for (const value of shown(code)) {
      const at = out.indexOf(value, from);
      assert.ok(at >= 0, `${JSON.stringify(value)} is shown, this was printed:\n${out}`);
      from = at + value.length;
    }
  });
}
