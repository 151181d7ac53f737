// Written by `cargo xtask gen`.

/** Cancels a call and controls its callback: the TypeScript side calls `abort()` when an `AbortSignal` fires. */
export declare class Abort {
  /** Creates an object that is not aborted. */
   constructor()
  /** Cancels the call that received this object. */
   abort(): void
  /** Pauses the callback of the call, which has returned a promise. */
   hold(): void
  /** Resumes the callback after the promise has settled. */
   release(): void
}

/** The result of `apply`. */
export interface AppliedAnswer {
  paths: Buffer
  ends: Array<number>
  outcomes: Array<string>
  /** One per path; empty if there is no reason. */
  reasons: Array<string>
  /** One per path: the file with both texts; empty if there is none. */
  merged: Array<string>
  applied: boolean
  remainder: RemainderAnswer
}

/** The current and the recent files of the user. */
export interface BoostRequest {
  current?: string
  recent?: Array<string>
}

/** The paths that changed since a token. */
export interface ChangesAnswer {
  token: string
  all: boolean
  paths: Array<string>
}

/** A checkpoint. */
export interface CheckpointAnswer {
  id: string
  time: number
  kind: string
  label?: string
  session?: string
  coverage: string
}

/** The differences between two checkpoints. */
export interface CheckpointChangesAnswer {
  paths: Buffer
  ends: Array<number>
  changes: Array<string>
  kinds: Array<string>
  from: Buffer
  /** The end of each old path; equal to the previous end if there is no old path. */
  fromEnds: Array<number>
  truncated: boolean
  coverage: string
}

/** The checkpoints of a directory. */
export declare class CheckpointsHandle {
  /** Returns the directory, with all links resolved. */
   root(): string
  /** Takes a checkpoint of the directory. */
   take(request: TakeRequest, abort?: Abort | undefined | null): Promise<CheckpointAnswer>
  /** Adds some paths to a checkpoint before they are written. */
   note(paths: Array<Buffer>, session?: string | undefined | null, timeoutMs?: number | undefined | null, abort?: Abort | undefined | null): Promise<CheckpointAnswer>
  /** Lists all checkpoints. */
   list(): Promise<CheckpointAnswer[]>
  /** Compares two checkpoints. */
   changes(from: string, to: string, timeoutMs?: number | undefined | null, abort?: Abort | undefined | null): Promise<CheckpointChangesAnswer>
  /** Returns the changes that a restore would make. */
   plan(id: string, request: RestoreRequest, abort?: Abort | undefined | null): Promise<PlanAnswer>
  /** Undoes the changes since a checkpoint. */
   restore(id: string, request: RestoreRequest, abort?: Abort | undefined | null): Promise<RestoredAnswer>
  /** Returns the contents of the store. */
   usage(): Promise<UsageAnswer>
  /** Deletes the oldest checkpoints until the store is within its limits. */
   gc(timeoutMs?: number | undefined | null, abort?: Abort | undefined | null): Promise<CollectedAnswer>
}

/** The options of opening checkpoints. */
export interface CheckpointsRequest {
  root: string
  store?: string
  maxFileBytes?: number
  maxCheckpointBytes?: number
  maxSessionBytes?: number
  maxDirectoryBytes?: number
  maxTotalBytes?: number
  timeoutMs?: number
}

/** The result of a cleanup. */
export interface CollectedAnswer {
  removed: Array<string>
  freedBytes: number
}

/** Rows as columns; `sinew_search::Rows` describes the numbers. */
export interface Columns {
  text: string
  numbers: Uint32Array
}

/** The clipboard of one display. It offers the written content until JavaScript drops it. */
export declare class DesktopClipboard {
  /** Creates the clipboard without a connection. */
   constructor(display?: string | undefined | null)
  /** Reads the text. */
   readText(): Promise<string | null>
  /** Reads the image, as PNG. */
   readImage(): Promise<Uint8Array | null>
  /** Writes text. */
   writeText(text: string): Promise<void>
}

/** The options of `diff`. */
export interface DiffRequest {
  /** `"line"` or `"word"`. */
  unit?: string
  /** The time limit in milliseconds. */
  timeoutMs?: number
}

/** A lock. It is held until it is released or garbage-collected, or its thread ends. */
export declare class FileLockHandle {
  /** Releases the lock; later calls do nothing. */
   release(): void
}

/** The matches as columns; `sinew_search::FindColumns` describes them. */
export interface FindAnswer {
  text: string
  numbers: Int32Array
  totalMatches: number
  warnings: Array<string>
}

