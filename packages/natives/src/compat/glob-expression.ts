/**
 * Compiles glob patterns with the rules of fast-glob, which are those of picomatch with `posix`.
 * @module
 */
import { Automaton } from "./glob-automaton.js";
import { END, type Node, START, ahead, choice, isCostly, literal, notAhead, repeat, sequence, set, sourceOf } from "./glob-nodes.js";

/** The options that determine the meaning of a pattern. @internal */
export interface PatternSyntax {
  /** Wildcards match names that begin with a dot. */
  dot: boolean;
  /** Upper and lower case are equal. */
  ignoreCase: boolean;
  /** `@(a|b)` and the like are groups. */
  extglob: boolean;
  /** `**` matches any number of directories. */
  globstar: boolean;
}

/** A compiled pattern. @internal */
export interface Matcher {
  /** Returns true if the pattern matches the whole path. */
  test(path: string): boolean;
}

const CLASSES: Record<string, string> = {
  alnum: "a-zA-Z0-9", alpha: "a-zA-Z", ascii: "\\x00-\\x7f", blank: " \\t", cntrl: "\\x00-\\x1f\\x7f", digit: "0-9", graph: "\\x21-\\x7e",
  lower: "a-z", print: "\\x20-\\x7e", punct: "!-\\/:-@\\[-`{-~", space: "\\s", upper: "A-Z", word: "\\w", xdigit: "0-9a-fA-F",
};

const SLASH = set("\\/");
const DOT = set("\\.");
const ANY = set("[^]");
const IN_NAME = set("[^/]");
const STAR = repeat(IN_NAME, "*");
const NAME_END = choice([SLASH, END]);
const DOTS = sequence([DOT, repeat(DOT, "?"), NAME_END]);
const SOMETHING = ahead(ANY);

/** The kind of the part before the current position, which determines the meaning of a wildcard. */
type Before = "start" | "slash" | "dot" | "class" | "open" | "close" | "star" | "globstar" | "text";

/** Reads one pattern without braces. */
class Reader {
  readonly #text: string;
  readonly #syntax: PatternSyntax;
  /** `**`, which matches no name with a leading dot, or, with `dot`, no `.` and `..`. */
  readonly #globstar: Node;
  /** What a name must not begin with for a wildcard to match it. */
  readonly #hidden: Node;
  #at = 0;
  #before: Before = "start";
  /** The kind before the last slash. */
  #beforeSlash: Before = "start";
  #depth = 0;

  constructor(text: string, syntax: PatternSyntax) {
    this.#text = text;
    this.#syntax = syntax;
    this.#hidden = notAhead(syntax.dot ? DOTS : DOT);
    this.#globstar = repeat(sequence([notAhead(sequence([choice([START, SLASH]), syntax.dot ? DOTS : DOT])), ANY]), "*");
  }

