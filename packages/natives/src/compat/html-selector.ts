/**
 * The CSS selectors that rules for Markdown use: names, `#id`, `.class`, `[name=value]`, `:not()`, `:first-child`,
 * `:last-child`, `:empty`, lists, and the four combinators.
 * @module
 */
import type { HtmlElement } from "./html-node.js";

/** Returns true if an element matches. */
export type Test = (element: HtmlElement) => boolean;

const NAME = String.raw`-?(?:[_a-zA-Z\u0080-\uffff]|\\.)(?:[\w\u0080-\uffff-]|\\.)*`;
const SIMPLE = new RegExp(
  String.raw`(?<any>\*)|#(?<id>${NAME})|\.(?<word>${NAME})|\[\s*(?<key>${NAME})\s*(?:(?<how>[~|^$*]?=)\s*(?:"(?<double>[^"]*)"|'(?<single>[^']*)'|(?<bare>${NAME}|[\d.]+))\s*)?\]|:(?<pseudo>[a-z-]+)(?<call>\()?|(?<tag>${NAME})`,
  "y",
);

const COMPARE: Record<string, (value: string, wanted: string) => boolean> = {
  "=": (value, wanted) => value === wanted,
  "~=": (value, wanted) => value.split(/\s+/).includes(wanted),
  "|=": (value, wanted) => value === wanted || value.startsWith(`${wanted}-`),
  "^=": (value, wanted) => wanted !== "" && value.startsWith(wanted),
  "$=": (value, wanted) => wanted !== "" && value.endsWith(wanted),
  "*=": (value, wanted) => wanted !== "" && value.includes(wanted),
};

const PSEUDO: Record<string, Test> = {
  "first-child": (element) => !element.previousElementSibling,
  "last-child": (element) => !element.nextElementSibling,
  "only-child": (element) => !element.previousElementSibling && !element.nextElementSibling,
  empty: (element) => !element.firstChild,
  checked: (element) => element.checked,
};

const plain = (name: string): string => name.replace(/\\(.)/g, "$1");

/** Parses a selector from left to right. */
class Reader {
  private at = 0;

  constructor(private readonly query: string) {}

  private fault(): Error {
    return new Error(`selector ${JSON.stringify(this.query)}: invalid or unsupported at ${JSON.stringify(this.query.slice(this.at, this.at + 20))}`);
  }

  private take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.query)?.[0];
    this.at += found?.length ?? 0;
    return found;
  }

  /** Parses selectors between commas, up to the end or to `)`. */
  list(within: boolean): Test {
    const tests = [this.combined()];
    while (this.take(/\s*,\s*/y)) tests.push(this.combined());
    this.take(/\s*/y);
    if (within ? !this.take(/\)/y) : this.at < this.query.length) throw this.fault();
    return (element) => tests.some((test) => test(element));
  }

  private combined(): Test {
    this.take(/\s*/y);
    let test = this.compound();
    for (;;) {
      const sign = this.take(/\s*[>+~]\s*|\s+(?![,)]|$)/y);
      if (sign === undefined) return test;
      test = join(test, sign.trim(), this.compound());
    }
  }

  private compound(): Test {
    const tests: Test[] = [];
    for (;;) {
      SIMPLE.lastIndex = this.at;
      const found = SIMPLE.exec(this.query);
      if (!found || (found.groups!.tag && tests.length)) break;
      this.at += found[0].length;
      tests.push(this.simple(found.groups!));
    }
    if (!tests.length) throw this.fault();
    return (element) => tests.every((test) => test(element));
  }

  private simple({ any, id, word, key, how, double, single, bare, pseudo, call, tag }: Record<string, string | undefined>): Test {
    if (any) return () => true;
    if (tag) return ({ localName }) => localName.toLowerCase() === plain(tag).toLowerCase();
    if (id) return (element) => element.id === plain(id);
    if (word) return ({ classList }) => classList.includes(plain(word));
    if (key) {
      const wanted = double ?? single ?? plain(bare ?? "");
      return (element) => {
        const value = element.getAttribute(plain(key));
        return value !== null && (!how || COMPARE[how]!(value, wanted));
      };
    }
    if (call && (pseudo === "not" || pseudo === "is" || pseudo === "where")) {
      const test = this.list(true);
      return pseudo === "not" ? (element) => !test(element) : test;
    }
    const test = call ? undefined : PSEUDO[pseudo!];
    if (!test) throw new Error(`selector ${JSON.stringify(this.query)}: ":${pseudo}" is not supported; use a filter function`);
    return test;
  }
}

/** Combines two tests: an element matches `right` and is related to a match of `left` by the combinator `sign`. */
function join(left: Test, sign: string, right: Test): Test {
  const step = (element: HtmlElement): HtmlElement | null => (sign === "+" || sign === "~" ? element.previousElementSibling : element.parentNode);
  const once = sign === ">" || sign === "+";
  return (element) => {
    if (!right(element)) return false;
    for (let other = step(element); other; other = step(other)) {
      if (left(other)) return true;
      if (once) return false;
    }
    return false;
  };
}

/**
 * Parses a selector.
 * @throws Error with the position if it is not supported.
 */
export function selector(query: string): Test {
  return new Reader(query).list(false);
}
