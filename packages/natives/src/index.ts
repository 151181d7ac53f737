/**
 * The native core for coding agents.
 *
 * Every function that can run long supports `timeoutMs` and `signal`. Each function documents its options, limits and errors.
 * @packageDocumentation
 */
export type { CallOptions } from "./call.js";
export * from "./cache.js";
export * from "./checkpoints.js";
export * from "./clipboard.js";
export * from "./diff.js";
export * from "./file-lock.js";
export { fuzzyFind, type FuzzyFindMatch, type FuzzyFindOptions, type FuzzyFindResult } from "./find.js";
export { FileType, glob, globSync, type GlobMatch, type GlobOptions, type GlobResult, type GlobSyncOptions } from "./glob.js";
export { grep, grepSync, hasMatch, search, searchContent, type ContextLine, type GrepMatch, type GrepMode, type GrepOptions, type GrepResult, type GrepSyncOptions, type SearchMatch, type SearchOptions, type SearchResult } from "./grep.js";
export * from "./highlight.js";
export * from "./html.js";
export * from "./image.js";
export * from "./isolated-view.js";
export * from "./keys.js";
export * from "./list-workspace.js";
export * from "./output-sink.js";
export * from "./patch.js";
export * from "./process.js";
export * from "./profile.js";
export * from "./pty.js";
export * from "./run.js";
export * from "./sandbox.js";
export * from "./shell.js";
export * from "./stdin-buffer.js";
export * from "./system.js";
export * from "./text.js";
export * from "./tty-writer.js";
export * from "./watch.js";
export * from "./workspace.js";
