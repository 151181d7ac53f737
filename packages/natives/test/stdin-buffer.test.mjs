import assert from "node:assert/strict";
import { once } from "node:events";
import { createRequire } from "node:module";
import { test } from "node:test";

const { StdinBuffer } = createRequire(import.meta.url)("..");

function collect(buffer) {
  const found = [];
  buffer.on("data", (sequence) => found.push(sequence));
  buffer.on("paste", (text) => found.push({ paste: text }));
  return found;
}

test("cuts chunks into sequences, characters and pastes", () => {
  const buffer = new StdinBuffer();
  const found = collect(buffer);
  buffer.process("aé\x1b[1;5");
  buffer.process("A\x1b[200~two\nlines\x1b[201~z");
  assert.deepEqual(found, ["a", "é", "\x1b[1;5A", { paste: "two\nlines" }, "z"]);
});

test("takes bytes that end inside a character", () => {
  const buffer = new StdinBuffer({ timeout: 60_000 });
  const found = collect(buffer);
  for (const byte of Buffer.from("界👩\x1b[A")) buffer.process(Uint8Array.of(byte));
  assert.deepEqual(found, ["界", "👩", "\x1b[A"]);
});

test("a lone escape comes out after the timeout", async () => {
  const buffer = new StdinBuffer({ timeout: 1 });
  const waiting = once(buffer, "data");
  buffer.process("\x1b");
  assert.equal(buffer.getBuffer(), "\x1b");
  // The buffer's own timer does not keep the process alive.
  const alive = setInterval(() => {}, 1000);
  assert.deepEqual(await waiting, ["\x1b"]);
  clearInterval(alive);
  assert.equal(buffer.getBuffer(), "");
});

test("a cursor report is one only when it was asked for", () => {
  const buffer = new StdinBuffer();
  const found = collect(buffer);
  buffer.on("cursorReport", (row, column) => found.push({ row, column }));
  buffer.process("\x1b[1;1R");
  buffer.awaitCursorReport();
  buffer.process("\x1b[A\x1b[1;2R\x1b[1;2R");
  assert.deepEqual(found, ["\x1b[1;1R", "\x1b[A", { row: 1, column: 2 }, "\x1b[1;2R"]);
});

test("flush returns what is pending, clear forgets it", () => {
  const buffer = new StdinBuffer({ timeout: 60_000 });
  const found = collect(buffer);
  buffer.process("\x1b[<35");
  assert.deepEqual(buffer.flush(), ["\x1b[<35"]);
  assert.deepEqual(buffer.flush(), []);
  buffer.process("\x1b[200~half a paste");
  buffer.clear();
  buffer.process("x");
  assert.deepEqual(found, ["x"]);
  buffer.destroy();
  buffer.process("y");
  assert.deepEqual(found, ["x"]);
});

test("a handler may feed, and may throw", () => {
  const buffer = new StdinBuffer();
  const found = [];
  buffer.on("data", (sequence) => {
    found.push(sequence);
    if (sequence === "a") buffer.process("n");
    if (sequence === "!") throw new Error("from the handler");
  });
  buffer.process("ab");
  assert.deepEqual(found, ["a", "n", "b"]);
  assert.throws(() => buffer.process("!"), /from the handler/);
  buffer.process("c");
  assert.equal(found.at(-1), "c");
});

test("arguments of the wrong kind are named", () => {
  assert.throws(() => new StdinBuffer({ timeout: -1 }), { name: "RangeError", message: /StdinBuffer: timeout/ });
  assert.throws(() => new StdinBuffer().process(5), { name: "TypeError", message: /StdinBuffer.process: chunk/ });
});
