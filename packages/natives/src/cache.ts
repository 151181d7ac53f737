/**
 * The scans of folders that `grep`, `glob` and `fuzzyFind` share with `cache: true`.
 * @module
 */
import { native } from "./loader.js";
import { text } from "./options.js";

/**
 * Forgets scans, so that the next call with `cache: true` reads the disk again: all of them, or those whose folder is
 * `path`, lies above or below it. Call it after writing, moving (with both paths) or deleting. A relative path counts from
 * the working directory; of a path that no longer exists the folders above it count.
 *
 * Scans are kept for `FS_SCAN_CACHE_TTL_MS` (1000; 0 keeps none), at most `FS_SCAN_CACHE_MAX_ENTRIES` (16); one that is
 * older than `FS_SCAN_EMPTY_RECHECK_MS` (200) and in which a call finds nothing is read again.
 *
 * @example
 * ```js
 * import { invalidateFsScanCache } from "@sinew/natives";
 * invalidateFsScanCache("src/new-file.ts");
 * ```
 */
export function invalidateFsScanCache(path?: string | null): void {
  native.invalidateFsScanCache(path === undefined || path === null ? undefined : text("invalidateFsScanCache: path", path));
}
