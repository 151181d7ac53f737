// Converts a page of 500 KB to Markdown, against turndown; also with our drop-in for turndown.

/** A repeated encyclopedia article: headings, paragraphs with links and emphasis, lists, tables, code. */
function page(bytes) {
  const words = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon".split(" ");
  let html = "<!DOCTYPE html><html><head><title>Page</title><style>p { margin: 0 }</style></head><body><nav><ul><li><a href='/'>Home</a></ul></nav>";
  for (let part = 0; html.length < bytes; part++) {
    const word = (n) => words[(part * 7 + n * 3) % words.length];
    const text = (n) => Array.from({ length: 12 }, (_, i) => word(n + i)).join(" ");
    html += `<div class="section" id="s${part}"><h2><span class="headline">${text(1)}</span></h2>\n<p>${text(2)} <a href="/wiki/${word(3)}_(${word(4)})" title="${word(3)}">${word(5)} ${word(6)}</a>, <b>${word(7)}</b> &amp; <i>${word(8)}</i> ${text(9)}<sup id="c${part}"><a href="#n${part}">[${part}]</a></sup>.</p>\n`;
    html += `<ul>\n<li>${text(3)}</li>\n<li><code>${word(1)}_${word(2)}()</code> ${text(4)}\n<ul><li>${text(5)}</li></ul></li>\n</ul>\n`;
    if (part % 5 === 0) html += `<table class="wikitable"><thead><tr><th>${word(1)}</th><th>${word(2)}</th></tr></thead><tbody><tr><td>${text(1)}</td><td>${part}</td></tr></tbody></table>\n`;
    if (part % 7 === 0) html += `<pre><code class="language-js">const ${word(1)} = ${part};\nconsole.log(${word(1)} &lt; 3);\n</code></pre>\n`;
    html += `<p><img src="//example.com/thumb/${part}.jpg" alt="${text(6)}" width="220" height="147"></p></div>\n`;
  }
  return `${html}</body></html>`;
}

export default async function (bench) {
  const { default: Turndown } = await import("turndown");
  const turndown = new Turndown();
  const html = page(500_000);
  const targets = { turndown: 0.05 };
  await bench.compare("500 KB page to Markdown", {
    sinew: () => bench.natives.htmlToMarkdown(html),
    turndown: () => turndown.turndown(html),
  }, { targets });
  const { default: DropIn } = await import("../../packages/natives/dist/compat/turndown.mjs");
  const dropIn = new DropIn();
  await bench.compare("the same by turndown's rules", {
    sinew: () => dropIn.turndown(html),
    turndown: () => turndown.turndown(html),
  }, { targets: { turndown: 1 } });
  const wide = html.replaceAll("alpha", "älpha 中");
  await bench.compare("the same with characters beyond Latin", {
    sinew: () => bench.natives.htmlToMarkdown(wide),
    turndown: () => turndown.turndown(wide),
  }, { targets });
}
