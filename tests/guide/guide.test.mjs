// Runs the examples of docs/agent as a reader would. SINEW_BIN is the path of the program.
//
// In a page, a block with a name after its language is a file, a `sh` block is run by bash in the folder of the page's
// files, and an `output` block is the standard output of the run before it.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";

const PAGES = join(import.meta.dirname, "..", "..", "docs", "agent");
const BLOCK = /^```(\w+) ?(.*)\n([\s\S]*?)^```$/gm;
const program = process.env.SINEW_BIN;
const folder = mkdtempSync(join(tmpdir(), "sinew-guide-"));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Creates a folder and a home, with the program on PATH, for running `sh` blocks. */
function reader(name) {
  const cwd = join(folder, name);
  mkdirSync(join(cwd, "bin"), { recursive: true });
  mkdirSync(join(cwd, "user"));
  symlinkSync(program, join(cwd, "bin", "sinew"));
  const env = {
    PATH: `${join(cwd, "bin")}:${dirname(process.execPath)}:${process.env.PATH}`,
    HOME: join(cwd, "user"),
    SINEW_HOME: join(cwd, "home"),
    OLLAMA_BASE_URL: "http://127.0.0.1:1",
  };
  return {
    write(path, text) {
      mkdirSync(dirname(join(cwd, path)), { recursive: true });
      writeFileSync(join(cwd, path), text);
    },
    run(script) {
      const { status, stdout, stderr } = spawnSync("bash", ["-euo", "pipefail", "-c", script], { cwd, env, encoding: "utf8" });
      assert.equal(status, 0, `exit code ${status} of:\n${script}\n${stdout}${stderr}`);
      return stdout;
    },
  };
}

const pages = readdirSync(PAGES).filter((page) => page.endsWith(".md"));

for (const page of pages) {
  test(`the examples of ${page} run`, () => {
    const { write, run } = reader(page);
    let said;
    let ran = 0;
    for (const [, language, path, body] of readFileSync(join(PAGES, page), "utf8").matchAll(BLOCK)) {
      if (language === "sh") {
        said = run(body);
        ran += 1;
      } else if (language === "output") {
        assert.equal(said, body, page);
      } else {
        assert.notEqual(path, "", `${page}: a block of ${language} has no file name and nothing runs it`);
        write(path, body);
      }
    }
    assert.ok(ran > 0, `${page} has no example`);
  });
}

test("links between the pages lead somewhere", () => {
  for (const page of pages) {
    for (const [, target, anchor] of readFileSync(join(PAGES, page), "utf8").matchAll(/\]\(([\w.-]+\.md)(?:#([\w-]+))?\)/g)) {
      assert.ok(pages.includes(target), `${page} links to ${target}`);
      const headings = [...readFileSync(join(PAGES, target), "utf8").matchAll(/^#+ (.*)$/gm)].map(([, text]) => text.toLowerCase().replaceAll(" ", "-"));
      if (anchor) assert.ok(headings.includes(anchor), `${page} links to ${target}#${anchor}`);
    }
  }
});

test("every command of the RPC page is one, and every flag of the pages too", () => {
  const rpc = readFileSync(join(PAGES, "rpc.md"), "utf8");
  const table = rpc.slice(rpc.indexOf("## Commands"), rpc.indexOf("`cancelled` means"));
  const commands = [...table.matchAll(/^\| ((?:`\w+`(?:, )?)+) \|/gm)].flatMap(([, cell]) => cell.match(/\w+/g)).filter((name) => name !== "type");
  assert.ok(commands.length > 40, `${commands}`);
  const unknown = execFileSync(program, ["--mode", "rpc", "--no-session", "--script", join(import.meta.dirname, "silent.jsonl")], {
    input: commands.map((type) => `${JSON.stringify({ type })}\n`).join(""),
    encoding: "utf8",
    env: { PATH: process.env.PATH, HOME: folder, SINEW_HOME: join(folder, "rpc") },
    cwd: folder,
  }).split("\n").filter((line) => line.includes("Unknown command"));
  assert.deepEqual(unknown, []);

  // Options of other programs, of slash commands and of VS Code.
  const others = ["--force", "--now", "--add-mcp", "--with-conversation", "--prefix", "--eval", "--output"];
  const help = [["--help"], ["mcp", "--help"]].map((args) => execFileSync(program, args, { encoding: "utf8" })).join("");
  for (const page of pages) {
    for (const [, flag] of readFileSync(join(PAGES, page), "utf8").matchAll(/(?:^|[\s`(])(--[a-z][a-z-]+)/gm)) {
      assert.ok(others.includes(flag) || help.includes(flag), `${page} names ${flag}, which --help does not`);
    }
  }
});
