//! Tests the Markdown of small pieces of HTML.

use sinew_base::CancelToken;
use sinew_html::{Options, html_to_markdown};

#[track_caller]
fn check(html: &str, markdown: &str) {
    check_with(html, markdown, Options::default());
}

#[track_caller]
fn check_clean(html: &str, markdown: &str) {
    check_with(html, markdown, Options { clean_content: true, ..Options::default() });
}

#[track_caller]
fn check_with(html: &str, markdown: &str, options: Options) {
    let got = html_to_markdown(html, &options, &CancelToken::never()).expect("every page is valid");
    assert_eq!(got, markdown, "from {html:?}");
}

#[test]
fn separates_blocks() {
    check("<p>a<p>b", "a\n\nb\n");
    check("<div>a<div>b</div>c</div>", "a\n\nb\n\nc\n");
    check("  \n <p> a \n b </p> ", "a b\n");
    check("", "");
    check("<h1>One</h1><h2>Two <em>x</em></h2><h6>#</h6>", "# One\n\n## Two *x*\n\n###### \\#\n");
    check("a<hr>b", "a\n\n***\n\nb\n");
    check("a<br>b<br><br>", "a  \nb\n");
    check("<blockquote><p>a</p><p>b</p></blockquote>c", "> a\n>\n> b\n\nc\n");
    check("<blockquote>a<blockquote>b</blockquote></blockquote>", "> a\n>\n> > b\n");
    check("<title>t</title><script>s</script><style>x</style>a", "a\n");
}

#[test]
fn nests_lists() {
    check("<ul><li>a<li>b<ul><li>c</ul><li>d</ul>", "- a\n- b\n  - c\n- d\n");
    check("<ol start=9><li>a<li>b</ol>", "9. a\n10. b\n");
    check("<ol><li>a<ul><li>b</ul><p>c</p></li></ol>", "1. a\n\n   - b\n\n   c\n");
    check("<ul><li><p>a</p><li><p>b</p></ul>", "- a\n\n- b\n");
    check("<ul><li>a</ul><ul><li>b</ul>", "- a\n\n* b\n");
    check("<ul><li>a<ul><li>b</ul></ul>c", "- a\n  - b\n\nc\n");
    check("<ul><li>a</li><ul><li>b</li></ul><li>c</li></ul>", "- a\n  - b\n- c\n");
    check("<ul><li></li><li>b</li></ul>", "-\n- b\n");
    check("<ul><li><input type=checkbox checked> a<li><input type=checkbox>b</ul>", "- [x] a\n- [ ] b\n");
    check("<ul><li><pre>x\ny</pre></ul>", "- ```\n  x\n  y\n  ```\n");
    check("<li>a<li>b", "- a\n- b\n");
}

#[test]
fn code_has_as_many_backticks_as_needed() {
    check("<code>a</code>", "`a`\n");
    check("<code>`</code>", "`` ` ``\n");
    check("<code>a``b</code>", "```a``b```\n");
    check("<code>a</code><code>b</code>", "`a` `b`\n");
    check("<code>a *b* <b>c</b></code>", "`a *b* c`\n");
    check("<code><a href=u>f</a>()</code>", "[`f`](u)`()`\n");
    check("<pre><code class='language-rust x'>a\n\n  b\n</code></pre>", "```rust\na\n\n  b\n```\n");
    check("<div class='highlight-source-js'><pre>a</pre></div>", "```js\na\n```\n");
    check("<pre>```</pre>", "````\n```\n````\n");
    check("<pre>a<br>b</pre>", "```\na\nb\n```\n");
}

#[test]
fn writes_emphasis_that_commonmark_recognises() {
    check("a<em>b</em>c <strong>d</strong>", "a*b*c **d**\n");
    check("<strong><em>a</em></strong>", "***a***\n");
    check("a<b> b </b>c", "a **b** c\n");
    check("<b>a:</b>b", "<strong>a:</strong>b\n");
    check("<em>a</em><em>b</em>", "<em>a</em>*b*\n");
    check("<b> </b>a<i></i>", "a\n");
    check("<em>a<em>b</em></em>", "*a<em>b</em>*\n");
    check("<b><p>a</p><p>b</p></b>", "**a**\n\n**b**\n");
    check("x<sup>2</sup> <del>y</del>", "x<sup>2</sup> <del>y</del>\n");
    check("<i>foo&nbsp;</i>bar", "*foo*\u{a0}bar\n");
}

