// Tests the reference: every export has a doc comment, every value has an example, and each example runs.
import assert from "node:assert/strict";
import { cpus } from "node:os";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import ts from "typescript";
import { PACKAGE, install, lacking, run, temporary } from "./host.mjs";

const INDEX = join(PACKAGE, "src", "index.ts");

// Reading the standard types would take seconds and is not needed for these exports.
const program = ts.createProgram([INDEX], { noLib: true, types: [], module: ts.ModuleKind.Node16, moduleResolution: ts.ModuleResolutionKind.Node16 });
const checker = program.getTypeChecker();

const text = (parts) => ts.displayPartsToString(parts).trim();

/** The exports of the package with their name, declarations, doc comment and examples. */
const exported = checker
  .getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(INDEX)))
  .map((symbol) => ({ name: symbol.name, target: symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol }))
  .filter(({ target }) => !isInternal(target))
  .map(({ name, target }) => ({
    name,
    target,
    isValue: Boolean(target.flags & ts.SymbolFlags.Value),
    said: text(target.getDocumentationComment(checker)),
    examples: examplesOf(target),
  }));

function examplesOf(symbol) {
  const tags = symbol.getJsDocTags(checker).filter((tag) => tag.name === "example");
  return tags.map((tag) => /^```js\n([^]*)\n```$/.exec(text(tag.text))?.[1]);
}

function isInternal(symbol) {
  return symbol.getJsDocTags(checker).some((tag) => tag.name === "internal");
}

const isHidden = (declaration) => Boolean(ts.getCombinedModifierFlags(declaration) & ts.ModifierFlags.Private) || ts.isPrivateIdentifier(declaration.name ?? declaration);

/** The public members of a class, an interface or an enum. */
function membersOf(symbol) {
  return [...(symbol.members?.values() ?? []), ...(symbol.exports?.values() ?? [])].filter(
    (member) => member.declarations?.length && member.name !== "prototype" && !isHidden(member.declarations[0]) && !isInternal(member),
  );
}

/** The example as a module in which `expression; // value` becomes a check of the value. */
function checked(source) {
  const file = ts.createSourceFile("example.mjs", source, ts.ScriptTarget.Latest, true, ts.ScriptKind.JS);
  let out = "";
  let from = 0;
  let checks = 0;
  for (const statement of file.statements) {
    const shown = /^[ \t]*\/\/ (.*)/.exec(source.slice(statement.end))?.[1];
    if (!ts.isExpressionStatement(statement) || shown === undefined) continue;
    const { expression } = statement;
    if (ts.isCallExpression(expression) && expression.expression.getText() === "console.log") continue;
    out += `${source.slice(from, statement.getStart())}__assert.deepEqual(${expression.getText()}, ${shown});`;
    from = statement.end;
    checks++;
  }
  return { checks, source: `import __assert from "node:assert/strict";\n${out}${source.slice(from)}\n` };
}

test("every export and every member of one says what it is", () => {
  assert.ok(exported.length > 60, `${exported.length} exports found`);
  const silent = [];
  for (const { name, target, said } of exported) {
    if (said === "") silent.push(name);
    for (const member of membersOf(target)) {
      // A constructor documents its parameters and errors, and the class documents what it creates.
      if (text(member.getDocumentationComment(checker)) === "" && !(member.flags & ts.SymbolFlags.Constructor)) silent.push(`${name}.${member.name}`);
    }
  }
  assert.deepEqual(silent, []);
});

test("every option that may be left out says what holds then", () => {
  const silent = exported
    .filter(({ name }) => name.endsWith("Options"))
    .flatMap(({ name, target }) => membersOf(target).filter((member) => member.flags & ts.SymbolFlags.Optional).map((member) => [name, member]))
    .filter(([, member]) => !/\b(Default|beats)\b/.test(text(member.getDocumentationComment(checker))))
    .map(([name, member]) => `${name}.${member.name}`);
  assert.deepEqual(silent, []);
});

test("every function, class and constant has an example that names it and imports what it uses", () => {
  const values = exported.filter(({ isValue }) => isValue);
  assert.ok(values.length > 35, `${values.length} values found`);
  const without = values.filter(({ name, examples }) => {
    const uses = new RegExp(`^import \\{[^}]*\\b${name}\\b[^}]*\\} from "@sinew/natives";$`, "m");
    return !examples.length || examples.some((example) => example === undefined || !uses.test(example));
  });
  assert.deepEqual(without.map(({ name }) => name), []);
});

test("every example runs, and the values beside it are those that it gives", async (t) => {
  const folder = temporary(t);
  install(folder, "natives");
  mkdirSync(join(folder, "src"));
  writeFileSync(join(folder, "src", "a.ts"), "// TODO: more\n");
  const examples = exported.flatMap(({ name, target, examples: own }) => [
    ...own.map((source) => ({ name, source })),
    ...membersOf(target).flatMap((member) => examplesOf(member).map((source) => ({ name: `${name}.${member.name}`, source }))),
  ]);
  const all = examples.map(({ name, source }, index) => ({ name, index, ...checked(source ?? "throw new Error('not fenced as ```js')") }));
  const work = all.filter(({ source }) => !lacking(source));
  const left = all.length - work.length;
  assert.ok(work.filter(({ checks }) => checks).length >= 15, "the values beside examples are recognised");
  const failures = [];
  const one = async () => {
    for (let next = work.shift(); next; next = work.shift()) {
      const file = join(folder, `${next.index}.mjs`);
      writeFileSync(file, next.source);
      // The tests must not use the user's clipboard.
      const { code, signal, err } = await run(process.execPath, [file], { cwd: folder, env: { DISPLAY: "" } });
      if (code !== 0) failures.push(`${next.name}: ${signal ?? err.trim()}`);
    }
  };
  await Promise.all(Array.from({ length: Math.max(2, cpus().length) }, one));
  assert.deepEqual(failures, []);
  t.diagnostic(`${examples.length} examples${left ? `, ${left} of them left out: this system lacks what they run` : ""}`);
});
