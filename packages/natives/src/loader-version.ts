/**
 * The version that an addon must have. It is a constant, because a bundle of the package has no `package.json` next to
 * it; a test checks that it equals the version of the package.
 * @module
 */

/** The version of this package. @internal */
export const VERSION: string = "0.1.0";
