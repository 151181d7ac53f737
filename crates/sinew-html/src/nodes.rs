//! The tree of a page as two columns, for callers that build their own nodes.

use html5ever::{Attribute, LocalName};
use sinew_base::{CancelTicker, CancelToken, Result, utf16_text};

use crate::tokens::Detail;
use crate::tree::{self, Data, NIL, ROOT, Tree};

/// The nodes of a page in document order. `numbers` contains for each node:
///
/// - a text: 1, and its length;
/// - an HTML element: 2, the length of its name, the number of its attributes, and for each the lengths of name and
///   value; then its children, then 0;
/// - an SVG or MathML element: 3, and the same.
///
/// The texts, whose lengths are in UTF-16 units, are concatenated in `text`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Nodes {
    /// The names, values and texts.
    pub text: Vec<u16>,
    /// The kinds and lengths.
    pub numbers: Vec<u32>,
}

/// Parses a complete page, including scripts, styles and every attribute (at most 256 per tag); comments, document
/// types and the content of templates are excluded. Elements nested deeper than 256 are flattened into the 256th.
///
/// Runs in linear time. Checks `cancel` every 128 tags, texts and nodes.
///
/// # Errors
/// Returns an error if the call is cancelled, or if the page has 4 GiB or more.
pub fn utf16_to_nodes(html: &[u16], cancel: &CancelToken) -> Result<Nodes> {
    cancel.check()?;
    let tree = tree::parse(&utf16_text(html), Detail::Whole, cancel)?;
    let mut nodes = Nodes::default();
    let mut ticker = CancelTicker::new(cancel);
    let mut id = tree.node(ROOT).first;
    while id != NIL {
        ticker.step()?;
        let opened = nodes.open(&tree.node(id).data);
        id = nodes.next(&tree, id, opened);
    }
    Ok(nodes)
}

impl Nodes {
    /// Writes the start of a node; returns true if it is an element.
    fn open(&mut self, data: &Data) -> bool {
        match data {
            Data::Nothing => false,
            Data::Text(text) => {
                self.numbers.push(1);
                self.put(text);
                false
            }
            Data::Element { name, foreign, attributes } => {
                self.numbers.push(if *foreign { 3 } else { 2 });
                self.element(name, attributes);
                true
            }
        }
    }

    fn element(&mut self, name: &LocalName, attributes: &[Attribute]) {
        self.put(name);
        self.numbers.push(attributes.len() as u32);
        for Attribute { name, value } in attributes {
            match &name.prefix {
                Some(prefix) => self.put(&format!("{prefix}:{}", name.local)),
                None => self.put(&name.local),
            }
            self.put(value);
        }
    }

    /// Writes a text, and its length as the next number.
    fn put(&mut self, text: &str) {
        let before = self.text.len();
        self.text.extend(text.encode_utf16());
        self.numbers.push((self.text.len() - before) as u32);
    }

    /// Returns the node after `id`, and ends the elements that end before it.
    fn next(&mut self, tree: &Tree, mut id: u32, opened: bool) -> u32 {
        if opened && tree.node(id).first != NIL {
            return tree.node(id).first;
        }
        if opened {
            self.numbers.push(0);
        }
        while tree.node(id).next == NIL {
            id = tree.node(id).parent;
            if id == ROOT || id == NIL {
                return NIL;
            }
            self.numbers.push(0);
        }
        tree.node(id).next
    }
}

#[cfg(test)]
mod tests {
    use sinew_base::CancelToken;

    use super::{Nodes, utf16_to_nodes};

    fn nodes(page: &str) -> Nodes {
        utf16_to_nodes(&page.encode_utf16().collect::<Vec<_>>(), &CancelToken::never()).expect("not cancelled")
    }

    /// Returns the page as markup, reconstructed from the columns.
    fn markup(nodes: &Nodes) -> String {
        let mut numbers = nodes.numbers.iter().copied();
        let mut rest = &nodes.text[..];
        let mut open = Vec::new();
        let mut out = String::new();
        let piece = |rest: &mut &[u16], length: u32| {
            let (piece, left) = rest.split_at(length as usize);
            *rest = left;
            String::from_utf16(piece).expect("lengths end between characters")
        };
        while let Some(kind) = numbers.next() {
            let mut number = || numbers.next().expect("a node is complete");
            match kind {
                0 => out.push_str(&format!("</{}>", open.pop().expect("an element is open"))),
                1 => out.push_str(&piece(&mut rest, number())),
                _ => {
                    let name = piece(&mut rest, number());
                    out.push_str(&format!("<{}{name}", if kind == 3 { "!" } else { "" }));
                    for _ in 0..number() {
                        let (name, value) = (piece(&mut rest, number()), piece(&mut rest, number()));
                        out.push_str(&format!(" {name}={value}"));
                    }
                    out.push('>');
                    open.push(name);
                }
            }
        }
        assert!(open.is_empty() && rest.is_empty(), "{out}");
        out
    }

    #[track_caller]
    fn check(page: &str, body: &str) {
        assert_eq!(markup(&nodes(page)), format!("<html><head></head><body>{body}</body></html>"), "from {page:?}");
    }

    #[test]
    fn keeps_everything_except_comments() {
        check("", "");
        check("<p>a<p CLASS=x>b&amp;c", "<p>a</p><p class=x>b&c</p>");
        check("<div><!-- a --><br/>b<img ALT='c d'></div>", "<div><br></br>b<img alt=c d></img></div>");
        check(
            "<div><script>1 < 2</script><style>a{}</style></div>",
            "<div><script>1 < 2</script><style>a{}</style></div>",
        );
        check("<p><font color=red><b style=x>a</b></font>", "<p><font color=red><b style=x>a</b></font></p>");
        check("<p id=1 id=2 é🙂=&lt;🙂>é🙂", "<p id=1 é🙂=<🙂>é🙂</p>");
        check("<svg viewbox=0><a xlink:href=b></svg>", "<!svg viewBox=0><!a xlink:href=b></a></svg>");
        check("<p>a<template><b>c</b></template>d", "<p>a<template></template>d</p>");
    }

    #[test]
    fn hostile_pages_stay_small() {
        let deep = nodes(&"<div>".repeat(100_000));
        assert!(deep.numbers.len() < 2_000, "{}", deep.numbers.len());
        let wide = nodes(&format!("<p {}>", (0..100_000).map(|n| format!("a{n} ")).collect::<String>()));
        assert!(wide.numbers.len() < 1_000, "{}", wide.numbers.len());
        let formatting = (0..20_000).map(|n| format!("<p><b a={n}>")).collect::<String>();
        assert!(nodes(&formatting).numbers.len() < 20 * formatting.len());
    }
}
