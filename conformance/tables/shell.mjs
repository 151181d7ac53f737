// Scripts of brush and of Oils with the output of bash 5.2, in both engines. The bash engine must get nearly all right.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { inParallel } from "../../scripts/lib/parallel.mjs";

const AT_ONCE = 6;
// A script that hangs counts as wrong. No script may exceed its limit by more than this.
const LIMIT_MS = 8000;
const SLACK_MS = 2500;

const SHIM = `#!/usr/bin/env python3
import sys
print(repr(sys.argv[1:]))
`;

async function answer(natives, engine, shim, { script, files = {}, env = {} }) {
  const home = mkdtempSync(join(tmpdir(), "sinew-case-"));
  const out = join(shim, `out-${home.slice(-6)}`);
  for (const [name, { text, b64, exec }] of Object.entries(files)) {
    mkdirSync(dirname(join(home, name)), { recursive: true });
    writeFileSync(join(home, name), b64 ? Buffer.from(b64, "base64") : (text ?? ""), { mode: exec ? 0o755 : 0o644 });
  }
  writeFileSync(out, "");
  const begun = performance.now();
  const result = await natives.executeShell({
    engine,
    command: `{\n${script}\n} >"$__OUT" 2>/dev/null`,
    cwd: home,
    sessionEnv: { HOME: home, TMPDIR: home, TZ: "UTC", LC_ALL: "C.UTF-8", PATH: `${shim}:/usr/local/bin:/usr/bin:/bin`, __OUT: out, ...env },
    timeoutMs: LIMIT_MS,
  });
  const late = performance.now() - begun > LIMIT_MS + SLACK_MS;
  const stdout = readFileSync(out, "utf8");
  rmSync(out);
  rmSync(home, { recursive: true, force: true });
  return { exit: result.exitCode ?? (result.signal === "SIGKILL" ? -9 : undefined), stdout, late };
}

/**
 * Returns a row per case and engine. Rows of brush have the tier `brush TIER`, but `A` for a hazardous case that took too
 * long.
 */
export async function run(table, natives) {
  const shim = mkdtempSync(join(tmpdir(), "sinew-shim-"));
  writeFileSync(join(shim, "argv.py"), SHIM, { mode: 0o755 });
  const work = ["bash", "brush"].flatMap((engine) => table.cases.map((item, at) => ({ engine, item, at })));
  const rows = await inParallel(work, AT_ONCE, async ({ engine, item, at }) => {
    const got = await answer(natives, engine, shim, item);
    const pass = got.exit === item.exit && got.stdout === item.stdout && !got.late;
    const detail = got.late ? "took too long" : `exit ${got.exit}, not ${item.exit}; ${JSON.stringify(got.stdout.slice(0, 100))}, not ${JSON.stringify(item.stdout.slice(0, 100))}`;
    const tier = engine === "bash" ? item.tier : item.hazard && got.late ? "A" : `brush ${item.tier}`;
    return { id: `${engine} ${at} ${item.test}`, tier, pass, detail };
  });
  rmSync(shim, { recursive: true, force: true });
  return rows;
}

/** Checks that 99.5 % pass in bash and 84 % in the embedded interpreter. */
export function gate(rows) {
  for (const [engine, share] of [["bash", 0.995], ["brush", 0.84]]) {
    const asked = rows.filter((row) => row.id.startsWith(`${engine} `));
    const passed = asked.filter((row) => row.pass).length;
    if (passed < share * asked.length) throw new Error(`${engine}: ${passed} of ${asked.length} pass, ${share * 100} % must`);
  }
}