#[test]
fn links_and_images() {
    check("<a href='/u' title='t \"x\"'>a</a>", "[a](/u \"t \\\"x\\\"\")\n");
    check("<a href='https://a.b/c'>https://a.b/c</a>", "<https://a.b/c>\n");
    check("<a href='a b'>x</a> <a href='a(b)'>y</a> <a href='a(b'>z</a>", "[x](<a b>) [y](a(b)) [z](a\\(b)\n");
    check("<a name=x>a</a>", "a\n");
    check("wow!<a href=u>a</a>", "wow\\![a](u)\n");
    check("<a href=u><h2>T</h2><p>x</p></a>", "## [T](u)\n\n[x](u)\n");
    check("<a href=u>a [b]</a>", "[a \\[b\\]](u)\n");
    check("<img src=u alt='a [b]' title=t>", "![a \\[b\\]](u \"t\")\n");
    check("<a href=u><img src=v alt=x></a>", "[![x](v)](u)\n");
    check("<img alt=x>", "");
    check("<img src='data:image/png;base64,AAAA' alt=x>", "![x](data:image/png;base64,...)\n");
    check("<img src='data:image/gif;base64,AAAA' data-src=real.png>", "![](real.png)\n");
    check("<a href='?a&copy;=1'>x</a>", "[x](?a©=1)\n");
    check("<a href='?a&amp;copy;=1'>x</a>", "[x](?a\\&copy;=1)\n");
    check_with("a<img src=u>b", "ab\n", Options { skip_images: true, ..Options::default() });
}

#[test]
fn tables() {
    check(
        "<table><thead><tr><th>a<th align=right>b<tbody><tr><td>1|2<td><b>x</b><tr><td><p>p</p><p>q</p></table>",
        "| a | b |\n| --- | --: |\n| 1\\|2 | **x** |\n| p<br>q |\n",
    );
    check("<table><tr><td colspan=2>a</td></tr><tr><td>b<td>c</tr></table>", "| a | |\n| --- | --- |\n| b | c |\n");
    check("<table><tr><td><ul><li>a</ul></td><td>b</td></tr></table>", "- a\n\nb\n");
    check("<table><caption>c</caption><tr><td>a</table>", "c\n\n| a |\n| --- |\n");
    check("<table><tr><td><table><tr><td>x</table></table>", "| x |\n| --- |\n");
    check("<table></table>a", "a\n");
}

#[test]
fn escapes_markdown_characters_in_text() {
    check("*a* _b_ `c` [d](e) \\*", "\\*a\\* \\_b\\_ \\`c\\` \\[d](e) \\\\\\*\n");
    check("snake_case_name a_", "snake_case_name a\\_\n");
    check("1. a", "1\\. a\n");
    check("<p># a<p>- b<p>+ c<p>> d<p>---<p>===", "\\# a\n\n\\- b\n\n\\+ c\n\n\\> d\n\n\\---\n\n\\===\n");
    check("a<br>- b", "a  \n\\- b\n");
    check("&lt;b> a < b &amp;amp; &amp;x", "\\<b> a < b \\&amp; &x\n");
    check("~~a~~ ~b", "\\~\\~a\\~\\~ ~b\n");
    check("a|b", "a|b\n");
    check("<ul><li>2) x</ul>", "- 2\\) x\n");
}

#[test]
fn clean_content_removes_navigation_and_forms() {
    check_clean(
        "<header>h</header><nav>n</nav><main><p>a</p><form>f<input></form><aside>s</aside></main><footer>f</footer>",
        "a\n",
    );
    check_clean("<div role=navigation>n</div><div class='x sidebar'>s</div><p hidden>h</p>a", "a\n");
    check_clean("<p style='color: red; display: NONE'>x</p><p aria-hidden=true>y</p>a", "a\n");
    check_clean("<a href='javascript:x()'>a</a><button>b</button>", "a\n");
    check_clean("<body class=sidebar>a</body>", "a\n");
    check("<nav>n</nav><button>b</button>", "n\n\nb\n");
}

