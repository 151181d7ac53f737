// Tests `compat/turndown` as a program uses it: options, rules, plugins and their nodes. turndown's own tests run in
// `npm run conformance`.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import TurndownService from "@sinew/natives/compat/turndown";

const convert = (html, options) => new TurndownService(options).turndown(html);

test("the class is the module, under require too", () => {
  assert.equal(createRequire(import.meta.url)("@sinew/natives/compat/turndown"), TurndownService);
});

test("options change what the rules write", () => {
  const cases = [
    ["<h1>a</h1><h3>b", {}, "a\n=\n\n### b"],
    ["<h2>a", { headingStyle: "atx" }, "## a"],
    ["<ul><li>a<li>b", { bulletListMarker: "-" }, "-   a\n-   b"],
    ['<ol start="0"><li>a<li>b', {}, "0.  a\n1.  b"],
    ["<i>a</i> <b>b</b><hr>c<br>d", { emDelimiter: "*", strongDelimiter: "__", hr: "---", br: "\\" }, "*a* __b__\n\n---\n\nc\\\nd"],
    ['<pre><code class="x language-ts">let a;\n</code></pre>', { codeBlockStyle: "fenced", fence: "~~~" }, "~~~ts\nlet a;\n~~~"],
    ['<a href="x y" title="t">a</a> <a href="z">b</a>', { linkStyle: "referenced" }, '[a][1] [b][2]\n\n[1]: <x y> "t"\n[2]: z'],
    ['<a href="x">a</a>', { linkStyle: "referenced", linkReferenceStyle: "collapsed" }, "[a][]\n\n[a]: x"],
    ['<a href="x">a</a>', { linkStyle: "referenced", linkReferenceStyle: "shortcut" }, "[a]\n\n[a]: x"],
    ["<p>a<section></section>b", { blankReplacement: (_, node) => `(${node.nodeName})` }, "a\n\n(SECTION)b"],
    ["<u>a</u>", { defaultReplacement: (content, node) => `<${node.localName}:${content}>` }, "<u:a>"],
    ["<kbd>a</kbd>", { rules: { kbd: { filter: "kbd", replacement: (content) => `[${content}]` } } }, "[a]"],
  ];
  for (const [html, options, expect] of cases) assert.equal(convert(html, options), expect, html);
});

test("references of one call do not reach the next", () => {
  const service = new TurndownService({ linkStyle: "referenced" });
  const other = new TurndownService({ linkStyle: "referenced", rules: service.options.rules });
  for (const each of [service, other, service]) assert.equal(each.turndown('<a href="x">a</a>'), "[a][1]\n\n[1]: x");
});

test("the newest rule is asked first, and rules stand before what is kept and removed", () => {
  const service = new TurndownService();
  const mark = (sign) => ({ filter: (node) => node.nodeName === "DEL", replacement: (content) => sign + content });
  service.keep("del").remove(["ins", "del"]);
  assert.equal(service.turndown("<del>a</del><ins>b</ins>"), "<del>a</del>");
  service.addRule("one", mark("1")).addRule("two", mark("2"));
  assert.equal(service.turndown("<del>a</del>"), "2a");
  assert.equal(service.rules.array.length, 17);
  assert.throws(() => service.addRule("bad", { filter: 5 }).turndown("<p>a"), { name: "TypeError", message: /filter of a rule must be/ });
  assert.throws(() => service.use("gfm"), { name: "TypeError", message: /plugin must be a function/ });
});

test("text may be escaped by a function of the caller", () => {
  const service = new TurndownService();
  assert.equal(service.turndown("1. *a* <code>*b*</code>"), "1\\. \\*a\\* `*b*`");
  service.escape = (text) => text.toUpperCase();
  assert.equal(service.turndown("*a* <code>b</code>"), "*A* `b`");
});

/** The nodes of a page that match a selector, in the order in which a filter gets them. */
function nodes(html, query) {
  let found;
  const filter = (node) => {
    found ??= node.closest("main").querySelectorAll(query);
    return false;
  };
  new TurndownService().addRule("look", { filter }).turndown(`<main>x${html}</main>`);
  return found;
}