/** The options of `fuzzyFind`, checked by the TypeScript side. */
export interface FindRequest {
  query: string
  path: string
  hidden?: boolean
  gitignore?: boolean
  cache?: boolean
  maxResults?: number
  timeoutMs?: number
}

/** The limits of an image. */
export interface FitRequest {
  /** The maximum width in pixels. */
  maxWidth?: number
  /** The maximum height in pixels. */
  maxHeight?: number
  /** The maximum number of bytes as base64 text. */
  maxBytes?: number
  /** The format of the result. */
  format?: number
  /** The time limit in milliseconds. */
  timeoutMs?: number
}

/** An image within the limits. */
export interface FittedImage {
  /** The encoded file. */
  data: Uint8Array
  /** The MIME type. */
  mimeType: string
  /** The width in pixels. */
  width: number
  /** The height in pixels. */
  height: number
  /** True if the size in pixels differs from that of the input. */
  resized: boolean
}

/** How a workspace is kept up to date. */
export declare enum FreshnessMode {
  Watch = 'watch',
  Sweep = 'sweep',
  Plain = 'plain'
}

/** The matches as columns; `sinew_search::GlobColumns` describes them. */
export interface GlobAnswer {
  text: string
  lengths: Uint32Array
  fileTypes: Uint8Array
  mtimes: Float64Array
  sizes: Float64Array
  totalMatches: number
  limitReached: boolean
  warnings: Array<string>
}

/** The options of `glob`, checked by the TypeScript side. */
export interface GlobRequest {
  /** A text in which commas separate patterns, or one pattern per item. */
  pattern?: string | Array<string>
  ignore?: Array<string>
  path: string
  fileType?: number
  recursive?: boolean
  hidden?: boolean
  gitignore?: boolean
  cache?: boolean
  maxResults?: number
  sortByMtime?: boolean
  followLinks?: boolean
  maxDepth?: number
  includeNodeModules?: boolean
  timeoutMs?: number
}

export interface GrepAnswer {
  matches: Array<Columns>
  totalMatches: number
  filesWithMatches: number
  filesSearched: number
  limitReached: boolean
  binary: number
  tooLarge: number
  unreadable: number
  warnings: Array<string>
}

/** The kinds of rows that a search collects. */
export declare enum GrepMode {
  Content = 'content',
  FilesWithMatches = 'filesWithMatches',
  Count = 'count'
}

/** The options of a search, checked by the TypeScript side; `search` ignores `path` and the fields after it. */
export interface GrepRequest {
  pattern: string
  literal?: boolean
  ignoreCase?: boolean
  multiline?: boolean
  maxCount?: number
  maxCountPerFile?: number
  offset?: number
  context?: number
  contextBefore?: number
  contextAfter?: number
  maxColumns?: number
  mode?: GrepMode
  path?: string
  /** A text in which commas separate globs, or one glob per item. */
  glob?: string | Array<string>
  type?: string
  hidden?: boolean
  gitignore?: boolean
  cache?: boolean
  timeoutMs?: number
}

/** One ANSI string per category; missing categories have no colour. */
export interface HighlightPalette {
  /** Comments. */
  comment?: string
  /** Keywords. */
  keyword?: string
  /** Names of functions. */
  function?: string
  /** Variables. */
  variable?: string
  /** Strings. */
  string?: string
  /** Numbers. */
  number?: string
  /** Names of types. */
  type?: string
  /** Operators. */
  operator?: string
  /** Punctuation. */
  punctuation?: string
  /** Lines that a diff adds. */
  inserted?: string
  /** Lines that a diff removes. */
  deleted?: string
}

/** A coloured text, and the number of lines without colours. */
export interface HighlightResult {
  /** The code with colours. */
  text: string
  /** The number of lines without colours because of a limit. */
  plainLines: number
}

/** The native part of a `HighlightStream`. */
export declare class HighlightState {
  /** Creates a stream of code in `lang`. */
   constructor(lang: string, colors: HighlightPalette)
  /** Returns the number of lines so far without colours because of a limit. */
  get plainLines(): number
  /** Colours the next piece of code. */
   push(chunk: string): string
}

/** The nodes of a page as columns; `sinew_html::Nodes` describes the numbers. */
export interface HtmlNodes {
  text: string
  numbers: Uint32Array
}

