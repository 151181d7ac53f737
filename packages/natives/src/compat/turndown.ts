/**
 * `turndown`: converts HTML to Markdown with rules that a program can change. Pages are parsed natively; nodes of any
 * DOM are accepted too.
 * @module
 */
import { HtmlElement } from "./html-node.js";
import { type Filter, type Options as AllOptions, type Replacement as AnyReplacement, type Rule as AnyRule, commonmark } from "./turndown-rules.js";
import { type AnyNode, type Edges, collapseBlanks, edgeWhitespace, escapeMarkdown, flankingWhitespace, isBlank, isBlock, join } from "./turndown-text.js";

/** The rules in the order in which they are tried. */
class Rules {
  readonly array: AnyRule[];
  readonly blankRule: AnyRule;
  readonly defaultRule: AnyRule;
  private readonly kept: AnyRule[] = [];
  private readonly removed: AnyRule[] = [];

  constructor(readonly options: AllOptions) {
    this.array = Object.values(options.rules!);
    this.blankRule = { replacement: options.blankReplacement! };
    this.defaultRule = { replacement: options.defaultReplacement! };
  }

  add(_key: string, rule: AnyRule): void {
    this.array.unshift(rule);
  }

  keep(filter: Filter): void {
    this.kept.unshift({ filter, replacement: this.options.keepReplacement! });
  }

  remove(filter: Filter): void {
    this.removed.unshift({ filter, replacement: () => "" });
  }

  forNode(node: AnyNode): AnyRule {
    if (node.isBlank) return this.blankRule;
    for (const rules of [this.array, this.kept, this.removed]) {
      const rule = rules.find((rule) => fits(rule, node, this.options));
      if (rule) return rule;
    }
    return this.defaultRule;
  }

  forEach(call: (rule: AnyRule, index: number) => void): void {
    this.array.forEach((rule, index) => call(rule, index));
  }
}

function fits(rule: AnyRule, node: AnyNode, options: AllOptions): boolean {
  const { filter } = rule;
  if (typeof filter === "function") return Boolean(filter.call(rule, node, options));
  const name = node.nodeName.toLowerCase();
  if (typeof filter === "string") return filter === name;
  if (Array.isArray(filter)) return filter.includes(name);
  throw new TypeError("turndown: the filter of a rule must be a string, an array or a function");
}

/** Returns the default options. */
const defaults = (): AllOptions => ({
  rules: commonmark(),
  headingStyle: "setext",
  hr: "* * *",
  bulletListMarker: "*",
  codeBlockStyle: "indented",
  fence: "```",
  emDelimiter: "_",
  strongDelimiter: "**",
  linkStyle: "inlined",
  linkReferenceStyle: "full",
  br: "  ",
  preformattedCode: false,
  blankReplacement: (_, node) => (node.isBlock ? "\n\n" : ""),
  keepReplacement: (_, node) => (node.isBlock ? `\n\n${node.outerHTML}\n\n` : node.outerHTML),
  defaultReplacement: (content, node) => (node.isBlock ? `\n\n${content}\n\n` : content),
});

/**
 * Converts HTML to Markdown, with turndown's options, rules and defaults.
 *
 * If the page is a text, filters and replacements receive the nodes of a small built-in DOM, which can be read, and in
 * which nodes can be moved and removed (`getAttribute`, `closest`, `querySelector`, `textContent`, `outerHTML`,
 * `nextSibling`, …). Elements nested deeper than 256 levels are flattened, so that every page can be converted.
 *
 * @example
 * ```js
 * import TurndownService from "@sinew/natives/compat/turndown";
 * const service = new TurndownService({ headingStyle: "atx" });
 * service.addRule("struck", { filter: ["del", "s"], replacement: (content) => `~~${content}~~` });
 * console.log(service.turndown("<h1>Title</h1><p>Some <s>bold</s> text.")); // # Title … Some ~~bold~~ text.
 * ```
 */
class TurndownService {
  /** The current options. */
  readonly options: AllOptions;
  /** The current rules. */
  readonly rules: Rules;
  /** The class itself, for `import { default as … }` in compiled TypeScript. @internal */
  static default: typeof TurndownService;
  /** Returns the whitespace at the ends of a text. @internal */
  static readonly edgeWhitespace: (text: string) => Edges = edgeWhitespace;

