//! The role of every element of HTML for the writer.

use crate::Options;
use crate::tree::{Data, Tree};

/// How the writer handles the start and the end of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Excluded with its content.
    Dropped,
    /// No output of its own.
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
    CheckBox,
    Table,
    Row,
    Cell,
}

/// Returns the role of an element.
pub(super) fn role(tree: &Tree, id: u32, options: &Options) -> Role {
    let Data::Element { name, foreign, .. } = &tree.node(id).data else {
        return Role::Inline;
    };
    if options.clean_content && is_chrome(tree, id, name) {
        return Role::Dropped;
    }
    if *foreign {
        return match &**name {
            "svg" | "annotation" | "annotation-xml" => Role::Dropped,
            _ => Role::Inline,
        };
    }
    match &**name {
        "head" | "script" | "style" | "template" | "title" | "iframe" | "noframes" | "noembed" | "canvas" | "audio"
        | "video" | "object" | "meta" | "link" => Role::Dropped,
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
        "img" if options.skip_images => Role::Dropped,
        "img" => Role::Image,
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

/// Returns true if an element surrounds the main text instead of being part of it.
fn is_chrome(tree: &Tree, id: u32, name: &str) -> bool {
    let named = matches!(
        name,
        "nav"
            | "form"
            | "header"
            | "footer"
            | "aside"
            | "noscript"
            | "button"
            | "select"
            | "input"
            | "textarea"
            | "dialog"
            | "search"
    );
    // A check box belongs to its list item, even if other form elements are excluded.
    if named {
        return name != "input" || tree.attribute(id, "type") != Some("checkbox");
    }
    if matches!(name, "html" | "body" | "main" | "article") {
        return false;
    }
    let Data::Element { attributes, .. } = &tree.node(id).data else {
        return false;
    };
    attributes.iter().any(|attribute| match &*attribute.name.local {
        "hidden" => !attribute.value.eq_ignore_ascii_case("until-found"),
        "aria-hidden" => &*attribute.value == "true",
        "role" => {
            matches!(&*attribute.value, "navigation" | "banner" | "contentinfo" | "complementary" | "search" | "dialog")
        }
        "class" | "id" => attribute
            .value
            .split_ascii_whitespace()
            .any(|word| matches!(word, "sidebar" | "side-bar" | "navbar" | "nav-bar" | "breadcrumb" | "breadcrumbs")),
        "style" => {
            let style = &attribute.value;
            style.split(';').any(|rule| {
                rule.split_once(':').is_some_and(|(name, value)| {
                    name.trim().eq_ignore_ascii_case("display") && value.trim().eq_ignore_ascii_case("none")
                })
            })
        }
        _ => false,
    })
}
