// Lists the npm packages of a release and what they install, for a bill of materials.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PLATFORMS } from "../lib/platforms.mjs";
import { ROOT } from "../lib/steps.mjs";
import { AGENT_PLATFORMS } from "./agent.mjs";
import { sourceTime } from "./crates.mjs";
import { manifestOf, report } from "./files.mjs";

/** Packages of the workspace with the platforms whose programs they install. */
const OWN = { natives: PLATFORMS, sinew: AGENT_PLATFORMS, tokens: [], "pi-natives": [] };
/** The bill of the crates that a package's programs are linked from. */
const CRATES = { natives: "sinew-natives", sinew: "sinew" };

const purl = ({ name, version }) => `pkg:npm/${name.replace("@", "%40")}@${version}`;

/**
 * All packages by name: `{ name, version, license, needs, crates?, integrity? }`. Others' packages have the locked
 * version.
 */
function packages() {
  const { packages: locked } = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8"));
  const known = new Map();
  const others = [];
  for (const [folder, platforms] of Object.entries(OWN)) {
    const { name, version, license, dependencies = {} } = manifestOf(join(ROOT, "packages", folder));
    const parts = platforms.map(({ tag }) => `${name}-${tag}`);
    known.set(name, { name, version, license, needs: [...Object.keys(dependencies), ...parts] });
    for (const part of parts) known.set(part, { name: part, version, license, needs: [], crates: CRATES[folder] });
    others.push(...Object.keys(dependencies));
  }
  for (let name = others.pop(); name; name = others.pop()) {
    if (known.has(name)) continue;
    const { version, license, integrity, dependencies = {} } = locked[`node_modules/${name}`];
    known.set(name, { name, version, license, integrity, needs: Object.keys(dependencies) });
    others.push(...Object.keys(dependencies));
  }
  return known;
}

/** Writes the bill of materials of the npm packages as CycloneDX 1.6. The same source gives the same bytes. */
export async function writeNpmBill({ version, out }) {
  const known = packages();
  const component = ({ name, version: own, license, integrity, crates }) => ({
    type: "library",
    "bom-ref": purl({ name, version: own }),
    ...(name.startsWith("@") && { group: name.split("/")[0] }),
    name: name.split("/").at(-1),
    version: own,
    ...(integrity && { hashes: [{ alg: "SHA-512", content: Buffer.from(integrity.replace("sha512-", ""), "base64").toString("hex") }] }),
    ...(license && { licenses: [{ expression: license }] }),
    purl: purl({ name, version: own }),
    ...(crates && { externalReferences: [{ type: "bom", url: `${crates}-${version}.cdx.json` }] }),
  });
  const rows = [...known.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  const bill = {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { timestamp: new Date((await sourceTime()) * 1000).toISOString(), component: { type: "library", "bom-ref": "sinew-npm", name: "sinew-npm", version } },
    components: rows.map(component),
    dependencies: rows.map((row) => ({ ref: purl(row), dependsOn: row.needs.map((name) => purl(known.get(name))).sort() })),
  };
  const path = join(out, `sinew-npm-${version}.cdx.json`);
  writeFileSync(path, `${JSON.stringify(bill, null, 2)}\n`);
  return report(path);
}
