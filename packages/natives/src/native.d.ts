// Written by `cargo xtask gen`.

/** The native end of an `AbortSignal` and of a callback: the TypeScript side calls `abort()` when the signal fires. */
export declare class Abort {
  /** One that is not aborted yet. */
   constructor()
  /** Ends the call that was given this object. */
   abort(): void
  /** Holds back what goes to the callback of the call: it has returned a promise. */
   hold(): void
  /** Lets it go on: the promise is settled. */
   release(): void
}

/** The files that a person has in mind. */
export interface BoostRequest {
  current?: string
  recent?: Array<string>
}

/** The paths that changed between two moments. */
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

/** Differences. */
export interface CheckpointChangesAnswer {
  paths: Buffer
  ends: Array<number>
  changes: Array<string>
  kinds: Array<string>
  from: Buffer
  /** Where each old path ends; one that ends where the one before it does is none. */
  fromEnds: Array<number>
  truncated: boolean
  coverage: string
}

/** The checkpoints of a directory. */
export declare class CheckpointsHandle {
  /** The directory, all links resolved. */
   root(): string
  /** Remembers the directory. */
   take(request: TakeRequest, abort?: Abort | undefined | null): Promise<CheckpointAnswer>
  /** Remembers some paths before they are written. */
   note(paths: Array<Buffer>, session?: string | undefined | null, timeoutMs?: number | undefined | null, abort?: Abort | undefined | null): Promise<CheckpointAnswer>
  /** Lists all checkpoints. */
   list(): Promise<CheckpointAnswer[]>
  /** Compares two checkpoints. */
   changes(from: string, to: string, timeoutMs?: number | undefined | null, abort?: Abort | undefined | null): Promise<CheckpointChangesAnswer>
  /** Says what a restore would do. */
   plan(id: string, request: RestoreRequest, abort?: Abort | undefined | null): Promise<PlanAnswer>
  /** Undoes changes. */
   restore(id: string, request: RestoreRequest, abort?: Abort | undefined | null): Promise<RestoredAnswer>
  /** Says what the store holds. */
   usage(): Promise<UsageAnswer>
  /** Brings the store within its limits. */
   gc(timeoutMs?: number | undefined | null, abort?: Abort | undefined | null): Promise<CollectedAnswer>
}

/** What is opened. */
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

/** What a collection removed. */
export interface CollectedAnswer {
  removed: Array<string>
  freedBytes: number
}

/** Rows as columns; `sinew_search::Rows` describes the numbers. */
export interface Columns {
  text: string
  numbers: Uint32Array
}

/** The clipboard of one display. It offers what was written for as long as JavaScript holds it. */
export declare class DesktopClipboard {
  /** Opens nothing yet. */
   constructor(display?: string | undefined | null)
  /** The text in it. */
   readText(): Promise<string | null>
  /** The picture in it, as PNG. */
   readImage(): Promise<Uint8Array | null>
  /** Puts text into it. */
   writeText(text: string): Promise<void>
}

/** The pieces that are compared. */
export interface DiffRequest {
  /** `"line"` or `"word"`. */
  unit?: string
  /** The time limit in milliseconds. */
  timeoutMs?: number
}

/** A lock until it is released, collected, or its thread ends. */
export declare class FileLockHandle {
  /** Lets go of the lock; later calls do nothing. */
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

/** The limits that a picture has to fit. */
export interface FitRequest {
  /** Most pixels in a row. */
  maxWidth?: number
  /** Most rows. */
  maxHeight?: number
  /** Most bytes as base64 text. */
  maxBytes?: number
  /** The format of the result. */
  format?: number
  /** The time limit in milliseconds. */
  timeoutMs?: number
}

/** A picture that fits. */
export interface FittedImage {
  /** The file. */
  data: Uint8Array
  /** Its MIME type. */
  mimeType: string
  /** Pixels in a row. */
  width: number
  /** Rows. */
  height: number
  /** True when the size in pixels differs from that of the input. */
  resized: boolean
}

/** The way in which a workspace is kept fresh. */
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
  pattern?: string
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
  glob?: string
  type?: string
  hidden?: boolean
  gitignore?: boolean
  cache?: boolean
  timeoutMs?: number
}

/** One ANSI string per category; what is missing has no colour. */
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

/** A coloured text and how much a limit left plain. */
export interface HighlightResult {
  /** The code with colours. */
  text: string
  /** The number of lines that a limit left plain. */
  plainLines: number
}

/** The native end of a `HighlightStream`. */
export declare class HighlightState {
  /** A stream of code in `lang`. */
   constructor(lang: string, colors: HighlightPalette)
  /** The number of lines so far that a limit left plain. */
  get plainLines(): number
  /** Colours the next piece. */
   push(chunk: string): string
}

