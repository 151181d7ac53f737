/**
 * Counts tokens.
 * @module
 */
import { createRequire } from "node:module";

/** The vocabularies of pi-natives. Only those of OpenAI are supported. */
export const Encoding = {
  O200kBase: "O200kBase", Cl100kBase: "Cl100kBase", ClaudeV3: "ClaudeV3", ClaudeV47: "ClaudeV47", ClaudeV5: "ClaudeV5", ClaudeV5Sonnet: "ClaudeV5Sonnet",
  Qwen3: "Qwen3", DeepSeekV3: "DeepSeekV3", KimiK2: "KimiK2", Glm5: "Glm5",
} as const;
/** The vocabularies of pi-natives. */
export type Encoding = (typeof Encoding)[keyof typeof Encoding];

const NAMES: Partial<Record<Encoding, "o200k_base" | "cl100k_base">> = { O200kBase: "o200k_base", Cl100kBase: "cl100k_base" };
const require = createRequire(import.meta.url);

/**
 * Counts the tokens of a text, or the total of several texts.
 * @throws Error for an unsupported vocabulary.
 */
export function countTokens(input: string | string[], encoding?: Encoding | null): number {
  const name = NAMES[encoding ?? Encoding.O200kBase];
  if (!name) {
    // Programs search the message for the words after the value, and then estimate the count.
    const message = `countTokens: ${String(encoding)} does not match any variant of enum Encoding in @sinew/pi-natives; use Encoding.O200kBase or Encoding.Cl100kBase as an estimate`;
    throw Object.assign(new Error(message), { code: "InvalidArg" });
  }
  // Loaded on first use, because a vocabulary needs about 50 MB.
  return (require("@sinew/tokens") as typeof import("@sinew/tokens")).countTokens(input, name);
}
