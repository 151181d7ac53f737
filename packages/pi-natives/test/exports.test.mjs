// Tests the table of all exports of @oh-my-pi/pi-natives 13 to 18.2, and our versions of them.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { importsOf, unsupportedImports } from "./exports.mjs";

const table = JSON.parse(readFileSync(new URL("exports.json", import.meta.url), "utf8"));
const modules = {};
for (const from of new Set(table.exports.map((row) => row.from))) modules[from] = await import(`@sinew/pi-natives${from.slice(1)}`);

const refused = { code: "ERR_METHOD_NOT_IMPLEMENTED" };
/** The results of exports that are not supported, with a check of each. */
const ANSWERS = {
  null: async (call) => assert.equal(await call(), null),
  false: (call) => assert.equal(call(), false),
  "resolves to null": async (call) => assert.equal(await call(), null),
  "resolves to an empty list": async (call) => assert.deepEqual(await call(), []),
  "resolves to supported: false": async (call) => assert.equal((await call()).supported, false),
  "an empty list": (call) => assert.deepEqual(call(), []),
  "an empty string": (call) => assert.equal(call(), ""),
  "parsed: false": (call) => assert.deepEqual(call(), { parsed: false, elided: false, totalLines: 2, segments: [{ kind: "kept", startLine: 1, endLine: 2, text: "a\nb\n" }] }),
  "an observer that is never called": (_, value) => (value.start ?? value)(() => assert.fail("called")).stop(),
  "an object without effect": (_, value) => value.start({ idle: true }).stop(),
  "start() resolves to false": async (_, Value) => assert.equal(await new Value({ scheme: "x" }).start(), false),
  "a session whose capabilities are all false": async (_, value) => {
    const session = value.prototype ? Reflect.construct(value.name === "DesktopSession" ? value : Object, [{}]) : undefined;
    const opened = session?.capabilities ? session : value({});
    assert.deepEqual([opened.capabilities.capture, opened.capabilities.input, opened.capabilities.ax, opened.capabilities.displayCount], [false, false, false, 0]);
    await assert.rejects(opened.capture("screen"), refused);
    assert.equal(await opened.close(), undefined);
  },
  rejects: (call) => assert.rejects(call, refused),
  throws: (call, Value) => {
    assert.throws(call, refused);
    assert.throws(() => new Value(), refused);
  },
  "no effect": (call) => assert.equal(call(), undefined),
  "the command unchanged": (_, value) => assert.deepEqual(value("ls | head"), { command: "ls | head", stripped: [] }),
};

for (const { from, name, state, answer } of table.exports) {
  const value = modules[from][name];
  if (state === "absent") {
    test(`${from} ${name} answers: ${answer}`, () => ANSWERS[answer](() => value(name === "editGrammar" ? "hashline" : name === "summarizeCode" ? { code: "a\nb\n" } : "x", "x"), value));
  } else if (state === "missing") {
    test(`${from} ${name} can be imported, and names an alternative when it is used`, async () => {
      const message = new RegExp(`^${name} is not part of @sinew/pi-natives; \\w+`);
      await assert.rejects(async () => value(), { ...refused, message });
    });
  }
}

test("every export of the table exists, and every row has a reason or an answer", () => {
  assert.deepEqual(table.exports.filter(({ from, name }) => modules[from][name] === undefined), []);
  assert.deepEqual(table.exports.filter(({ state, answer, reason }) => !(state === "mapped" || (state === "absent" && answer in ANSWERS) || (state === "missing" && reason))), []);
});

test("an import of an agent that is missing or unknown is reported", () => {
  const source = `import { grep, type GrepMatch, projfsOverlayProbe as probe } from "@oh-my-pi/pi-natives";
    import * as vcs from "@oh-my-pi/pi-natives/vcs"; export { newThing } from '@oh-my-pi/pi-natives';
    const { VcsJjWorkspace } = await import("@oh-my-pi/pi-natives"); vcs.git("."); vcs.blame("."); import type { Anything } from "@oh-my-pi/pi-natives";
    import { x } from "@oh-my-pi/pi-natives/unknown";`;
  const imports = importsOf(source);
  assert.deepEqual(imports.map(({ from, name }) => `${from} ${name}`).sort(), [". VcsJjWorkspace", ". grep", ". newThing", ". projfsOverlayProbe", "./unknown x", "./vcs blame", "./vcs git"]);
  assert.deepEqual(unsupportedImports(table, imports).sort(), [
    ". VcsJjWorkspace: missing (no support of Jujutsu)", ". newThing: not in the table", ". projfsOverlayProbe: missing (Windows only)", "./unknown x: not in the table", "./vcs blame: not in the table",
  ]);
});
