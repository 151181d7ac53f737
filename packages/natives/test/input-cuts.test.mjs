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
    if (!Array.isArray(step)) buffer.process(step);
    // In small steps, because a timer that a timer starts counts from the end of the step.
    else for (let left = step[0]; left > 0; left -= 5) context.mock.timers.tick(Math.min(left, 5));
  }
  buffer.destroy();
  context.mock.timers.reset();
  return found;
}

/** What terminals send, each with the events that it is. */
const SEQUENCES = [
  "\x1b[A", "\x1b[1;5C", "\x1b[I", "\x1b[?62;4c", "\x1b[97;5u", "\x1b[27;5;97~", "\x1b[65;30;97;1;0;1_", "\x1b[<35;10;20M", "\x1b[35;10;20M", "\x1b[M !!", "\x1b[M \u00e9\u00ea", "\x1b[[A", "\x1b[3$",
  "\x1b\x1b[A", "\x1bOA", "\x1bO5P", "\x1b]52;c;aGk=\x07", "\x1b]11;rgb:0/0/0\x1b\\", "\x1bP>|term\x1b\\", "\x1bP1$r0m\x1b\\", "\x1b_Gi=1;OK\x1b\\",
].map((sequence) => [sequence, [sequence]]).concat([["\x1b[200~hi\x1b[201~", [{ paste: "hi" }]], ["\x1b[200~\x1b[201~", [{ paste: "" }]]]);

/** The events of pieces with pauses between them, followed by a letter. */
function cutInput(context, pieces, pause) {
  const steps = pieces.flatMap((piece) => [piece, [pause]]);
  return play(context, [...steps.slice(0, -1), "q", [3000]]);
}

/** Checks that pieces are the whole sequence, or keys of its first bytes, or nothing, and then the letter that was typed. */
function checkCut(context, pieces, pause, [sequence, whole]) {
  const found = cutInput(context, pieces, pause);
  const about = JSON.stringify([pieces, pause, found]);
  assert.equal(found.pop(), "q", about);
  // Only ESC, alone or with the alt modifier of an introducer, is a key of its own.
  const keys = found.filter((each) => typeof each === "string" && /^\x1b?\x1b[[O\]P_]?$/.test(each));
  const others = found.filter((each) => !keys.includes(each));
  if (sequence.includes("200~")) assert.deepEqual(others, whole, about);
  // The ESC of alt may have been pressed before the key.
  else if (others[0] === sequence.slice(1)) assert.deepEqual(found, ["\x1b", sequence.slice(1)], about);
  else if (others.length) assert.deepEqual(found, whole, about);
}

test("a sequence that is cut anywhere, once or twice, is the key or nothing, and never typed", (context) => {
  for (const row of SEQUENCES) {
    const [sequence] = row;
    for (let at = 1; at < sequence.length; at++) {
      for (const pause of [5, 30, 120, 200, 400]) checkCut(context, [sequence.slice(0, at), sequence.slice(at)], pause, row);
      for (let next = at + 1; next < sequence.length; next++) {
        for (const pause of [30, 60]) checkCut(context, [sequence.slice(0, at), sequence.slice(at, next), sequence.slice(next)], pause, row);
      }
    }
    for (const pause of [5, 25, 60]) {
      checkCut(context, sequence.split(""), pause, row);
      checkCut(context, [...Buffer.from(sequence)].map((byte) => Uint8Array.of(byte)), pause, row);
    }
  }
});

test("a sequence is joined to its beginning, and otherwise its first bytes are the key", (context) => {
  for (const [sequence, whole] of SEQUENCES.filter(([each]) => !each.startsWith("\x1b\x1b"))) {
    for (let at = 1; at < sequence.length; at++) {
      const found = cutInput(context, [sequence.slice(0, at), sequence.slice(at)], 90);
      const paste = sequence.includes("200~") ? whole : [];
      assert.deepEqual(found, [...(at === 1 ? ["\x1b", ...paste] : whole), "q"], JSON.stringify([sequence, at]));
    }
  }
  assert.deepEqual(play(context, [Buffer.from("é👩").subarray(0, 1), [60_000], Buffer.from("é👩").subarray(1, 4), [60_000], Buffer.from("é👩").subarray(4)]), ["é", "👩"]);
  assert.deepEqual(play(context, ["\x1b]52;c;half a reply", [2000], "x"]), ["x"], "a reply that never ends is dropped");
});