#[test]
fn parses_malformed_pages_like_browsers() {
    check("<p>a<b>b<p>c", "a**b**\n\n**c**\n");
    check("<table>x<tr><td>y</table>", "x\n\n| y |\n| --- |\n");
    check("a\0b<p\0>c", "abc\n");
    check("</p></div>a</span>", "a\n");
    check("<a href='u>a</a>", "");
    check("<svg><title>x</title><text>y</text></svg>a", "a\n");
    check("\u{feff}a\u{fffd}", "a\u{fffd}\n");
}

#[test]
fn cells_stay_in_their_columns() {
    check(
        "<table><tr><th>a<th>b<th>c<tr><td rowspan=2>1<td>2<td>3<tr><td>4<td>5</table>",
        "| a | b | c |\n| --- | --- | --- |\n| 1 | 2 | 3 |\n| | 4 | 5 |\n",
    );
    check(
        "<table><tr><th>a<th rowspan=3>b<tr><td>1<tr><td>2<tr><td>3<td>4</table>",
        "| a | b |\n| --- | --- |\n| 1 | |\n| 2 | |\n| 3 | 4 |\n",
    );
    check(
        "<table><tr><th>a<th>b<th>c<tr><td rowspan=0 colspan=2>1<td>2<tr><td>3<tr><td>4</table>",
        "| a | b | c |\n| --- | --- | --- |\n| 1 | | 2 |\n| | | 3 |\n| | | 4 |\n",
    );
    check(
        "<table><tr><th rowspan=2>a<th colspan=2>b<tr><th>c<th>d<tr><td>1<td>2<td>3</table>",
        "| a | b | |\n| --- | --- | --- |\n| | c | d |\n| 1 | 2 | 3 |\n",
    );
}

#[test]
fn blocks_in_cells_keep_the_table() {
    check(
        "<table><tr><th>a<th>b<tr><td><ul><li>c<li>d</ul><td>e</table>",
        "| a | b |\n| --- | --- |\n| - c<br>- d | e |\n",
    );
    check(
        "<table><tr><th>a<tr><td>x<ol start=3><li>c<li>d</ol>y</table>",
        "| a |\n| --- |\n| x<br>3. c<br>4. d<br>y |\n",
    );
    check(
        "<table><tr><td>a<td><pre>x|y\n\n  z\n</pre><tr><td>b<td>c</table>",
        "| a | `x\\|y`<br>`  z` |\n| --- | --- |\n| b | c |\n",
    );
    check(
        "<table><tr><th>a<tr><td><h4>t</h4>u<hr>v<blockquote>w</blockquote></table>",
        "| a |\n| --- |\n| t<br>u<br>v<br>w |\n",
    );
    check("<table><tr><td><h1>t</h1><td>b</table>", "# t\n\nb\n");
}

#[test]
fn list_items_keep_their_numbers() {
    check("<ol><li value=5>a<li>b<li value=9>c</ol>", "5. a\n6. b\n9. c\n");
    check("<ol reversed><li>a<li>b<li>c</ol>", "3. a\n2. b\n1. c\n");
    check("<ol reversed start=10><li>a<li>b</ol>", "10. a\n9. b\n");
    check("<ul><li value=5>a</ul>", "- a\n");
}

#[test]
fn line_elements_in_code_become_lines() {
    for (html, code) in [
        ("<code>a</code><code>b</code>", "a\nb"),
        ("<code>a</code>\n<code>b</code>", "a\nb"),
        ("<code>a\n</code><code>b\n</code>", "a\nb"),
        ("<div>a</div><div>b</div>", "a\nb"),
        ("<div>a</div>\n<div>b</div>\n", "a\nb"),
        ("<div>a</div><div></div><div>b</div>", "a\n\nb"),
        ("<div>a</div><div>\n</div><div>b</div>", "a\n\nb"),
        ("<div><div>a</div></div><div>b</div>c", "a\nb\nc"),
        ("x<div>a</div>", "x\na"),
        ("<code><span class=line>a</span><span class='line x'>b</span></code>", "a\nb"),
        ("<code><span class=line>a</span>\n<span class=line>b</span></code>", "a\nb"),
        ("<code><span class=line><span>a</span>\n</span><span class=line>b\n</span></code>", "a\nb"),
        ("<span class=line>a</span> b", "a b"),
        ("<span>a</span><span>b</span>", "ab"),
        ("<ol><li>a<li>b</ol>", "a\nb"),
        ("a <code>b</code> c", "a b c"),
        ("<p>a</p>\n  <p>b</p>", "a\n  \nb"),
    ] {
        check(&format!("<pre>{html}</pre>"), &format!("```\n{code}\n```\n"));
    }
}

