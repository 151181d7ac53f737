/**
 * Converts HTML to Markdown.
 * @module
 */
import { type CallOptions, underSignal } from "./call.js";
import { native } from "./loader.js";
import type { HtmlNodes } from "./native.js";
import { type Table, options as check, text } from "./options.js";

/** The parts of a page to remove. */
export interface HtmlToMarkdownOptions extends CallOptions {
  /**
   * Remove everything but the main text: navigation, forms, headers, footers, sidebars, and hidden elements. Scripts and styles are always
   * removed. Default: false.
   */
  cleanContent?: boolean | undefined;
  /** Remove images. Default: false. */
  skipImages?: boolean | undefined;
}

const HTML: Table = { cleanContent: "boolean", skipImages: "boolean", timeoutMs: "u32", signal: "signal" };

/**
 * Converts a page, or a part of one, to Markdown: CommonMark with tables, nested lists, code fences with their language, links and images.
 * Characters with a meaning in Markdown are escaped. `data:` URLs are cut after their type. The parser follows the rules of browsers, so
 * every page is accepted, however broken or deeply nested. A lone surrogate is read as U+FFFD. The result ends with a line break unless it
 * is empty.
 *
 * Runs in linear time (about 20 ms per MB) and does not block the event loop.
 *
 * @param html The page.
 * @param options The parts to remove, time limit and signal.
 * @returns The Markdown.
 * @throws `TypeError` for an argument of the wrong type; `AbortError` or `TimeoutError` if the call was stopped.
 * @example
 * ```js
 * import { htmlToMarkdown } from "@sinew/natives";
 * const page = "<nav>Home</nav><h1>Title</h1><p>Some <b>bold</b> text.</p>";
 * console.log(await htmlToMarkdown(page, { cleanContent: true })); // # Title … Some **bold** text.
 * ```
 */
export async function htmlToMarkdown(html: string, options: HtmlToMarkdownOptions | null = {}): Promise<string> {
  const page = text("htmlToMarkdown: html", html);
  const { signal, ...rest } = check("htmlToMarkdown", HTML, options ?? {});
  return underSignal(signal, (abort) => native.htmlToMarkdown(page, rest, abort));
}

/**
 * Parses a page into the columns that `sinew_html::Nodes` describes. Exported for the replacement of turndown, which can
 * only import the bundled file.
 * @internal
 */
export function htmlNodes(html: string): HtmlNodes {
  return native.htmlNodes(html);
}
