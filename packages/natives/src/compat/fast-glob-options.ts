/** The options, with fast-glob's names and defaults. `fs` is not supported, because the walk is native. */
export interface Options {
  /** Return absolute paths. Default false. */
  absolute?: boolean;
  /** Compare a pattern without `/` with the file name only. Default false. */
  baseNameMatch?: boolean;
  /** Expand `{a,b}`. Default true. */
  braceExpansion?: boolean;
  /** Distinguish upper and lower case. Default true. */
  caseSensitiveMatch?: boolean;
  /** Has no effect: the walk uses all free threads. */
  concurrency?: number;
  /** The directory that patterns are relative to. Default: that of the process. */
  cwd?: string;
  /** The maximum number of levels. Default: all. */
  deep?: number;
  /** Let wildcards match names that begin with a dot. Default false. */
  dot?: boolean;
  /** Support groups such as `@(a|b)`. Default true. */
  extglob?: boolean;
  /** Follow links to directories. Default true. */
  followSymbolicLinks?: boolean;
  /** Let `**` match any number of directories. Default true. */
  globstar?: boolean;
  /** Patterns of entries to exclude. Default: none. */
  ignore?: readonly string[];
  /** Append a `/` to directories. Default false. */
  markDirectories?: boolean;
  /** Return objects instead of paths. Default false. */
  objectMode?: boolean;
  /** Return only directories; overrides `onlyFiles`. Default false. */
  onlyDirectories?: boolean;
  /** Return only files. Default true. */
  onlyFiles?: boolean;
  /** Stops the call when it is aborted. Default: none. */
  signal?: AbortSignal;
  /** Return objects with `stats`. Default false. */
  stats?: boolean;
  /** Skip everything that cannot be read, for any reason. Default false. */
  suppressErrors?: boolean;
  /** Treat a broken link as an error. Default false. */
  throwErrorOnBrokenSymbolicLink?: boolean;
  /** Return each path only once. Default true. */
  unique?: boolean;
}
