/**
 * The texts of turndown: escapes, and the blanks of a page.
 * @module
 */

/** A node of any DOM: ours, or one that the caller made. */
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

/** Returns whether a node shows nothing: it holds blanks alone, and nothing that says something by being there. */
export function isBlank(node: AnyNode): boolean {
  if (node.nodeType === 3 || node.nodeType === 4) return !/\S/.test(node.nodeValue);
  if (isMeant(node)) return false;
  for (let child = node.firstChild; child; child = child.nextSibling) if (child.nodeType !== 8 && !isBlank(child)) return false;
  return true;
}

/** Puts a backslash before what Markdown would read. */
export function escapeMarkdown(text: string): string {
  return text
    .replace(/[\\*`[\]_]/g, "\\$&")
    .replace(/^(?:-|\+ |=+|#{1,6} |~~~|>)/, "\\$&")
    .replace(/^(\d+)\. /, "$1\\. ");
}

/** The blanks at both ends of a text, those of ASCII apart from the others. Of blanks alone all are leading. */
export interface Edges {
  leading: string;
  leadingAscii: string;
  leadingNonAscii: string;
  trailing: string;
  trailingNonAscii: string;
  trailingAscii: string;
}

const ASCII = /[ \t\r\n]/;

/** Cuts the blanks off a text. Linear. */
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

/** Makes one blank of each run, and none at the edges of blocks, as a browser shows them. Takes comments away. */
export function collapseWhitespace(root: AnyNode, isPre: (node: AnyNode) => boolean): void {
  /** The last text of the line. */
  let last: AnyNode = null;
  /** Whether the next text keeps the blank that it begins with. */
  let keeps = false;
  const endLine = (): void => {
    if (last) last.data = last.data.replace(/ $/, "");
    last = null;
    keeps = false;
  };
  const text = (node: AnyNode): void => {
    let data = node.data.replace(/[ \t\r\n]+/g, " ");
    if ((!last || last.data.endsWith(" ")) && !keeps && data.startsWith(" ")) data = data.slice(1);
    if (!data) return void node.parentNode.removeChild(node);
    node.data = data;
    last = node;
  };
  const children = (parent: AnyNode): void => {
    for (let node = parent.firstChild, next; node; node = next) {
      next = node.nextSibling;
      if (node.nodeType === 3 || node.nodeType === 4) text(node);
      else if (node.nodeType === 1) element(node);
      else parent.removeChild(node);
    }
  };
  const element = (node: AnyNode): void => {
    const edge = (): void => {
      if (isBlock(node) || node.nodeName === "BR") endLine();
      else if (last) keeps = false;
    };
    const pre = isPre(node);
    if ((isVoid(node) || pre) && !isBlock(node) && node.nodeName !== "BR") {
      last = null;
      keeps = true;
    } else {
      edge();
    }
    if (pre || !node.firstChild) return;
    children(node);
    edge();
  };
  if (isPre(root)) return;
  children(root);
  if (!last) return;
  last.data = last.data.replace(/ $/, "");
  if (!last.data) last.parentNode.removeChild(last);
}

/** The blanks that belong before and behind the Markdown of an inline element, but for those that stand there already. */
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

/** Line breaks around a text are counted: of two neighbours the more hold, two at most. */
export function join(pieces: string[], piece: string): void {
  const tail = pieces.pop() ?? "";
  const before = trimLineEnds(tail, "end");
  const behind = trimLineEnds(piece, "start");
  const breaks = Math.min(2, Math.max(tail.length - before.length, piece.length - behind.length));
  if (before) pieces.push(before);
  if (breaks) pieces.push("\n".repeat(breaks));
  if (behind) pieces.push(behind);
}

/** Cuts line feeds off. Linear, unlike a pattern that ends with `$`. */
export function trimLineEnds(text: string, side: "start" | "end" | "both"): string {
  let [from, to] = [0, text.length];
  if (side !== "end") while (text[from] === "\n") from++;
  if (side !== "start") while (to > from && text[to - 1] === "\n") to--;
  return text.slice(from, to);
}
