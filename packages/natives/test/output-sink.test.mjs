import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

const { OutputSink } = createRequire(import.meta.url)("..");

test("text and bytes are kept and counted", () => {
  const sink = new OutputSink();
  sink.push("one\n");
  sink.push(Buffer.from("zwei ü").subarray(0, 6));
  sink.push(Buffer.from("ü").subarray(1));
  assert.deepEqual(sink.dump(), {
    text: "one\nzwei ü", truncated: false, partialLine: false, totalBytes: 11, totalLines: 2, shownBytes: 11, shownLines: 2,
  });
});

test("what is over the limit goes to a file, and a file that cannot be written is reported", (context) => {
  const folder = mkdtempSync(join(tmpdir(), "sink-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const spillPath = join(folder, "all.txt");
  const sink = new OutputSink({ tailBytes: 10, spillPath });
  for (let i = 0; i < 100; i++) sink.push(`line ${i}\n`);
  const dump = sink.dump();
  assert.deepEqual([dump.text, dump.truncated, dump.totalLines, dump.spillPath], [" 98\nline 99\n".slice(-10), true, 100, spillPath]);
  assert.equal(readFileSync(spillPath, "utf8").split("\n").length, 101);
  const lost = new OutputSink({ tailBytes: 1, spillPath: join(folder, "no", "such") });
  lost.push("abc");
  assert.match(lost.dump().spillError, process.platform === "win32" ? /failed to write .*: \S/ : /failed to write .*: No such file/);
  assert.equal(lost.dump().text, "c");
});

test("bad arguments are refused by name", () => {
  assert.throws(() => new OutputSink({ tailBytes: "1" }), { name: "TypeError", message: /OutputSink: tailBytes/ });
  assert.throws(() => new OutputSink({ tailBytes: 1.5 }), RangeError);
  assert.throws(() => new OutputSink().push(7), { name: "TypeError", message: /OutputSink.push: data/ });
});
