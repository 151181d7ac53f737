/**
 * Splits texts of several glob patterns.
 * @module
 */

const windows = process.platform === "win32";
/** An escaped character (`\` separates directories on Windows), a complete class, or one character. */
const TOKEN = windows ? /\[[!^]?\]?(?:\[:\w+:\]|[^\]/])*\]|[^]/g : /\\[^]|\[[!^]?\]?(?:\[:\w+:\]|\\[^]|[^\]/\\])*\]|[^]/g;

/** Splits a text into patterns at commas outside of classes and alternatives. @internal */
export function splitPatterns(text: string): string[] {
  const tokens = text.match(TOKEN) ?? [];
  const alternatives = new Set<number>();
  const open: number[][] = [];
  tokens.forEach((token, at) => {
    if (token === "{") open.push([]);
    else if (token === ",") open.at(-1)?.push(at);
    else if (token === "}") for (const comma of open.pop() ?? []) alternatives.add(comma);
  });
  const parts = [""];
  tokens.forEach((token, at) => {
    if (token === "," && !alternatives.has(at)) parts.push("");
    else parts[parts.length - 1] += token === "\\," ? "," : token;
  });
  return parts.length === 1 ? [text] : parts.map((part) => part.trim()).filter(Boolean);
}
