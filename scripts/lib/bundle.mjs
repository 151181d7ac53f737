// Joins the modules of @sinew/natives into dist/index.js: one file of 70 KB loads in a fraction of the time that forty
// take.
import { join } from "node:path";

/** Modules that stay separate: `embedded` is rewritten for compiled hosts, and only those need `loader-extract`. */
const SEPARATE = ["embedded", "loader-extract"];

/** The files of `dist` that `index.js` requires. */
export const BESIDE = SEPARATE.map((name) => `${name}.js`);

/**
 * Writes `index.js` with its source map, and the modules beside it, from the TypeScript in `source` to `dist`.
 * Names are kept, so that stack traces name functions.
 */
export async function bundle(source, dist) {
  // Imported here, because scripts that install esbuild import this module too.
  const { buildSync } = await import("esbuild");
  const options = { platform: "node", format: "cjs", target: "node20", logLevel: "error", legalComments: "none" };
  for (const name of SEPARATE) buildSync({ ...options, entryPoints: [join(source, `${name}.ts`)], outfile: join(dist, `${name}.js`) });
  buildSync({
    ...options,
    entryPoints: [join(source, "index.ts")],
    outfile: join(dist, "index.js"),
    bundle: true,
    external: SEPARATE.map((name) => `./${name}.js`),
    minifyWhitespace: true,
    minifySyntax: true,
    sourcemap: "linked",
    sourcesContent: false,
  });
}
