//! Converts the Markdown of messages to markup. Raw HTML in it is shown as text, images become links, and links only
//! lead to web pages and mail addresses.

use pulldown_cmark::{
    Alignment, CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, TextMergeStream,
};

use super::code::{self, Fold};
use super::html_writer::HtmlWriter;

/// The maximum size of parsed texts in bytes; longer ones are shown unchanged.
const LARGEST: usize = 200_000;
/// The maximum nesting of blocks: browsers fail at some hundreds.
const DEEPEST: usize = 40;

const OPTIONS: Options = Options::ENABLE_TABLES.union(Options::ENABLE_STRIKETHROUGH).union(Options::ENABLE_TASKLISTS);

/// Writes `text` as Markdown. Runs in linear time.
pub(super) fn markdown(html: &mut HtmlWriter<'_>, text: &str) {
    // Secrets are removed before and after parsing, because escapes in Markdown can assemble one.
    let clean = html.clean(text).into_owned();
    if clean.len() > LARGEST {
        html.tag("<div class=\"plain\">").part(&clean).tag("</div>\n");
        return;
    }
    html.tag("<div class=\"md\">");
    let mut writer = Writer { html, open: Vec::new(), code: None, aligns: Vec::new(), cell: 0, in_head: false };
    for event in TextMergeStream::new(Parser::new_ext(&clean, OPTIONS)) {
        writer.event(event);
    }
    html.tag("</div>\n");
}

/// The number of bytes of a text in which [`words`] looks for the first words.
const FIRST: usize = 2_000;

/// Returns the first words of a Markdown text without its markers.
pub(super) fn words(html: &HtmlWriter<'_>, text: &str) -> String {
    let clean = html.clean(text.trim_start());
    let mut first = &clean[..clean.floor_char_boundary(FIRST)];
    if first.len() < clean.len() {
        // A part of a word may be a part of a secret.
        first = first.rsplit_once(char::is_whitespace).map_or("", |(whole, _)| whole);
    }
    let mut out = String::new();
    for event in TextMergeStream::new(Parser::new_ext(first, OPTIONS)) {
        match event {
            Event::Text(text) | Event::Code(text) | Event::Html(text) | Event::InlineHtml(text) => out.push_str(&text),
            // Inline elements do not separate words; everything else does.
            Event::Start(_) | Event::End(TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link) => {}
            _ => out.push(' '),
        }
    }
    html.line(&out)
}

struct Writer<'p, 'a> {
    html: &'p mut HtmlWriter<'a>,
    /// The end of each open tag; `None` for one that was too deep.
    open: Vec<Option<ClosingMarkup>>,
    /// The language and text of the open code block; `None` outside one.
    code: Option<(String, String)>,
    aligns: Vec<Alignment>,
    cell: usize,
    in_head: bool,
}