#[test]
fn finds_the_language_of_code_blocks() {
    for pre in [
        "<pre class='language-rust'>",
        "<pre class='hljs rust'>",
        "<pre><code class='rust hljs'>",
        "<pre><code class='hljs language-rust'>",
        "<pre class='brush: rust; toolbar: false'>",
        "<pre class='brush:rust'>",
        "<pre lang=rust>",
        "<pre data-lang=rust>",
        "<pre><code data-language=rust>",
        "<pre class='sourceCode numberSource rust'>",
        "<div class='sourceCode'><pre class='sourceCode rust'><code class='sourceCode rust'>",
        "<div class='highlight-rust notranslate'><div class='highlight'><pre><span></span>",
        "<div class='language-rust highlighter-rouge'><div class='highlight'><pre class='highlight'><code>",
        "<figure data-language=rust><pre>",
        "<div class='highlight highlight-source-rust'><pre>",
        "<pre class='src src-rust'>",
        "<figure class='highlight rust'><pre>",
        "<pre class='code rust literal-block'>",
        "<div class='mw-highlight mw-highlight-lang-rust mw-content-ltr'><pre>",
        "<pre class='EnlighterJSRAW' data-enlighter-language=rust>",
        "<pre><code class=rust>",
    ] {
        check(&format!("{pre}a\n"), "```rust\na\n```\n");
    }
    for pre in [
        "<pre lang='a b'>",
        "<pre class='highlight-default notranslate'>",
        "<pre class=rust>",
        "<div lang=en><pre>",
        "<pre lang=en>",
        "<pre lang=en-US>",
        "<pre class=language-none>",
        "<pre class='code literal-block'>",
        "<pre><code class=block>",
    ] {
        check(&format!("{pre}a\n"), "```\na\n```\n");
    }
}

#[test]
fn finds_the_address_of_lazy_images() {
    check("<img data-original=a.png src=blank.gif>", "![](a.png)\n");
    check("<img data-lazy-src=a.png src='data:image/gif;base64,A'>", "![](a.png)\n");
    check("<img srcset='a.png 1x, b.png 2x' src='data:image/gif;base64,A'>", "![](b.png)\n");
    check("<img data-srcset='a.png 300w,\n b.png 900w'>", "![](b.png)\n");
    check("<img srcset='a.png 2x' src=c.png>", "![](c.png)\n");
    check("<img src=' '>", "");
    check("<img data-lazy-src=a.png src=blank.gif>", "![](a.png)\n");
    check("<img data-src=a.png src='/i/lazy-placeholder.svg?x'>", "![](a.png)\n");
    check("<img data-src=large.png src=a.png>", "![](a.png)\n");
    check("<img data-original-src=a.png>", "![](a.png)\n");
    check("<picture><source srcset='a.webp 1x, b.webp 2x'></picture>", "![](b.webp)\n");
    check("<picture><source srcset=a.webp><img src=b.png alt=B></picture>", "![B](b.png)\n");
    check("<amp-img src=a.png></amp-img>", "![](a.png)\n");
}

#[test]
fn writes_formulas_once() {
    let math = "<math><semantics><mrow><mi>E</mi></mrow><annotation encoding='application/x-tex'>E=mc^2 \\\\ *</annotation></semantics></math>";
    check(math, "$E=mc^2 \\\\ *$\n");
    check(&math.replace("<math", "<math display=block"), "$$E=mc^2 \\\\ *$$\n");
    let katex = format!(
        "a <span class=katex><span class='katex-mathml'>{math}</span><span class='katex-html' aria-hidden=true>E=mc2</span></span> b"
    );
    check(&katex, "a $E=mc^2 \\\\ *$ b\n");
    check_clean(&katex, "a $E=mc^2 \\\\ *$ b\n");
    check("<span class=katex><span class='katex-html'>E</span></span>", "E\n");
    check("<math><mi>x</mi><mo>+</mo><mn>1</mn></math>", "x+1\n");
    let wikipedia = format!(
        "a <span class=mwe-math-element><span class=mwe-math-mathml-inline style='display: none'>{math}</span><img src=x.svg class=mwe-math-fallback-image-inline aria-hidden=true></span>"
    );
    check(&wikipedia, "a $E=mc^2 \\\\ *$\n");
    check_clean(&wikipedia, "a $E=mc^2 \\\\ *$\n");
}

