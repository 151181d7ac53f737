/**
 * The nodes of a compiled glob pattern, and their form as a regular expression.
 * @module
 */

/** A part of a pattern that matches text. @internal */
export type Node =
  | { kind: "set"; source: string }
  | { kind: "sequence"; parts: readonly Node[] }
  | { kind: "choice"; parts: readonly Node[] }
  | { kind: "repeat"; body: Node; min: 0 | 1; many: boolean }
  | { kind: "look"; body: Node; negative: boolean }
  | { kind: "start" }
  | { kind: "end" };

/** Creates a node for one character, given as a regular expression. @internal */
export const set = (source: string): Node => ({ kind: "set", source });
/** Creates a node for a literal text. @internal */
export const literal = (text: string): Node => sequence([...text].flatMap((char) => char.split("").map((unit) => set(unit.replace(/[\\^$.*+?()[\]{}|/-]/, "\\$&")))));
/** Creates a node for consecutive parts. @internal */
export const sequence = (parts: readonly Node[]): Node => (parts.length === 1 ? (parts[0] as Node) : { kind: "sequence", parts });
/** Creates a node for one of the parts. @internal */
export const choice = (parts: readonly Node[]): Node => (parts.length === 1 ? (parts[0] as Node) : { kind: "choice", parts });
/** Creates a node for an optional part (`?`) or a repeated one (`*`, `+`). @internal */
export const repeat = (body: Node, sign: "?" | "*" | "+"): Node => ({ kind: "repeat", body, min: sign === "+" ? 1 : 0, many: sign !== "?" });
/** Creates a node that requires the following text to begin with `body`. @internal */
export const ahead = (body: Node): Node => ({ kind: "look", body, negative: false });
/** Creates a node that requires the following text not to begin with `body`. @internal */
export const notAhead = (body: Node): Node => ({ kind: "look", body, negative: true });
/** The start of the text. @internal */
export const START: Node = { kind: "start" };
/** The end of the text. @internal */
export const END: Node = { kind: "end" };

/** Returns the source of the equivalent regular expression. @internal */
export function sourceOf(node: Node): string {
  switch (node.kind) {
    case "set":
      return node.source;
    case "sequence":
      return node.parts.map(sourceOf).join("");
    case "choice":
      return `(?:${node.parts.map(sourceOf).join("|")})`;
    case "repeat": {
      const body = sourceOf(node.body);
      return `${node.body.kind === "set" ? body : `(?:${body})`}${!node.many ? "?" : node.min ? "+" : "*"}`;
    }
    case "look":
      return `(?${node.negative ? "!" : "="}${sourceOf(node.body)})`;
    case "start":
      return "^";
    case "end":
      return "$";
  }
}

/** The maximum number of unbounded repetitions in a regular expression that may backtrack into each other. */
const REPETITIONS = 4;
/** The same within one level of a path: a name of 255 characters has 160 million ways to be cut into five parts. */
const REPETITIONS_OF_NAME = 3;

/**
 * Returns true if a backtracking regular expression can be slow: it repeats parts with repetitions or alternatives, or
 * it has many repetitions. @internal
 */
export function isCostly(node: Node): boolean {
  let repetitions = 0;
  let ofName = 0;
  let most = 0;
  const visit = (one: Node, repeated: boolean): boolean => {
    switch (one.kind) {
      case "set":
        if (one.source === "\\/") ofName = 0;
        return false;
      case "sequence":
        return one.parts.some((part) => visit(part, repeated));
      case "choice":
        return repeated || one.parts.some((part) => visit(part, repeated));
      case "repeat":
        if (one.many) {
          repetitions++;
          most = Math.max(most, ++ofName);
        }
        return repeated || visit(one.body, one.many);
      case "look":
        return visit(one.body, repeated && !isDotGuard(one));
      default:
        return false;
    }
  };
  return visit(node, false) || repetitions > REPETITIONS || most > REPETITIONS_OF_NAME;
}

/** Returns true for the lookahead of `**`, which examines at most two characters. */
function isDotGuard(node: Node): boolean {
  return node.kind === "look" && node.negative && !/[*+]/.test(sourceOf(node.body));
}
