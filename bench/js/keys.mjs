// Parses keys, against the parser you would write in JavaScript: a map of what terminals send, and a regular expression
// for the rest. The sequences are new strings, as input is, so that the engine has not hashed them yet.

const NAMED = {
  "\x1b[A": "up", "\x1b[B": "down", "\x1b[C": "right", "\x1b[D": "left", "\x1b[H": "home", "\x1b[F": "end",
  "\x1bOA": "up", "\x1bOB": "down", "\x1bOC": "right", "\x1bOD": "left", "\x1bOP": "f1", "\x1bOQ": "f2",
  "\x1b[2~": "insert", "\x1b[3~": "delete", "\x1b[5~": "pageUp", "\x1b[6~": "pageDown", "\x1b[15~": "f5",
  "\r": "enter", "\t": "tab", "\x1b": "escape", "\x7f": "backspace", " ": "space", "\x1b[Z": "shift+tab",
};
const MAP = new Map(Object.entries(NAMED));
const LETTERS = { A: "up", B: "down", C: "right", D: "left", H: "home", F: "end" };
const NUMBERS = { 2: "insert", 3: "delete", 5: "pageUp", 6: "pageDown" };
const FORM = /^\x1b\[(\d+)(?:;(\d+))?([~uA-H])$/;

function inJavaScript(data) {
  const known = MAP.get(data);
  if (known !== undefined) return known;
  const code = data.charCodeAt(0);
  if (data.length === 1) return code < 32 ? `ctrl+${String.fromCharCode(code + 96)}` : data;
  if (data.length === 2) return `alt+${data[1]}`;
  const found = FORM.exec(data);
  if (!found) return null;
  const bits = (Number(found[2]) || 1) - 1;
  const modifiers = `${bits & 4 ? "ctrl+" : ""}${bits & 1 ? "shift+" : ""}${bits & 2 ? "alt+" : ""}${bits & 8 ? "super+" : ""}`;
  const key = found[3] === "u" ? String.fromCodePoint(Number(found[1])) : found[3] === "~" ? NUMBERS[found[1]] : LETTERS[found[3]];
  return key ? modifiers + key : null;
}

const SEQUENCES = [
  "a", "\r", "\x03", "\x1b", "\x1bf", "\x1b[A", "\x1b[1;5C", "\x1b[3~", "\x1b[97;5u", "\x1bOP", "\x1b[27u", "\x1b[97;2u", "\x1b[5;3~",
];

export default async function (bench) {
  const { matchesKey, parseKey } = bench.natives;
  const peer = bench.peers ? (await bench.optional("@oh-my-pi/pi-natives")) : undefined;
  for (const sequence of SEQUENCES) {
    // A chunk from a terminal is a new string each time.
    const chunks = Array.from({ length: 64 }, () => Buffer.from(sequence, "latin1").toString("latin1"));
    let turn = 0;
    const next = () => chunks[turn++ & 63];
    await bench.compare(`parseKey ${JSON.stringify(sequence)}`, {
      sinew: () => parseKey(next(), false),
      javascript: () => inJavaScript(next()),
      "pi-natives": peer?.parseKey && (() => peer.parseKey(next(), false)),
    }, { targets: { "pi-natives": 0.5 }, rounds: 9 });
  }
  let turn = 0;
  const chunks = Array.from({ length: 64 }, (_, n) => Buffer.from(SEQUENCES[n % SEQUENCES.length], "latin1").toString("latin1"));
  await bench.compare("parseKey, all of them in turn", {
    sinew: () => parseKey(chunks[turn++ & 63], false),
    javascript: () => inJavaScript(chunks[turn++ & 63]),
    "pi-natives": peer?.parseKey && (() => peer.parseKey(chunks[turn++ & 63], false)),
  }, { targets: { javascript: 0.5, "pi-natives": 0.5 } });
  await bench.compare("matchesKey, a binding that is not the key", {
    sinew: () => matchesKey("\x1b[1;5C", "ctrl+shift+p", false),
    "pi-natives": peer?.matchesKey && (() => peer.matchesKey("\x1b[1;5C", "ctrl+shift+p", false)),
  }, { targets: { "pi-natives": 0.5 } });
}