/** The nodes of a page as columns; `sinew_html::Nodes` describes the numbers. */
export interface HtmlNodes {
  text: string
  numbers: Uint32Array
}

/** The parts of a page to leave out. */
export interface HtmlRequest {
  /** Drop what is not the text of the page. */
  cleanContent?: boolean
  /** Drop pictures. */
  skipImages?: boolean
  /** The time limit in milliseconds. */
  timeoutMs?: number
}

/** The time at which files are read into the index unasked. */
export declare enum IndexPolicy {
  Auto = 'auto',
  Always = 'always',
  Never = 'never'
}

/** Cuts input into sequences, marked by a leading `s`; pastes by `p`, cursor reports (`row;column`) by `c`. */
export declare class InputBuffer {
  /** An empty buffer. */
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

/** A piece of the output of a command. */
export interface OutputChunk {
  /** From standard error, where that is apart. */
  stderr: boolean
  data: string | Uint8Array
}

/** A collector of output of any size that keeps the end in memory. */
export declare class OutputSink {
  /** Creates an empty sink; no file is created yet. */
   constructor(options: SinkRequest)
  /** Appends output. */
   push(data: string | Uint8Array): void
  /** Returns the end of the output and the totals. */
   dump(): SinkDump
}

/** The directory that is patched, and how. */
export interface PatchRequest {
  /** The directory below which files may change. */
  root: string
  /** Whether nothing is written. */
  dryRun?: boolean
  /** The context lines at each end of a hunk that need not match. */
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
  /** The path before a rename, or of the file that was copied. */
  from?: string
  /** The number of added lines. */
  added: number
  /** The number of removed lines. */
  removed: number
  /** Where each hunk was applied. */
  hunks: Array<PatchedHunk>
}

/** Where a hunk was applied. */
export interface PatchedHunk {
  /** The first line in the new text, from 1. */
  line: number
  /** The lines between the announced place and this one. */
  offset: number
  /** The context lines at each end that did not match. */
  fuzz: number
}

/** A decoded picture. */
export declare class Picture {
  /** Cuts a part out. */
   crop(left: number, top: number, width: number, height: number): Promise<Picture>
  /** Puts it on a larger canvas of one colour: `0xrrggbbaa`. */
   extend(left: number, top: number, width: number, height: number, colour: number): Promise<Picture>
  /** Turns and mirrors it, by the number of an EXIF orientation. */
   orient(orientation: number): Promise<Picture>
  /** Pixels in a row. */
  get width(): number
  /** The number of rows. */
  get height(): number
  /** Makes a picture of another size. */
   resize(width: number, height: number, filter: number, timeoutMs?: number | undefined | null, abort?: Abort | undefined | null): Promise<Picture>
  /** Writes the picture as a file. */
   encode(format: number, quality: number, timeoutMs?: number | undefined | null, abort?: Abort | undefined | null): Promise<Uint8Array>
  /** Writes the picture as escape codes. */
   terminal(protocol: string, options: TerminalRequest, abort?: Abort | undefined | null): Promise<string>
}

/** A plan. */
export interface PlanAnswer {
  paths: Buffer
  ends: Array<number>
  actions: Array<string>
  /** Empty without one. */
  reasons: Array<string>
  changes: Array<string>
  kinds: Array<string>
  /** Empty without one. */
  notes: Array<string>
  repositories: Array<RepositoryAnswer>
  coverage: string
}

/** A handle that stays with its process. It holds nothing of the system between calls. */
export declare class ProcessHandle {
  /** Its number. */
  get pid(): number
  /** The number of its parent. */
   ppid(): number | null
  /** Its command line. */
   args(): Array<string> | null
  /** Its living children. */
   children(): Array<ProcessHandle>
  /** Returns whether it runs. */
   running(): boolean
  /** Ends it and all that descends from it. */
   terminate(options: TerminateRequest): Promise<Termination>
  /** Waits until it is over. */
   waitForExit(timeoutMs?: number, abort?: Abort): Promise<void>
}

/** The progress of a build. */
export interface ProgressAnswer {
  phase: ProgressPhase
  files: number
  totalFiles: number
  bytes: number
}

/** The steps of a build. */
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
  /** Gives the terminal another size. */
   resize(cols: number, rows: number): void
  /** Ends the program and all that came from it. */
   kill(): void
  /** Stops reading the terminal, or goes on. */
   pause(paused: boolean): void
  /** The running program, once it was started. */
   terminal(): PtyTerminal | null
  /** The same; blocks until it was started, or could not be. */
   waitTerminal(): PtyTerminal | null
  /** The same as a promise. */
   started(): Promise<PtyTerminal | null>
  /** The number of bytes that wait to be typed. */
  get pendingBytes(): number
}

