//! Links, images, players and frames.

use super::inline::Kind;
use super::{Writer, escape, math};

/// Attributes with the address of an image that is loaded later.
const LATE: [&str; 5] = ["data-src", "data-original", "data-original-src", "data-lazy-src", "data-lazy"];

/// Words in the names of images that hold the place of another one.
const PLACEHOLDERS: [&str; 8] = ["blank", "placeholder", "spacer", "loading", "loader", "lazy", "transparent", "1x1"];

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
        // `data-src` alone may be a larger image.
        let is_late = LATE[1..].iter().any(|name| value(name).is_some());
        if source.is_some_and(|source| !is_placeholder(source)) && !is_late {
            return source;
        }
        let set = |id: u32| {
            let set = self.tree.attribute(id, "data-srcset").or_else(|| self.tree.attribute(id, "srcset"));
            set.and_then(largest)
        };
        let late = LATE.iter().find_map(|name| value(name)).or_else(|| set(id)).or(source);
        // A `picture` without `img`.
        late.or_else(|| self.tree.children(id).find_map(set))
    }

    /// Writes a player, a frame or an embedded document as a link.
    pub(super) fn embedded(&mut self, id: u32, kind: &str) {
        let value = |id: u32, name: &str| {
            let address = self.tree.attribute(id, name)?.trim();
            (!address.is_empty() && !is_script(address) && !address.starts_with("about:")).then_some(address)
        };
        let is_source = |id: &u32| matches!(self.tree.name(*id).map(|name| &**name), Some("source" | "embed"));
        let inner = || self.tree.children(id).filter(is_source).find_map(|child| value(child, "src"));
        let own = ["src", "data-src", "data", "href"].iter().find_map(|name| value(id, name));
        let Some(address) = own.or_else(inner) else { return };
        let mut text = String::new();
        let words = self.tree.attribute(id, "title").or_else(|| self.tree.attribute(id, "alt")).unwrap_or(kind);
        escape::text(&mut text, words.trim(), true, self.inline.in_table);
        let text = if self.inline.in_link() { text } else { format!("[{text}]({})", escape::destination(address)) };
        self.inline.raw(&text);
    }

    /// Writes a formula as TeX.
    pub(super) fn formula(&mut self, id: u32) {
        let Some((tex, is_block)) = math::formula(self.tree, id) else { return };
        let tex = if self.inline.in_table { tex.replace('|', "\\|") } else { tex };
        let mark = if is_block { "$$" } else { "$" };
        self.inline.raw(&format!("{mark}{tex}{mark}"));
    }
}

/// Returns true for the address of an image that a script replaces.
fn is_placeholder(address: &str) -> bool {
    let file = address.split(['?', '#']).next().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
    let name = file.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let mut words = name.split(['-', '_']);
    address.starts_with("data:") || words.any(|word| PLACEHOLDERS.contains(&word))
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
