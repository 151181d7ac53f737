/**
 * Isolated tasks: each task works in an `IsolatedView` of the directory. The path that the caller chooses becomes a link
 * to the view, which is stored next to it. Views need a Unix system; on Windows the directory is copied.
 * @module
 */
import { constants } from "node:fs";
import { cp, mkdir, readlink, realpath, rm, rmdir, symlink, unlink } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { IsolatedView, type ViewChange } from "@sinew/natives";

/** The backends; only `Rcopy` is available. */
export const IsoBackendKind = { Apfs: 0, Btrfs: 1, Zfs: 2, LinuxReflink: 3, Overlayfs: 4, WindowsBlockClone: 5, Projfs: 6, Rcopy: 7 } as const;
/** The backends. */
export type IsoBackendKind = (typeof IsoBackendKind)[keyof typeof IsoBackendKind];
/** The kinds of changes of a file. */
export const IsoChangeKind = { Added: 0, Modified: 1, Removed: 2 } as const;
/** The kinds of changes of a file. */
export type IsoChangeKind = (typeof IsoChangeKind)[keyof typeof IsoChangeKind];

/** Whether a backend is available. */
export interface IsoProbeResult {
  available: boolean;
  /** Why it is not available. */
  reason?: string;
  kind: IsoBackendKind;
}

/** The backend to use. */
export interface IsoResolveResult {
  kind: IsoBackendKind;
  /** The available backends, beginning with `kind`. */
  candidates: IsoBackendKind[];
  /** True if the preferred backend is not available. */
  fellBack: boolean;
  /** Why it is not available. */
  reason?: string;
}

/** The change of a file in a view. */
export interface IsoFileChange {
  /** The path below the directory. */
  path: string;
  op: IsoChangeKind;
  /** A unified diff with git's headers; absent if the content is binary or too large. */
  diff?: string;
}

/** The changes of a view. */
export interface IsoDiff {
  /** In path order. */
  files: IsoFileChange[];
}

/** Begins the messages of errors about a backend that is not available. */
const UNAVAILABLE = "ISO_UNAVAILABLE:";

/** The original has no limits of its own. */
const NO_LIMIT = 0xffff_ffff;

/** The views that this process uses, by the path that links to them. */
const views = new Map<string, IsolatedView>();

/** Returns the backend that is used by default. */
export function isoBackend(): IsoBackendKind {
  return IsoBackendKind.Rcopy;
}

/** Returns whether an error message means that a backend is not available. */
export function isoIsUnavailableError(message: string): boolean {
  return message.includes(UNAVAILABLE);
}

/** Returns whether a backend is available. */
export function isoProbe(kind?: IsoBackendKind | null): IsoProbeResult {
  const asked = kind ?? IsoBackendKind.Rcopy;
  if (asked === IsoBackendKind.Rcopy) return { available: true, kind: asked };
  const name = Object.entries(IsoBackendKind).find(([, known]) => known === asked)?.[0] ?? asked;
  return { available: false, kind: asked, reason: `${name} is not supported; use Rcopy` };
}

/** Returns the backend to use. */
export function isoResolve(preferred?: IsoBackendKind | null): IsoResolveResult {
  const { available, reason } = isoProbe(preferred);
  return { kind: IsoBackendKind.Rcopy, candidates: [IsoBackendKind.Rcopy], fellBack: !available, ...(reason === undefined ? {} : { reason }) };
}

function invalidState(message: string): Error {
  return Object.assign(new Error(message), { code: "ERR_INVALID_STATE" });
}

/** Returns the handler of an error that ignores some codes. */
function ignoring(...codes: string[]): (error: NodeJS.ErrnoException) => void {
  return (error) => {
    if (!codes.includes(error.code ?? "")) throw error;
  };
}

/** Returns the folder in which the view of a path is stored. It moves with the path if their parent is renamed. */
function homeOf(path: string): string {
  return join(dirname(path), `.${basename(path)}.view`);
}

/** Returns whether a path is a link to its view. */
async function isLinkToView(path: string): Promise<boolean> {
  const target = await readlink(path).catch(() => "");
  return target.split("/")[0] === basename(homeOf(path));
}

/** Removes the folder of a view if no view is in it. */
async function removeHome(home: string): Promise<void> {
  for (const folder of [join(home, "isolated"), home]) await rmdir(folder).catch(ignoring("ENOENT", "ENOTEMPTY", "EEXIST"));
}

/** Returns the view of a path: one of this process, or one that an ended process left; undefined if there is none. */
async function viewAt(path: string): Promise<IsolatedView | undefined> {
  const known = views.get(path);
  if (known) return known;
  const home = homeOf(path);
  const [left] = await IsolatedView.leftovers({ home });
  if (!left) return undefined;
  const view = await IsolatedView.reopen(left.id, { home });
  views.set(path, view);
  return view;
}

