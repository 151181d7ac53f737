/**
 * Changes below a directory.
 * @module
 */
import { resolve } from "node:path";
import { called, underSignal } from "./call.js";
import { native } from "./loader.js";
import type { WatchHandle } from "./native.js";
import { type Table, illegal, options as check, text, typeError } from "./options.js";

/** The options of `watch`. */
export interface WatchOptions {
  /** Globs of paths that are neither watched nor reported, relative to the directory; a glob without `/` matches at any depth. Default: none. */
  ignore?: string[] | undefined;
  /** Skip what ignore files exclude, and `node_modules`. Default: true. */
  gitignore?: boolean | undefined;
  /** Watch the directories below too. Default: true. */
  recursive?: boolean | undefined;
  /** The time in milliseconds after a change in which further changes are added to the same batch. Default: 20. */
  debounceMs?: number | undefined;
  /**
   * The maximum number of directories to watch; the others are scanned. Default: half of the system's limit, at most
   * 65,536.
   */
  maxWatches?: number | undefined;
  /** Closes the watcher. Default: none. */
  signal?: AbortSignal | undefined;
}

/** A change of a path. */
export interface WatchEvent {
  /**
   * - `"created"`: the path is new.
   * - `"changed"`: the content or the attributes of a file changed.
   * - `"deleted"`: the path is gone.
   * - `"renamed"`: the path is now `to`, with everything below it. A file that was at `to` is replaced.
   * - `"overflow"`: the system dropped events, and changes of content may be missing. Names are complete.
   */
  kind: "created" | "changed" | "deleted" | "renamed" | "overflow";
  /** The path below the directory, with `/` between names; empty for an overflow. */
  path: string;
  /** The new path of a rename; absent otherwise. */
  to?: string;
}

const WATCH: Table = { ignore: "strings", gitignore: "boolean", recursive: "boolean", debounceMs: "u32", maxWatches: "u32", signal: "signal" };

/**
 * A directory that is watched; {@link watch} creates one.
 *
 * @example
 * ```js
 * import { mkdtempSync } from "node:fs";
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 * import { Watcher, watch } from "@sinew/natives";
 * const watcher = await watch(mkdtempSync(join(tmpdir(), "watch-")), {}, () => {});
 * watcher instanceof Watcher; // true
 * watcher.close();
 * ```
 */
export class Watcher {
  readonly #handle: WatchHandle;
  #mode: Watcher["mode"];
  #closed: Promise<void>;

  /** @internal */
  constructor(handle: WatchHandle, callback: (events: WatchEvent[]) => unknown, signal: AbortSignal | undefined) {
    if (!(handle instanceof native.WatchHandle)) throw illegal("Watcher", "watch(path, options, callback)");
    this.#handle = handle;
    this.#mode = handle.mode as Watcher["mode"];
    const close = () => this.close();
    signal?.addEventListener("abort", close, { once: true });
    if (signal?.aborted) close();
    this.#closed = this.#run(callback).finally(() => {
      signal?.removeEventListener("abort", close);
      this.close();
    });
  }

  async #run(callback: (events: WatchEvent[]) => unknown): Promise<void> {
    for (;;) {
      const batch = await called(() => this.#handle.next());
      if (!batch) return;
      this.#mode = batch.mode as Watcher["mode"];
      await callback(batch.events as WatchEvent[]);
    }
  }

  /**
   * How changes are found: `"events"` if the system announces those of every directory, `"scan"` if all directories are scanned about
   * once a second, `"mixed"` if some are.
   */
  get mode(): "events" | "mixed" | "scan" {
    return this.#mode;
  }

  /** Settles once the watcher is closed; rejects with the error that ended it, such as one that the callback threw. */
  get closed(): Promise<void> {
    return this.#closed;
  }

  /** Ends the watch. A pending batch may still be delivered. Later calls do nothing. */
  close(): void {
    this.#handle.close();
  }
}

/**
 * Watches a directory and calls back with batches of changes. Every change after the promise is fulfilled is reported.
 *
 * Names are compared with those of the batch before, so that no creation, deletion or rename is lost. Directories that ignore files
 * exclude are not watched, and `.git` never is. All watches and workspaces of the process share one queue of the system. A watcher keeps
 * the process alive until it is closed.
 *
 * If the callback returns a promise, the next batch is delivered after the promise is fulfilled; changes are collected
 * in the meantime.
 *
 * @param path The directory.
 * @param options What is watched, and what closes the watcher.
 * @param callback Called with the changes of a batch, in an order in which they can be replayed; never with an empty
 *   batch.
 * @returns The watcher, once every directory is watched.
 * @throws `ENOENT` or `ENOTDIR` if `path` is not a directory; `ERR_INVALID_ARG_VALUE` for an invalid glob; `ERR_UNSUPPORTED` on systems other
 *   than Linux; `AbortError` if the signal was aborted before.
 * @example
 * ```js
 * import { mkdtempSync, writeFileSync } from "node:fs";
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 * import { watch } from "@sinew/natives";
 * const root = mkdtempSync(join(tmpdir(), "watch-"));
 * let watcher;
 * const events = await new Promise(async (resolve) => {
 *   watcher = await watch(root, { ignore: ["*.tmp"] }, resolve);
 *   writeFileSync(join(root, "new.txt"), "text");
 * });
 * events.map(({ kind, path }) => [kind, path]); // [["created", "new.txt"]]
 * watcher.close();
 * ```
 */
export async function watch(
  path: string,
  options: WatchOptions | null,
  callback: (events: WatchEvent[]) => unknown,
): Promise<Watcher> {
  const root = resolve(text("watch: path", path));
  const { signal, ...rest } = check("watch", WATCH, options ?? {});
  if (typeof callback !== "function") throw typeError("watch: callback", "a function", callback);
  const handle = await underSignal(signal, (abort) => native.openWatch(root, rest, abort));
  return new Watcher(handle, callback, signal);
}