/** The parts of a page to leave out. */
export interface HtmlRequest {
  /** Whether to remove everything except the main content. */
  cleanContent?: boolean
  /** Whether to remove images. */
  skipImages?: boolean
  /** The time limit in milliseconds. */
  timeoutMs?: number
}

/** When files are indexed automatically. */
export declare enum IndexPolicy {
  Auto = 'auto',
  Always = 'always',
  Never = 'never'
}

/** Splits input into sequences, prefixed with `s`, pastes with `p`, and cursor reports (`row;column`) with `c`. */
export declare class InputBuffer {
  /** Creates an empty buffer. */
   constructor()
   feed(data: string | Uint8Array): Array<string>
   awaitCursorReport(): void
   flush(): Array<string>
   isWaiting(): boolean
   pending(): string
   clear(): void
}

/** The fields of a Kitty sequence. */
export interface KittyFields {
  codepoint: number
  shiftedKey?: number
  baseLayoutKey?: number
  modifier: number
  eventType?: number
}

/** A view that a process has left behind. */
export interface LeftoverAnswer {
  id: string
  root: string
  mode: string
  time: number
  label?: string
  recovered: boolean
  new: boolean
}

/** A piece of the output of a command. */
export interface OutputChunk {
  /** True for standard error, if it is separate. */
  stderr: boolean
  data: string | Uint8Array
}

/** Collects output of any size and keeps its end in memory. */
export declare class OutputSink {
  /** Creates an empty sink. Creates no file yet. */
   constructor(options: SinkRequest)
  /** Appends output. */
   push(data: string | Uint8Array): void
  /** Returns the end of the output and the totals. */
   dump(): SinkDump
}

/** The options of `applyPatch`. */
export interface PatchRequest {
  /** The directory below which files may change. */
  root: string
  /** Whether to only check the patch, without writing files. */
  dryRun?: boolean
  /** The maximum number of context lines at each end of a hunk that may differ. */
  fuzz?: number
  /** The time limit in milliseconds. */
  timeoutMs?: number
}

/** The change of one file. */
export interface PatchedFile {
  /** `"created"`, `"modified"`, `"deleted"`, `"renamed"` or `"copied"`. */
  action: string
  /** The path below the root. */
  path: string
  /** The path before a rename, or the path of the copied file. */
  from?: string
  /** The number of added lines. */
  added: number
  /** The number of removed lines. */
  removed: number
  /** The positions of the applied hunks. */
  hunks: Array<PatchedHunk>
}

/** The position of an applied hunk. */
export interface PatchedHunk {
  /** The first line in the new text, from 1. */
  line: number
  /** The number of lines between the position in the hunk header and the actual position. */
  offset: number
  /** The number of context lines at each end that differ. */
  fuzz: number
}

/** A decoded image. */
export declare class Picture {
  /** Crops the image. */
   crop(left: number, top: number, width: number, height: number): Promise<Picture>
  /** Places the image on a larger canvas of one colour: `0xrrggbbaa`. */
   extend(left: number, top: number, width: number, height: number, colour: number): Promise<Picture>
  /** Rotates and mirrors the image, by an EXIF orientation. */
   orient(orientation: number): Promise<Picture>
  /** The width in pixels. */
  get width(): number
  /** The height in pixels. */
  get height(): number
  /** Returns a resized copy of the image. */
   resize(width: number, height: number, filter: number, timeoutMs?: number | undefined | null, abort?: Abort | undefined | null): Promise<Picture>
  /** Encodes the image as a file. */
   encode(format: number, quality: number, timeoutMs?: number | undefined | null, abort?: Abort | undefined | null): Promise<Uint8Array>
  /** Returns the image as escape codes. */
   terminal(protocol: string, options: TerminalRequest, abort?: Abort | undefined | null): Promise<string>
}

/** The plan of a restore. */
export interface PlanAnswer {
  paths: Buffer
  ends: Array<number>
  actions: Array<string>
  /** Empty if there is no reason. */
  reasons: Array<string>
  changes: Array<string>
  kinds: Array<string>
  /** Empty if there is no note. */
  notes: Array<string>
  repositories: Array<RepositoryAnswer>
  coverage: string
}

/** A handle to one process. It keeps no system resources between calls. */
export declare class ProcessHandle {
  /** The process id. */
  get pid(): number
  /** The process id of the parent; null if it is unknown. */
   ppid(): number | null
  /** The command line; null if it is unknown. */
   args(): Array<string> | null
  /** The running child processes. */
   children(): Array<ProcessHandle>
  /** Returns true if the process is running. */
   running(): boolean
  /** Ends the process and all its descendants. */
   terminate(options: TerminateRequest): Promise<Termination>
  /** Waits until the process has ended. */
   waitForExit(timeoutMs?: number, abort?: Abort): Promise<void>
}

