/**
 * `fast-glob`: finds paths by patterns, on all cores.
 * @module
 */
import { type Stats, lstatSync, statSync } from "node:fs";
import { basename, resolve } from "node:path";
import { PassThrough, Readable, pipeline } from "node:stream";
import { type GlobMatch, type GlobOptions, glob as walk, globSync as walkSync } from "../index.js";
import { type Task, escapePosix, escapeWindows, pathToPatternPosix, pathToPatternWindows, tasksOf } from "./fast-glob-tasks.js";
import { EntryFilter, type EntryKind } from "./fast-glob-filter.js";
import type { Options } from "./fast-glob-options.js";
import { isDynamic } from "./glob-pattern.js";

/** One entry, with `objectMode` or `stats`. */
interface AnyEntry {
  /** Its name. */
  name: string;
  /** Its path. */
  path: string;
  /** Its type, with the methods of `fs.Dirent`. */
  dirent: Kind;
  /** Its metadata, with `stats`. */
  stats?: Stats;
}

class Kind {
  readonly name: string;
  readonly #kind: EntryKind;

  constructor(name: string, kind: EntryKind) {
    this.name = name;
    this.#kind = kind;
  }

  isFile(): boolean {
    return this.#kind === "file";
  }

  isDirectory(): boolean {
    return this.#kind === "folder";
  }

  isSymbolicLink(): boolean {
    return this.#kind === "link";
  }

  isBlockDevice(): boolean {
    return false;
  }

  isCharacterDevice(): boolean {
    return false;
  }

  isFIFO(): boolean {
    return false;
  }

  isSocket(): boolean {
    return false;
  }
}

type Found = string | AnyEntry;

/** Converts the entries of one task to the results for the caller. */
class Collector {
  readonly #options: Options;
  readonly #cwd: string;
  readonly #filter: EntryFilter;
  readonly #seen: Set<string>;

  constructor(task: Task, options: Options, cwd: string, seen: Set<string>) {
    this.#options = options;
    this.#cwd = cwd;
    this.#filter = new EntryFilter(task, options, cwd);
    this.#seen = seen;
  }

