/**
 * Counts tokens. The vocabularies and the patterns that split a text are those of `gpt-tokenizer`; the pieces are
 * merged here, in time n log n.
 * @module
 */
import { type Ranks, countMerged } from "./merge.js";

/** A vocabulary: `o200k_base` is used by GPT-4o and later, `cl100k_base` by GPT-4 and GPT-3.5. */
export type Encoding = "o200k_base" | "cl100k_base";

interface Vocabulary {
  ranks: Ranks;
  longest: number;
  split: RegExp;
}

type Token = string | readonly number[];

/** The files of the library, which are loaded when their vocabulary is first used. */
const SOURCES: Record<Encoding, () => { tokens: readonly (Token | undefined)[]; split: RegExp }> = {
  o200k_base: () => {
    const tokens = require("gpt-tokenizer/bpeRanks/o200k_base").default;
    return { tokens, split: require("gpt-tokenizer/encodingParams/o200k_base").O200KBase(tokens).tokenSplitRegex };
  },
  cl100k_base: () => {
    const tokens = require("gpt-tokenizer/bpeRanks/cl100k_base").default;
    return { tokens, split: require("gpt-tokenizer/encodingParams/cl100k_base").Cl100KBase(tokens).tokenSplitRegex };
  },
};

const vocabularies = new Map<Encoding, Vocabulary>();

/** Returns bytes as a string with one character per byte. */
const bytes = (token: Token): string => (typeof token === "string" ? Buffer.from(token, "utf8") : Buffer.from(token)).toString("latin1");

function vocabulary(encoding: Encoding): Vocabulary {
  let found = vocabularies.get(encoding);
  if (!found) {
    const source = Object.hasOwn(SOURCES, encoding) ? SOURCES[encoding] : undefined;
    if (!source) throw Object.assign(new RangeError(`countTokens: encoding must be one of ${Object.keys(SOURCES).join(", ")}, not ${String(encoding)}`), { code: "ERR_OUT_OF_RANGE" });
    const { tokens, split } = source();
    const ranks = new Map<string, number>();
    let longest = 0;
    tokens.forEach((token, rank) => {
      if (token === undefined) return;
      const key = bytes(token);
      ranks.set(key, rank);
      longest = Math.max(longest, key.length);
    });
    found = { ranks, longest, split: new RegExp(split.source, split.flags) };
    vocabularies.set(encoding, found);
  }
  return found;
}

/**
 * Counts the tokens of a text. Names of special tokens (`<|endoftext|>`) are text like any other.
 *
 * A megabyte of prose needs about 0.1 s, a megabyte of one letter about 2 s. The first call of an encoding loads its
 * vocabulary, which needs about 0.3 s.
 *
 * @param input A text, or several texts, whose counts are added.
 * @param encoding The vocabulary. Default: `"o200k_base"`.
 * @throws `TypeError` if an input is not a text, `RangeError` for an unknown encoding.
 * @example
 * ```js
 * import { countTokens } from "@sinew/tokens";
 * console.log(countTokens("The quick brown fox"), countTokens(["one", "two"], "cl100k_base")); // 4 2
 * ```
 */
export function countTokens(input: string | readonly string[], encoding: Encoding = "o200k_base"): number {
  const { ranks, longest, split } = vocabulary(encoding);
  let count = 0;
  for (const text of typeof input === "string" ? [input] : input) {
    if (typeof text !== "string") throw Object.assign(new TypeError(`countTokens: input must be a string or an array of strings, not ${typeof text}`), { code: "ERR_INVALID_ARG_TYPE" });
    for (const [piece] of text.matchAll(split)) {
      const key = bytes(piece);
      count += ranks.has(key) ? 1 : countMerged(key, ranks, longest);
    }
  }
  return count;
}