/** The progress of building an index. */
export interface ProgressAnswer {
  phase: ProgressPhase
  files: number
  totalFiles: number
  bytes: number
}

/** The steps of building an index. */
export declare enum ProgressPhase {
  List = 'list',
  Read = 'read',
  Merge = 'merge'
}

/** A pseudo-terminal session. */
export declare class PtyHandle {
  /** Creates a session without a program. */
   constructor()
  /** Starts a program; the promise settles after the last chunk was delivered. */
   start(options: PtyRequest, sandbox?: SandboxHandle | undefined | null, onChunk?: ((arg: string | Uint8Array) => unknown) | undefined | null, abort?: Abort | undefined | null): Promise<PtyResult>
  /** Queues input. */
   write(data: string | Uint8Array): void
  /** Resizes the terminal. */
   resize(cols: number, rows: number): void
  /** Ends the program and all its descendants. */
   kill(): void
  /** Pauses or resumes reading the terminal. */
   pause(paused: boolean): void
  /** Returns the running program; null before the start. */
   terminal(): PtyTerminal | null
  /** Blocks until the program was started; null if it could not be started. */
   waitTerminal(): PtyTerminal | null
  /** Resolves when the program was started; to null if it could not be started. */
   started(): Promise<PtyTerminal | null>
  /** Returns the columns and rows of the terminal; null if no program runs. */
   size(): Array<number> | null
  /** Returns the number of bytes of queued input. */
  get pendingBytes(): number
}

/** A terminal without a program; the caller must close both ends. */
export interface PtyPair {
  master: number
  slave: number
  name: string
}

/** A program to run and the terminal to run it on. */
export interface PtyRequest {
  command?: string
  /** A program and its arguments, instead of a command. */
  args?: Array<string>
  shell?: string
  login?: boolean
  /** Chunks are bytes, not text. */
  bytes?: boolean
  cwd?: string
  /** The whole environment of the program. */
  env: Record<string, string>
  /** The variables that login files cannot replace. */
  kept: Array<string>
  cols?: number
  rows?: number
  timeoutMs?: number
  /** The file of the supervisor program. */
  supervisor?: string
}

/** The result of a program. */
export interface PtyResult {
  exitCode?: number
  /** The number of the signal that ended it. */
  signal?: number
  cancelled: boolean
  timedOut: boolean
}

/** A running program and its terminal. */
export interface PtyTerminal {
  pid: number
  /** The file descriptor of the host's end of the terminal. */
  fd: number
  /** The path of the program's end of the terminal. */
  name: string
}

/** The changes that `apply` leaves in the view. */
export interface RemainderAnswer {
  ignored: Buffer
  ignoredEnds: Array<number>
  special: number
  repositories: Buffer
  repositoryEnds: Array<number>
  /** Reference, id and first line of each commit. */
  commits: Array<string>
}

/** A repository that has moved. */
export interface RepositoryAnswer {
  path: Buffer
  from?: string
  to?: string
  index: boolean
  command?: string
}

/** The options of a restore. */
export interface RestoreRequest {
  /** The start and the end of each range, alternating. */
  spans?: Array<string>
  paths?: Array<Buffer>
  force: boolean
  forcePaths?: Array<Buffer>
  timeoutMs?: number
}

/** The result of a restore. */
export interface RestoredAnswer {
  plan: PlanAnswer
  redo?: string
  done: number
  planned: number
}

/** A compiled policy. */
export declare class SandboxHandle {
  /** Returns which guarantees are enforced and by which mechanism, and which are missing. */
   status(): Array<SandboxPromise>
  /** Rejects new commands, and releases resources that running commands do not use. */
   close(): void
}

/** The state of one guarantee. */
export interface SandboxPromise {
  name: string
  held: string
  by: Array<string>
  missing: Array<string>
}

/** A call that a sandbox denied. */
export interface SandboxRefusal {
  kind: string
  target?: string
}

/** A policy, and the parts of the environment that it refers to. */
export interface SandboxSetup {
  mode: string
  roots: Array<string>
  write: Array<string>
  denyWrite: Array<string>
  denyRead: Array<string>
  denyExec: Array<string>
  /** The protected paths; the default ones if absent. */
  protect?: Array<string>
  /** Whether to protect the default paths even if the mode does not. */
  protectsDefault: boolean
  /** `off`, `loopback` or `on`. */
  network?: string
  unixSockets?: Array<string>
  required: Array<string>
  cwd: string
  home?: string
  temp?: string
  path?: string
}

