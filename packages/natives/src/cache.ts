/**
 * The scan cache that `grep`, `glob` and `fuzzyFind` share with `cache: true`.
 * @module
 */
import { native } from "./loader.js";
import { text } from "./options.js";

/**
 * Invalidates cached scans, so that the next call with `cache: true` reads the disk again: all scans, or those of directories that are `path`,
 * contain it, or are below it. Call it after you have written, moved (with both paths) or deleted a file. A relative path is relative to the
 * working directory. For a path that no longer exists, the directories above it are used.
 *
 * Scans are cached for `FS_SCAN_CACHE_TTL_MS` (default 1000; 0 disables the cache), at most `FS_SCAN_CACHE_MAX_ENTRIES` (default 16). If a
 * call finds nothing in a scan that is older than `FS_SCAN_EMPTY_RECHECK_MS` (default 200), it reads the disk again.
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
