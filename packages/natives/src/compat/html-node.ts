/**
 * The nodes of a page for the rules of turndown: the part of the DOM that reads a tree, and moves and removes nodes.
 * @module
 */
import { htmlNodes } from "../index.js";
import { type Test, selector } from "./html-selector.js";

const VOID = new Set("area base br col embed hr img input link meta param source track wbr".split(" "));
/** Elements whose text is written without escapes. */
const RAW = new Set("style script xmp iframe noembed noframes plaintext".split(" "));
const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\u00a0": "&nbsp;" };

const escaped = (text: string, which: RegExp): string => text.replace(which, (found) => ENTITIES[found]!);

/** Creates nodes; the value of `ownerDocument`. */
const owner = {
  createElement: (name: string): HtmlElement => new HtmlElement(name.toLowerCase(), new Map(), false),
  createTextNode: (text: string): HtmlText => new HtmlText(String(text)),
};

/** A node of the tree: a text or an element. */
export abstract class HtmlNode {
  abstract readonly nodeType: number;
  abstract readonly nodeName: string;
  abstract textContent: string;
  parentNode: HtmlElement | null = null;
  previousSibling: HtmlNode | null = null;
  nextSibling: HtmlNode | null = null;
  readonly ownerDocument: typeof owner = owner;

  get parentElement(): HtmlElement | null {
    return this.parentNode;
  }

  get previousElementSibling(): HtmlElement | null {
    let node = this.previousSibling;
    while (node && !(node instanceof HtmlElement)) node = node.previousSibling;
    return node;
  }

  get nextElementSibling(): HtmlElement | null {
    let node = this.nextSibling;
    while (node && !(node instanceof HtmlElement)) node = node.nextSibling;
    return node;
  }

  contains(other: HtmlNode | null): boolean {
    let node = other;
    while (node && node !== this) node = node.parentNode;
    return node !== null;
  }

  remove(): void {
    this.parentNode?.removeChild(this);
  }

  replaceWith(...nodes: (HtmlNode | string)[]): void {
    const parent = this.parentNode;
    if (!parent) return;
    for (const node of nodes) parent.insertBefore(typeof node === "string" ? new HtmlText(node) : node, this);
    this.remove();
  }

  abstract cloneNode(deep?: boolean): HtmlNode;
}

/** A text node. */
export class HtmlText extends HtmlNode {
  readonly nodeType = 3;
  readonly nodeName = "#text";
  readonly firstChild = null;
  readonly lastChild = null;
  readonly childNodes: HtmlNode[] = [];

  constructor(public data: string) {
    super();
  }

  get nodeValue(): string {
    return this.data;
  }

  get textContent(): string {
    return this.data;
  }

  set textContent(text: string) {
    this.data = text;
  }

  hasChildNodes(): boolean {
    return false;
  }

  cloneNode(): HtmlText {
    return new HtmlText(this.data);
  }
}

/** An element: of HTML, with an upper-case name, or of SVG or MathML (`foreign`). */
export class HtmlElement extends HtmlNode {
  readonly nodeType = 1;
  readonly nodeName: string;
  readonly nodeValue = null;
  firstChild: HtmlNode | null = null;
  lastChild: HtmlNode | null = null;
  /** The cached list of children; reset when a child is added or removed. */
  private list: HtmlNode[] | undefined;

  constructor(
    readonly localName: string,
    private readonly values: Map<string, string>,
    private readonly foreign: boolean,
  ) {
    super();
    this.nodeName = foreign ? localName : localName.toUpperCase();
  }

  get tagName(): string {
    return this.nodeName;
  }

  get childNodes(): HtmlNode[] {
    if (!this.list) {
      this.list = [];
      for (let node = this.firstChild; node; node = node.nextSibling) this.list.push(node);
    }
    return this.list;
  }

  get children(): HtmlElement[] {
    return this.childNodes.filter((node) => node instanceof HtmlElement);
  }

  get childElementCount(): number {
    return this.children.length;
  }

  get firstElementChild(): HtmlElement | null {
    return this.firstChild instanceof HtmlElement ? this.firstChild : (this.firstChild?.nextElementSibling ?? null);
  }

