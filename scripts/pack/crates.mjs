// Lists the crates that a program is linked from, for its bill of materials and for the notices that their licences
// require.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ROOT, ask } from "../lib/steps.mjs";
import { report } from "./files.mjs";

/** The crates whose packages are written, by what a bill of materials calls the product. */
export const PRODUCTS = { sinew: "sinew-cli", "sinew-natives": "sinew-node" };

/** The metadata from cargo, read once. */
let asked;
async function metadata() {
  asked ??= ask("cargo", ["metadata", "--locked", "--format-version", "1"]);
  const text = await asked;
  if (!text) throw new Error("cargo metadata --locked failed: update Cargo.lock, or download the crates (cargo fetch)");
  return JSON.parse(text);
}

/** The time of the last commit in seconds, so that the written files do not depend on the current time. */
export async function sourceTime() {
  return Number(process.env.SOURCE_DATE_EPOCH ?? (await ask("git", ["log", "-1", "--format=%ct"])) ?? 0);
}

/**
 * The crates below the crate `root` on all platforms, without those that only build or test: `{ packages, uses }`, both by
 * cargo's id, the root first.
 */
export async function linkedCrates(root) {
  const { packages, resolve } = await metadata();
  const byId = new Map(packages.map((each) => [each.id, each]));
  const nodes = new Map(resolve.nodes.map((node) => [node.id, node]));
  const isMacro = (id) => byId.get(id).targets.some(({ kind }) => kind.includes("proc-macro"));
  const first = packages.find(({ name, source }) => name === root && source === null);
  const linked = new Map();
  const uses = new Map();
  const wanted = [first.id];
  for (let id = wanted.pop(); id; id = wanted.pop()) {
    if (linked.has(id)) continue;
    linked.set(id, byId.get(id));
    const below = nodes.get(id).deps.filter(({ dep_kinds: kinds, pkg }) => kinds.some(({ kind }) => kind === null) && !isMacro(pkg)).map(({ pkg }) => pkg);
    uses.set(id, below);
    wanted.push(...below);
  }
  return { packages: linked, uses };
}

/** The checksums of Cargo.lock, by `name version`. */
function checksums() {
  const text = readFileSync(join(ROOT, "Cargo.lock"), "utf8");
  const rows = text.matchAll(/name = "(.*)"\nversion = "(.*)"\nsource = .*\nchecksum = "(.*)"/g);
  return new Map([...rows].map(([, name, version, sum]) => [`${name} ${version}`, sum]));
}

/** Writes the bill of materials of a product as CycloneDX 1.6. The same source gives the same bytes. */
export async function writeBill(product, { version, out }) {
  const { packages, uses } = await linkedCrates(PRODUCTS[product]);
  const sums = checksums();
  const ref = (id) => `${packages.get(id).name}@${packages.get(id).version}`;
  const component = (id) => {
    const { name, version: own, license, source, repository } = packages.get(id);
    const sum = sums.get(`${name} ${own}`);
    return {
      type: "library",
      "bom-ref": ref(id),
      name,
      version: own,
      ...(sum && { hashes: [{ alg: "SHA-256", content: sum }] }),
      // Old crates use a slash instead of the OR of SPDX.
      ...(license && { licenses: [{ expression: license.replaceAll(/\s*\/\s*/g, " OR ") }] }),
      ...(source && { purl: `pkg:cargo/${name}@${own}` }),
      ...(repository && { externalReferences: [{ type: "vcs", url: repository }] }),
    };
  };
  const ids = [...packages.keys()].sort((a, b) => (ref(a) < ref(b) ? -1 : 1));
  const [root] = packages.keys();
  const bill = {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      timestamp: new Date((await sourceTime()) * 1000).toISOString(),
      component: { ...component(root), type: product === "sinew" ? "application" : "library", name: product, version },
    },
    components: ids.filter((id) => id !== root).map(component),
    dependencies: ids.map((id) => ({ ref: ref(id), dependsOn: [...new Set(uses.get(id).map(ref))].sort() })),
  };
  const path = join(out, `${product}-${version}.cdx.json`);
  writeFileSync(path, `${JSON.stringify(bill, null, 2)}\n`);
  return report(path);
}

const NOTICE = /^(licen[cs]e|copying|copyright|notice|unlicense)/i;

/** The licence texts of the crates that a product is linked from, each text once, below the crates that contain it. */
export async function notices(product) {
  const { packages } = await linkedCrates(PRODUCTS[product]);
  const texts = new Map();
  for (const { name, version, source, manifest_path: manifest, license } of packages.values()) {
    if (source === null) continue;
    const folder = dirname(manifest);
    const files = readdirSync(folder).filter((file) => NOTICE.test(file) && statSync(join(folder, file)).isFile());
    const found = files.map((file) => readFileSync(join(folder, file), "utf8").replaceAll("\r\n", "\n").trim());
    // Some crates do not contain the text of the licence that they name.
    for (const text of found.length ? found : [`(no text in the crate; its licence is ${license})`]) {
      const digest = createHash("sha256").update(text.replaceAll(/\s+/g, " ")).digest("hex");
      const kept = texts.get(digest) ?? { text, crates: [] };
      kept.crates.push(`${name} ${version}`);
      texts.set(digest, kept);
    }
  }
  const parts = [...texts.values()].map(({ text, crates }) => ({ text, heading: crates.sort().join(", ") }));
  parts.sort((a, b) => (a.heading < b.heading ? -1 : 1));
  const line = "-".repeat(80);
  return `${product} is linked from these libraries.\n\n${parts.map(({ text, heading }) => `${line}\n${heading}\n${line}\n\n${text}\n`).join("\n")}`;
}
