//! Finds the parts of a page around its main text, which are left out on request.

use std::collections::{HashMap, HashSet};

use crate::tree::{Data, NIL, ROOT, Tree, descendants};

/// A form with at least this many bytes of text contains the page itself, as in ASP.NET.
const TEXT_OF_PAGE: usize = 500;

/// Words that begin the classes of asides that belong to the text.
const NOTES: [&str; 12] = [
    "admonition",
    "alert",
    "callout",
    "caution",
    "danger",
    "footnote",
    "hint",
    "important",
    "info",
    "note",
    "tip",
    "warning",
];

/// What to leave out.
pub(super) struct Cleaning {
    /// The parts that are kept in any case, because they contain the main text.
    kept: HashSet<u32>,
    /// The number of the steps below that are undone, because nothing else is left.
    undone: u8,
}

/// The number of steps of [`Cleaning::retry`].
const STEPS: u8 = 4;

impl Cleaning {
    /// Finds the main text of a page. Runs in linear time.
    pub(super) fn new(tree: &Tree) -> Cleaning {
        let mut kept = HashSet::new();
        let is_main = |id: &u32| {
            matches!(tree.name(*id).map(|name| &**name), Some("main" | "article"))
                || tree.attribute(*id, "role") == Some("main")
        };
        let mains: Vec<u32> = descendants(tree, ROOT).filter(is_main).collect();
        let around =
            |id: &u32| std::iter::successors(Some(*id), |id| Some(tree.node(*id).parent).filter(|id| *id != NIL));
        let cleaning = Cleaning { kept: HashSet::new(), undone: 0 };
        // Each element is checked once: a header or a form is searched for that.
        let mut known = HashMap::new();
        let mut is_dropped = |id: u32| {
            let check = || tree.name(id).is_some_and(|name| cleaning.is_chrome(tree, id, name));
            *known.entry(id).or_insert_with(check)
        };
        // A teaser in a sidebar is not the main text, if there is another one. A tree has at most 256 levels.
        if mains.iter().all(|id| around(id).any(&mut is_dropped)) {
            kept.extend(mains.iter().flat_map(around));
        }
        Cleaning { kept, undone: 0 }
    }

    /// Keeps more, for a page of which nothing was left: first forms and dialogs, then sidebars, headers and footers,
    /// then navigation, then hidden parts. Returns false once everything is kept.
    pub(super) fn retry(&mut self) -> bool {
        self.undone += 1;
        self.undone <= STEPS
    }

    /// Returns true if an element surrounds the main text instead of being part of it.
    pub(super) fn is_chrome(&self, tree: &Tree, id: u32, name: &str) -> bool {
        !self.kept.contains(&id) && is_chrome(tree, id, name, self.undone)
    }
}

/// Returns true if an element surrounds the main text, after the first steps of [`Cleaning::retry`] were undone.
fn is_chrome(tree: &Tree, id: u32, name: &str, undone: u8) -> bool {
    match name {
        "form" | "dialog" | "search" if undone >= 1 => return false,
        "aside" | "header" | "footer" if undone >= 2 => return false,
        "nav" | "noscript" if undone >= 3 => return false,
        "nav" | "noscript" | "select" | "textarea" | "dialog" | "search" => return true,
        // A check box belongs to its list item, even if other form elements are excluded.
        "input" => return tree.attribute(id, "type") != Some("checkbox"),
        "form" => return !has_page(tree, id),
        "button" => return !is_within(tree, id, &["h1", "h2", "h3", "h4", "h5", "h6", "summary", "dt"]),
        "header" => {
            // A nested header belongs to the outer one.
            let inner = is_within(tree, id, &["article", "main", "section", "blockquote", "header"]);
            return !inner && !is_title(tree, id);
        }
        "footer" => return !is_within(tree, id, &["blockquote"]) && !is_note(tree, id),
        "aside" => return !is_note(tree, id),
        "html" | "body" | "main" | "article" => return false,
        _ => {}
    }
    let Data::Element { attributes, .. } = &tree.node(id).data else {
        return false;
    };
    // On Wikipedia, both a formula and its image are marked as hidden.
    if tree.attribute(id, "class").is_some_and(|class| class.starts_with("mwe-math")) {
        return false;
    }
    undone < STEPS
        && attributes.iter().any(|attribute| match &*attribute.name.local {
            "role" | "class" | "id" if undone >= 3 => false,
            "hidden" => !attribute.value.eq_ignore_ascii_case("until-found"),
            "aria-hidden" => &*attribute.value == "true",
            "role" => {
                matches!(
                    &*attribute.value,
                    "navigation" | "banner" | "contentinfo" | "complementary" | "search" | "dialog"
                )
            }
            "class" | "id" => attribute.value.split_ascii_whitespace().any(|word| {
                matches!(word, "sidebar" | "side-bar" | "navbar" | "nav-bar" | "breadcrumb" | "breadcrumbs")
            }),
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

/// Returns true if an element around `id` has one of the names. A tree has at most 256 levels.
fn is_within(tree: &Tree, id: u32, names: &[&str]) -> bool {
    let mut around = tree.node(id).parent;
    while around != NIL {
        if tree.name(around).is_some_and(|name| names.contains(&&**name)) {
            return true;
        }
        around = tree.node(around).parent;
    }
    false
}

/// Returns true for a note or a list of footnotes.
fn is_note(tree: &Tree, id: u32) -> bool {
    let value = |name: &str| tree.attribute(id, name).unwrap_or_default();
    let is_note = |word: &str| NOTES.iter().any(|note| word.starts_with(note)) || word == "topic";
    matches!(value("role"), "note" | "doc-footnote" | "doc-endnotes" | "doc-tip")
        || value("class").split_ascii_whitespace().chain([value("id")]).any(is_note)
}

/// Returns true if a header is the title of the page: it has a heading of the first level and no navigation.
fn is_title(tree: &Tree, id: u32) -> bool {
    let mut has_heading = false;
    let mut has_navigation = false;
    descend(tree, id, |id| {
        match tree.name(id).map(|name| &**name) {
            Some("h1") => has_heading = true,
            Some("nav" | "ul" | "form" | "input") => has_navigation = true,
            _ => {}
        }
        true
    });
    has_heading && !has_navigation
}

/// Returns true if a form contains the main text of the page. Forms are never nested, so checking all of them takes
/// linear time.
fn has_page(tree: &Tree, id: u32) -> bool {
    let mut is_page = false;
    let mut bytes = 0;
    descend(tree, id, |id| match &tree.node(id).data {
        Data::Text(text) => {
            bytes += text.trim().len();
            true
        }
        Data::Element { name, .. } => {
            is_page |= matches!(&**name, "main" | "article");
            // Prose among fields explains them, and a page of documentation needs it.
            is_page |= &**name == "p" && is_within(tree, id, &["fieldset"]);
            !matches!(&**name, "select" | "button" | "textarea" | "label" | "nav" | "script" | "style")
        }
        Data::Nothing => true,
    });
    is_page || bytes >= TEXT_OF_PAGE
}

/// Calls `each` for the nodes below `id`; it returns true to visit the children of a node, too.
fn descend(tree: &Tree, id: u32, mut each: impl FnMut(u32) -> bool) {
    let mut next = tree.node(id).first;
    while next != NIL {
        let enters = each(next);
        if enters && tree.node(next).first != NIL {
            next = tree.node(next).first;
            continue;
        }
        while next != id && tree.node(next).next == NIL {
            next = tree.node(next).parent;
        }
        next = if next == id { NIL } else { tree.node(next).next };
    }
}
