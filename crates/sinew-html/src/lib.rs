//! Converts HTML to Markdown: CommonMark with GitHub's tables.
//!
//! ```
//! use sinew_base::CancelToken;
//! use sinew_html::{Options, html_to_markdown};
//!
//! # fn main() -> sinew_base::Result<()> {
//! let page = "<nav>Menu</nav><h1>Title</h1><p>A <b>bold</b> <a href='/x'>link</a>.";
//! let options = Options { clean_content: true, ..Options::default() };
//! let markdown = html_to_markdown(page, &options, &CancelToken::never())?;
//! assert_eq!(markdown, "# Title\n\nA **bold** [link](/x).\n");
//! # Ok(())
//! # }
//! ```
//!
//! | HTML | Markdown |
//! |---|---|
//! | `h1`–`h6` | `#` |
//! | `em`, `i`, `strong`, `b` | `*`, `**`; HTML if CommonMark would not recognise the delimiter |
//! | `del`, `s`, `sup`, `sub` | HTML, because CommonMark has no syntax for them |
//! | `code`, `pre` | as many backticks as needed; the language from a class or attribute of the code or of what surrounds it |
//! | `a`, `img` | `[text](address "title")`, `<address>`, `![alt](address)` |
//! | `ul`, `ol`, `li` | `-` and `1.`, nested, tight or loose as on the page |
//! | `blockquote`, `hr`, `br` | `>`, `***`, two spaces |
//! | `table` | a table, unless it is used for layout; lists, code and the rows of tables in cells are lines of the cell |
//! | `video`, `audio`, `object`, `iframe`, `frame`, `area` | a link to what they show |
//! | `math`, and the TeX of MathJax, KaTeX and Pandoc | `$…$`, or `$$…$$` for a block; MathML of one line is text |
//!
//! The tree builder is that of html5ever: it follows the rules of browsers, including those for malformed pages. This
//! crate has its own tokenizer, which is several times as fast as html5ever's, its own arena for the tree, and a writer
//! with an explicit stack, so that building, traversing and dropping the tree never recurse. The existing converters
//! `htmd` and `html-to-markdown-rs` recurse over a tree of reference-counted nodes: a page with some thousand nested
//! elements overflows their stack or exceeds a depth limit. They also write delimiters in places where CommonMark does
//! not recognise them as emphasis.
//!
//! Limits: the page must be smaller than 4 GiB. Running time is linear, and memory about ten times the size of the page
//! at worst: elements nested deeper than 256 are flattened into the 256th, and containers are indented by up to 32
//! levels.

mod guard;
mod language;
mod nodes;
mod tokens;
mod tree;
mod write;

pub use nodes::{Nodes, utf16_to_nodes};
use sinew_base::{CancelToken, Result, utf16_text};
use tokens::Detail;

/// The parts of a page to exclude.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Excludes everything but the main text: navigation, forms, headers, footers, sidebars, and hidden elements. Keeps
    /// a form that contains the page, the header of an article, a header with the title, notes and footnotes. If nothing
    /// else is left, or if the only `main` or `article` would be excluded, the surrounding parts are kept.
    /// Scripts and styles are always excluded. Default: false.
    pub clean_content: bool,
    /// Excludes images. Default: false.
    pub skip_images: bool,
}

/// Converts a page or a fragment to Markdown. Accepts any input: malformed markup is parsed as in browsers, NUL becomes
/// U+FFFD or is dropped. The result ends with a line break unless it is empty. `data:` addresses are cut after their
/// type.
///
/// Runs in linear time. Checks `cancel` every 128 tags, texts and nodes.
///
/// # Errors
/// Returns an error if the call is cancelled, or if the page has 4 GiB or more.
pub fn html_to_markdown(html: &str, options: &Options, cancel: &CancelToken) -> Result<String> {
    let detail = if options.clean_content { Detail::Clean } else { Detail::Text };
    let tree = tree::parse(html, detail, cancel)?;
    write::markdown(&tree, html.len(), options, cancel)
}

/// Does the same for UTF-16, the encoding of JavaScript; a lone surrogate becomes U+FFFD.
///
/// # Errors
/// Returns the errors of [`html_to_markdown`].
pub fn utf16_to_markdown(html: &[u16], options: &Options, cancel: &CancelToken) -> Result<String> {
    cancel.check()?;
    html_to_markdown(&utf16_text(html), options, cancel)
}
