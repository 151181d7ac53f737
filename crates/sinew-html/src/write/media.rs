//! Links, images, players, frames and formulas.

use super::inline::Kind;
use super::{Writer, escape};
use crate::tree::{Data, NIL, Tree};

/// Attributes with the address of an image that is loaded later.
const LATE: [&str; 4] = ["data-src", "data-original", "data-lazy-src", "data-lazy"];

impl Writer<'_> {
    pub(super) fn link(&mut self, id: u32) {
        let Some(address) = self.tree.attribute(id, "href") else {
            return;
        };
        if self.inline.in_link() || is_script(address) && self.options.clean_content {
            return;
        }
        let kind = Kind::Link {
            address: escape::destination(address),
            title: escape::title(self.tree.attribute(id, "title")),
        };
        self.open_span(id, kind);
    }

    pub(super) fn image(&mut self, id: u32) {
        let Some(source) = self.source(id) else { return };
        let mut text = "![".to_string();
        let words = self.tree.attribute(id, "alt").unwrap_or_default();
        let lines = words.lines().map(str::trim).filter(|line| !line.is_empty());
        for (number, line) in lines.enumerate() {
            if number > 0 {
                text.push('\n');
            }
            escape::text(&mut text, line, true, self.inline.in_table);
        }
        text.push_str("](");
        text.push_str(&escape::destination(source));
        text.push_str(&escape::title(self.tree.attribute(id, "title")));
        text.push(')');
        self.inline.raw(&text);
    }

    /// Returns the address of an image. A page that loads its images later has placeholders instead.
    fn source(&self, id: u32) -> Option<&str> {
        let value = |name: &str| self.tree.attribute(id, name).map(str::trim).filter(|value| !value.is_empty());
        let source = value("src");
        if source.is_some_and(|source| !source.starts_with("data:")) && value("data-original").is_none() {
            return source;
        }
        let set = || value("data-srcset").or_else(|| value("srcset")).and_then(largest);
        LATE.iter().find_map(|name| value(name)).or_else(set).or(source)
    }

    /// Writes a player, a frame or an embedded document as a link.
    pub(super) fn embedded(&mut self, id: u32, kind: &str) {
        let value = |id: u32, name: &str| {
            let address = self.tree.attribute(id, name)?.trim();
            (!address.is_empty() && !is_script(address) && !address.starts_with("about:")).then_some(address)
        };
        let inner = || self.tree.children(id).find_map(|child| value(child, "src"));
        let Some(address) = value(id, "src").or_else(|| value(id, "data")).or_else(inner) else { return };
        let mut text = String::new();
        escape::text(&mut text, self.tree.attribute(id, "title").unwrap_or(kind).trim(), true, self.inline.in_table);
        let text = if self.inline.in_link() { text } else { format!("[{text}]({})", escape::destination(address)) };
        self.inline.raw(&text);
    }

    /// Writes a formula as TeX.
    pub(super) fn formula(&mut self, id: u32) {
        let Some(tex) = tex_of(self.tree, id) else { return };
        let tex = tex.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        let tex = if self.inline.in_table { tex.replace('|', "\\|") } else { tex };
        let is_block = self.tree.attribute(id, "display") == Some("block");
        let mark = if is_block { "$$" } else { "$" };
        self.inline.raw(&format!("{mark}{tex}{mark}"));
    }
}

fn is_script(address: &str) -> bool {
    address.trim_start().get(..11).is_some_and(|start| start.eq_ignore_ascii_case("javascript:"))
}

/// Returns the address of the largest image of a `srcset`: of those with the same size, the first.
fn largest(set: &str) -> Option<&str> {
    let mut best: Option<(&str, f64)> = None;
    let mut words = set.split_ascii_whitespace();
    while let Some(address) = words.next() {
        let mut size = 1.0;
        // A comma within an address is a part of it.
        if !address.ends_with(',') {
            for word in words.by_ref() {
                size = word.trim_end_matches(',').trim_end_matches(['w', 'x', 'h']).parse().unwrap_or(size);
                if word.ends_with(',') {
                    break;
                }
            }
        }
        if best.is_none_or(|(_, most)| size > most) {
            best = Some((address.trim_end_matches(','), size));
        }
    }
    best.map(|(address, _)| address).filter(|address| !address.is_empty())
}

/// Returns the TeX of a MathML formula, if it has one.
pub(super) fn tex_of(tree: &Tree, id: u32) -> Option<String> {
    // The annotation follows the formula: `math`, `semantics`, `annotation`.
    let semantics = tree.children(id).find(|id| is_foreign(tree, *id, "semantics"))?;
    let annotation = tree.children(semantics).find(|id| {
        is_foreign(tree, *id, "annotation") && tree.attribute(*id, "encoding") == Some("application/x-tex")
    })?;
    let text: String = tree
        .children(annotation)
        .filter_map(|id| if let Data::Text(text) = &tree.node(id).data { Some(&**text) } else { None })
        .collect();
    (!text.trim().is_empty()).then_some(text)
}

fn is_foreign(tree: &Tree, id: u32, wanted: &str) -> bool {
    matches!(&tree.node(id).data, Data::Element { name, foreign: true, .. } if &**name == wanted)
}

/// Returns true for an element that repeats the formula before it: KaTeX's layout or Wikipedia's image.
pub(super) fn repeats_formula(tree: &Tree, id: u32) -> bool {
    let has = |id: u32, start: &str| {
        let class = tree.attribute(id, "class").unwrap_or_default();
        class.split_ascii_whitespace().any(|word| word.starts_with(start))
    };
    // Only the four siblings before it, so that many siblings take linear time.
    let before =
        || std::iter::successors(Some(id), |id| Some(tree.node(*id).previous).filter(|id| *id != NIL)).skip(1).take(4);
    let repeats = |own: &str, first: &str| has(id, own) && before().any(|id| has(id, first));
    repeats("katex-html", "katex-mathml") || repeats("mwe-math-fallback", "mwe-math-mathml")
}
