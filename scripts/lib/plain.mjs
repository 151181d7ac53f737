// A search in plain JavaScript that does the same work as ours, for a fair comparison.
import { readFile, readdir } from "node:fs/promises";
import { join, relative, sep } from "node:path";

/** Returns the result of some work, and how long it took. */
export async function timed(work) {
  const begun = performance.now();
  const result = await work();
  return { result, ms: performance.now() - begun };
}

/**
 * Lists the files below a folder as a plain program would, without the time for ignore rules: `kept` says which files
 * it lists and which folders it enters, relative to `folder`.
 */
async function walk(folder, at, kept) {
  const found = [];
  for (const entry of await readdir(at, { withFileTypes: true })) {
    const path = join(at, entry.name);
    const name = relative(folder, path);
    if (entry.isDirectory()) {
      if (kept.folders.has(name)) found.push(...(await walk(folder, path, kept)));
    } else if (kept.files.has(name)) found.push({ path, link: entry.isSymbolicLink() });
  }
  return found;
}

/** The number of lines in a file that contain a word; 0 for a file with a NUL byte, which is binary. */
async function count(path, word) {
  const bytes = await readFile(path);
  if (bytes.includes(0)) return 0;
  const lines = bytes.toString("utf8").split("\n");
  return lines.filter((line) => line.includes(word)).length;
}

/**
 * Searches `folder` for a word and lists the files with an extension, with Sinew and in plain JavaScript, on the same
 * files.
 */
export async function compare({ grep, glob }, folder, word, ending) {
  // The files are determined before anything is timed.
  const { matches } = await glob({ pattern: "**/*", path: folder, hidden: true, gitignore: true, fileType: 1 });
  const files = new Set(matches.map((match) => match.path.split("/").join(sep)));
  const folders = new Set();
  for (const file of files) {
    for (let end = file.lastIndexOf(sep); end > 0; end = file.lastIndexOf(sep, end - 1)) folders.add(file.slice(0, end));
  }
  const kept = { files, folders };
  const plainGrep = async () => {
    let sum = 0;
    // The target of a link is searched in its own place, if at all.
    for (const { path, link } of await walk(folder, folder, kept)) sum += link ? 0 : await count(path, word);
    return sum;
  };
  const plainGlob = async () => (await walk(folder, folder, kept)).filter(({ path }) => path.endsWith(ending)).length;
  const both = async (ours, plain) => {
    const [mine, other] = [await timed(ours), await timed(plain)];
    return { ours: mine, plain: { ms: other.ms, count: other.result } };
  };
  return {
    files: files.size,
    grep: await both(() => grep({ pattern: word, path: folder, literal: true }), plainGrep),
    glob: await both(() => glob({ pattern: `**/*${ending}`, path: folder, hidden: true, fileType: 1 }), plainGlob),
  };
}
