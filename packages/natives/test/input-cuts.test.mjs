// Tests texts and terminal input that are split anywhere: inside a character, an escape sequence or a paste.
import assert from "node:assert/strict";
import { test } from "node:test";
import { HighlightStream, OutputSink, PtySession, StdinBuffer, executeShell, run } from "@sinew/natives";

const TEXTS = ["👩", "a👩‍💻b", "𝒜𝒷", "日本\u{20000}語", "plain", "\ud83d", "\ude00x", "👩\ud83d", "\ud83d\ud83d\ude00", "é👍🏽\n"];
const UNIX = { skip: process.platform === "win32" && "Unix only" };

/** Every way to split a text in two, and the text as code units. */
function* cuts(text) {
  for (let at = 0; at <= text.length; at++) yield [text.slice(0, at), text.slice(at)];
  yield text.split("");
}

const decoded = (text) => Buffer.from(text).toString();
const endsInHalf = (text) => /[\ud800-\udbff]$/.test(text);

test("a sink and a highlighter get a text as it was before it was cut", () => {
  for (const text of TEXTS) {
    for (const pieces of cuts(text)) {
      const sink = new OutputSink();
      for (const piece of pieces) sink.push(piece);
      sink.push(Buffer.from("|"));
      assert.equal(sink.dump().text, `${decoded(text)}|`, JSON.stringify(pieces));
      const stream = new HighlightStream("python", {});
      assert.equal([...pieces, "\n"].map((piece) => stream.push(piece)).join(""), `${decoded(text)}\n`, JSON.stringify(pieces));
    }
  }
});

test("a command reads a text as it was before it was cut", UNIX, async () => {
  for (const text of TEXTS) {
    const { stdout } = await run(["cat"], { stdin: text.split(""), stripFinalNewline: false });
    assert.equal(stdout, decoded(text), JSON.stringify(text));
    const mixed = await executeShell({ command: "cat", stdin: [...text.split(""), Buffer.from("|"), ...text.split("")], buffer: true, stripFinalNewline: false });
    assert.equal(mixed.stdout, `${decoded(text)}|${decoded(text)}`, JSON.stringify(text));
  }
});

test("a terminal's program reads a text as it was before it was cut", UNIX, async () => {
  for (const text of TEXTS.filter((each) => !endsInHalf(each))) {
    const pty = new PtySession();
    let output = "";
    const ended = pty.start({ command: "stty -echo; echo ready; IFS= read -r line; printf '<%s>' \"$line\"" }, (chunk) => {
      if (!output.includes("ready") && (output + chunk).includes("ready")) for (const unit of `${text.replaceAll("\n", "")}\n`) for (const half of unit.split("")) pty.write(half);
      output += chunk;
    });
    await ended;
    assert.match(output, /<.*>/s);
    assert.equal(/<(.*)>/s.exec(output)[1], decoded(text.replaceAll("\n", "")), JSON.stringify(text));
  }
});

/** A buffer, and what it emits. */
function collector(options) {
  const buffer = new StdinBuffer(options);
  const found = [];
  buffer.on("data", (sequence) => found.push(sequence));
  buffer.on("paste", (text) => found.push({ paste: text }));
  return { buffer, found };
}

test("input characters are whole, wherever strings and bytes are cut", () => {
  for (const text of TEXTS.filter((each) => !endsInHalf(each))) {
    const expect = Array.from(decoded(text));
    for (const pieces of cuts(text)) {
      const { buffer, found } = collector();
      for (const piece of pieces) if (piece) buffer.process(piece);
      assert.deepEqual(found, expect, JSON.stringify(pieces));
      const paste = collector();
      for (const piece of ["\x1b[200~", ...pieces, "\x1b[201~"]) if (piece) paste.buffer.process(piece);
      assert.deepEqual(paste.found, [{ paste: decoded(text) }], JSON.stringify(pieces));
    }
  }
});