export interface SearchAnswer {
  matches: Columns
  matchCount: number
  limitReached: boolean
  warnings: Array<string>
  error?: string
}

/** The result of a command. */
export interface ShellAnswer {
  exitCode?: number
  signal?: string
  cancelled: boolean
  timedOut: boolean
  workingDir?: string
  stateLostReason?: string
  /** The calls that the sandbox denied. */
  refused: Array<SandboxRefusal>
}

/** A shell that keeps its state between commands. */
export declare class ShellHandle {
  /** Creates a shell that starts with its first command. */
   constructor(setup: ShellSetup, sandbox?: SandboxHandle | undefined | null)
  /** Runs one command after the previous ones. */
   run(run: ShellRun, onChunk?: ((arg: string) => unknown) | undefined | null, abort?: Abort | undefined | null): Promise<ShellAnswer>
  /** Stops the running command. */
   abort(): Promise<void>
  /** Returns the processes of earlier runs that are still running. */
   jobs(): Promise<Array<ShellJob>>
  /** Ends the shell and its processes. */
   close(): Promise<void>
  /** The engine: `"bash"` or `"brush"`. */
  get engine(): string
}

/** The standard input of a command while it runs. */
export declare class ShellInput {
  /** Creates a pipe without a reader. */
   constructor()
  /** Writes bytes; resolves to false if there is no reader any more. */
   write(bytes: Uint8Array, abort?: Abort | undefined | null): Promise<boolean>
  /** Ends the input. */
   end(): void
  /** Ends the input and closes its descriptors, once the command has ended. */
   release(): void
}

/** A process of an earlier run. */
export interface ShellJob {
  pid: number
  command: string
}

/** One command. */
export interface ShellRun {
  command: string
  cwd?: string
  env?: Record<string, string>
  stdin?: Uint8Array
  timeoutMs?: number
}

/** The options of a shell. */
export interface ShellSetup {
  /** The file of the supervisor program. */
  supervisor: string
  /** The whole environment. */
  env: Record<string, string>
  /** The initial directory. Default: that of the process. */
  cwd?: string
  snapshotPath?: string
  engine?: string
}

/** The streams of one command. */
export interface ShellStreams {
  /** A program and its arguments, instead of a script. */
  args?: Array<string>
  /** Whether standard error is separate. */
  separate?: boolean
  /** Chunks are bytes, not text. */
  bytes?: boolean
}

/** The state of a sink. */
export interface SinkDump {
  text: string
  truncated: boolean
  partialLine: boolean
  totalBytes: number
  totalLines: number
  shownBytes: number
  shownLines: number
  spillPath?: string
  spillError?: string
}

/** The options of a sink: how much it keeps in memory, and the file for the rest. */
export interface SinkRequest {
  tailBytes?: number
  spillPath?: string
}

/** Facts about the machine. */
export interface SystemFacts {
  platform: string
  arch: string
  osVersion: string
  kernelVersion: string
  hostName: string
  cpuBrand: string
  logicalCores: number
  physicalCores: number
  totalMemory: number
  availableMemory: number
}

/** The options of taking a checkpoint. */
export interface TakeRequest {
  label?: string
  kind?: 'manual' | 'start' | 'end'
  session?: string
  /** Directories that may have changed. */
  changed?: Array<Buffer>
  timeoutMs?: number
}

/** The placement of an image in a terminal. */
export interface TerminalRequest {
  /** The width in columns. */
  columns?: number
  /** The height in rows. */
  rows?: number
  /** The id in the Kitty protocol. */
  id?: number
  /** The time limit in milliseconds. */
  timeoutMs?: number
}

/** The options of ending a process. */
export interface TerminateRequest {
  gracefulMs?: number
  timeoutMs?: number
  group?: boolean
}

/** The result of ending a process and its tree. */
export interface Termination {
  signalled: number
  exited: number
  survivors: Array<number>
}

/** A writer for one terminal. */
export declare class TtyWriterHandle {
   write(data: string): number
   pending(): number
   isDead(): boolean
   flush(limitMs: number): boolean
   stop(limitMs: number): void
}