  get lastElementChild(): HtmlElement | null {
    return this.lastChild instanceof HtmlElement ? this.lastChild : (this.lastChild?.previousElementSibling ?? null);
  }

  hasChildNodes(): boolean {
    return this.firstChild !== null;
  }

  insertBefore<T extends HtmlNode>(node: T, before: HtmlNode | null): T {
    if (node.contains(this)) throw new Error(`insertBefore: <${this.localName}> cannot contain its own ancestor`);
    node.remove();
    const previous = before ? before.previousSibling : this.lastChild;
    node.parentNode = this;
    node.previousSibling = previous;
    node.nextSibling = before;
    if (previous) previous.nextSibling = node;
    else this.firstChild = node;
    if (before) before.previousSibling = node;
    else this.lastChild = node;
    this.list = undefined;
    return node;
  }

  appendChild<T extends HtmlNode>(node: T): T {
    return this.insertBefore(node, null);
  }

  /** Appends a new node after the last child. */
  private push(node: HtmlNode): void {
    node.parentNode = this;
    node.previousSibling = this.lastChild;
    if (this.lastChild) this.lastChild.nextSibling = node;
    else this.firstChild = node;
    this.lastChild = node;
  }

  removeChild<T extends HtmlNode>(node: T): T {
    if (node.parentNode !== this) throw new Error(`removeChild: ${node.nodeName} is not a child of <${this.localName}>`);
    if (node.previousSibling) node.previousSibling.nextSibling = node.nextSibling;
    else this.firstChild = node.nextSibling;
    if (node.nextSibling) node.nextSibling.previousSibling = node.previousSibling;
    else this.lastChild = node.previousSibling;
    node.parentNode = node.previousSibling = node.nextSibling = null;
    this.list = undefined;
    return node;
  }

  replaceChild<T extends HtmlNode>(node: HtmlNode, old: T): T {
    this.insertBefore(node, old);
    return this.removeChild(old);
  }

  cloneNode(deep = false): HtmlElement {
    const copy = new HtmlElement(this.localName, new Map(this.values), this.foreign);
    if (deep) for (const node of this.childNodes) copy.push(node.cloneNode(true));
    return copy;
  }

  /** Yields the descendants in document order. */
  private *below(): Generator<HtmlNode> {
    let node = this.firstChild;
    while (node) {
      yield node;
      if (node instanceof HtmlElement && node.firstChild) {
        node = node.firstChild;
        continue;
      }
      let up: HtmlNode = node;
      while (!up.nextSibling) {
        const parent: HtmlElement | null = up.parentNode;
        if (!parent || parent === this) return;
        up = parent;
      }
      node = up.nextSibling;
    }
  }

  private *elements(test: Test): Generator<HtmlElement> {
    for (const node of this.below()) if (node instanceof HtmlElement && test(node)) yield node;
  }

  get textContent(): string {
    if (this.firstChild === this.lastChild) return this.firstChild?.textContent ?? "";
    let text = "";
    for (const node of this.below()) if (node instanceof HtmlText) text += node.data;
    return text;
  }

  set textContent(text: string) {
    while (this.firstChild) this.removeChild(this.firstChild);
    if (text) this.appendChild(new HtmlText(text));
  }

  get innerText(): string {
    return this.textContent;
  }

  getAttribute(name: string): string | null {
    return this.values.get(this.foreign ? name : name.toLowerCase()) ?? null;
  }

  hasAttribute(name: string): boolean {
    return this.getAttribute(name) !== null;
  }

  setAttribute(name: string, value: string): void {
    this.values.set(this.foreign ? name : name.toLowerCase(), String(value));
  }

  removeAttribute(name: string): void {
    this.values.delete(this.foreign ? name : name.toLowerCase());
  }

  getAttributeNames(): string[] {
    return [...this.values.keys()];
  }

  hasAttributes(): boolean {
    return this.values.size > 0;
  }

  get attributes(): { name: string; value: string }[] {
    return [...this.values].map(([name, value]) => ({ name, value }));
  }

  get id(): string {
    return this.getAttribute("id") ?? "";
  }

  get className(): string {
    return this.getAttribute("class") ?? "";
  }

