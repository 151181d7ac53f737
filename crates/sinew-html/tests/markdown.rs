//! Pages and their Markdown: one line of HTML, one piece of Markdown.

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
    let got = html_to_markdown(html, &options, &CancelToken::never()).expect("no page is refused");
    assert_eq!(got, markdown, "from {html:?}");
}

#[test]
fn blocks_stand_apart() {
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
fn lists_nest() {
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
fn code_has_as_many_backticks_as_it_takes() {
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
fn emphasis_is_written_so_that_it_is_read() {
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
fn links_and_pictures() {
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
fn text_stays_text() {
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
fn clean_content_leaves_the_text_of_the_page() {
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
fn broken_pages_are_read_as_browsers_read_them() {
    check("<p>a<b>b<p>c", "a**b**\n\n**c**\n");
    check("<table>x<tr><td>y</table>", "x\n\n| y |\n| --- |\n");
    check("a\0b<p\0>c", "abc\n");
    check("</p></div>a</span>", "a\n");
    check("<a href='u>a</a>", "");
    check("<svg><title>x</title><text>y</text></svg>a", "a\n");
    check("\u{feff}a\u{fffd}", "a\u{fffd}\n");
}