  constructor(options: TurndownService.Options = {}) {
    this.options = { ...defaults(), ...options };
    this.rules = new Rules(this.options);
  }

  /**
   * Returns the Markdown of a page, or of a node of any DOM, which is not changed.
   * @throws `TypeError` for anything else.
   */
  turndown(html: string | TurndownService.Node): string {
    const root = rootOf(html);
    collapseBlanks(root, (node) => node.nodeName === "PRE" || (Boolean(this.options.preformattedCode) && node.nodeName === "CODE"));
    const pieces = this.pieces(root);
    this.rules.forEach((rule) => {
      if (typeof rule.append === "function") join(pieces, rule.append(this.options));
    });
    return pieces.join("").replace(/^[\t\r\n]+/, "").trimEnd();
  }

  /** Adds a rule that is tried before the existing ones. */
  addRule(key: string, rule: TurndownService.Rule): this {
    this.rules.add(key, rule);
    return this;
  }

  /** Keeps elements as HTML, unless another rule applies to them. */
  keep(filter: TurndownService.Filter): this {
    this.rules.keep(filter);
    return this;
  }

  /** Removes elements with their content, unless another rule applies to them. */
  remove(filter: TurndownService.Filter): this {
    this.rules.remove(filter);
    return this;
  }

  /** Applies plugins, which can change the service. */
  use(plugins: TurndownService.Plugin | readonly TurndownService.Plugin[]): this {
    for (const plugin of Array.isArray(plugins) ? plugins : [plugins]) {
      if (typeof plugin !== "function" && !Array.isArray(plugin)) throw new TypeError("turndown: a plugin must be a function or an array of functions");
      if (Array.isArray(plugin)) this.use(plugin);
      else plugin(this);
    }
    return this;
  }

  /** Escapes the characters of a text that have a meaning in Markdown. Can be replaced. */
  escape(text: string): string {
    return escapeMarkdown(text);
  }

  private pieces(parent: AnyNode): string[] {
    const pieces: string[] = [];
    for (let node = parent.firstChild; node; node = node.nextSibling) {
      if (node.nodeType === 3) join(pieces, parent.isCode ? node.nodeValue : this.escape(node.nodeValue));
      else if (node.nodeType === 1) join(pieces, this.element(node, Boolean(parent.isCode)));
    }
    return pieces;
  }

  private element(node: AnyNode, inCode: boolean): string {
    node.isBlock = isBlock(node);
    node.isCode = inCode || node.nodeName === "CODE";
    node.isBlank = isBlank(node);
    const { leading, trailing } = (node.flankingWhitespace = flankingWhitespace(node, Boolean(this.options.preformattedCode)));
    const rule = this.rules.forNode(node);
    let content = this.pieces(node).join("");
    if (leading || trailing) content = content.trim();
    return leading + rule.replacement!(content, node, this.options) + trailing;
  }
}

/** Returns the node whose children are converted: for a text the parsed page, otherwise a copy of the node. */
function rootOf(html: string | TurndownService.Node): AnyNode {
  if (typeof html === "string") {
    // A wrapper element keeps everything together; otherwise the head and the body of a page would be separate.
    const page = HtmlElement.read(`<x-turndown>${html}`);
    return page.querySelector("x-turndown") ?? page;
  }
  if (![1, 9, 11].includes(html?.nodeType)) throw new TypeError(`turndown: ${String(html)} is not a string, or an element, document or fragment`);
  return html.cloneNode(true);
}

namespace TurndownService {
  /** The options, with turndown's names and defaults. */
  export type Options = AllOptions;
  /** A rule that converts some elements. */
  export type Rule = AnyRule;
  /** The elements that a rule applies to. */
  export type Filter = import("./turndown-rules.js").Filter;
  /** Returns the Markdown of an element. */
  export type Replacement = AnyReplacement;
  /** Changes a service. */
  export type Plugin = (service: TurndownService) => void;
  /** A node of any DOM. */
  export interface Node {
    /** The type: 1 for an element, 9 for a document, 11 for a fragment. */
    readonly nodeType: number;
    /** Copies the node. */
    cloneNode(deep?: boolean): unknown;
  }
}

TurndownService.default = TurndownService;

export = TurndownService;
