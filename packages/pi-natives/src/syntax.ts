/**
 * Functions about syntax. There is no parser, so every language counts as unknown, which programs handle.
 * @module
 */

/** Option values of `astGrep`, `astEdit` and `astMatch`. */
export const AstMatchStrictness = { Cst: "cst", Smart: "smart", Ast: "ast", Relaxed: "relaxed", Signature: "signature", Template: "template" } as const;

/** A segment of a source file. */
export interface SummarySegment {
  /** `"kept"` or `"elided"`. */
  kind: string;
  startLine: number;
  endLine: number;
  text?: string;
}

/** The outline of a source file. */
export interface SummaryResult {
  language?: string;
  parsed: boolean;
  elided: boolean;
  totalLines: number;
  segments: SummarySegment[];
}

/** Returns the whole text as one segment, marked as not parsed. */
export function summarizeCode({ code }: { code: string; lang?: string; path?: string }): SummaryResult {
  const totalLines = code === "" ? 0 : code.split("\n").length - (code.endsWith("\n") ? 1 : 0);
  const segments = totalLines === 0 ? [] : [{ kind: "kept", startLine: 1, endLine: totalLines, text: code }];
  return { parsed: false, elided: false, totalLines, segments };
}

/** Returns null, as for a language without a grammar. */
export function blockRangeAt(_options: unknown): null {
  return null;
}

/** Returns null, as for a language without a grammar. */
export function nodeChainAt(_options: unknown): null {
  return null;
}

/** Returns null, as for a language without a grammar; programs then look for brackets. */
export function enclosingBlockBoundaries(_options: unknown): null {
  return null;
}