#[test]
fn players_and_frames_are_links() {
    check("<video src='a b.mp4' title=T>old browser</video>", "[T](<a b.mp4>)\n");
    check("<video><source src=a.webm><source src=a.mp4></video>", "[video](a.webm)\n");
    check("<audio controls src=a.mp3></audio>", "[audio](a.mp3)\n");
    check("<object data=a.svg>x</object>", "[object](a.svg)\n");
    check("<p>a<iframe src='https://a.b/c' title='A map'></iframe>b", "a[A map](https://a.b/c)b\n");
    check("<video><track src=t.vtt><source src=a.webm></video>", "[video](a.webm)\n");
    check("<iframe data-src=a.html></iframe>", "[frame](a.html)\n");
    check("<frameset><frame src=a.html title=A></frameset>", "[A](a.html)\n");
    check("<map><area href=a alt=A></map>", "[A](a)\n");
    check("<iframe src='about:blank'></iframe><iframe src='javascript:x'></iframe><video></video>", "");
}

#[test]
fn clean_content_keeps_the_main_text() {
    check_clean(
        &format!("<form id=aspnetForm><p>{}</p><input></form>", "word ".repeat(200)),
        &format!("{}word\n", "word ".repeat(199)),
    );
    check_clean("<form><main>a</main></form>", "a\n");
    check_clean("<article><header><h1>T</h1></header>a</article>", "# T\n\na\n");
    check_clean("<header id=title-block-header><h1>T</h1><p>by n</p></header>a", "# T\n\nby n\n\na\n");
    check_clean("<header><h1>T</h1><nav>n</nav></header>a", "a\n");
    check_clean("<main>a<footer class=footnotes><ol><li>n</ol></footer></main><footer>f</footer>", "a\n\n1. n\n");
    check_clean("<aside class='admonition note'>n</aside><aside class=footnote>m</aside><aside>x</aside>", "n\n\nm\n");
    check_clean(
        "<h2><button>T</button></h2><details><summary><button>S</button></summary>a</details>",
        "## T\n\nS\n\na\n",
    );
    check_clean("<blockquote>q<footer>w</footer></blockquote>", "> q\n>\n> w\n");
    check_clean("<form><label>Name</label><input><select><option>o</select></form>a", "a\n");
}

#[test]
fn clean_content_never_removes_everything() {
    check_clean("<form id=aspnetForm><h1>T</h1><p>a</p><input type=submit value=Go></form>", "# T\n\na\n");
    for (open, close) in [
        ("<nav>", "</nav>"),
        ("<aside class=layout>", "</aside>"),
        ("<div aria-hidden=true>", "</div>"),
        ("<footer>", "</footer>"),
        ("<dialog open>", "</dialog>"),
    ] {
        check_clean(&format!("{open}<main><p>a</p></main>{close}"), "a\n");
        check_clean(&format!("b{open}<article><p>a</p></article>{close}"), "b\n\na\n");
        check_clean(&format!("{open}<p>a</p>{close}"), "a\n");
        // Another part is the main text.
        check_clean(&format!("<main>b</main>{open}<article>a</article>{close}"), "b\n");
    }
    check_clean("<nav>n</nav><footer>f</footer>", "f\n");
    check_clean("<nav>n</nav><form>f</form>", "f\n");
    check_clean("<p hidden>a</p>", "a\n");
    check_clean("<input><select><option>o</select>", "");
    check_clean("<dl><dt><button>t</button><dd>d</dl>", "t\n\nd\n");
    check_clean("<form><fieldset><legend>l</legend><p>a</p></fieldset></form>b", "l\n\na\n\nb\n");
}

#[test]
fn cells_end_with_their_group_of_rows() {
    check(
        "<table><thead><tr><th>a<th>b<tbody><tr><td rowspan=9>1<td>2<tbody><tr><td>3<td>4</table>",
        "| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |\n",
    );
    check(
        "<table><thead><tr><th rowspan=0>a<th>b<tbody><tr><td>1<td rowspan=0>2<tr><td>3<tfoot><tr><td>4<td>5</table>",
        "| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | |\n| 4 | 5 |\n",
    );
}

