/**
 * The rules of turndown: CommonMark, as its options say.
 * @module
 */
import { type AnyNode, escapeMarkdown, trimLineEnds } from "./turndown-text.js";

/** The elements that a rule is for: names in small letters, or a function. */
export type Filter = string | readonly string[] | ((node: AnyNode, options: Options) => unknown);

/** Makes the Markdown of an element; `content` is that of its children. */
export type Replacement = (content: string, node: AnyNode, options: Options) => string;

/** The Markdown of some elements. */
export interface Rule {
  /** The elements. */
  filter?: Filter;
  /** Their Markdown. */
  replacement?: Replacement;
  /** What stands at the end of the result. */
  append?: (options: Options) => string;
}

/** The options, with turndown's names and defaults. */
export interface Options {
  /** `setext` underlines headings of the first two levels. Default `setext`. */
  headingStyle?: "setext" | "atx";
  /** A thematic break. Default `* * *`. */
  hr?: string;
  /** A line break within a paragraph. Default two blanks. */
  br?: string;
  /** The mark of list items. Default `*`. */
  bulletListMarker?: "-" | "+" | "*";
  /** The form of code blocks. Default `indented`. */
  codeBlockStyle?: "indented" | "fenced";
  /** A fence. Default three backticks. */
  fence?: "```" | "~~~";
  /** The mark of emphasis. Default `_`. */
  emDelimiter?: "_" | "*";
  /** The mark of strong emphasis. Default `**`. */
  strongDelimiter?: "**" | "__";
  /** The place of addresses: beside the text, or at the end. Default `inlined`. */
  linkStyle?: "inlined" | "referenced";
  /** The form of references. Default `full`. */
  linkReferenceStyle?: "full" | "collapsed" | "shortcut";
  /** Blanks in `code` are kept. Default false. */
  preformattedCode?: boolean;
  /** The Markdown of elements that show nothing. Default none, or an empty line for blocks. */
  blankReplacement?: Replacement;
  /** The Markdown of elements that are kept. Default their HTML. */
  keepReplacement?: Replacement;
  /** The Markdown of elements that no rule is for. Default that of their children. */
  defaultReplacement?: Replacement;
  /** The rules by name. Default those of CommonMark. */
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

/** The numbers of the items of lists, made once for each list. */
const numbers = new WeakMap<object, Map<object, number>>();

function numberOf(item: AnyNode): number {
  let list = numbers.get(item.parentNode);
  if (!list) {
    list = new Map(Array.from(item.parentNode.children as object[], (child, index) => [child, index]));
    numbers.set(item.parentNode, list);
  }
  return list.get(item)!;
}

/** The rules for links whose addresses stand at the end. */
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

/** The rules of CommonMark, in the order in which they are asked. */
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