  /** The class names, as a list with `contains`. */
  get classList(): string[] & { contains(word: string): boolean } {
    const words = this.className.split(/\s+/).filter(Boolean);
    return Object.assign(words, { contains: (word: string) => words.includes(word) });
  }

  /** The `data-` attributes, by names in camel case. */
  get dataset(): Record<string, string> {
    const data = [...this.values].filter(([name]) => name.startsWith("data-"));
    return Object.fromEntries(data.map(([name, value]) => [camel(name.slice(5)), value]));
  }

  /** The declarations of the `style` attribute, by names in CSS and in camel case. */
  get style(): Record<string, string> {
    const style: Record<string, string> = {};
    for (const line of (this.getAttribute("style") ?? "").split(";")) {
      const [name, value] = [line.slice(0, line.indexOf(":")).trim().toLowerCase(), line.slice(line.indexOf(":") + 1).trim()];
      if (name) style[name] = style[camel(name)] = value;
    }
    return style;
  }

  get checked(): boolean {
    return this.hasAttribute("checked");
  }

  /** The rows of a table or of a table section. */
  get rows(): HtmlElement[] {
    return this.children.flatMap((child) => (child.localName === "tr" ? [child] : /^t(head|body|foot)$/.test(child.localName) ? child.rows : []));
  }

  /** The cells of a row. */
  get cells(): HtmlElement[] {
    return this.children.filter(({ localName }) => localName === "td" || localName === "th");
  }

  matches(query: string): boolean {
    return selector(query)(this);
  }

  closest(query: string): HtmlElement | null {
    const test = selector(query);
    let node: HtmlElement | null = this;
    while (node && !test(node)) node = node.parentNode;
    return node;
  }

  querySelector(query: string): HtmlElement | null {
    return this.elements(selector(query)).next().value ?? null;
  }

  querySelectorAll(query: string): HtmlElement[] {
    return [...this.elements(selector(query))];
  }

  getElementsByTagName(name: string): HtmlElement[] {
    return [...this.elements(({ localName }) => name === "*" || localName === name.toLowerCase())];
  }

  getElementsByClassName(names: string): HtmlElement[] {
    const words = names.split(/\s+/).filter(Boolean);
    return [...this.elements(({ classList }) => words.every((word) => classList.includes(word)))];
  }

  get innerHTML(): string {
    const raw = RAW.has(this.localName);
    return this.childNodes.map((node) => (node instanceof HtmlElement ? node.outerHTML : raw ? node.textContent : escaped(node.textContent, /[&<>\u00a0]/g))).join("");
  }

  get outerHTML(): string {
    const attributes = [...this.values].map(([name, value]) => ` ${name}="${escaped(value, /[&"\u00a0]/g)}"`).join("");
    const end = VOID.has(this.localName) ? "" : `${this.innerHTML}</${this.localName}>`;
    return `<${this.localName}${attributes}>${end}`;
  }

  /** Builds the tree that the addon parsed. */
  static read(html: string): HtmlElement {
    const { text, numbers } = htmlNodes(html);
    const root = new HtmlElement("#document", new Map(), true);
    let at = 0;
    let index = 0;
    const piece = (): string => text.slice(at, (at += numbers[index++]!));
    let open = root;
    while (index < numbers.length) {
      const kind = numbers[index++]!;
      if (kind === 0) {
        open = open.parentNode!;
      } else if (kind === 1) {
        open.push(new HtmlText(piece()));
      } else {
        const name = piece();
        const values = new Map<string, string>();
        for (let left = numbers[index++]!; left > 0; left--) {
          const key = piece();
          values.set(key, piece());
        }
        const element = new HtmlElement(name, values, kind === 3);
        open.push(element);
        open = element;
      }
    }
    return root;
  }
}

// Attributes that are also properties, with their written values: URLs are not made absolute.
for (const name of ["href", "src", "alt", "title", "type", "value", "name", "lang"]) {
  Object.defineProperty(HtmlElement.prototype, name, { get: (function (this: HtmlElement) { return this.getAttribute(name) ?? ""; }), enumerable: true, configurable: true });
}

const camel = (name: string): string => name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
