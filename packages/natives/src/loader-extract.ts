/**
 * Extracts the embedded files of a compiled host to a directory from which the system can load them.
 *
 * A file is written under a unique name, synced and renamed, so that other processes see the old file, the new one or
 * none. After its digest was checked once, its modification time is set to a value derived from the digest. As long as
 * size and time match, the file counts as complete without being read again.
 * @module
 */
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { homedir, tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import { threadId } from "node:worker_threads";
import type { EmbeddedFile } from "./embedded.js";

/** An older partial file belongs to a process that ended while it was writing. */
const STALE_PART_MS = 3_600_000;

/**
 * Returns the directory for data of this user's programs.
 * @internal
 */
export function dataFolder(platform: string, env: NodeJS.ProcessEnv): string {
  const set = env[platform === "win32" ? "LOCALAPPDATA" : "XDG_DATA_HOME"];
  if (set && isAbsolute(set) && platform !== "darwin") return set;
  if (platform === "darwin") return join(homedir(), "Library", "Application Support");
  return platform === "win32" ? join(homedir(), "AppData", "Local") : join(homedir(), ".local", "share");
}

/**
 * Returns a private directory below the system's temporary one, in case the home directory is read-only or programs in
 * it cannot be executed.
 * @throws If another user owns the directory or can write to it.
 * @internal
 */
export function privateTemporary(): string {
  const user = process.getuid?.();
  const folder = join(tmpdir(), user === undefined ? "sinew-data" : `sinew-data-${user}`);
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  const stat = fs.lstatSync(folder);
  if (!stat.isDirectory() || (user !== undefined && (stat.uid !== user || (stat.mode & 0o022) !== 0))) {
    throw new Error(`${folder} belongs to another user, or others can write to it; remove it`);
  }
  return folder;
}

/** Returns a modification time, in seconds, derived from a digest. Real changes are unlikely to have this time. */
function mark(file: EmbeddedFile): number {
  return parseInt(file.sha256.slice(0, 7), 16) + 1;
}

function digest(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Returns whether the file at `path` is the embedded one. Needs one `stat` if its modification time is set. */
function whole(path: string, file: EmbeddedFile): boolean {
  const stat = fs.statSync(path, { throwIfNoEntry: false });
  if (!stat?.isFile() || stat.size !== file.size) return false;
  if (stat.mtimeMs === mark(file) * 1000) return true;
  if (digest(fs.readFileSync(path)) !== file.sha256) return false;
  try {
    fs.utimesSync(path, mark(file), mark(file));
  } catch {
    // The directory is read-only, or has another owner. The file is complete anyway, and is read again the next time.
  }
  return true;
}

function write(path: string, file: EmbeddedFile): void {
  const bytes = file.read();
  if (bytes.length !== file.size || digest(bytes) !== file.sha256) {
    throw new Error(`the embedded ${file.name} is damaged: run npx sinew-embed, and compile the program again`);
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
    // Windows does not replace a loaded file, which is fine if another process has just written the same content.
    if (!whole(path, file)) throw cause;
  }
}

/** Removes partial files of processes that were killed while writing. */
function sweep(folder: string): void {
  const limit = Date.now() - STALE_PART_MS;
  for (const name of fs.readdirSync(folder)) {
    if (!name.endsWith(".part")) continue;
    const path = join(folder, name);
    const stat = fs.statSync(path, { throwIfNoEntry: false });
    // Uses the change time, because the modification time may already be the derived one.
    if (stat && stat.ctimeMs < limit) fs.rmSync(path, { force: true });
  }
}

/**
 * Ensures that `folder` contains all `files` completely. Existing complete files are not written again.
 * @throws If the directory or a file cannot be written.
 * @internal
 */
export function extract(folder: string, files: readonly EmbeddedFile[]): void {
  const lacking = files.filter((file) => !whole(join(folder, file.name), file));
  if (lacking.length === 0) return;
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  sweep(folder);
  for (const file of lacking) write(join(folder, file.name), file);
}