#[test]
fn a_table_in_a_cell_keeps_the_table() {
    check(
        "<table><tr><th>a<th>b<tr><td>x<table><tr><td>1<td>2<tr><td>3<td>4</table>y<td>c<tr><td>d<td>e</table>",
        "| a | b |\n| --- | --- |\n| x<br>1 2<br>3 4<br>y | c |\n| d | e |\n",
    );
    check(
        "<table><tr><td>a<td><table><tr><th>b<th>c<tr><td>1<td>2</table></table>",
        "a\n\n| b | c |\n| --- | --- |\n| 1 | 2 |\n",
    );
}

#[test]
fn writes_mathml_as_tex() {
    for (mathml, tex) in [
        ("<mi>y</mi><mo>+</mo><mfrac><mn>1</mn><mn>2</mn></mfrac>", "y+\\frac{1}{2}"),
        ("<msup><mi>x</mi><mn>2</mn></msup><msqrt><mi>z</mi></msqrt>", "x^{2}\\sqrt{z}"),
        ("<msup><mrow><mi>x</mi><mo>+</mo><mn>1</mn></mrow><mn>2</mn></msup>", "{x+1}^{2}"),
        ("<msubsup><mo>∫</mo><mn>0</mn><mi>n</mi></msubsup><mi>sin</mi>", "∫_{0}^{n}\\mathrm{sin}"),
        ("<mroot><mi>x</mi><mn>3</mn></mroot><mtext>for {}</mtext>", "\\sqrt[3]{x}\\text{for \\{\\}}"),
        (
            "<mtable><mtr><mtd><mi>a</mi></mtd><mtd><mi>b</mi></mtd></mtr><mtr><mtd><mi>c</mi></mtd></mtr></mtable>",
            "\\begin{matrix}a & b \\\\ c\\end{matrix}",
        ),
    ] {
        check(&format!("<math>{mathml}</math>"), &format!("${tex}$\n"));
        check(&format!("<math><semantics><mrow>{mathml}</mrow></semantics></math>"), &format!("${tex}$\n"));
    }
}

#[test]
fn writes_the_formulas_of_mathjax_and_pandoc_once() {
    check("a <script type=math/tex>x_1 < 2</script> b", "a $x_1 < 2$ b\n");
    check("<p><script type='math/tex; mode=display'>x</script>", "$$x$$\n");
    check(
        "<span class=MathJax_Preview>p</span><span class=MathJax><span>p</span></span><script type=math/tex>x</script>",
        "$x$\n",
    );
    let mathjax = "<mjx-container><mjx-math aria-hidden=true><mjx-mi>q</mjx-mi></mjx-math>\
        <mjx-assistive-mml><math><mi>q</mi></math></mjx-assistive-mml></mjx-container>";
    check(mathjax, "q\n");
    check_clean(mathjax, "q\n");
    check("<span class='math inline'>\\(a_1*b\\)</span>", "$a_1*b$\n");
    check("<span class='math display'>\\[a\\]</span> <span class='math inline'>b_*</span>", "$$a$$ $b_*$\n");
    check("<div class='math notranslate'>\\[a\\]</div>", "$$a$$\n");
    check("<span class='math'>a*b <i>c</i></span>", "a\\*b *c*\n");
    check("<script>x</script><script type=text/javascript>y</script>a", "a\n");
}

#[test]
fn line_numbers_are_not_code() {
    for page in [
        "<table><tr><td class='gutter gl'><pre class=lineno>1\n2\n</pre><td class=code><pre>a\nb\n</pre></table>",
        "<table><tr><td class=linenos><div class=linenodiv><pre>1\n2</pre></div><td class=code><pre>a\nb</pre></table>",
        "<pre><span class=linenos>1</span>a\n<span class=linenos>2</span>b</pre>",
        "<div class=fragment><div class=line><span class=lineno>1</span>a</div><div class=line>b</div></div>",
        "<pre><span class=code-line>a</span><span class=code-line>b</span></pre>",
    ] {
        check(page, "```\na\nb\n```\n");
    }
    check("<div class=gutter>1 to 2</div><div class=fragment>a</div>", "1 to 2\n\na\n");
}