/** Plays steps: input, or `[ms]`, which lets time pass. */
function play(context, steps, options) {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const { buffer, found } = collector(options);
  for (const step of steps) {
    if (Array.isArray(step)) context.mock.timers.tick(step[0]);
    else buffer.process(step);
  }
  buffer.destroy();
  context.mock.timers.reset();
  return found;
}

test("sequences that are cut for longer than an ESC waits are joined or dropped, and never typed", (context) => {
  const sequences = ["\x1b[A", "\x1b[1;5A", "\x1b[<35;10;20M", "\x1bOA", "\x1bO5P", "\x1b[M !!", "\x1b]52;c;aGk=\x07", "\x1b]11;rgb:0/0/0\x1b\\", "\x1bP>|term\x1b\\", "\x1b_Gi=1;OK\x1b\\", "\x1b[?62;4c", "\x1b[97;5u"];
  for (const sequence of sequences) {
    for (let at = 1; at < sequence.length; at++) {
      const found = play(context, [sequence.slice(0, at), [200], sequence.slice(at), "x", [2000]]);
      const wanted = at === 1 ? ["\x1b", "x"] : [sequence, "x"];
      // An ESC that is the last byte may be the first of two that end the string.
      assert.deepEqual(found, wanted, JSON.stringify([sequence, at]));
    }
  }
  assert.deepEqual(play(context, [Buffer.from("é👩").subarray(0, 1), [60_000], Buffer.from("é👩").subarray(1, 4), [60_000], Buffer.from("é👩").subarray(4)]), ["é", "👩"]);
  assert.deepEqual(play(context, ["\x1b]52;c;half a reply", [2000], "x"]), ["x"], "a reply that never ends is dropped");
});

test("escapes are keys after their time, also two in one chunk", (context) => {
  const cases = [
    [["\x1b", [10]], ["\x1b"]], [["\x1b\x1b", [10]], ["\x1b", "\x1b"]], [["\x1b", [9], "x"], ["\x1bx"]], [["\x1b", [10], "x"], ["\x1b", "x"]], [["\x1b[", [250]], ["\x1b["]], [["\x1b\x1b[A", [10]], ["\x1b\x1b[A"]],
    [["\x1b", [10], "[", [10], "x"], ["\x1b", "[", "x"]],
  ];
  for (const [steps, wanted] of cases) assert.deepEqual(play(context, steps), wanted, JSON.stringify(steps));
});

test("a paste without its end mark ends when nothing comes, with an ESC, or by a call, and keys work again", (context) => {
  const cases = [
    [["\x1b[200~text", [1000], "x", "\x1b[A"], [{ paste: "text" }, "x", "\x1b[A"]],
    [["\x1b[200~text", [999], " more", [999], "\x1b[201~x"], [{ paste: "text more" }, "x"]],
    [["\x1b[200~", [1000], "x"], [{ paste: "" }, "x"]],
    [["\x1b[200~text\x1b", [100], "x"], [{ paste: "text" }, "x"]],
    [["\x1b[200~text\x1b", [99], "[201~", "x"], [{ paste: "text" }, "x"]],
  ];
  for (const [steps, wanted] of cases) assert.deepEqual(play(context, steps), wanted, JSON.stringify(steps));
  assert.deepEqual(play(context, ["\x1b[200~a", [50], "x"], { pasteTimeout: 50 }), [{ paste: "a" }, "x"]);
  const { buffer, found } = collector();
  assert.equal(buffer.endPaste(), false);
  buffer.process("a\x1b[200~two\nlines");
  assert.equal(buffer.endPaste(), true);
  assert.equal(buffer.endPaste(), false);
  buffer.process("y");
  assert.deepEqual(found, ["a", { paste: "two\nlines" }, "y"]);
  assert.throws(() => new StdinBuffer({ pasteTimeout: -1 }), RangeError);
  buffer.destroy();
});
