/**
 * Text processing for turndown: escapes, and the whitespace of a page.
 * @module
 */

/** A node of any DOM: the built-in one, or one of the caller. */
export type AnyNode = any;

const names = (list: string): ReadonlySet<string> => new Set(list.toUpperCase().split(" "));

const BLOCKS = names(
  "address article aside audio blockquote body canvas center dd dir div dl dt fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 " +
    "header hgroup hr html isindex li main menu nav noframes noscript ol output p pre section table tbody td tfoot th thead tr ul",
);
const VOIDS = names("area base br col command embed hr img input keygen link meta param source track wbr");
const MEANT = names("a table thead tbody tfoot th td iframe script audio video");

export const isBlock = (node: AnyNode): boolean => BLOCKS.has(node.nodeName.toUpperCase());
const isVoid = (node: AnyNode): boolean => VOIDS.has(node.nodeName.toUpperCase());
const isMeant = (node: AnyNode): boolean => isVoid(node) || MEANT.has(node.nodeName.toUpperCase());

/** Returns whether a node is blank: it contains only whitespace, and no element that is meaningful without content. */
export function isBlank(node: AnyNode): boolean {
  if (node.nodeType === 3 || node.nodeType === 4) return !/\S/.test(node.nodeValue);
  if (isMeant(node)) return false;
  for (let child = node.firstChild; child; child = child.nextSibling) if (child.nodeType !== 8 && !isBlank(child)) return false;
  return true;
}

/** Escapes the characters that have a meaning in Markdown. */
export function escapeMarkdown(text: string): string {
  return text
    .replace(/[\\*`[\]_]/g, "\\$&")
    .replace(/^(?:-|\+ |=+|#{1,6} |~~~|>)/, "\\$&")
    .replace(/^(\d+)\. /, "$1\\. ");
}

/** The whitespace at both ends of a text, ASCII separate from the rest. In a blank text, all of it is leading. */
export interface Edges {
  leading: string;
  leadingAscii: string;
  leadingNonAscii: string;
  trailing: string;
  trailingNonAscii: string;
  trailingAscii: string;
}

const ASCII = /[ \t\r\n]/;

/** Returns the whitespace at both ends of a text. Runs in linear time. */
export function edgeWhitespace(text: string): Edges {
  const leading = text.slice(0, text.length - text.trimStart().length);
  const trailing = leading.length === text.length ? "" : text.slice(text.trimEnd().length);
  let from = 0;
  while (from < leading.length && ASCII.test(leading[from]!)) from++;
  let to = trailing.length;
  while (to > 0 && ASCII.test(trailing[to - 1]!)) to--;
  return {
    leading,
    leadingAscii: leading.slice(0, from),
    leadingNonAscii: leading.slice(from),
    trailing,
    trailingNonAscii: trailing.slice(0, to),
    trailingAscii: trailing.slice(to),
  };
}

/** A piece of a page in document order: a text, an inline object, or the end of a line. */
type Piece = { text: AnyNode } | "object" | "break";

/** Yields the pieces of a page, and removes comments. */
function* pieces(parent: AnyNode, isPre: (node: AnyNode) => boolean): Generator<Piece> {
  for (let node = parent.firstChild, next; node; node = next) {
    next = node.nextSibling;
    if (node.nodeType === 3 || node.nodeType === 4) {
      yield { text: node };
      continue;
    }
    if (node.nodeType !== 1) {
      parent.removeChild(node);
      continue;
    }
    const breaks = isBlock(node) || node.nodeName === "BR";
    const whole = isPre(node);
    if (breaks) yield "break";
    else if (whole || isVoid(node)) yield "object";
    if (!whole) yield* pieces(node, isPre);
    if (breaks) yield "break";
  }
}

/**
 * Collapses whitespace like a browser (CSS Text, white space processing): each run becomes one space, and none is left
 * at the beginning and the end of a line. Next to an inline object, such as an image, spaces are kept.
 */
export function collapseBlanks(root: AnyNode, isPre: (node: AnyNode) => boolean): void {
  if (isPre(root)) return;
  /** The last text of the current line so far; none at its beginning and after an object. */
  let end: AnyNode = null;
  let afterObject = false;
  const trimEnd = (): void => {
    if (end?.data.endsWith(" ")) end.data = end.data.slice(0, -1);
  };
  for (const piece of pieces(root, isPre)) {
    if (typeof piece === "string") {
      if (piece === "break") trimEnd();
      end = null;
      afterObject = piece === "object";
      continue;
    }
    const { text } = piece;
    const data: string = text.data.replace(/[ \t\r\n]+/g, " ");
    const isSecond = end ? end.data.endsWith(" ") : !afterObject;
    const kept = isSecond && data.startsWith(" ") ? data.slice(1) : data;
    if (!kept) {
      text.parentNode.removeChild(text);
      continue;
    }
    text.data = kept;
    end = text;
    afterObject = false;
  }
  trimEnd();
  if (end && !end.data) end.parentNode.removeChild(end);
}

/** Returns the whitespace to add before and after the Markdown of an inline element, without what is there already. */
export function flankingWhitespace(node: AnyNode, preformattedCode: boolean): { leading: string; trailing: string } {
  if (node.isBlock || (preformattedCode && node.isCode)) return { leading: "", trailing: "" };
  const edges = edgeWhitespace(node.textContent);
  const stands = (sibling: AnyNode, blank: RegExp): boolean => {
    if (sibling?.nodeType === 3) return blank.test(sibling.nodeValue);
    if (sibling?.nodeType !== 1 || isBlock(sibling) || (preformattedCode && sibling.nodeName === "CODE")) return false;
    return blank.test(sibling.textContent);
  };
  return {
    leading: edges.leadingAscii && stands(node.previousSibling, / $/) ? edges.leadingNonAscii : edges.leading,
    trailing: edges.trailingAscii && stands(node.nextSibling, /^ /) ? edges.trailingNonAscii : edges.trailing,
  };
}

/** Joins two pieces. Of the line breaks between them, the larger number is used, at most two. */
export function join(pieces: string[], piece: string): void {
  const tail = pieces.pop() ?? "";
  const before = trimLineEnds(tail, "end");
  const behind = trimLineEnds(piece, "start");
  const breaks = Math.min(2, Math.max(tail.length - before.length, piece.length - behind.length));
  if (before) pieces.push(before);
  if (breaks) pieces.push("\n".repeat(breaks));
  if (behind) pieces.push(behind);
}

/** Removes line feeds at one end. Runs in linear time, unlike a pattern that ends with `$`. */
export function trimLineEnds(text: string, side: "start" | "end" | "both"): string {
  let [from, to] = [0, text.length];
  if (side !== "end") while (text[from] === "\n") from++;
  if (side !== "start") while (to > from && text[to - 1] === "\n") to--;
  return text.slice(from, to);
}
