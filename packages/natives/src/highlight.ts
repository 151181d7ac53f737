/**
 * Colors source code for a terminal.
 * @module
 */
import { native } from "./loader.js";
import type { HighlightState } from "./native.js";
import { type Table, options as check, text } from "./options.js";
import { TextJoiner } from "./text-joiner.js";

/**
 * A palette: one ANSI string per category, such as `"\x1b[38;5;81m"`.
 *
 * Only complete SGR sequences are colors. A missing, empty or other entry means no color.
 */
export interface HighlightColors {
  /** Comments and quotations. */
  comment?: string | null | undefined;
  /** Keywords, constants of the language, tags, headings, keys of YAML and TOML. */
  keyword?: string | null | undefined;
  /** Names of functions and macros. */
  function?: string | null | undefined;
  /** Variables, parameters, attributes and properties, if the language distinguishes them. */
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

/** Returns the language to look up; a missing one becomes an unknown one. */
function language(call: string, lang: string | null | undefined): string {
  return lang === undefined || lang === null ? "" : text(`${call}: lang`, lang);
}

/**
 * Colors code.
 *
 * Without the escape sequences the result is the code itself. Every line resets its colors at its end, so you can split the lines. A line
 * that contains an escape character stays plain. A lone surrogate is read as U+FFFD.
 *
 * Runs in linear time: about a millisecond per 60 KB for the hundred languages with a lexer. All others use a grammar that is fifty times
 * slower, with a limit of 32 KB of code (8 KB for the slowest ones): the rest stays plain, and so do lines over 1 KB.
 * `highlightCodeDetailed` returns how many lines stayed plain.
 *
 * @param code - Any text, with any line ends.
 * @param lang - A name, alias or file extension in any letter case: `"rust"`, `"ts"`, `".py"`, `"c++"`. For a language
 *   that is unknown, or without one, the code is returned unchanged.
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
  /** The colored code, as `highlightCode` returns it. */
  text: string;
  /**
   * Number of lines that stayed plain because of a limit; 0 for a language with a lexer, and for an unknown one. Counts every line after the
   * first 32 KB of code (8 KB for the slowest languages), and before that lines over 1 KB.
   */
  plainLines: number;
}

/**
 * Colors code like `highlightCode`, and returns how many lines stayed plain because of a limit.
 *
 * @param code - Any text, with any line ends.
 * @param lang - See `highlightCode`.
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
 * Returns whether `highlightCode` supports a language.
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
 * Returns one name for each supported language, in lower case, sorted, without aliases.
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
 * Colors code that arrives in pieces, such as the answer of a model.
 *
 * With whole lines, the result is the same as one call of `highlightCode`. A piece that ends inside of a line is colored up to its end, and
 * resets its colors there.
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
  /** True if the language is supported; otherwise `push` returns every piece unchanged. */
  readonly supported: boolean;
  readonly #state: HighlightState;
  readonly #joiner = new TextJoiner();

  /**
   * @param lang - See `highlightCode`.
   * @param colors - The palette.
   * @throws TypeError for an argument of the wrong type.
   */
  constructor(lang: string | null | undefined, colors: HighlightColors) {
    const name = language("HighlightStream", lang);
    this.supported = native.supportsLanguage(name);
    this.#state = new native.HighlightState(name, check("HighlightStream: colors", COLORS, colors));
  }

  /** Number of lines so far that stayed plain because of a limit, as in `highlightCodeDetailed`. */
  get plainLines(): number {
    return this.supported ? this.#state.plainLines : 0;
  }

  /**
   * Returns the next piece with colors. Half a surrogate pair at its end is part of the next piece.
   *
   * @param chunk - Any text; best whole lines.
   * @throws TypeError for an argument of the wrong type.
   */
  push(chunk: string): string {
    const piece = text("HighlightStream.push: chunk", chunk);
    return this.supported ? this.#state.push(this.#joiner.join(piece)) : piece;
  }
}