/** A terminal without a program; who gets it closes both ends. */
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
  cols?: number
  rows?: number
  timeoutMs?: number
  /** The file of the supervisor program. */
  supervisor?: string
}

/** The end of a program. */
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
  /** The number of the host's end of the terminal. */
  fd: number
  /** The path of the program's end. */
  name: string
}

/** A repository that moved. */
export interface RepositoryAnswer {
  path: Buffer
  from?: string
  to?: string
  index: boolean
  command?: string
}

/** What is restored. */
export interface RestoreRequest {
  /** Starts and ends in turn. */
  spans?: Array<string>
  paths?: Array<Buffer>
  force: boolean
  forcePaths?: Array<Buffer>
  timeoutMs?: number
}

/** What a restore did. */
export interface RestoredAnswer {
  plan: PlanAnswer
  redo?: string
  done: number
  planned: number
}

/** A compiled policy. */
export declare class SandboxHandle {
  /** What is enforced, by what, and what is missing. */
   status(): Array<SandboxPromise>
  /** Refuses new commands, and releases what no command uses any more. */
   close(): void
}

/** The state of one promise. */
export interface SandboxPromise {
  name: string
  held: string
  by: Array<string>
  missing: Array<string>
}

/** A call that a sandbox refused. */
export interface SandboxRefusal {
  kind: string
  target?: string
}

