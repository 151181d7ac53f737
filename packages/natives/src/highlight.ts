/**
 * Source code as coloured terminal text.
 * @module
 */
import { native } from "./loader.js";
import type { HighlightState } from "./native.js";
import { type Table, options as check, text } from "./options.js";

/**
 * A palette: one ANSI string per category, such as `"\x1b[38;5;81m"`.
 *
 * Only complete SGR sequences count as a colour. A missing, empty or other entry means "no colour".
 */
export interface HighlightColors {
  /** Comments and quotations. */
  comment?: string | null | undefined;
  /** Keywords, constants of the language, tags, headings, keys of YAML and TOML. */
  keyword?: string | null | undefined;
  /** Names of functions and macros. */
  function?: string | null | undefined;
  /** Variables, parameters, attributes and properties, as far as the language tells them apart. */
  variable?: string | null | undefined;
  /** Strings, characters, regular expressions, raw text. */
  string?: string | null | undefined;
  /** Numbers and colours. */
  number?: string | null | undefined;
  /** Names of types, classes and modules. */
  type?: string | null | undefined;
  /** Operators. */
  operator?: string | null | undefined;
  /** Brackets, commas, semicolons. */
  punctuation?: string | null | undefined;
  /** Lines that a diff adds. */
  inserted?: string | null | undefined;
  /** Lines that a diff removes. */
  deleted?: string | null | undefined;
}

const COLORS: Table = {
  comment: "string", keyword: "string", function: "string", variable: "string", string: "string", number: "string",
  type: "string", operator: "string", punctuation: "string", inserted: "string", deleted: "string",
};

/** The language to look up; none is one that is not known. */
function language(call: string, lang: string | null | undefined): string {
  return lang === undefined || lang === null ? "" : text(`${call}: lang`, lang);
}

/**
 * Colours code.
 *
 * Removing the codes gives the code back, and every line ends with its colours taken back, so that lines can be cut
 * apart. A line that holds an escape character of its own stays plain. A lone surrogate is read as U+FFFD. Takes time
 * linear in the code: about a millisecond per 60 KB for the hundred languages that have a lexer. A rarer language goes
 * through a grammar, which is fifty times slower, and therefore has a budget of 32 KB of code (8 KB for the slowest few):
 * what comes then stays plain, as its lines beyond 1 KB do. `highlightCodeDetailed` says how many lines that were.
 *
 * @param code - Any text, with any line ends.
 * @param lang - A name, alias or file extension in any letter case: `"rust"`, `"ts"`, `".py"`, `"c++"`. For a language
 *   that is not known, or none, the code comes back as it is.
 * @param colors - The palette.
 * @throws TypeError for an argument of the wrong type.
 * @example
 * ```js
 * import { highlightCode } from "@sinew/natives";
 * highlightCode("let x = 1;", "rust", { keyword: "\x1b[31m" }); // "\x1b[31mlet\x1b[39m x = 1;"
 * ```
 */
export function highlightCode(code: string, lang: string | null | undefined, colors: HighlightColors): string {
  const source = text("highlightCode: code", code);
  const known = language("highlightCode", lang);
  const palette = check("highlightCode: colors", COLORS, colors);
  return known === "" || source === "" ? source : native.highlightCode(source, known, palette);
}

/** The result of `highlightCodeDetailed`. */
export interface HighlightResult {
  /** The code with colours, as `highlightCode` gives it. */
  text: string;
  /**
   * The number of lines that a limit left plain; 0 for a language that has a lexer, and for one that is not known. A rarer
   * language has a budget of 32 KB of code (8 KB for the slowest few), after which every line counts; before that, lines
   * beyond 1 KB do.
   */
  plainLines: number;
}

/**
 * Colours code as `highlightCode` does, and says how many lines a limit left plain.
 *
 * @param code - Any text, with any line ends.
 * @param lang - As `highlightCode` takes it.
 * @param colors - The palette.
 * @throws TypeError for an argument of the wrong type.
 * @example
 * ```js
 * import { highlightCodeDetailed } from "@sinew/natives";
 * const { text, plainLines } = highlightCodeDetailed("a\n".repeat(50_000), "textile", { keyword: "\x1b[31m" });
 * plainLines > 0; // true
 * ```
 */
export function highlightCodeDetailed(
  code: string,
  lang: string | null | undefined,
  colors: HighlightColors,
): HighlightResult {
  const source = text("highlightCodeDetailed: code", code);
  const known = language("highlightCodeDetailed", lang);
  const palette = check("highlightCodeDetailed: colors", COLORS, colors);
  return known === "" || source === "" ? { text: source, plainLines: 0 } : native.highlightCodeDetailed(source, known, palette);
}

/**
 * Returns whether `highlightCode` knows a language.
 *
 * @param lang - A name, alias or file extension in any letter case.
 * @throws TypeError for an argument of the wrong type.
 * @example
 * ```js
 * import { supportsLanguage } from "@sinew/natives";
 * supportsLanguage("tsx"); // true
 * ```
 */
export function supportsLanguage(lang: string): boolean {
  return native.supportsLanguage(language("supportsLanguage", lang));
}

/**
 * One name for each language that `highlightCode` knows, in lower case, sorted. Aliases are not listed.
 *
 * @example
 * ```js
 * import { getSupportedLanguages } from "@sinew/natives";
 * getSupportedLanguages().includes("python"); // true
 * ```
 */
export function getSupportedLanguages(): string[] {
  return native.getSupportedLanguages();
}

/**
 * Colours code that arrives in pieces, such as the answer of a model.
 *
 * Fed with whole lines it gives the same text as one call of `highlightCode` with all of it. A piece that ends inside a
 * line is coloured as far as it goes and ends with the colours taken back.
 *
 * @example
 * ```js
 * import { HighlightStream } from "@sinew/natives";
 * const stream = new HighlightStream("python", { keyword: "\x1b[31m" });
 * process.stdout.write(stream.push("def f():\n"));
 * process.stdout.write(stream.push("    return 1\n"));
 * ```
 */
export class HighlightStream {
  /** True when the language is known; if not, `push` gives every piece back as it is. */
  readonly supported: boolean;
  readonly #state: HighlightState;

  /**
   * @param lang - As `highlightCode` takes it.
   * @param colors - The palette.
   * @throws TypeError for an argument of the wrong type.
   */
  constructor(lang: string | null | undefined, colors: HighlightColors) {
    const name = language("HighlightStream", lang);
    this.supported = native.supportsLanguage(name);
    this.#state = new native.HighlightState(name, check("HighlightStream: colors", COLORS, colors));
  }

  /** The number of lines so far that a limit left plain, as `highlightCodeDetailed` counts them. */
  get plainLines(): number {
    return this.supported ? this.#state.plainLines : 0;
  }

  /**
   * Gives the next piece coloured.
   *
   * @param chunk - Any text; best whole lines.
   * @throws TypeError for an argument of the wrong type.
   */
  push(chunk: string): string {
    const piece = text("HighlightStream.push: chunk", chunk);
    return this.supported ? this.#state.push(piece) : piece;
  }
}
