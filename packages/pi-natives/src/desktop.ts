/**
 * The desktop, which is not part of this package.
 * @module
 */
import { DesktopSession } from "./missing.js";

/** Throws: see `DesktopSession`. */
export function createDesktopSession(options: unknown): never {
  return DesktopSession(options) as never;
}
