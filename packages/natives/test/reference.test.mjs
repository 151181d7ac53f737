// The reference is the doc comments: each export and each member says what it is; functions and classes have an example that runs.
import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { PACKAGE, run, temporary } from "./host.mjs";

const ts = createRequire(import.meta.url)("typescript");

const program = ts.createProgram([join(PACKAGE, "src", "index.ts")], { strict: true, target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.Node16, moduleResolution: ts.ModuleResolutionKind.Node16, stripInternal: true });
const checker = program.getTypeChecker();

/** Every export with its own declaration. */
const exported = checker
  .getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(join(PACKAGE, "src", "index.ts"))))
  .map((symbol) => (symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol));

const description = (symbol) => ts.displayPartsToString(symbol.getDocumentationComment(checker)).trim();
const tags = (symbol, name) => symbol.getJsDocTags(checker).filter((tag) => tag.name === name).map((tag) => ts.displayPartsToString(tag.text));
const internal = (symbol) => tags(symbol, "internal").length > 0;
const isPrivate = (symbol) => symbol.declarations?.some((each) => ts.getCombinedModifierFlags(each) & ts.ModifierFlags.Private || (each.name && ts.isPrivateIdentifier(each.name)));
const isOurs = (symbol) => symbol.declarations?.some((each) => each.getSourceFile().fileName.includes("/packages/natives/src/"));

/** An export and, of classes and shapes, its members. */
function* described(symbol) {
  yield [symbol.name, symbol];
  for (const member of [...(symbol.members?.values() ?? []), ...(symbol.flags & ts.SymbolFlags.Class ? (symbol.exports?.values() ?? []) : [])]) {
    const named = member.flags & (ts.SymbolFlags.Property | ts.SymbolFlags.Method | ts.SymbolFlags.Accessor);
    if (named && !isPrivate(member) && !internal(member) && isOurs(member) && member.name !== "prototype") yield [`${symbol.name}.${member.name}`, member];
  }
}

const callable = exported.filter((symbol) => symbol.flags & (ts.SymbolFlags.Function | ts.SymbolFlags.Class) && !internal(symbol));

test("every export and every member has a description", () => {
  assert.ok(callable.length > 30, `${callable.length} functions and classes`);
  const bare = exported.filter((symbol) => !internal(symbol)).flatMap((symbol) => [...described(symbol)]).filter(([, symbol]) => description(symbol) === "");
  assert.deepEqual(bare.map(([name]) => name), []);
});

for (const symbol of callable) {
  test(`the example of ${symbol.name} runs`, async (t) => {
    const examples = tags(symbol, "example");
    assert.ok(examples.length > 0, "there is an example");
    const folder = temporary(t);
    mkdirSync(join(folder, "node_modules", "@sinew"), { recursive: true });
    symlinkSync(PACKAGE, join(folder, "node_modules", "@sinew", "natives"), "junction");
    // What examples search and show.
    mkdirSync(join(folder, "src"));
    writeFileSync(join(folder, "src", "index.ts"), "// TODO: say more\nexport const answer = 42;\n");
    writeFileSync(join(folder, "README.md"), "# Example\n");
    const gif = Buffer.from("R0lGODlhAQABAIAAAP8AAP///yH5BAAAAAAALAAAAAABAAEAAAICRAEAOw==", "base64");
    for (const name of ["photo.jpg", "photo.png", "picture.png", "image.png", "in.png", "screenshot.png"]) writeFileSync(join(folder, name), gif);
    writeFileSync(join(folder, "page.html"), "<h1>Title</h1>");
    for (const [i, example] of examples.entries()) {
      const code = /^```js\n([^]*?)\n```$/.exec(example.trim())?.[1];
      assert.ok(code, `fenced as js:\n${example}`);
      assert.match(code, new RegExp(`\\b${symbol.name}\\b`));
      writeFileSync(join(folder, `example${i}.mjs`), code);
      const { code: status, signal, err } = await run(process.execPath, [`example${i}.mjs`], { cwd: folder });
      assert.equal(status, 0, `${signal ?? ""} ${err}\n${code}`);
    }
  });
}
