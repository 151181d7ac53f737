// Compares the table of exports with the published types of the original.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import * as natives from "@sinew/pi-natives";
import { TYPES, installedAgents } from "./agents.mjs";

const modules = installedAgents("types");
const table = JSON.parse(readFileSync(new URL("../../packages/pi-natives/test/exports.json", import.meta.url), "utf8"));

/** The values that a version declares, as `MODULE NAME`. Names that begin with two underscores are for its own loader. */
function declared(version) {
  const folder = join(modules, `natives-${version}`);
  const { exports } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return Object.entries(exports).flatMap(([from, { types }]) => {
    const text = readFileSync(join(folder, types), "utf8");
    return [...text.matchAll(/^export declare (?:class|function|enum|const) (?!__)(\w+)/gm)].map(([, name]) => `${from} ${name}`);
  });
}

const position = (version) => table.versions.indexOf(version);

for (const version of TYPES) {
  test(`the table has exactly the exports of pi-natives ${version}`, () => {
    const rows = table.exports.filter(({ since, until }) => position(since) <= position(version) && (until === undefined || position(version) <= position(until)));
    assert.ok(position(version) >= 0);
    assert.deepEqual(rows.map(({ from, name }) => `${from} ${name}`).sort(), [...new Set(declared(version))].sort());
  });
}

/** Instances of classes that have a field among their members. */
const INSTANCES = { HighlightStream: new natives.HighlightStream("rust", {}) };

test("classes have the members of the original's", () => {
  const text = readFileSync(join(modules, `natives-${TYPES.at(-1)}`, "native", "index.d.ts"), "utf8");
  const missing = [];
  for (const [, name, body] of text.matchAll(/^export declare class (\w+) \{\n([^]*?)^\}/gm)) {
    const { state, answer } = table.exports.find((row) => row.from === "." && row.name === name);
    if (state === "missing" || answer === "throws") continue;
    for (const [, isStatic, member] of body.matchAll(/^ {2}(static )?(?:get )?(?!constructor)(\w+)\(/gm)) {
      if (!(member in (isStatic ? natives[name] : (INSTANCES[name] ?? natives[name].prototype)))) missing.push(`${name}.${member}`);
    }
  }
  assert.deepEqual(missing, []);
});