test("what is typed after an escape is typed, and what only begins a rest is not", (context) => {
  const cases = [
    [["\x1b", [10], "[", [250]], ["\x1b", "["]],
    [["\x1b", [10], "O", [120], "h", "i"], ["\x1b", "O", "h", "i"]],
    [["\x1b", [10], "O", [119], "A"], ["\x1b"]],
    [["\x1b", [10], "[", [10], "é"], ["\x1b", "[", "é"]],
    [["\x1b", [10], "[", "\x1b[A"], ["\x1b", "[", "\x1b[A"]],
    [["\x1b", [10], "P", [10], "r"], ["\x1b", "P", "r"]],
    [["\x1b", [10], "Program\r"], ["\x1b", ..."Program\r"]],
    [["\x1b", [10], "]1 + 2"], ["\x1b", ..."]1 + 2"]],
    [["\x1b", [10], "[1, 2]"], ["\x1b", ..."[1, 2]"]],
    [["\x1b", [10], "_name", "X", "^"], ["\x1b", ..."_name", "X", "^"]],
    [["\x1b", [300], "[", "A"], ["\x1b", "[", "A"]],
    [["\x1b", [300], "Open"], ["\x1b", ..."Open"]],
    [["\x1b", [300], "[Abc"], ["\x1b", ..."[Abc"]],
    [["\x1b", [1100], "[A"], ["\x1b", "[", "A"]],
    [["\x1b", [10], "[1;", [1000], "q"], ["\x1b", "q"]],
    [["\x1b", [10], "[1;", "\x1b[A"], ["\x1b", "\x1b[A"]],
    [["\x1b", [10], "]11;rgb", [999], ":0/0", [1000], "q"], ["\x1b", "q"]],
    [["\x1b[", [600], "hello"], ["\x1b[", ..."hello"]],
    [["\x1b[", [250], "\x1b[A", "A"], ["\x1b[", "\x1b[A", "A"]],
    [["\x1b\x1b", [10], "[A", "A"], ["\x1b", "\x1b", "A"]],
    [["\x1b\x1b[", [250], "A", "A"], ["\x1b\x1b[", "A"]],
    [["\x1b[200~text\x1b", [200], "[201~", "x"], [{ paste: "text" }, "x"]],
    [["\x1b[200~text\x1b[2", [1200], "01~", "x"], [{ paste: "text" }, "x"]],
    [["\x1b[200~text\x1b[201", [1000], "~", "x"], [{ paste: "text" }, "x"]],
  ];
  for (const [steps, wanted] of cases) assert.deepEqual(play(context, [...steps]), wanted, JSON.stringify(steps));
});

test("a late rest is neither pending nor flushed with the part that was a key", () => {
  const { buffer, found } = collector();
  buffer.on("cursorReport", (row, column) => found.push({ row, column }));
  buffer.process("\x1b");
  assert.deepEqual(buffer.flush(), ["\x1b"]);
  buffer.process("[");
  assert.equal(buffer.getBuffer(), "[");
  assert.deepEqual(buffer.flush(), ["["]);
  buffer.process("\x1b");
  assert.deepEqual(buffer.flush(), ["\x1b"]);
  buffer.process("[1;");
  assert.deepEqual(buffer.flush(), []);
  buffer.process("\x1b");
  buffer.flush();
  buffer.clear();
  buffer.process("[A");
  buffer.process("\x1b");
  buffer.flush();
  buffer.awaitCursorReport();
  buffer.process("[1;2R");
  assert.deepEqual(found, ["[", "A", { row: 1, column: 2 }]);
  buffer.destroy();
});

test("escapes are keys after their time, also two in one chunk", (context) => {
  const cases = [
    [["\x1b", [10]], ["\x1b"]], [["\x1b\x1b", [10]], ["\x1b", "\x1b"]], [["\x1b", [9], "x"], ["\x1bx"]], [["\x1b", [10], "x"], ["\x1b", "x"]], [["\x1b[", [250]], ["\x1b["]], [["\x1b\x1b[A", [10]], ["\x1b\x1b[A"]],
    [["\x1b", [10], "a", [10], "x"], ["\x1b", "a", "x"]],
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
