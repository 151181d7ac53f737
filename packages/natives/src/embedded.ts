/**
 * The files that are embedded in a compiled host. Empty in the package: `npx sinew-embed` writes the compiled form of
 * this module before a host is compiled, and `npx sinew-embed --reset` empties it again.
 * @module
 */

/** An embedded file: an addon or the supervisor program. */
export interface EmbeddedFile {
  /** Its file name, as in a platform package. */
  readonly name: string;
  /** Its size in bytes. */
  readonly size: number;
  /** Its SHA-256 in lower-case hexadecimal. */
  readonly sha256: string;
  /** Its bytes. */
  readonly read: () => Uint8Array;
}

/** All embedded files for the host's platform. @internal */
export const EMBEDDED: readonly EmbeddedFile[] = [];