  /** Returns the result for an entry; undefined if it does not match. */
  keep(path: string, kind: EntryKind, isStatic: boolean): Found | undefined {
    const { unique = true, onlyDirectories = false, onlyFiles = !onlyDirectories, absolute, markDirectories, objectMode, stats } = this.#options;
    const isDir = kind === "folder";
    if ((onlyFiles && !onlyDirectories && kind !== "file") || (onlyDirectories && !isDir)) return undefined;
    const plain = path.startsWith("./") ? path.slice(2) : path;
    if (unique && this.#seen.has(plain)) return undefined;
    if (!(isStatic || this.#filter.reaches(plain)) || !this.#filter.matches(plain, isDir)) return undefined;
    if (unique) this.#seen.add(plain);
    let shown = absolute ? resolve(this.#cwd, plain) : path;
    if (markDirectories && isDir) shown += "/";
    if (!objectMode && !stats) return shown;
    const name = basename(path);
    const entry: AnyEntry = { name, path: shown, dirent: new Kind(name, kind) };
    if (stats) entry.stats = factsOf(resolve(this.#cwd, plain), this.#options);
    return entry;
  }
}

/** Returns the metadata of an entry; of the link's target, if links are followed and the target can be read. */
function factsOf(file: string, { followSymbolicLinks = true, throwErrorOnBrokenSymbolicLink = false }: Options): Stats {
  const own = lstatSync(file);
  if (!own.isSymbolicLink() || !followSymbolicLinks) return own;
  try {
    return statSync(file);
  } catch (error) {
    // For any reason: no target, a link to itself, a name that is too long.
    if (throwErrorOnBrokenSymbolicLink) throw error;
    return own;
  }
}

/** Returns the type of an entry for the caller; a link has the type of its target, if links are followed. */
function kindOf(file: () => string, fileType: number, options: Options): EntryKind {
  if (fileType === 1) return "file";
  if (fileType === 2) return "folder";
  return options.followSymbolicLinks === false ? "link" : kindOfFacts(factsOf(file(), options));
}

function kindOfFacts(facts: Stats): EntryKind {
  return facts.isDirectory() ? "folder" : facts.isSymbolicLink() ? "link" : facts.isFile() ? "file" : "other";
}

/**
 * Returns the request for the walk of a task; `undefined` if its directory does not exist, or cannot be read and
 * `suppressErrors` is set.
 */
function requestOf(task: Task, options: Options, cwd: string): GlobOptions | undefined {
  const path = resolve(cwd, task.base);
  try {
    const folder = statSync(path, { throwIfNoEntry: false });
    if (!folder) return undefined;
    if (!folder.isDirectory()) throw Object.assign(new Error(`ENOTDIR: not a directory, scandir '${path}'`), { code: "ENOTDIR", path });
  } catch (error) {
    if (options.suppressErrors) return undefined;
    throw error;
  }
  const deep = options.deep === undefined || options.deep === Infinity ? Infinity : Math.max(1, options.deep);
  const levels = task.base === "." ? 0 : task.base.replace(/^(?:\.\/)+/, "").split("/").filter(Boolean).length;
  // Without `**`, no match is deeper than the levels of the pattern. A `**` inside a name does not count.
  const reach = Math.max(...task.positive.map((pattern) => (pattern.includes("**") && options.globstar !== false ? Infinity : pattern.replace(/^(?:\.\/)+/, "").split("/").filter(Boolean).length - levels)));
  const maxDepth = Math.min(deep, Math.max(1, options.baseNameMatch ? Infinity : reach));
  const request: GlobOptions = {
    path,
    pattern: "**/*",
    // The pattern decides whether a name with a leading dot matches. Most patterns without a dot, a class or a group
    // match none.
    hidden: options.dot === true || task.positive.some((pattern) => /(?:^|[/{,])\\?\.(?!\/)|[([]/.test(pattern)),
    gitignore: false,
    includeNodeModules: !task.negative.some((pattern) => /^\*\*\/node_modules(?:\/\*\*)?(?:\/\*)?$/.test(pattern)),
    followLinks: options.followSymbolicLinks !== false,
  };
  if (maxDepth !== Infinity) request.maxDepth = maxDepth;
  return request;
}

function* kept(task: Task, collector: Collector, options: Options, cwd: string, matches: readonly GlobMatch[]): Generator<Found> {
  const prefix = task.base === "." ? "" : task.base.endsWith("/") ? task.base : `${task.base}/`;
  for (const { path, fileType } of matches) {
    const found = collector.keep(prefix + path, kindOf(() => resolve(cwd, prefix + path), fileType, options), false);
    if (found !== undefined) yield found;
  }
}

/** Yields the entries of a task whose patterns are paths. */
function* named(task: Task, collector: Collector, options: Options, cwd: string): Generator<Found> {
  for (const path of task.positive) {
    let facts;
    try {
      // A named link is resolved to its target, or fails.
      facts = (options.followSymbolicLinks === false ? lstatSync : statSync)(resolve(cwd, path));
    } catch (error) {
      if (options.suppressErrors || (error as NodeJS.ErrnoException).code === "ENOENT") continue;
      throw error;
    }
    const found = collector.keep(path, kindOfFacts(facts), true);
    if (found !== undefined) yield found;
  }
}

function warned({ warnings = [] }: { warnings?: string[] }, options: Options): void {
  if (warnings.length && !options.suppressErrors) throw Object.assign(new Error(warnings[0]), { code: "EACCES" });
}

function checked(patterns: unknown): string[] {
  const list = [patterns].flat(Infinity as 1);
  if (list.length && list.every((pattern) => typeof pattern === "string" && pattern !== "")) return list as string[];
  if (Array.isArray(patterns) && !patterns.length) return [];
  throw new TypeError("Patterns must be a string (non empty) or an array of strings");
}

function prepared(patterns: unknown, options: Options): { tasks: Task[]; cwd: string; collectorOf: (task: Task) => Collector } {
  const tasks = tasksOf(checked(patterns), options);
  const cwd = resolve(options.cwd ?? process.cwd());
  const seen = new Set<string>();
  return { tasks, cwd, collectorOf: (task) => new Collector(task, options, cwd, seen) };
}

function abortedByName(): Error {
  return Object.assign(new Error("The operation was aborted"), { name: "AbortError", code: "ABORT_ERR" });
}

async function* entries(patterns: unknown, options: Options): AsyncGenerator<Found[]> {
  const { tasks, cwd, collectorOf } = prepared(patterns, options);
  const { signal } = options;
  for (const task of tasks) {
    const collector = collectorOf(task);
    if (!task.dynamic) {
      if (signal?.aborted) throw abortedByName();
      yield [...named(task, collector, options, cwd)];
      continue;
    }
    signal?.throwIfAborted();
    const request = requestOf(task, options, cwd);
    if (!request) continue;
    const result = await walk(signal ? { ...request, signal } : request).catch((error: unknown) => {
      signal?.throwIfAborted();
      throw error;
    });
    warned(result, options);
    yield [...kept(task, collector, options, cwd, result.matches)];
  }
}

/**
 * Returns a promise for the paths that match.
 *
 * @throws TypeError for invalid patterns; an error for unreadable directories, unless `suppressErrors` is set; the
 * reason of the signal.
 */
async function glob(patterns: string | readonly string[], options: Options & ({ objectMode: true } | { stats: true })): Promise<AnyEntry[]>;
async function glob(patterns: string | readonly string[], options?: Options): Promise<string[]>;
async function glob(patterns: string | readonly string[], options: Options = {}): Promise<Found[]> {
  const all: Found[] = [];
  for await (const found of entries(patterns, options)) for (const one of found) all.push(one);
  return all;
}

/**
 * Returns the paths that match, synchronously.
 *
 * @throws The errors with which `glob` rejects.
 */
function globSync(patterns: string | readonly string[], options: Options & ({ objectMode: true } | { stats: true })): AnyEntry[];
function globSync(patterns: string | readonly string[], options?: Options): string[];
function globSync(patterns: string | readonly string[], options: Options = {}): Found[] {
  const { tasks, cwd, collectorOf } = prepared(patterns, options);
  return tasks.flatMap((task) => {
    const collector = collectorOf(task);
    if (!task.dynamic) return [...named(task, collector, options, cwd)];
    const request = requestOf(task, options, cwd);
    if (!request) return [];
    const result = walkSync(request);
    warned(result, options);
    return [...kept(task, collector, options, cwd, result.matches)];
  });
}

/**
 * Returns the paths that match as a stream of objects.
 *
 * @throws TypeError for invalid patterns; the stream fails with the other errors of `glob`.
 */
function globStream(patterns: string | readonly string[], options: Options = {}): NodeJS.ReadableStream {
  checked(patterns);
  async function* each(): AsyncGenerator<Found> {
    for await (const found of entries(patterns, options)) yield* found;
  }
  // The stream starts before it is read, so that listeners for errors receive a failure without reading.
  return pipeline(Readable.from(each()), new PassThrough({ objectMode: true }), () => {});
}

/** Returns the tasks for patterns: each is a base directory with its patterns. */
function generateTasks(patterns: string | readonly string[], options: Options = {}): Task[] {
  return tasksOf(checked(patterns), options);
}

/** Returns whether a pattern contains anything but literal text. */
function isDynamicPattern(pattern: string, options: Options = {}): boolean {
  checked(pattern);
  return isDynamic(pattern, options);
}

const windows = process.platform === "win32";

/** Escapes a path, so that its characters are literal. */
function escapePath(path: string): string {
  checked(path);
  return (windows ? escapeWindows : escapePosix)(path);
}

/** Converts a path of this system to a pattern. */
function convertPathToPattern(path: string): string {
  checked(path);
  return (windows ? pathToPatternWindows : pathToPatternPosix)(path);
}

/** Finds paths, as `glob`. The other functions are its properties. */
const fastGlob = Object.assign(glob.bind(undefined) as typeof glob, {
  glob,
  globSync,
  globStream,
  /** The same as `glob`. */
  async: glob,
  /** The same as `globSync`. */
  sync: globSync,
  /** The same as `globStream`. */
  stream: globStream,
  generateTasks,
  isDynamicPattern,
  escapePath,
  convertPathToPattern,
  /** Functions for Unix paths, on every system. */
  posix: { escapePath: escapePosix, convertPathToPattern: pathToPatternPosix },
  /** Functions for Windows paths, on every system. */
  win32: { escapePath: escapeWindows, convertPathToPattern: pathToPatternWindows },
});

namespace fastGlob {
  /** The options, with fast-glob's names and defaults. */
  export type Options = import("./fast-glob-options.js").Options;
  /** One entry, with `objectMode` or `stats`. */
  export type Entry = AnyEntry;
  /** A base directory with its patterns. */
  export type Task = import("./fast-glob-tasks.js").Task;
  /** A pattern. */
  export type Pattern = string;
}

// For programs whose compiler reads the default export of a CommonJS module. Not declared, as in fast-glob: it would hide the types above.
Object.assign(fastGlob, { default: fastGlob });

export = fastGlob;
