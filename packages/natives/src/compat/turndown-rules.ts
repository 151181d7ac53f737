/**
 * The rules of turndown: CommonMark, according to the options.
 * @module
 */
import { type AnyNode, escapeMarkdown, trimLineEnds } from "./turndown-text.js";

/** The elements that a rule applies to: lower-case names, or a function. */
export type Filter = string | readonly string[] | ((node: AnyNode, options: Options) => unknown);

/** Returns the Markdown of an element; `content` is the Markdown of its children. */
export type Replacement = (content: string, node: AnyNode, options: Options) => string;

/** A rule that converts some elements. */
export interface Rule {
  /** The elements that the rule applies to. */
  filter?: Filter;
  /** Returns their Markdown. */
  replacement?: Replacement;
  /** Returns a text for the end of the result. */
  append?: (options: Options) => string;
}

/** The options, with turndown's names and defaults. */
export interface Options {
  /** The style of headings; `setext` underlines the first two levels. Default `setext`. */
  headingStyle?: "setext" | "atx";
  /** The text of a thematic break. Default `* * *`. */
  hr?: string;
  /** The end of a line with a line break. Default: two spaces. */
  br?: string;
  /** The marker of list items. Default `*`. */
  bulletListMarker?: "-" | "+" | "*";
  /** The style of code blocks. Default `indented`. */
  codeBlockStyle?: "indented" | "fenced";
  /** The fence of code blocks. Default: three backticks. */
  fence?: "```" | "~~~";
  /** The marker of emphasis. Default `_`. */
  emDelimiter?: "_" | "*";
  /** The marker of strong emphasis. Default `**`. */
  strongDelimiter?: "**" | "__";
  /** The position of URLs: next to the link text, or at the end. Default `inlined`. */
  linkStyle?: "inlined" | "referenced";
  /** The style of references. Default `full`. */
  linkReferenceStyle?: "full" | "collapsed" | "shortcut";
  /** Keep spaces in `code`. Default false. */
  preformattedCode?: boolean;
  /** Converts blank elements. Default: nothing, or an empty line for blocks. */
  blankReplacement?: Replacement;
  /** Converts kept elements. Default: their HTML. */
  keepReplacement?: Replacement;
  /** Converts elements without a rule. Default: the Markdown of their children. */
  defaultReplacement?: Replacement;
  /** The rules by name. Default: those of CommonMark. */
  rules?: Record<string, Rule>;
}

const block = (content: string): string => `\n\n${content}\n\n`;
const lines = (value: string | null): string => (value ?? "").replace(/\n\s*/g, "\n");
const address = (href: string): string => {
  const escaped = href.replace(/[<>()]/g, "\\$&");
  return escaped.includes(" ") ? `<${escaped}>` : escaped;
};
const title = (node: AnyNode): string => {
  const text = lines(node.getAttribute("title")).replaceAll('"', '\\"');
  return text && ` "${text}"`;
};
const isCodeBlock = (node: AnyNode): boolean => node.nodeName === "PRE" && node.firstChild?.nodeName === "CODE";
const isLink = (node: AnyNode): boolean => node.nodeName === "A" && Boolean(node.getAttribute("href"));
const longestRun = (text: string, run: RegExp): number => (text.match(run) ?? []).reduce((most, { length }) => Math.max(most, length), 0);

/** The numbers of list items, computed once per list. */
const numbers = new WeakMap<object, Map<object, number>>();

function numberOf(item: AnyNode): number {
  let list = numbers.get(item.parentNode);
  if (!list) {
    list = new Map(Array.from(item.parentNode.children as object[], (child, index) => [child, index]));
    numbers.set(item.parentNode, list);
  }
  return list.get(item)!;
}

/** Returns the rule for links whose URLs are at the end. */
function references(): Rule & { references: string[] } {
  return {
    references: [],
    filter: (node, options) => options.linkStyle === "referenced" && isLink(node),
    replacement(content, node, options) {
      const target = address(node.getAttribute("href")) + title(node);
      const style = options.linkReferenceStyle;
      const label = style === "collapsed" || style === "shortcut" ? content : String(this.references.length + 1);
      this.references.push(`[${label}]: ${target}`);
      return style === "collapsed" ? `[${content}][]` : style === "shortcut" ? `[${content}]` : `[${content}][${label}]`;
    },
    append() {
      const all = this.references.join("\n");
      this.references = [];
      return all && block(all);
    },
  };
}

