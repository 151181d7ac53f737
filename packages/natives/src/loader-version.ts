/**
 * The version that an addon must carry. Written out, because a bundle of the package has no `package.json` beside it; a test
 * holds it equal to the package's.
 * @module
 */

/** The version of this package. @internal */
export const VERSION: string = "0.1.0";
