//! The role of every element of HTML for the writer.

use super::clean::Cleaning;
use super::code::{is_fragment, is_gutter};
use super::math::{formula, repeats_formula};
use crate::Options;
use crate::tree::{Data, Tree, descendants};

/// How the writer handles the start and the end of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Excluded with its content.
    Dropped,
    /// Without its own output: only its content is written.
    Inline,
    /// Begins and ends a block.
    Block,
    Heading(usize),
    Quote,
    List {
        ordered: bool,
    },
    Item,
    Preformatted,
    Rule,
    Break,
    Emphasis,
    Strong,
    Html(&'static str),
    Code,
    Link,
    Image,
    /// A player, a frame or an embedded document, with its default link text.
    Embedded(&'static str),
    /// A MathML formula that contains its TeX.
    Formula,
    CheckBox,
    Table,
    Row,
    Cell,
}

/// Returns the role of an element.
pub(super) fn role(tree: &Tree, id: u32, options: &Options, cleaning: Option<&Cleaning>) -> Role {
    let Data::Element { name, foreign, .. } = &tree.node(id).data else {
        return Role::Inline;
    };
    if cleaning.is_some_and(|cleaning| cleaning.is_chrome(tree, id, name)) {
        return Role::Dropped;
    }
    if *foreign {
        return match &**name {
            "svg" | "annotation" | "annotation-xml" => Role::Dropped,
            "math" if formula(tree, id).is_some() => Role::Formula,
            _ => Role::Inline,
        };
    }
    match &**name {
        "script" if formula(tree, id).is_some() => Role::Formula,
        "head" | "script" | "style" | "template" | "title" | "noframes" | "noembed" | "canvas" | "meta" | "link" => {
            Role::Dropped
        }
        "video" => Role::Embedded("video"),
        "audio" => Role::Embedded("audio"),
        "object" | "embed" => Role::Embedded("object"),
        "iframe" | "frame" => Role::Embedded("frame"),
        "area" => Role::Embedded("area"),
        "h1" => Role::Heading(1),
        "h2" => Role::Heading(2),
        "h3" => Role::Heading(3),
        "h4" => Role::Heading(4),
        "h5" => Role::Heading(5),
        "h6" => Role::Heading(6),
        "blockquote" => Role::Quote,
        "ul" | "menu" | "dir" => Role::List { ordered: false },
        "ol" => Role::List { ordered: true },
        "li" => Role::Item,
        "pre" if is_gutter(tree, id) => Role::Dropped,
        "pre" | "listing" | "xmp" | "plaintext" => Role::Preformatted,
        "hr" => Role::Rule,
        "br" => Role::Break,
        "em" | "i" => Role::Emphasis,
        "strong" | "b" => Role::Strong,
        "del" => Role::Html("del"),
        "s" | "strike" => Role::Html("s"),
        "sup" => Role::Html("sup"),
        "sub" => Role::Html("sub"),
        "code" | "kbd" | "samp" | "tt" => Role::Code,
        "a" => Role::Link,
        "img" if options.skip_images || repeats_formula(tree, id) => Role::Dropped,
        "span" | "div" | "mjx-math" if repeats_formula(tree, id) => Role::Dropped,
        "span" | "div" | "td" if is_gutter(tree, id) => Role::Dropped,
        "span" | "div" if formula(tree, id).is_some() => Role::Formula,
        "div" if is_fragment(tree, id) => Role::Preformatted,
        "img" | "amp-img" => Role::Image,
        "picture" if !descendants(tree, id).any(|id| tree.name(id).is_some_and(|name| &**name == "img")) => Role::Image,
        "input" if tree.attribute(id, "type").is_some_and(|kind| kind.eq_ignore_ascii_case("checkbox")) => {
            Role::CheckBox
        }
        "table" => Role::Table,
        "tr" => Role::Row,
        "td" | "th" => Role::Cell,
        "html" | "body" | "p" | "div" | "section" | "article" | "main" | "nav" | "header" | "footer" | "aside"
        | "form" | "fieldset" | "legend" | "address" | "dl" | "dt" | "dd" | "figure" | "figcaption" | "details"
        | "summary" | "center" | "hgroup" | "caption" | "thead" | "tbody" | "tfoot" | "option" | "optgroup"
        | "search" | "dialog" | "noscript" => Role::Block,
        _ => Role::Inline,
    }
}
