/**
 * The files that a compiled host carries within itself. Empty in the package; `npx sinew-embed` writes the compiled form
 * of this module before a host is compiled, and `npx sinew-embed --reset` makes it empty again.
 * @module
 */

/** One file inside the host: an addon or the supervisor program. */
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

/** Everything that the host carries for its platform. @internal */
export const EMBEDDED: readonly EmbeddedFile[] = [];
