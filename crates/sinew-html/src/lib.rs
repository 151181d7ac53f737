//! HTML to Markdown: CommonMark with the tables of GitHub.
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
//! | `em`, `i`, `strong`, `b` | `*`, `**`; as HTML where CommonMark would not read the delimiter |
//! | `del`, `s`, `sup`, `sub` | HTML: CommonMark has no words for them |
//! | `code`, `pre` | as many backticks as needed; the language of a `language-…` class |
//! | `a`, `img` | `[text](address "title")`, `<address>`, `![alt](address)` |
//! | `ul`, `ol`, `li` | `-` and `1.`, nested, tight or loose as the page has it |
//! | `blockquote`, `hr`, `br` | `>`, `***`, two spaces |
//! | `table` | a table, unless it serves the layout |
//!
//! The tree builder is html5ever's: the rules of the browsers, also for pages that are broken. The tokens that it
//! gets are made here, several times as fast as by its own tokenizer. The tree is an arena of our own, and the writer walks
//! it with a stack of its own, so that neither building, nor walking, nor dropping it recurses. Of the ready-made
//! converters, `htmd` and `html-to-markdown-rs` recurse over a tree of reference-counted nodes: a page of some thousand
//! nested elements overflows their stack or is refused by a limit of depth. They also leave delimiters in places where
//! CommonMark does not read them as emphasis.
//!
//! Limits: a page of less than 4 GiB. Time is linear in the page, memory about ten times its size at worst: elements nested
//! deeper than 256 are flattened into the 256th, containers indent 32 levels deep.

mod guard;
mod nodes;
mod tokens;
mod tree;
mod write;

pub use nodes::{Nodes, utf16_to_nodes};
use sinew_base::{CancelToken, Result, utf16_text};
use tokens::Detail;

/// The parts of a page that are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Drops what is not the text of the page: navigation, forms, headers, footers, sidebars, and what the
    /// page hides. Scripts and styles are always dropped. Default: off.
    pub clean_content: bool,
    /// Drops pictures. Default: off.
    pub skip_images: bool,
}

/// Turns a page or a part of one into Markdown. It never fails on what the page is: broken markup is read as
/// browsers read it, NUL becomes U+FFFD or is dropped. The result ends with a line break unless it is empty.
/// `data:` addresses are cut behind their type.
///
/// Linear. `cancel` is looked at every 128 tags, texts and nodes.
///
/// # Errors
/// On cancellation, and for a page of 4 GiB or more.
pub fn html_to_markdown(html: &str, options: &Options, cancel: &CancelToken) -> Result<String> {
    let detail = if options.clean_content { Detail::Clean } else { Detail::Text };
    let tree = tree::parse(html, detail, cancel)?;
    write::markdown(&tree, html.len(), options, cancel)
}

/// The same for UTF-16, as JavaScript holds it; a surrogate without its other half is U+FFFD.
///
/// # Errors
/// As [`html_to_markdown`].
pub fn utf16_to_markdown(html: &[u16], options: &Options, cancel: &CancelToken) -> Result<String> {
    cancel.check()?;
    html_to_markdown(&utf16_text(html), options, cancel)
}