/** Removes the view of a path, and the link to it. */
async function discardAt(path: string, operation: string): Promise<void> {
  for (let view = await viewAt(path); view; view = await viewAt(path)) {
    views.delete(path);
    // The caller may have removed or renamed its folder.
    await view.discard().catch(ignoring("ENOENT"));
  }
  if (!(await isLinkToView(path))) return removeHome(homeOf(path));
  const isUsed = await realpath(path).then(() => true, () => false);
  if (isUsed) throw invalidState(`${operation}: another process uses the view of ${path}; end the process first`);
  await unlink(path);
  await removeHome(homeOf(path));
}

/**
 * Makes `merged` a writable copy of `lower`. In a git checkout the copy has its own git directory, and includes
 * uncommitted and untracked files; ignored files are included if the file system can share their data.
 *
 * @throws An error for which {@link isoIsUnavailableError} is true if the backend is not available; an error if `merged`
 *   is not empty; the errors of `IsolatedView.open`.
 */
export async function isoStart(kind: IsoBackendKind | null | undefined, lower: string, merged: string): Promise<void> {
  const { available, reason } = isoProbe(kind);
  if (!available) throw new Error(`${UNAVAILABLE} ${reason}`);
  const path = resolve(merged);
  if (process.platform === "win32") return copyTo(path, lower);
  await discardAt(path, "isoStart");
  await mkdir(dirname(path), { recursive: true });
  const home = homeOf(path);
  let view: IsolatedView | undefined;
  try {
    view = await IsolatedView.open(lower, { home, maxEntries: NO_LIMIT });
    await rmdir(path).catch(({ code }: NodeJS.ErrnoException) => {
      if (code !== "ENOENT") throw invalidState(`isoStart: ${merged} exists and is not an empty directory; choose another path`);
    });
    await symlink(relative(await realpath(dirname(path)), view.path), path);
  } catch (error) {
    await view?.discard();
    await removeHome(home);
    throw error;
  }
  views.set(path, view);
}

async function copyTo(path: string, lower: string): Promise<void> {
  await mkdir(path, { recursive: true });
  await cp(lower, path, { recursive: true, mode: constants.COPYFILE_FICLONE, preserveTimestamps: true, verbatimSymlinks: true });
}

/**
 * Discards the copy with all its changes. Does nothing if there is none.
 *
 * @throws `ERR_INVALID_STATE` if another process uses it; the system's error.
 */
export async function isoStop(_kind: IsoBackendKind | null | undefined, merged: string): Promise<void> {
  const path = resolve(merged);
  return process.platform === "win32" ? rm(path, { recursive: true, force: true }) : discardAt(path, "isoStop");
}

/** Returns a path between quotes, with the escapes of git. */
function quoted(path: string): string {
  const escaped = path.replace(/["\\]/g, "\\$&").replaceAll("\n", "\\n").replaceAll("\t", "\\t");
  return `"${escaped.replace(/[^ -~]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, "0")}`)}"`;
}

/** Returns the first line of the patch of a file. */
function header({ path, bytes = Buffer.from(path) }: ViewChange): string {
  const name = bytes.toString("latin1");
  const isPlain = /^[ !#-[\]-~]*$/.test(name);
  const [before, after] = [`a/${name}`, `b/${name}`].map((side) => (isPlain ? side : quoted(side)));
  return `diff --git ${before} ${after}`;
}

/** Returns what the patches of one file do. */
function operation([patch = "", ...more]: string[]): IsoChangeKind {
  const [, line = ""] = patch.split("\n", 2);
  // A change between a file and a link is a deletion and a creation.
  if (more.length > 0) return IsoChangeKind.Modified;
  return line.startsWith("new file mode") ? IsoChangeKind.Added : line.startsWith("deleted file mode") ? IsoChangeKind.Removed : IsoChangeKind.Modified;
}

/**
 * Returns the changes since {@link isoStart}, without new files that ignore rules exclude.
 *
 * @throws `ERR_INVALID_STATE` if `merged` is not a copy of `lower`, or if another process uses it; the system's error.
 */
export async function isoDiff(lower: string, merged: string): Promise<IsoDiff> {
  const view = process.platform === "win32" ? undefined : await viewAt(resolve(merged));
  if (!view || view.root !== (await realpath(lower))) {
    throw invalidState(`isoDiff: ${merged} is not a view of ${lower} that this process can open; compare the directories with git diff --no-index`);
  }
  const { entries, patch } = await view.changes({ maxPatchBytes: NO_LIMIT });
  const patches = new Map<string, string[]>();
  // One character per byte, because files need not be UTF-8.
  for (const part of patch.toString("latin1").split(/(?<=\n)(?=diff --git )/)) {
    const name = part.slice(0, part.indexOf("\n"));
    patches.set(name, [...(patches.get(name) ?? []), part]);
  }
  const files = entries.flatMap((entry): IsoFileChange[] => {
    const parts = patches.get(header(entry));
    // Directories, and changes of permissions that git does not record, have no patch.
    if (!parts) return [];
    const change = { path: entry.path, op: operation(parts) };
    return [entry.binary ? change : { ...change, diff: Buffer.from(parts.join(""), "latin1").toString() }];
  });
  return { files };
}
