/**
 * Writes the files that a compiled host carries to a folder from which the system can load them.
 *
 * A file is written under a name of its own, synced and renamed, so that whoever looks meanwhile sees the old file, the new one
 * or none. After the first check of its digest its time of change is set to a value made of the digest: as long as size
 * and time agree, it is taken as whole without being read again.
 * @module
 */
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { homedir, tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import { threadId } from "node:worker_threads";
import type { EmbeddedFile } from "./embedded.js";

/** A part that is older is of a process that died while it wrote. */
const STALE_PART_MS = 3_600_000;

/**
 * The folder in which programs of this user keep data.
 * @internal
 */
export function dataFolder(platform: string, env: NodeJS.ProcessEnv): string {
  const set = env[platform === "win32" ? "LOCALAPPDATA" : "XDG_DATA_HOME"];
  if (set && isAbsolute(set) && platform !== "darwin") return set;
  if (platform === "darwin") return join(homedir(), "Library", "Application Support");
  return platform === "win32" ? join(homedir(), "AppData", "Local") : join(homedir(), ".local", "share");
}

/**
 * A folder of this user alone below the system's temporary one, for a home that is read-only or may hold no programs.
 * @throws Where somebody else owns the folder or may write to it.
 * @internal
 */
export function privateTemporary(): string {
  const user = process.getuid?.();
  const folder = join(tmpdir(), user === undefined ? "sinew-data" : `sinew-data-${user}`);
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  const stat = fs.lstatSync(folder);
  if (!stat.isDirectory() || (user !== undefined && (stat.uid !== user || (stat.mode & 0o022) !== 0))) {
    throw new Error(`${folder} belongs to another user or is open to others; remove it`);
  }
  return folder;
}

/** Seconds since 1970 that stand for a digest: any value that a real change would hardly give. */
function mark(file: EmbeddedFile): number {
  return parseInt(file.sha256.slice(0, 7), 16) + 1;
}

function digest(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Returns whether the file at `path` is the embedded one. Costs one `stat` when its mark is set. */
function whole(path: string, file: EmbeddedFile): boolean {
  const stat = fs.statSync(path, { throwIfNoEntry: false });
  if (!stat?.isFile() || stat.size !== file.size) return false;
  if (stat.mtimeMs === mark(file) * 1000) return true;
  if (digest(fs.readFileSync(path)) !== file.sha256) return false;
  try {
    fs.utimesSync(path, mark(file), mark(file));
  } catch {
    // A read-only folder, or another owner: the file is whole all the same, and will be read again the next time.
  }
  return true;
}

function write(path: string, file: EmbeddedFile): void {
  const bytes = file.read();
  if (bytes.length !== file.size || digest(bytes) !== file.sha256) {
    throw new Error(`the embedded ${file.name} is damaged: compile the program again after: npx sinew-embed`);
  }
  const part = `${path}.${process.pid}-${threadId}-${process.hrtime.bigint()}.part`;
  try {
    const fd = fs.openSync(part, "wx", 0o755);
    try {
      fs.writeFileSync(fd, bytes);
      fs.futimesSync(fd, mark(file), mark(file));
      fs.fsyncSync(fd);
    } finally {
      fs.closeSync(fd);
    }
    fs.renameSync(part, path);
  } catch (cause) {
    fs.rmSync(part, { force: true });
    // Windows refuses to replace a file that is loaded: fine when another process has just written the same.
    if (!whole(path, file)) throw cause;
  }
}

/** Removes what a process left that was killed while it wrote. */
function sweep(folder: string): void {
  const limit = Date.now() - STALE_PART_MS;
  for (const name of fs.readdirSync(folder)) {
    if (!name.endsWith(".part")) continue;
    const path = join(folder, name);
    const stat = fs.statSync(path, { throwIfNoEntry: false });
    // The change time: the time of writing is the mark from early on.
    if (stat && stat.ctimeMs < limit) fs.rmSync(path, { force: true });
  }
}

/**
 * Makes `folder` hold every one of `files`, whole. Files that are there already are not written again.
 * @throws When the folder or a file cannot be written.
 * @internal
 */
export function extract(folder: string, files: readonly EmbeddedFile[]): void {
  const lacking = files.filter((file) => !whole(join(folder, file.name), file));
  if (lacking.length === 0) return;
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  sweep(folder);
  for (const file of lacking) write(join(folder, file.name), file);
}