enum ClosingMarkup {
    Markup(&'static str),
    /// Shows the address of a link that is not followed.
    Address(String),
}

impl Writer<'_, '_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(Tag::CodeBlock(kind)) => {
                let language = match kind {
                    CodeBlockKind::Fenced(info) => info.split([' ', ',', '{']).next().unwrap_or_default().to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Event::End(TagEnd::CodeBlock) => {
                if let Some((language, text)) = self.code.take() {
                    code::block(self.html, &text, &language, Fold::Never);
                }
            }
            Event::Start(tag) => self.begin(tag),
            Event::End(_) => self.end(),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => {
                    self.html.text(&text);
                }
            },
            Event::Code(text) => {
                self.html.tag("<code>").text(&text).tag("</code>");
            }
            Event::SoftBreak => {
                self.html.tag("\n");
            }
            Event::HardBreak => {
                self.html.tag("<br>\n");
            }
            Event::Rule => {
                self.html.tag("<hr>\n");
            }
            Event::TaskListMarker(done) => {
                self.html.tag(if done { "<span class=\"box\">☑</span> " } else { "<span class=\"box\">☐</span> " });
            }
            // Not enabled in the options; shown nevertheless.
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.html.text(&text);
            }
        }
    }

    fn begin(&mut self, tag: Tag<'_>) {
        // A table is three tags deep before its first cell.
        let depth = self.open.len() + if matches!(tag, Tag::Table(_)) { 2 } else { 0 };
        if depth >= DEEPEST {
            // Separates the content of cells or paragraphs that are too deep.
            self.html.tag(" ");
            self.open.push(None);
            return;
        }
        let ending = match tag {
            // An image becomes a link, and links cannot be nested.
            Tag::Link { .. } | Tag::Image { .. } if self.is_in_link() => ClosingMarkup::Markup(""),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => self.link(&dest_url),
            Tag::Table(aligns) => {
                self.aligns = aligns;
                self.pair("<div class=\"wide\"><table>", "</tbody></table></div>\n")
            }
            Tag::TableHead => {
                self.cell = 0;
                self.in_head = true;
                self.pair("<thead><tr>", "</tr></thead><tbody>\n")
            }
            Tag::TableRow => {
                self.cell = 0;
                self.in_head = false;
                self.pair("<tr>", "</tr>\n")
            }
            Tag::TableCell => self.table_cell(),
            Tag::List(Some(start)) => {
                self.html.tag("<ol start=\"").part(&start.to_string()).tag("\">\n");
                ClosingMarkup::Markup("</ol>\n")
            }
            Tag::Heading { level, .. } => match level {
                // The page has headings above these.
                HeadingLevel::H1 => self.pair("<h3>", "</h3>\n"),
                HeadingLevel::H2 => self.pair("<h4>", "</h4>\n"),
                HeadingLevel::H3 => self.pair("<h5>", "</h5>\n"),
                _ => self.pair("<h6>", "</h6>\n"),
            },
            Tag::Paragraph => self.pair("<p>", "</p>\n"),
            Tag::HtmlBlock => self.pair("<p class=\"plain\">", "</p>\n"),
            Tag::BlockQuote(_) => self.pair("<blockquote>\n", "</blockquote>\n"),
            Tag::List(None) => self.pair("<ul>\n", "</ul>\n"),
            Tag::Item => self.pair("<li>", "</li>\n"),
            Tag::Emphasis => self.pair("<em>", "</em>"),
            Tag::Strong => self.pair("<strong>", "</strong>"),
            Tag::Strikethrough => self.pair("<del>", "</del>"),
            _ => ClosingMarkup::Markup(""),
        };
        self.open.push(Some(ending));
    }

    fn pair(&mut self, begin: &'static str, end: &'static str) -> ClosingMarkup {
        self.html.tag(begin);
        ClosingMarkup::Markup(end)
    }

    fn table_cell(&mut self) -> ClosingMarkup {
        let align = self.aligns.get(self.cell).copied().unwrap_or(Alignment::None);
        self.cell += 1;
        match (self.in_head, align) {
            (true, Alignment::Right) => self.pair("<th class=\"r\">", "</th>"),
            (true, Alignment::Center) => self.pair("<th class=\"m\">", "</th>"),
            (true, _) => self.pair("<th>", "</th>"),
            (false, Alignment::Right) => self.pair("<td class=\"r\">", "</td>"),
            (false, Alignment::Center) => self.pair("<td class=\"m\">", "</td>"),
            (false, _) => self.pair("<td>", "</td>"),
        }
    }

    fn link(&mut self, address: &CowStr<'_>) -> ClosingMarkup {
        if !is_safe(address) {
            return ClosingMarkup::Address(address.to_string());
        }
        self.html.tag("<a href=\"").text(address).tag("\" rel=\"noopener noreferrer nofollow\">");
        ClosingMarkup::Markup("</a>")
    }

    fn is_in_link(&self) -> bool {
        self.open.iter().any(|ending| matches!(ending, Some(ClosingMarkup::Markup("</a>"))))
    }

    fn end(&mut self) {
        match self.open.pop().flatten() {
            Some(ClosingMarkup::Markup(markup)) => {
                self.html.tag(markup);
            }
            Some(ClosingMarkup::Address(address)) if !address.is_empty() => {
                self.html.tag(" <span class=\"address\">(").text(&address).tag(")</span>");
            }
            _ => {}
        }
    }
}