  read(): Node {
    // Without any of these, a pattern is read as plain text with wildcards.
    const isPlain = !/^[*!]|[/()[\]{}"]/.test(this.#text);
    const branches = this.#branches(!isPlain, []);
    return choice(branches);
  }

  /** Reads the alternatives up to a `)` or the end. `own` collects the text of this level. */
  #branches(splits: boolean, own: string[]): Node[] {
    const branches: Node[] = [];
    let parts: Node[] = [];
    while (this.#at < this.#text.length) {
      const char = this.#text[this.#at] as string;
      if (char === ")" && this.#depth > 0) break;
      own.push(char);
      if (char === "|" && splits) {
        this.#at++;
        branches.push(sequence(parts));
        parts = [];
        this.#before = "text";
      } else this.#one(char, parts);
    }
    return [...branches, sequence(parts)];
  }

  /** Reads the part that begins with `char`. */
  #one(char: string, parts: Node[]): void {
    const isLiteral = char === "?" && this.#before === "open";
    if ("@?*+!".includes(char) && !isLiteral && this.#isGroup(char, this.#at + 1)) this.#group(char, parts);
    else if (char === "\\") this.#escape(parts);
    else if (char === "/") this.#slash(parts);
    else if (char === "*") this.#stars(parts);
    else if (char === "?") this.#mark(parts);
    else if (char === "[") this.#class(parts);
    else if (char === "(" && this.#closes(this.#at) !== false) this.#plainGroup(parts);
    else if (char === "+" && (this.#before === "class" || this.#before === "close" || (this.#depth > 0 && this.#before !== "open")) && parts.length) {
      // As in a regular expression.
      parts.push(repeat(parts.pop() as Node, "+"));
      this.#step("text");
    } else {
      parts.push(literal(char));
      const begins = this.#before === "start" || this.#before === "slash";
      this.#step(char === "." && (begins || this.#depth > 0) ? "dot" : "text");
    }
  }

  /** Returns true if a group of the mark before `at` begins at `at`. */
  #isGroup(mark: string, at: number): boolean {
    const isLook = mark === "!" ? /^\(\?[!=<:]/ : /^\(\?/;
    return this.#syntax.extglob && this.#text[at] === "(" && !isLook.test(this.#text.slice(at, at + 3)) && this.#closes(at) !== false;
  }

  #step(before: Before, length = 1): void {
    this.#at += length;
    this.#before = before;
  }

  #escape(parts: Node[]): void {
    const next = this.#text[this.#at + 1];
    if (next === "/" || next === ".") this.#at++;
    else {
      parts.push(literal(next ?? "\\"));
      this.#step("text", 2);
    }
  }

  #slash(parts: Node[]): void {
    parts.push(SLASH);
    this.#beforeSlash = this.#before;
    this.#step("slash");
  }

  /** Reads `?`: one character; after a group it makes the group optional; at the beginning of a group it is literal. */
  #mark(parts: Node[]): void {
    if (this.#before === "open") parts.push(literal("?"));
    else if (this.#before === "close") parts.push(repeat(parts.pop() as Node, "?"));
    else {
      const begins = this.#before === "start" || this.#before === "slash";
      parts.push(begins && !this.#syntax.dot ? set("[^./]") : IN_NAME);
    }
    this.#step("text");
  }

  /** Returns the end of the group that opens at `at`, or false. */
  #closes(at: number): number | false {
    let depth = 0;
    for (let index = at; index < this.#text.length; index++) {
      const char = this.#text[index];
      if (char === "\\") index++;
      else if (char === "[") index = Math.max(index, this.#classEnd(index));
      else if (char === "(") depth++;
      else if (char === ")" && --depth === 0) return index;
    }
    return false;
  }

  #body(own: string[]): Node {
    this.#depth++;
    this.#before = "open";
    const body = choice(this.#branches(true, own));
    this.#depth--;
    this.#step("close");
    return body;
  }

  /** Reads a regular-expression group, which may be a lookahead. */
  #plainGroup(parts: Node[]): void {
    const sign = /^\(\?([=!:])/.exec(this.#text.slice(this.#at, this.#at + 3))?.[1];
    this.#at += sign ? 3 : 1;
    const body = this.#body([]);
    parts.push(sign === "=" ? ahead(body) : sign === "!" ? notAhead(body) : body);
  }

  #group(mark: string, parts: Node[]): void {
    if (mark !== "@" && this.#at === 0) parts.push(SOMETHING);
    // Any mark except `@` ends a `**`, like other text.
    this.#at += 2;
    const own: string[] = [];
    const body = this.#body(own);
    if (mark === "!") parts.push(...this.#negation(body, own.join("")));
    else parts.push(mark === "@" ? body : repeat(body, mark as "?" | "*" | "+"));
  }

  /** Reads `!(…)`: a name, or the rest of the path, that does not begin with the body. */
  #negation(body: Node, own: string): Node[] {
    const rest = this.#text.slice(this.#at);
    const deep = own.length > 1 && own.includes("/");
    const name = deep ? this.#globstarOrStar() : STAR;
    if (own.includes("*") && /^\.[^\\/.]+$/.test(rest) && this.#depth === 0) {
      return [notAhead(sequence([body, new Reader(rest, this.#syntax).read()])), name];
    }
    return [notAhead(deep || /^\)*$/.test(rest) ? sequence([body, END]) : body), name];
  }

  #globstarOrStar(): Node {
    return this.#syntax.globstar ? this.#globstar : STAR;
  }

  #stars(parts: Node[]): void {
    const before = this.#before;
    let count = 1;
    while (this.#text[this.#at + count] === "*") count++;
    // The last star belongs to a group.
    if (this.#isGroup("*", this.#at + count)) count--;
    const begins = before === "start" || before === "slash";
    const behind = this.#text[this.#at + count];
    const isGlobstar = count === 2 && this.#syntax.globstar && (begins || before === "open" || before === "close");
    const isKept = behind === undefined || behind === "/" || behind === ")" || behind === "(" || (behind === "@" && this.#text[this.#at + count + 1] === "(");
    if (isGlobstar && isKept) {
      this.#globstars(parts, before);
      return;
    }
    if (begins) parts.push(this.#hidden);
    else if (before === "dot") parts.push(notAhead(sequence([repeat(DOT, "?"), NAME_END])));
    if ((begins || before === "dot") && count === 1) parts.push(SOMETHING);
    parts.push(STAR);
    this.#step("star", count);
  }

  /** Reads `**` as a complete path component. */
  #globstars(parts: Node[], before: Before): void {
    const hidden = before === "start" || before === "slash" ? [this.#hidden] : [];
    const afterSlash = before === "slash" && this.#beforeSlash !== "start";
    const afterStar = this.#beforeSlash === "star" || this.#beforeSlash === "globstar";
    this.#step("globstar", 2);
    while (/^\/\*\*(?:\/|$)/.test(this.#text.slice(this.#at))) this.#at += 3;
    const [rest, beyond] = [this.#text[this.#at], this.#text[this.#at + 1]];
    if (before === "start" && rest === "/") {
      parts.push(choice([START, SLASH, sequence([this.#globstar, SLASH])]));
    } else if (afterSlash && rest === "/") {
      parts[parts.length - 1] = choice([sequence([SLASH, ...hidden, this.#globstar, SLASH]), SLASH, ...(beyond === undefined ? [] : [END])]);
    } else {
      if (afterSlash && !afterStar && rest === undefined) parts[parts.length - 1] = choice([sequence([SLASH, ...hidden, this.#globstar]), END]);
      else parts.push(...hidden, this.#globstar);
      return;
    }
    this.#beforeSlash = "globstar";
    this.#step("slash");
  }

  /** Returns the position of the `]` that ends the class at `at`, or -1. */
  #classEnd(at: number): number {
    let end = at + 1;
    if (/[!^]/.test(this.#text[end] ?? "")) end++;
    if (this.#text[end] === "]") end++;
    for (; end < this.#text.length; end++) {
      if (this.#text[end] === "\\") end++;
      else if (this.#text.startsWith("[:", end) && this.#text.indexOf(":]", end) > 0) end = this.#text.indexOf(":]", end) + 1;
      else if (this.#text[end] === "]") return end;
    }
    return -1;
  }

  /** Reads `[…]`: one of the characters; without ranges and other syntax, also the literal text. */
  #class(parts: Node[]): void {
    const end = this.#classEnd(this.#at);
    if (end < 0) {
      parts.push(literal("["));
      this.#step("class");
      return;
    }
    const text = this.#text.slice(this.#at + 1, end);
    const one = classOf(text);
    parts.push(/[-*+?.^${}(|)[\]!\\]/.test(text.replace(/(?<=.)!/g, "")) ? one : choice([literal(`[${text}]`), one]));
    this.#step("class", end + 1 - this.#at);
  }
}

/** Returns the set of a class from the text between its brackets. */
function classOf(text: string): Node {
  const negated = /^[!^]/.test(text);
  let isNamed = false;
  const body = text.slice(negated ? 1 : 0).replace(/\[:(\w+):\]|\\([^])|-$|[[\]\\^/]/g, (part: string, name?: string, char?: string) => {
    if (name !== undefined && CLASSES[name] !== undefined) {
      isNamed = true;
      return CLASSES[name] as string;
    }
    return (char ?? part).replace(/[^a-zA-Z0-9]/g, "\\$&");
  });
  const source = negated ? `[^${body}${isNamed || text.includes("/") ? "" : "/"}]` : `[${body}]`;
  // A range in the wrong order matches nothing.
  return isExpression(source) ? set(source) : choice([notAhead(sequence([]))]);
}

function isExpression(source: string): boolean {
  try {
    return new RegExp(source) instanceof RegExp;
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}

/**
 * Compiles three forms that picomatch treats specially: the text after the last dot must not be empty, `**.js` matches
 * across directories, and without `globstar` the directory of `**`/`*` may be absent.
 */
function special(pattern: string, syntax: PatternSyntax): Node | undefined {
  const prefix = /^(\*\*\/)?\*\.\*$/.exec(pattern);
  if (prefix) return sequence([new Reader(`${prefix[1] ?? ""}*.`, syntax).read(), SOMETHING, STAR]);
  const shallow = /^\*\*\/(\.?\*(?:\.\w+)*)$/.exec(pattern);
  if (shallow && !syntax.globstar) return sequence([repeat(new Reader("*/", syntax).read(), "?"), new Reader(shallow[1] as string, syntax).read()]);
  const suffix = /^\*\*((?:\.\w+)+)$/.exec(pattern);
  if (suffix && syntax.globstar) return sequence([new Reader("**", syntax).read(), literal(suffix[1] as string)]);
  return undefined;
}

/** Compiles a pattern with expanded braces. It matches whole paths, in time bounded by both lengths. @internal */
export function compilePattern(pattern: string, syntax: PatternSyntax): Matcher {
  const text = /^\*\*(?:\/\*\*){1,2}$/.test(pattern) ? "**" : pattern.replace(/^(?:\.\/)+/, "");
  const inverse = !syntax.extglob && text.startsWith("!");
  const read = special(text, syntax) ?? new Reader(inverse ? text.slice(1) : text, syntax).read();
  const node = inverse ? sequence([notAhead(sequence([read, END])), repeat(ANY, "*")]) : read;
  if (isCostly(node)) return new Automaton(node, syntax.ignoreCase);
  return new RegExp(`^(?:${sourceOf(node)})$`, syntax.ignoreCase ? "i" : "");
}

/** Returns the levels of a pattern; a slash within a class or a group does not separate levels. @internal */
export function levelsOf(pattern: string): string[] {
  const levels = [""];
  for (const [part] of pattern.matchAll(/\\[^]|\[[^\]]*\]|\([^)]*\)|[^]/g)) {
    if (part === "/") levels.push("");
    else levels[levels.length - 1] += part;
  }
  return levels;
}