test("nodes look like those of the DOM", () => {
  const page = '<table id=t class="a  b"><tr><td data-row-id=7 style="text-align: right; color: red">1<b>2</b></td><th>3</th></tr></table><p>a&amp;b<br>&nbsp;<i title=\'"x"\'>c</i></p>';
  const [table, p] = nodes(page, "#t, p");
  const [cell] = table.querySelectorAll("td");
  assert.deepEqual([table.nodeName, table.localName, table.nodeType, table.id, table.className, [...table.classList]], ["TABLE", "table", 1, "t", "a  b", ["a", "b"]]);
  assert.deepEqual([table.classList.contains("b"), table.hasAttribute("CLASS"), table.getAttribute("x"), table.getAttributeNames()], [true, true, null, ["id", "class"]]);
  assert.deepEqual([table.rows.length, table.rows[0].cells.map(({ textContent }) => textContent)], [1, ["12", "3"]]);
  assert.deepEqual([cell.dataset, cell.style.textAlign, cell.style.color, cell.style["text-align"]], [{ rowId: "7" }, "right", "red", "right"]);
  assert.equal(cell.firstChild.nodeValue, "1");
  assert.equal(cell.lastChild, cell.firstElementChild);
  assert.equal(cell.nextSibling, cell.parentNode.children[1]);
  assert.equal(cell.nextElementSibling.previousElementSibling, cell);
  assert.equal(cell.closest("table"), table);
  assert.equal(table.contains(cell.firstChild), true);
  assert.equal(p.outerHTML, '<p>a&amp;b<br>&nbsp;<i title="&quot;x&quot;">c</i></p>');
  assert.equal(p.innerHTML, p.outerHTML.slice(3, -4));
  const copy = p.cloneNode(true);
  copy.insertBefore(copy.ownerDocument.createElement("hr"), copy.firstChild);
  copy.querySelector("br").replaceWith("!", copy.ownerDocument.createTextNode("?"));
  copy.querySelector("i").remove();
  assert.equal(copy.outerHTML, "<p><hr>a&amp;b!?&nbsp;</p>");
  assert.throws(() => copy.firstChild.appendChild(copy), /cannot contain its own ancestor/);
  assert.equal(p.childNodes.length, 4);
  assert.equal(new TurndownService().turndown(p), 'a&b  \n\u00a0_c_');
});

test("selectors", () => {
  const page = '<div class="a b" lang=en-US><p id=p>1</p><p class=b>2</p><a href="x.pdf">3</a><span></span></div><p>4</p>';
  const cases = {
    p: 3, "div p": 2, "div > p": 2, "main > p": 1, "#p": 1, ".b": 2, "p.b": 1, "div.a.b": 1, "[href]": 1, "a[href$='.pdf']": 1, '[href^="x"]': 1, "[href*=y]": 0, "[lang|=en]": 1, "[class~=b]": 2,
    "p + p": 1, "p ~ a": 1, "p:not(.b)": 2, "p:first-child": 1, "div :last-child": 1, "span:empty": 1, "a, span": 2, ":is(a, span)": 2, "*": 6, "P": 3, "main div>p+.b": 1,
  };
  for (const [query, count] of Object.entries(cases)) assert.equal(nodes(page, query).length, count, query);
  for (const query of ["", "p >", "p[", "a::before", ":nth-child(2)", "p,"]) assert.throws(() => nodes(page, query), /selector/, query);
});

test("hostile pages end", () => {
  assert.equal(convert("<div>".repeat(100_000) + "x"), "x");
  assert.equal(convert(`${" ".repeat(1_000_000)}a${"\n\t".repeat(500_000)}`), "a");
  assert.equal(convert(`<pre><code>${"`".repeat(300_000)}</code></pre>`, { codeBlockStyle: "fenced" }).length, 900_004);
  assert.equal(convert(`<pre><code>${"```\n".repeat(200_000)}</code></pre>`, { codeBlockStyle: "fenced" }).length, 800_009);
  assert.equal(convert("\ud800<b>\udc00</b>"), "\ufffd**\ufffd**");
  assert.throws(() => convert({ nodeType: 3 }), { name: "TypeError" });
});
