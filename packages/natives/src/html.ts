/**
 * Pages as Markdown.
 * @module
 */
import { type CallOptions, underSignal } from "./call.js";
import { native } from "./loader.js";
import type { HtmlNodes } from "./native.js";
import { type Table, options as check, text } from "./options.js";

/** The parts of a page to leave out. */
export interface HtmlToMarkdownOptions extends CallOptions {
  /**
   * Drop what is not the text of the page: navigation, forms, headers, footers, sidebars, and what the page hides.
   * Scripts and styles are always dropped. Default: false.
   */
  cleanContent?: boolean | undefined;
  /** Drop pictures. Default: false. */
  skipImages?: boolean | undefined;
}

const HTML: Table = { cleanContent: "boolean", skipImages: "boolean", timeoutMs: "u32", signal: "signal" };

/**
 * Turns a page, or a part of one, into Markdown: CommonMark with tables, nested lists, code fences with their language,
 * links and pictures. Characters of a text that Markdown would read are escaped; `data:` addresses are cut behind their
 * type. The page is read as browsers read it, so no page is refused, however broken or deep; a lone surrogate is read
 * as U+FFFD. The result ends with a line break unless it is empty.
 *
 * The work is linear in the page (about 20 ms per MB) and does not block the event loop.
 *
 * @param html The page.
 * @param options What to leave out, and what may end the call.
 * @returns The Markdown.
 * @throws `TypeError` for an argument of the wrong type; `AbortError` or `TimeoutError` when the call was ended.
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

/** Reads a page into the columns that `sinew_html::Nodes` describes: for the drop-in of turndown, which may import nothing but the joined file. @internal */
export function htmlNodes(html: string): HtmlNodes {
  return native.htmlNodes(html);
}
