// Tests that `npm start` compares the same work: plain JavaScript finds the same results in the same files.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { compare } from "../../../scripts/lib/plain.mjs";
import { glob, grep } from "../dist/index.js";

async function check(folder, expect) {
  const { files, grep: lines, glob: names } = await compare({ grep, glob }, folder, "error", ".rs");
  assert.equal(lines.plain.count, lines.ours.result.totalMatches);
  assert.equal(names.plain.count, names.ours.result.totalMatches);
  assert.ok(lines.ours.result.filesSearched <= files);
  if (expect) assert.deepEqual([files, lines.plain.count, names.plain.count], expect);
}

test("both search the same files", async () => {
  const folder = mkdtempSync(join(tmpdir(), "start-"));
  const put = (name, text) => {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  };
  put(".git/config", "error");
  put(".gitignore", "*.log\nout/\n");
  put("a.rs", "error\nno\nan error, error\r\nlast error");
  put("b/.hidden/c.rs", "Error\nerror");
  put("b/d.log", "error");
  put("out/e.rs", "error");
  put("node_modules/f/g.rs", "error");
  put("h.bin", "\0error\nerror");
  put("latin1.txt", Buffer.from("caf\xe9 error\n", "latin1"));
  symlinkSync(join(folder, "a.rs"), join(folder, "link.rs"));
  // .gitignore, a.rs, its link, c.rs, h.bin, latin1.txt
  await check(folder, [6, 5, 3]);
  rmSync(folder, { recursive: true, force: true });
  await check(fileURLToPath(new URL("../../../crates", import.meta.url)));
});