/// Returns true if a link leads to a web page or a mail address. Other links stay text.
fn is_safe(address: &str) -> bool {
    let lower = address.get(..8.min(address.len())).unwrap_or_default().to_ascii_lowercase();
    lower.starts_with("https://") || lower.starts_with("http://") || lower.starts_with("mailto:")
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinew_session::secrets::Secrets;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let mut html = HtmlWriter::new(None);
        markdown(&mut html, text);
        let written = html.take();
        let inner = written.strip_prefix("<div class=\"md\">").and_then(|text| text.strip_suffix("</div>\n"));
        assert_eq!(inner, Some(expect), "{text}");
    }

    #[test]
    fn renders_blocks_and_inline_markup() {
        check(
            "# A *b*\n\nc **d** ~~e~~ `f<`",
            "<h3>A <em>b</em></h3>\n<p>c <strong>d</strong> <del>e</del> <code>f&lt;</code></p>\n",
        );
        check("3. a\n4. b", "<ol start=\"3\">\n<li>a</li>\n<li>b</li>\n</ol>\n");
        check("- [x] a", "<ul>\n<li><span class=\"box\">☑</span> a</li>\n</ul>\n");
        check("> a  \n> b", "<blockquote>\n<p>a<br>\nb</p>\n</blockquote>\n");
        check(
            "|a|b|\n|-|-:|\n|1|<|",
            "<div class=\"wide\"><table><thead><tr><th>a</th><th class=\"r\">b</th></tr></thead><tbody>\n\
             <tr><td>1</td><td class=\"r\">&lt;</td></tr>\n</tbody></table></div>\n",
        );
        check("```rust\nlet\n```", "<pre><code><span class=\"hk\">let</span></code></pre>\n");
    }

    #[test]
    fn html_in_markdown_is_escaped() {
        check("<script>alert(1)</script>", "<p class=\"plain\">&lt;script&gt;alert(1)&lt;/script&gt;</p>\n");
        check("a <img src=x onerror=alert(1)> b", "<p>a &lt;img src=x onerror=alert(1)&gt; b</p>\n");
        check("```\"><script>\n</code></pre>\n```", "<pre><code>&lt;/code&gt;&lt;/pre&gt;</code></pre>\n");
        check("&#0;&#x202e;&lt;b&gt;", "<p>\u{fffd}[U+202E]&lt;b&gt;</p>\n");
    }

    #[test]
    fn links_are_limited_to_web_pages() {
        let link = "rel=\"noopener noreferrer nofollow\"";
        check("[a](https://x.y/?a=1&b)", &format!("<p><a href=\"https://x.y/?a=1&amp;b\" {link}>a</a></p>\n"));
        check("<mailto:a@b.c>", &format!("<p><a href=\"mailto:a@b.c\" {link}>mailto:a@b.c</a></p>\n"));
        check("[a](javascript:alert(1))", "<p>a <span class=\"address\">(javascript:alert(1))</span></p>\n");
        check("[a](JaVaScRiPt:x)", "<p>a <span class=\"address\">(JaVaScRiPt:x)</span></p>\n");
        check("[a](data:text/html,x)", "<p>a <span class=\"address\">(data:text/html,x)</span></p>\n");
        check("[a](&#106;avascript:x)", "<p>a <span class=\"address\">(javascript:x)</span></p>\n");
        check(
            "[a](<https://x\" onclick=\"y>)",
            &format!("<p><a href=\"https://x&quot; onclick=&quot;y\" {link}>a</a></p>\n"),
        );
        check("[![p](http://x.y/p)](http://q)", &format!("<p><a href=\"http://q\" {link}>p</a></p>\n"));
        check("![p](http://x.y/p.png)", &format!("<p><a href=\"http://x.y/p.png\" {link}>p</a></p>\n"));
    }

    #[test]
    fn depth_is_limited_and_tags_are_closed() {
        let mut html = HtmlWriter::new(None);
        markdown(&mut html, &(">".repeat(5_000) + " a"));
        let written = html.take();
        assert_eq!(written.matches("<blockquote>").count(), DEEPEST);
        assert_eq!(written.matches("</blockquote>").count(), DEEPEST);
        markdown(&mut html, &"[".repeat(100_000));
        assert!(html.take().contains(&"[".repeat(100_000)));
    }

    #[test]
    fn the_first_words_contain_no_markup() {
        let check = |text: &str, expect: &str| assert_eq!(words(&HtmlWriter::new(None), text), expect, "{text}");
        check("## The `a` is **b**ad\n\n- c\n- [d](https://e)\n\n|f|g|\n|-|-|\n|h|<b>|", "The a is bad c d f g h <b>");
        check("```rust\nlet x;\n```", "let x;");
        check(&format!("a {}", "x".repeat(3_000)), "a");
        check(&"é ".repeat(3_000), &format!("{}…", "é ".repeat(40)));
    }

    #[test]
    fn values_joined_by_escapes_are_hidden() {
        let secrets = Secrets::new(Box::new(|| [7; 32]), Vec::new());
        secrets.add("sk_very_secret");
        let mut html = HtmlWriter::new(Some(&secrets));
        markdown(&mut html, "sk\\_very\\_secret, s&#107;_very_secret, `sk_very_secret`");
        let written = html.take();
        assert_eq!((written.matches("secret").count(), written.matches("$env:S").count()), (0, 3), "{written}");
    }
}