/** Returns the rules of CommonMark, in the order in which they are tried. */
export const commonmark = (): Record<string, Rule> => ({
  paragraph: { filter: "p", replacement: block },
  lineBreak: { filter: "br", replacement: (_, __, { br }) => `${br}\n` },
  heading: {
    filter: ["h1", "h2", "h3", "h4", "h5", "h6"],
    replacement(content, node, { headingStyle }) {
      const level = Number(node.nodeName[1]);
      if (headingStyle !== "setext" || level > 2) return block(`${"#".repeat(level)} ${content}`);
      return block(`${content}\n${(level === 1 ? "=" : "-").repeat(content.length)}`);
    },
  },
  blockquote: { filter: "blockquote", replacement: (content) => block(trimLineEnds(content, "both").replace(/^/gm, "> ")) },
  list: {
    filter: ["ul", "ol"],
    replacement: (content, node) => (node.parentNode.nodeName === "LI" && node.parentNode.lastElementChild === node ? `\n${content}` : block(content)),
  },
  listItem: {
    filter: "li",
    replacement(content, node, { bulletListMarker }) {
      let prefix = `${bulletListMarker}   `;
      if (node.parentNode.nodeName === "OL") prefix = `${(Number(node.parentNode.getAttribute("start") || 1)) + numberOf(node)}.  `;
      const text = trimLineEnds(content, "both") + (content.endsWith("\n") ? "\n" : "");
      return prefix + text.replaceAll("\n", `\n${" ".repeat(prefix.length)}`) + (node.nextSibling ? "\n" : "");
    },
  },
  indentedCodeBlock: {
    filter: (node, { codeBlockStyle }) => codeBlockStyle === "indented" && isCodeBlock(node),
    replacement: (_, node) => block(`    ${node.firstChild.textContent.replaceAll("\n", "\n    ")}`),
  },
  fencedCodeBlock: {
    filter: (node, { codeBlockStyle }) => codeBlockStyle === "fenced" && isCodeBlock(node),
    replacement(_, node, { fence }) {
      const [, language = ""] = /language-(\S+)/.exec(node.firstChild.getAttribute("class") ?? "") ?? [];
      const code: string = node.firstChild.textContent;
      const sign = fence![0]!;
      const size = Math.max(2, longestRun(code, sign === "~" ? /^~{3,}/gm : /^`{3,}/gm)) + 1;
      return block(`${sign.repeat(size)}${language}\n${code.replace(/\n$/, "")}\n${sign.repeat(size)}`);
    },
  },
  horizontalRule: { filter: "hr", replacement: (_, __, { hr }) => block(hr!) },
  inlineLink: {
    filter: (node, { linkStyle }) => linkStyle === "inlined" && isLink(node),
    replacement: (content, node) => `[${content}](${address(node.getAttribute("href"))}${title(node)})`,
  },
  referenceLink: references(),
  emphasis: { filter: ["em", "i"], replacement: (content, _, { emDelimiter }) => (content.trim() ? emDelimiter + content + emDelimiter : "") },
  strong: { filter: ["strong", "b"], replacement: (content, _, { strongDelimiter }) => (content.trim() ? strongDelimiter + content + strongDelimiter : "") },
  code: {
    filter: (node) => node.nodeName === "CODE" && (node.parentNode.nodeName !== "PRE" || Boolean(node.previousSibling || node.nextSibling)),
    replacement(content) {
      if (!content) return "";
      const text = content.replace(/\r?\n|\r/g, " ");
      const blank = /^`|`$/.test(text) || (text.startsWith(" ") && text.endsWith(" ") && text.trim()) ? " " : "";
      const runs = new Set(text.match(/`+/g));
      let mark = "`";
      while (runs.has(mark)) mark += "`";
      return mark + blank + text + blank + mark;
    },
  },
  image: {
    filter: "img",
    replacement(_, node) {
      const src = address(node.getAttribute("src") ?? "");
      return src && `![${escapeMarkdown(lines(node.getAttribute("alt")))}](${src}${title(node)})`;
    },
  },
});
