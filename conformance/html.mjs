// Compares HTML by its meaning, as the CommonMark specification does for its own tests: white space between blocks and
// the order of attributes do not matter, white space within text is collapsed, and `pre` is compared exactly.

const VOID = new Set(["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"]);
const BLOCK = new Set(
  ("article aside blockquote body button canvas caption col colgroup dd div dl dt embed fieldset figcaption figure footer " +
    "form h1 h2 h3 h4 h5 h6 header hgroup hr iframe li map object ol output p pre progress section script style table tbody " +
    "td textarea tfoot th thead tr ul video").split(" "),
);
const TOKEN = /<!--[\s\S]*?-->|<[!?][^>]*>|<\/?[a-zA-Z][^\s>/]*(?:"[^"]*"|'[^']*'|[^>"'])*>|[^<]+|</g;
const ATTRIBUTE = /([^\s=/>"']+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+)))?/g;
const NAMED = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", copy: "©", reg: "®", ouml: "ö", auml: "ä", uuml: "ü" };

function decode(text) {
  return text.replace(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (all, hex, decimal, name) => {
    if (hex) return String.fromCodePoint(Number.parseInt(hex, 16) || 0xfffd);
    if (decimal) return String.fromCodePoint(Number(decimal) || 0xfffd);
    return NAMED[name] ?? all;
  });
}

/** Splits a document into texts and tags: `{ text }`, or `{ tag, end, attributes }`. */
function pieces(html) {
  const found = [];
  for (const [piece] of html.matchAll(TOKEN)) {
    const tag = /^<(\/?)([a-zA-Z][^\s>/]*)/.exec(piece);
    if (!tag) {
      if (!/^<[!?]/.test(piece)) found.push({ text: decode(piece) });
      continue;
    }
    const attributes = [];
    for (const [, name, a, b, c] of piece.slice(tag[0].length, -1).matchAll(ATTRIBUTE)) {
      attributes.push([name.toLowerCase(), decode(a ?? b ?? c ?? "")]);
    }
    found.push({ tag: tag[2].toLowerCase(), end: tag[1] === "/", attributes });
  }
  return found;
}

/** Normalizes a document: documents with the same meaning get the same form. */
export function normalize(html) {
  let out = "";
  let pre = 0;
  let last = "start";
  for (const piece of pieces(html)) {
    if (piece.text !== undefined) {
      let text = pre ? piece.text : piece.text.replace(/[ \t\r\n\f]+/g, " ");
      if (!pre && (last === "block" || last === "start" || last === "br")) text = text.replace(/^ /, "");
      if (!pre && out.endsWith(" ")) text = text.replace(/^ /, "");
      if (text) last = "text";
      out += text.replace(/[&<>]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[c]);
      continue;
    }
    const block = BLOCK.has(piece.tag);
    if (block && !pre) out = out.replace(/ $/, "");
    if (piece.tag === "pre") pre += piece.end ? -1 : 1;
    last = block ? "block" : piece.tag === "br" ? "br" : last === "block" ? "start" : "tag";
    if (piece.end) {
      if (!VOID.has(piece.tag)) out += `</${piece.tag}>`;
      continue;
    }
    const attributes = piece.attributes.map(([name, value]) => ` ${name}=${JSON.stringify(address(name, value))}`).sort().join("");
    out += `<${piece.tag}${attributes}>`;
  }
  return out.trim();
}

/** The visible text, without white space. */
export function text(html) {
  return pieces(html).map((piece) => piece.text ?? "").join("").replace(/\s+/g, "");
}

/** The targets of the document's links and pictures, in order. */
export function links(html) {
  return pieces(html).flatMap((piece) => {
    if (piece.end || !piece.attributes) return [];
    return piece.attributes.filter(([name]) => name === "href" || name === "src").map(([name, value]) => address(name, value));
  });
}

/** A URL with normalized escapes. */
function address(name, value) {
  if (name !== "href" && name !== "src") return value;
  try {
    return encodeURI(decodeURI(value));
  } catch {
    return value;
  }
}