/** A policy, and the parts of the environment that give it its meaning. */
export interface SandboxSetup {
  mode: string
  roots: Array<string>
  write: Array<string>
  denyWrite: Array<string>
  denyRead: Array<string>
  denyExec: Array<string>
  /** The protected paths; absent for the default. */
  protect?: Array<string>
  /** The default protection, also where the mode has none. */
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

/** The end of a command. */
export interface ShellAnswer {
  exitCode?: number
  signal?: string
  cancelled: boolean
  timedOut: boolean
  workingDir?: string
  stateLostReason?: string
  /** What the sandbox refused. */
  refused: Array<SandboxRefusal>
}

/** A shell that lives on from command to command. */
export declare class ShellHandle {
  /** Creates a shell that starts with its first command. */
   constructor(setup: ShellSetup, sandbox?: SandboxHandle | undefined | null)
  /** Runs one command after those before it. */
   run(run: ShellRun, onChunk?: ((arg: string) => unknown) | undefined | null, abort?: Abort | undefined | null): Promise<ShellAnswer>
  /** Stops the running command. */
   abort(): Promise<void>
  /** The processes of earlier runs that still live. */
   jobs(): Promise<Array<ShellJob>>
  /** Ends everything. */
   close(): Promise<void>
  /** `"bash"` or `"brush"`. */
  get engine(): string
}

/** The standard input of a command while it runs. */
export declare class ShellInput {
  /** A pipe that nobody reads yet. */
   constructor()
  /** Writes bytes; false once nobody takes them any more. */
   write(bytes: Uint8Array, abort?: Abort | undefined | null): Promise<boolean>
  /** Ends the input. */
   end(): void
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

/** The setup of a shell. */
export interface ShellSetup {
  /** The file of the supervisor program. */
  supervisor: string
  /** The whole environment. */
  env: Record<string, string>
  snapshotPath?: string
  engine?: string
}

/** The streams of one command. */
export interface ShellStreams {
  /** A program and its arguments, instead of a script. */
  args?: Array<string>
  /** Standard error comes apart. */
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

/** A checkpoint to be taken. */
export interface TakeRequest {
  label?: string
  kind?: 'manual' | 'start' | 'end'
  session?: string
  /** Directories that may have changed. */
  changed?: Array<Buffer>
  timeoutMs?: number
}

/** The place of a picture in a terminal. */
export interface TerminalRequest {
  /** Columns that it covers. */
  columns?: number
  /** Rows that it covers. */
  rows?: number
  /** Its number in the Kitty protocol. */
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

/** The outcome for a process and its tree. */
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

/** The head of a unified diff, and how much of the texts it shows. */
export interface UnifiedRequest {
  /** The name of the old file. */
  oldName?: string
  /** The name of the new file. */
  newName?: string
  /** Unchanged lines around each change. */
  context?: number
  /** The time limit in milliseconds. */
  timeoutMs?: number
}

/** What a store holds. */
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

/** Changes, and how they were found. */
export interface WatchBatch {
  mode: string
  events: Array<WatchedChange>
}

/** A directory that is watched until it is closed or collected, or its thread ends. */
export declare class WatchHandle {
  /** How changes were found when the directory was opened. */
  get mode(): string
  /** Waits for the next batch; null once the watcher is closed. */
   next(): Promise<WatchBatch | null>
  /** Ends the wait; later ones end at once. */
   close(): void
}

/** How a directory is watched. */
export interface WatchRequest {
  /** Globs of paths that are left out. */
  ignore?: Array<string>
  /** Whether ignore files count. */
  gitignore?: boolean
  /** Whether folders below are watched too. */
  recursive?: boolean
  /** The time in which changes are gathered, in milliseconds. */
  debounceMs?: number
  /** The most watches. */
  maxWatches?: number
}

/** A change of a path. */
export interface WatchedChange {
  kind: string
  path: string
  to?: string
}

/** The calls that ended lately, summed up. */
export interface WorkProfile {
  folded: string
  summary: string
  svg?: string
  totalMs: number
  sampleCount: number
}

/** A folder in view. */
export declare class WorkspaceHandle {
  /** The folder, absolute. */
   root(): string
  /** Searches files as `grep` does. */
   grep(options: GrepRequest, onMatch?: ((arg: Columns) => unknown) | undefined | null, abort?: Abort | undefined | null): Promise<GrepAnswer>
  /** Finds entries as `glob` does. */
   glob(options: GlobRequest, abort?: Abort | undefined | null): Promise<GlobAnswer>
  /** Finds entries as `fuzzyFind` does, in another order where there is a boost. */
   fuzzyFind(options: FindRequest, boost?: BoostRequest | undefined | null, abort?: Abort | undefined | null): Promise<FindAnswer>
  /** Gives everything back. */
   close(): Promise<void>
  /** Notes a use of a path; the time in milliseconds since the epoch. */
   note(path: string, kind: UseKind, at: number): void
  /** Returns what changed since the moment of a token. */
   changes(since?: string | undefined | null, timeoutMs?: number | undefined | null, abort?: Abort | undefined | null): Promise<ChangesAnswer>
  /** How far the build that runs has come. */
   progress(): ProgressAnswer
  /** Reads what the index does not know. */
   ready(timeoutMs?: number | undefined | null, abort?: Abort | undefined | null): Promise<WorkspaceState>
  /** The state as of the last call. */
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

/** Waits for the lock of a file. */
export declare function acquireFileLock(path: string, shared: boolean, timeoutMs?: number | undefined | null, abort?: Abort | undefined | null): Promise<FileLockHandle>

/** Applies a patch to a directory. A text crosses as JavaScript holds it and is turned into UTF-8 on the pool; bytes are copied before. */
export declare function applyPatch(text: string | Uint8Array, options: PatchRequest, abort?: Abort): Promise<Array<PatchedFile>>

export declare function countAmbiguous(text: string): number

/** Returns whether the processor has all of x86-64-v3. */
export declare function cpuSupportsModern(): boolean

/** Compiles a policy. */
export declare function createSandbox(setup: SandboxSetup): Promise<SandboxHandle>

/** Compares two texts. The texts cross as JavaScript holds them and are turned into UTF-8 on the pool. */
export declare function diff(before: string, after: string, options: DiffRequest, abort?: Abort): Promise<Uint32Array>

/** Runs one command in a shell of its own, or one program. */
export declare function executeShell(setup: ShellSetup, run: ShellRun, streams: ShellStreams, input?: ShellInput | undefined | null, sandbox?: SandboxHandle | undefined | null, onChunk?: ((arg: OutputChunk) => unknown) | undefined | null, abort?: Abort | undefined | null): Promise<ShellAnswer>

export declare function extractSegments(line: string, beforeEnd: number, afterStart: number, afterLength: number, strictAfter: boolean, tabWidth: number): string

/** Scales and encodes a picture to fit the limits of a model. */
export declare function fitImage(bytes: Uint8Array, options: FitRequest, abort?: Abort | undefined | null): Promise<FittedImage>

/** Finds the entries below a folder whose path answers a query best. */
export declare function fuzzyFind(options: FindRequest, abort?: Abort | undefined | null): Promise<FindAnswer>

/** Lists one name per language. */
export declare function getSupportedLanguages(): Array<string>

/** Returns facts about the machine. */
export declare function getSystemInfo(): SystemFacts

/** Sums up the calls that ended lately. */
export declare function getWorkProfile(lastSeconds: number): WorkProfile

/** Finds the entries below a folder that match a pattern. */
export declare function glob(options: GlobRequest, abort?: Abort | undefined | null): Promise<GlobAnswer>

/** Finds the entries below a folder that match a pattern, before it returns. */
export declare function globSync(options: GlobRequest): GlobAnswer

/** Searches files; `onMatch` gets pieces of the result while the search runs. */
export declare function grep(options: GrepRequest, onMatch?: ((arg: Columns) => unknown) | undefined | null, abort?: Abort | undefined | null): Promise<GrepAnswer>

/** Searches files, before it returns. */
export declare function grepSync(options: GrepRequest): GrepAnswer

/** Returns whether a pattern matches anywhere in a text. */
export declare function hasMatch(content: string | Uint8Array, pattern: string | Uint8Array, ignoreCase: boolean, multiline: boolean): boolean

/** Colours code; see `highlightCode`. */
export declare function highlightCode(code: string, lang: string, colors: HighlightPalette): string

/** Colours code and says what stayed plain; see `highlightCodeDetailed`. */
export declare function highlightCodeDetailed(code: string, lang: string, colors: HighlightPalette): HighlightResult

/** Reads a page into nodes. */
export declare function htmlNodes(html: string): HtmlNodes

/** Turns a page into Markdown. The page crosses as JavaScript holds it and is turned into UTF-8 on the pool. */
export declare function htmlToMarkdown(html: string, options: HtmlRequest, abort?: Abort): Promise<string>

/** Drops scans: all, or those that a path lies in, is the root of or lies above. */
export declare function invalidateFsScanCache(path?: string | undefined | null): void

/** The names of keys that are no characters; `parseKey` gives their place plus 0x110000. */
export declare function keyNames(): Array<string>

/** Signals a process and all that descends from it. */
export declare function killTree(pid: number, signal: number): number

/** The pids of all that descends from a process. */
export declare function listDescendants(pid: number): Array<number>

export declare function matchesKey(data: string, keyId: string, kittyActive: boolean): boolean

export declare function matchesKittySequence(data: string, codepoint: number, modifier: number): boolean

export declare function matchesLegacySequence(data: string, keyName: string): boolean

/** The version compiled into the addon; the loader compares it with the package's. */
export declare function nativeVersion(): string

/** Opens the checkpoints of a directory. */
export declare function openCheckpoints(request: CheckpointsRequest, abort?: Abort | undefined | null): Promise<CheckpointsHandle>

/** Opens a terminal. */
export declare function openPty(cols: number, rows: number): PtyPair

/** Starts a writer for a descriptor. */
export declare function openTtyWriter(fd: number): TtyWriterHandle

/** Reads a directory and begins to watch it. */
export declare function openWatch(path: string, options: WatchRequest, abort?: Abort | undefined | null): Promise<WatchHandle>

/** Opens a folder. */
export declare function openWorkspace(request: WorkspaceRequest, abort?: Abort | undefined | null): Promise<WorkspaceHandle>

/** Decodes a picture. */
export declare function parseImage(bytes: Uint8Array, timeoutMs?: number | undefined | null, abort?: Abort | undefined | null): Promise<Picture>

/**
 * The key as one number: modifiers from bit 24 on (shift 1, alt 2, ctrl 4, super 8), then character or name; 0: none.
 * Bit 31: the sequence may match more ids than that of the key.
 */
export declare function parseKey(data: string, kittyActive: boolean): number

export declare function parseKittySequence(data: string): KittyFields | null

/** The process that has this number now. */
export declare function processFromPid(pid: number): ProcessHandle | null

/** Deletes the index of a folder on disk; false where there is none. */
export declare function removeWorkspace(root: string, cacheDir?: string | undefined | null): Promise<boolean>

export declare function sanitizeText(text: string): string | null

/** Searches text in memory. */
export declare function search(content: string | Uint8Array, options: GrepRequest): SearchAnswer

export declare function sliceWithWidth(line: string, start: number, length: number, strict: boolean, tabWidth: number): string

/** Returns whether a language is known. */
export declare function supportsLanguage(lang: string): boolean

export declare function truncateToWidth(text: string, maxWidth: number, ellipsis: number, pad: boolean, tabWidth: number): string | null

/** Takes the lock of a file if nobody has it. */
export declare function tryFileLock(path: string, shared: boolean): Promise<FileLockHandle | null>

/** The same, at once. */
export declare function tryFileLockSync(path: string, shared: boolean): FileLockHandle | null

/** Writes the difference of two texts as a unified diff. */
export declare function unifiedDiff(before: string, after: string, options: UnifiedRequest, abort?: Abort): Promise<string>

export declare function visibleWidth(text: string, tabWidth: number): number

/** The lines, joined by line feeds: one string crosses faster than many. */
export declare function wrapTextWithAnsi(text: string, width: number, tabWidth: number): string