/** The options of `unifiedDiff`. */
export interface UnifiedRequest {
  /** The name of the old file. */
  oldName?: string
  /** The name of the new file. */
  newName?: string
  /** The number of unchanged lines around each change. */
  context?: number
  /** The time limit in milliseconds. */
  timeoutMs?: number
}

/** The contents of a store. */
export interface UsageAnswer {
  checkpoints: number
  directoryBytes: number
  totalBytes: number
}

/** The kinds of use of a path. */
export declare enum UseKind {
  Read = 'read',
  Pick = 'pick',
  Edit = 'edit'
}

/** The differences of a view. */
export interface ViewChangesAnswer {
  paths: Buffer
  ends: Array<number>
  changes: Array<string>
  kinds: Array<string>
  /** The permissions before; -1 for an entry that was added. */
  oldModes: Array<number>
  /** The permissions after; -1 for an entry that was deleted. */
  newModes: Array<number>
  binary: Array<boolean>
  patch: Buffer
  truncated: boolean
  remainder: RemainderAnswer
}

/** The constant properties of a view. */
export interface ViewFacts {
  id: string
  path: string
  root: string
  mode: string
  missing: Array<string>
  notes: Array<string>
  /** Names and values, alternating. */
  environment: Array<string>
}

/** An isolated view of a directory. */
export declare class ViewHandle {
  /** Returns the constant properties. */
   facts(): ViewFacts
  /** Compares the view with the original state of the directory. */
   changes(ignored: boolean, maxPatchBytes?: number | undefined | null, timeoutMs?: number | undefined | null, abort?: Abort | undefined | null): Promise<ViewChangesAnswer>
  /** Applies the changes to the directory. */
   apply(onConflict: string, ignored: boolean, timeoutMs?: number | undefined | null, abort?: Abort | undefined | null): Promise<AppliedAnswer>
  /** Removes the view. Does nothing if it was removed already. */
   discard(): Promise<void>
}

/** The options of opening a view. */
export interface ViewRequest {
  root: string
  home?: string
  mode?: 'auto' | 'overlay' | 'worktree' | 'copy'
  label?: string
  maxEntries?: number
  timeoutMs?: number
}

/** Changes, and how they were detected. */
export interface WatchBatch {
  mode: string
  events: Array<WatchedChange>
}

/** A watched directory. It is watched until it is closed or garbage-collected, or its thread ends. */
export declare class WatchHandle {
  /** Returns how changes were detected when the directory was opened. */
  get mode(): string
  /** Waits for the next batch; resolves to null when the watcher is closed. */
   next(): Promise<WatchBatch | null>
  /** Ends the wait; later waits end immediately. */
   close(): void
}

/** The options of `watch`. */
export interface WatchRequest {
  /** Globs of ignored paths. */
  ignore?: Array<string>
  /** Whether ignore files apply. */
  gitignore?: boolean
  /** Whether subdirectories are watched too. */
  recursive?: boolean
  /** The time in which changes are collected, in milliseconds. */
  debounceMs?: number
  /** The maximum number of watches. */
  maxWatches?: number
}

/** A change of a path. */
export interface WatchedChange {
  kind: string
  path: string
  to?: string
}

/** A summary of recently ended calls. */
export interface WorkProfile {
  folded: string
  summary: string
  svg?: string
  totalMs: number
  sampleCount: number
}

/** A watched directory. */
export declare class WorkspaceHandle {
  /** Returns the absolute path of the directory. */
   root(): string
  /** Searches files as `grep` does. */
   grep(options: GrepRequest, onMatch?: ((arg: Columns) => unknown) | undefined | null, abort?: Abort | undefined | null): Promise<GrepAnswer>
  /** Finds entries as `glob` does. */
   glob(options: GlobRequest, abort?: Abort | undefined | null): Promise<GlobAnswer>
  /** Finds entries as `fuzzyFind` does; a boost changes the order. */
   fuzzyFind(options: FindRequest, boost?: BoostRequest | undefined | null, abort?: Abort | undefined | null): Promise<FindAnswer>
  /** Closes the workspace and releases its resources. */
   close(): Promise<void>
  /** Records a use of a path; the time in milliseconds since the epoch. */
   note(path: string, kind: UseKind, at: number): void
  /** Returns the paths that changed since a token. */
   changes(since?: string | undefined | null, timeoutMs?: number | undefined | null, abort?: Abort | undefined | null): Promise<ChangesAnswer>
  /** Returns the progress of building the index. */
   progress(): ProgressAnswer
  /** Adds the files that are not indexed yet. */
   ready(timeoutMs?: number | undefined | null, abort?: Abort | undefined | null): Promise<WorkspaceState>
  /** Returns the state as of the last call. */
   status(): WorkspaceState
}

