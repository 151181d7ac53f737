/**
 * Copies of a directory for isolated tasks. Of the original's backends, only the copying one is supported. It shares
 * blocks if the file system supports that.
 * @module
 */
import { constants } from "node:fs";
import { cp, mkdir, rm } from "node:fs/promises";

/** The backends; only `Rcopy` is available. */
export const IsoBackendKind = { Apfs: 0, Btrfs: 1, Zfs: 2, LinuxReflink: 3, Overlayfs: 4, WindowsBlockClone: 5, Projfs: 6, Rcopy: 7 } as const;
/** The backends. */
export type IsoBackendKind = (typeof IsoBackendKind)[keyof typeof IsoBackendKind];
/** The kinds of changes of a file. */
export const IsoChangeKind = { Added: 0, Modified: 1, Removed: 2 } as const;
/** The kinds of changes of a file. */
export type IsoChangeKind = (typeof IsoChangeKind)[keyof typeof IsoChangeKind];

const UNAVAILABLE = "isolation backend unavailable";

/** Returns the backend that is used by default. */
export function isoBackend(): IsoBackendKind {
  return IsoBackendKind.Rcopy;
}

/** Returns whether an error message means that a backend is not available. */
export function isoIsUnavailableError(message: string): boolean {
  return message.startsWith(UNAVAILABLE);
}

/** Returns whether a backend is available. */
export function isoProbe(kind?: IsoBackendKind | null): { available: boolean; reason?: string; kind: IsoBackendKind } {
  const asked = kind ?? IsoBackendKind.Rcopy;
  return asked === IsoBackendKind.Rcopy ? { available: true, kind: asked } : { available: false, kind: asked, reason: `${UNAVAILABLE}: this package only copies` };
}

/** Returns the backend to use. */
export function isoResolve(preferred?: IsoBackendKind | null): { kind: IsoBackendKind; candidates: IsoBackendKind[]; fellBack: boolean; reason?: string } {
  const { available, reason } = isoProbe(preferred);
  return { kind: IsoBackendKind.Rcopy, candidates: [IsoBackendKind.Rcopy], fellBack: !available, ...(reason === undefined ? {} : { reason }) };
}

/** Copies `lower` to `merged`. */
export async function isoStart(kind: IsoBackendKind | null | undefined, lower: string, merged: string): Promise<void> {
  const { available, reason } = isoProbe(kind);
  if (!available) throw new Error(reason);
  await mkdir(merged, { recursive: true });
  await cp(lower, merged, { recursive: true, mode: constants.COPYFILE_FICLONE, preserveTimestamps: true, verbatimSymlinks: true });
}

/** Removes the copy. */
export async function isoStop(_kind: IsoBackendKind | null | undefined, merged: string): Promise<void> {
  await rm(merged, { recursive: true, force: true });
}
