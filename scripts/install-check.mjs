#!/usr/bin/env node
// npm run install-check: installs the packed files in root file systems of Debian, Ubuntu and Alpine without network,
// and runs them there.
import { copyFileSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { FORMS } from "./install/forms.mjs";
import { SYSTEMS, describe, inside, rootOf } from "./install/roots.mjs";
import { ROOT } from "./lib/steps.mjs";
import { CACHE } from "./lib/tools.mjs";

const NAMES = SYSTEMS.map(({ name }) => name);

const HELP = `npm run install-check -- [options]

  --from FOLDER   the release that npm run pack -- --all wrote; default: dist
  --suite NAME    test on this system; can be repeated; default: ${NAMES.join(", ")}
  --form NAME     test this form of installation; can be repeated; default: ${FORMS.map(({ name }) => name).join(", ")}
  --roots FOLDER  keep the root file systems here, up to 350 MB each; default: the cache of the scripts

Requires root and Linux on x64. Each root file system is created once: with debootstrap from the archives of Debian and Ubuntu, and
for Alpine from the image in a Python wheel. Node is the one that runs this script; in Alpine it comes from a wheel for musl. Everything
that was installed is removed again. Alpine for arm64 runs in qemu.
`;

const { values } = parseArgs({
  options: {
    from: { type: "string", default: join(ROOT, "dist") },
    suite: { type: "string", multiple: true, default: NAMES },
    form: { type: "string", multiple: true, default: FORMS.map(({ name }) => name) },
    roots: { type: "string", default: join(CACHE, "roots") },
    help: { type: "boolean", short: "h" },
  },
});

/**
 * The rows of `table` with these `names`, in the table's order. Throws an error that lists all names for an unknown
 * one.
 */
function chosen(table, names, what) {
  const unknown = names.find((name) => !table.some((row) => row.name === name));
  if (unknown) throw new Error(`unknown ${what} "${unknown}": use ${table.map(({ name }) => name).join(", ")}`);
  return table.filter(({ name }) => names.includes(name));
}

/** Installs one form in a root file system. Returns undefined if it works, else the reason. */
function check(root, form, tag) {
  const from = resolve(values.from);
  const all = readdirSync(from);
  const names = form.files(tag).map((pattern) => all.filter((name) => pattern.test(name)));
  const missing = names.findIndex((found) => !found.length);
  if (missing >= 0) return `${from} has no file of the form ${form.files(tag)[missing].source}; run: npm run pack -- --all`;
  const place = join(root.folder, "check");
  rmSync(place, { recursive: true, force: true });
  mkdirSync(place);
  for (const name of names.flat()) copyFileSync(join(from, name), join(place, name));
  for (const path of ["packages/natives/test/smoke.mjs", "scripts/demo.jsonl"]) copyFileSync(join(ROOT, path), join(place, basename(path)));
  try {
    const { status, text } = inside(root, `cd /check\n${form.script(tag)}`);
    return status === 0 ? undefined : `exit code ${status}\n${text.split("\n").slice(-30).join("\n")}`;
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

async function main() {
  if (process.platform !== "linux" || process.arch !== "x64" || process.getuid() !== 0) throw new Error("root on Linux with x64 is required, because this check enters other root file systems");
  const forms = chosen(FORMS, values.form, "form");
  let [passed, failed] = [0, 0];
  for (const system of chosen(SYSTEMS, values.suite, "suite")) {
    const root = await rootOf(system, resolve(values.roots));
    const described = `${describe(root)}${system.emulated ? ", emulated" : ""}`;
    for (const form of forms) {
      const begun = performance.now();
      const lacks = form.needs.find((name) => system.without?.[name]);
      const fault = !lacks && check(root, form, system.tag);
      if (!lacks) fault ? (failed += 1) : (passed += 1);
      const said = lacks ? `skipped, no ${lacks}: ${system.without[lacks]}` : fault ? `failed: ${fault}` : `passed in ${((performance.now() - begun) / 1000).toFixed(1)} s`;
      console.log(`${system.name} (${described})  ${form.name.padEnd(8)} ${said}`);
    }
  }
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed ? 1 : 0;
}

if (values.help) {
  process.stdout.write(HELP);
} else {
  try {
    await main();
  } catch (error) {
    console.error(`install-check: ${error.message}`);
    process.exitCode = 1;
  }
}