/** The options of a workspace, checked by the TypeScript side. */
export interface WorkspaceRequest {
  root: string
  index?: IndexPolicy
  sweep: boolean
  inMemory: boolean
  cacheDir?: string
  maxIndexBytes?: number
  maxMemoryBytes?: number
  maxWatches?: number
  timeoutMs?: number
}

/** The stages of a workspace. */
export declare enum WorkspaceStage {
  Plain = 'plain',
  Listing = 'listing',
  Building = 'building',
  Ready = 'ready',
  Closed = 'closed'
}

export interface WorkspaceState {
  state: WorkspaceStage
  mode: FreshnessMode
  reason?: string
  files: number
  folders: number
  indexed: number
  changed: number
  pending: number
  odd: number
  binary: number
  textBytes: number
  indexBytes: number
  memoryBytes: number
  watches: number
  unwatched: number
  writer: boolean
  persisted: boolean
  full: boolean
  sweeps: number
  overflows: number
  surprises: number
  plan: string
  documents: number
  candidates: number
  barrierMicros: number
  why?: string
}

/** Locks a file, and waits until no other lock conflicts. */
export declare function acquireFileLock(path: string, shared: boolean, timeoutMs?: number | undefined | null, abort?: Abort | undefined | null): Promise<FileLockHandle>

/** Applies a patch to a directory. A text is converted to UTF-8 on the pool; bytes are copied first. */
export declare function applyPatch(text: string | Uint8Array, options: PatchRequest, abort?: Abort): Promise<Array<PatchedFile>>

export declare function countAmbiguous(text: string): number

/** Returns true if the processor supports all of x86-64-v3. */
export declare function cpuSupportsModern(): boolean

/** Compiles a policy. */
export declare function createSandbox(setup: SandboxSetup): Promise<SandboxHandle>

/** Compares two texts. The texts are passed as UTF-16 and converted to UTF-8 on the pool. */
export declare function diff(before: string, after: string, options: DiffRequest, abort?: Abort): Promise<Uint32Array>

/** Runs one command in its own shell, or one program. */
export declare function executeShell(setup: ShellSetup, run: ShellRun, streams: ShellStreams, input?: ShellInput | undefined | null, sandbox?: SandboxHandle | undefined | null, onChunk?: ((arg: OutputChunk) => unknown) | undefined | null, abort?: Abort | undefined | null): Promise<ShellAnswer>

export declare function extractSegments(line: string, beforeEnd: number, afterStart: number, afterLength: number, strictAfter: boolean, tabWidth: number): string

/** Scales and encodes an image to fit the limits of a model. */
export declare function fitImage(bytes: Uint8Array, options: FitRequest, abort?: Abort | undefined | null): Promise<FittedImage>

/** Finds the entries below a directory whose paths match a query best. */
export declare function fuzzyFind(options: FindRequest, abort?: Abort | undefined | null): Promise<FindAnswer>

/** Lists one name per language. */
export declare function getSupportedLanguages(): Array<string>

/** Returns facts about the machine. */
export declare function getSystemInfo(): SystemFacts

/** Summarises recently ended calls. */
export declare function getWorkProfile(lastSeconds: number): WorkProfile

/** Finds the entries below a directory that match a pattern. */
export declare function glob(options: GlobRequest, abort?: Abort | undefined | null): Promise<GlobAnswer>

/** Finds the entries below a directory that match a pattern, synchronously. */
export declare function globSync(options: GlobRequest): GlobAnswer

/** Searches files; `onMatch` receives pieces of the result while the search runs. */
export declare function grep(options: GrepRequest, onMatch?: ((arg: Columns) => unknown) | undefined | null, abort?: Abort | undefined | null): Promise<GrepAnswer>

/** Searches files synchronously. */
export declare function grepSync(options: GrepRequest): GrepAnswer

/** Returns whether a pattern matches anywhere in a text. */
export declare function hasMatch(content: string | Uint8Array, pattern: string | Uint8Array, ignoreCase: boolean, multiline: boolean): boolean

/** Colours code; see `highlightCode`. */
export declare function highlightCode(code: string, lang: string, colors: HighlightPalette): string

/** Colours code and counts lines without colours; see `highlightCodeDetailed`. */
export declare function highlightCodeDetailed(code: string, lang: string, colors: HighlightPalette): HighlightResult

