/**
 * Splits texts of several glob patterns.
 * @module
 */

const windows = process.platform === "win32";
/** An escaped character (`\` separates directories on Windows), a complete class, or one character. */
const TOKEN = windows ? /\[[!^]?\]?(?:\[:\w+:\]|[^\]/])*\]|[^]/g : /\\[^]|\[[!^]?\]?(?:\[:\w+:\]|\\[^]|[^\]/\\])*\]|[^]/g;

/** Splits a text into patterns at commas outside of classes, alternatives and names such as `\{a,b\}`. @internal */
export function splitPatterns(text: string): string[] {
  const tokens = text.match(TOKEN) ?? [];
  const alternatives = new Set<number>();
  const open: { brace: string; commas: number[] }[] = [];
  tokens.forEach((token, at) => {
    if (token === "{" || token === "\\{") open.push({ brace: token, commas: [] });
    else if (token === ",") for (const { commas } of open) commas.push(at);
    else if (token === "}" || (token === "\\}" && open.at(-1)?.brace === "\\{")) {
      const partner = open.findLastIndex(({ brace }) => brace === token.replace("}", "{"));
      if (partner >= 0) for (const comma of open.splice(partner)[0]!.commas) alternatives.add(comma);
    }
  });
  const parts = [""];
  tokens.forEach((token, at) => {
    if (token === "," && !alternatives.has(at)) parts.push("");
    else parts[parts.length - 1] += token === "\\," ? "," : token;
  });
  return parts.length === 1 ? [text] : parts.map((part) => part.trim()).filter(Boolean);
}