/** Parses a page into nodes. */
export declare function htmlNodes(html: string): HtmlNodes

/** Converts a page to Markdown. The page is passed as UTF-16 and converted to UTF-8 on the pool. */
export declare function htmlToMarkdown(html: string, options: HtmlRequest, abort?: Abort): Promise<string>

/** Removes cached scans: all, or those whose root contains the path or is below it. */
export declare function invalidateFsScanCache(path?: string | undefined | null): void

/** Returns the names of keys that are not characters; `parseKey` returns their index plus 0x110000. */
export declare function keyNames(): Array<string>

/** Signals a process and all its descendants. */
export declare function killTree(pid: number, signal: number): number

/** Lists the views that processes have left behind. */
export declare function leftoverViews(home?: string | undefined | null, timeoutMs?: number | undefined | null, abort?: Abort | undefined | null): Promise<LeftoverAnswer[]>

/** Returns the process ids of all descendants of a process. */
export declare function listDescendants(pid: number): Array<number>

export declare function matchesKey(data: string, keyId: string, kittyActive: boolean): boolean

export declare function matchesKittySequence(data: string, codepoint: number, modifier: number): boolean

export declare function matchesLegacySequence(data: string, keyName: string): boolean

/** Returns the version compiled into the addon; the loader compares it with the package's. */
export declare function nativeVersion(): string

/** Opens the checkpoints of a directory. */
export declare function openCheckpoints(request: CheckpointsRequest, abort?: Abort | undefined | null): Promise<CheckpointsHandle>

/** Opens a terminal. */
export declare function openPty(cols: number, rows: number): PtyPair

/** Opens a writer for a file descriptor. */
export declare function openTtyWriter(fd: number): TtyWriterHandle

/** Creates a view of a directory. */
export declare function openView(request: ViewRequest, abort?: Abort | undefined | null): Promise<ViewHandle>

/** Reads a directory and begins to watch it. */
export declare function openWatch(path: string, options: WatchRequest, abort?: Abort | undefined | null): Promise<WatchHandle>

/** Opens a directory. */
export declare function openWorkspace(request: WorkspaceRequest, abort?: Abort | undefined | null): Promise<WorkspaceHandle>

/** Decodes an image. */
export declare function parseImage(bytes: Uint8Array, timeoutMs?: number | undefined | null, abort?: Abort | undefined | null): Promise<Picture>

/**
 * Returns the key as a number: modifiers from bit 24 on (shift 1, alt 2, ctrl 4, super 8), below them character or
 * name; 0 if there is no key. Bit 31: the sequence may match further ids.
 */
export declare function parseKey(data: string, kittyActive: boolean): number

export declare function parseKittySequence(data: string): KittyFields | null

/** Returns the running process with this id; null if there is none. */
export declare function processFromPid(pid: number): ProcessHandle | null

/** Deletes the index of a directory from disk; resolves to false if there is none. */
export declare function removeWorkspace(root: string, cacheDir?: string | undefined | null): Promise<boolean>

/** Opens a view that a process has left behind. */
export declare function reopenView(home: string | undefined | null, id: string, timeoutMs?: number | undefined | null, abort?: Abort | undefined | null): Promise<ViewHandle>

export declare function sanitizeText(text: string): string | null

/** Searches text in memory. */
export declare function search(content: string | Uint8Array, options: GrepRequest): SearchAnswer

export declare function sliceWithWidth(line: string, start: number, length: number, strict: boolean, tabWidth: number): string

/** Returns whether a language is known. */
export declare function supportsLanguage(lang: string): boolean

export declare function truncateToWidth(text: string, maxWidth: number, ellipsis: number, pad: boolean, tabWidth: number): string | null

/** Locks a file; resolves to null if another lock conflicts. */
export declare function tryFileLock(path: string, shared: boolean): Promise<FileLockHandle | null>

/** Locks a file synchronously; returns null if another lock conflicts. */
export declare function tryFileLockSync(path: string, shared: boolean): FileLockHandle | null

/** Writes the difference of two texts as a unified diff. */
export declare function unifiedDiff(before: string, after: string, options: UnifiedRequest, abort?: Abort): Promise<string>

export declare function visibleWidth(text: string, tabWidth: number): number

/** Returns the lines, joined by line feeds: one string is passed faster than many. */
export declare function wrapTextWithAnsi(text: string, width: number, tabWidth: number, cjkRules: boolean): string
