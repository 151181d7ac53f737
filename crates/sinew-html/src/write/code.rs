//! Code blocks: their text, line by line, and their language.

use super::element::{Role, role};
use super::lines::Block;
use super::{Writer, escape};
use crate::language;
use crate::tree::{Data, NIL, Tree, descendants};

/// How many elements around a code block may name its language.
const AROUND: usize = 3;

/// The text of a code block. Elements that are lines end with a line break.
#[derive(Default)]
struct Code {
    text: String,
    /// The last element was a line without a line break at its end.
    open: Option<Line>,
    /// The open lines, each with the length of the text before it.
    lines: Vec<(u32, Line, usize)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    /// A block, which is always a separate line.
    Block,
    /// A span or one of several `code` elements, which is a line only next to another one.
    Span,
}

impl Code {
    fn text(&mut self, text: &str) {
        if !text.is_empty() && self.open.take() == Some(Line::Block) && !text.starts_with('\n') {
            self.text.push('\n');
        }
        self.text.push_str(text);
    }

    fn enter(&mut self, id: u32, line: Line) {
        let begun = line == Line::Block && !self.text.is_empty() && !self.text.ends_with('\n');
        if self.open.take().is_some() || begun {
            self.text.push('\n');
        }
        self.lines.push((id, line, self.text.len()));
    }

    fn leave(&mut self, id: u32) {
        if let Some((_, line, start)) = self.lines.pop_if(|(open, ..)| *open == id) {
            let ended = self.text.len() > start && self.text.ends_with('\n');
            self.open = (!ended).then_some(line);
        }
    }
}

impl Writer<'_> {
    /// Writes a code block; in a cell, as one span of code for each line.
    pub(super) fn preformatted(&mut self, id: u32) {
        self.end_block();
        let (code, language) = self.code(id);
        let code = code.strip_suffix('\n').unwrap_or(&code);
        if self.in_cell() {
            for line in code.split('\n').filter(|line| !line.trim().is_empty()) {
                let mut span = String::new();
                escape::code_span(&mut span, line.trim_end(), true);
                self.inline.raw(&span);
                self.end_block();
            }
            return;
        }
        let fence = escape::fence(code);
        self.lines.separate(Block::Code);
        self.lines.line(&format!("{fence}{}", language.unwrap_or_default()));
        if !code.is_empty() {
            for line in code.split('\n') {
                self.lines.line(line);
            }
        }
        self.lines.line(&fence);
        self.lines.last = Some(Block::Code);
    }

    /// Returns the text of all descendants in order, and the language.
    fn code(&self, id: u32) -> (String, Option<String>) {
        let mut language = self.language(id);
        let mut code = Code::default();
        let mut next = self.tree.node(id).first;
        while next != NIL {
            let node = self.tree.node(next);
            let mut descend = node.first;
            match &node.data {
                Data::Text(text) => code.text(text),
                Data::Element { .. } => {
                    let role = role(self.tree, next, self.options, self.cleaning);
                    match role {
                        Role::Break => code.text("\n"),
                        Role::Dropped => descend = NIL,
                        Role::Code => language = language.or_else(|| self.language(next)),
                        _ => {}
                    }
                    if role != Role::Dropped
                        && let Some(line) = self.line(next, id, role)
                    {
                        code.enter(next, line);
                    }
                }
                Data::Nothing => {}
            }
            if descend != NIL {
                next = descend;
                continue;
            }
            code.leave(next);
            while next != id && self.tree.node(next).next == NIL {
                next = self.tree.node(next).parent;
                code.leave(next);
            }
            next = if next == id { NIL } else { self.tree.node(next).next };
        }
        let mut around = self.tree.node(id).parent;
        for _ in 0..AROUND {
            if language.is_none() && around != NIL {
                language = self.language(around);
                around = self.tree.node(around).parent;
            }
        }
        (code.text, language)
    }

    /// Returns whether an element of the code block `block` is a line.
    fn line(&self, id: u32, block: u32, role: Role) -> Option<Line> {
        let is_line = || {
            let class = self.tree.attribute(id, "class").unwrap_or_default();
            class.split_ascii_whitespace().any(language::is_line)
        };
        match role {
            Role::Block | Role::Row | Role::Item | Role::Heading(_) | Role::Quote => Some(Line::Block),
            Role::Code if self.tree.node(id).parent == block => Some(Line::Span),
            Role::Inline if is_line() => Some(Line::Span),
            _ => None,
        }
    }

    /// Returns the language that an element names.
    fn language(&self, id: u32) -> Option<String> {
        let element = self.tree.name(id).map(|name| &**name);
        let class = || {
            let class = self.tree.attribute(id, "class")?;
            language::of_class(class).or_else(|| match element {
                Some("figure") => language::of_figure(class),
                Some("code") => language::of_code(class),
                _ => None,
            })
        };
        let named = |name: &str| self.tree.attribute(id, name).map(str::trim).filter(|name| language::is_name(name));
        let found = class().or_else(|| named("data-language")).or_else(|| named("data-lang"));
        let found = found.or_else(|| named("data-enlighter-language"));
        let lang =
            || named("lang").filter(|_| matches!(element, Some("pre" | "code"))).and_then(language::of_attribute);
        found.or_else(lang).map(str::to_string)
    }
}

/// Returns true for line numbers beside code: a class says so, and there is nothing else in it.
pub(super) fn is_gutter(tree: &Tree, id: u32) -> bool {
    has_class(tree, id, language::is_gutter)
        && !descendants(tree, id).any(|id| match &tree.node(id).data {
            Data::Text(text) => text.contains(|c: char| !c.is_ascii_digit() && !c.is_whitespace()),
            _ => false,
        })
}

/// Returns true for the code of Doxygen: `div.fragment` that begins with `div.line`.
pub(super) fn is_fragment(tree: &Tree, id: u32) -> bool {
    has_class(tree, id, |word| word == "fragment")
        && tree
            .children(id)
            .find(|id| tree.name(*id).is_some())
            .is_some_and(|id| has_class(tree, id, language::is_line))
}

/// Returns true if one of the classes of an element fits.
pub(super) fn has_class(tree: &Tree, id: u32, fits: impl FnMut(&str) -> bool) -> bool {
    tree.attribute(id, "class").is_some_and(|class| class.split_ascii_whitespace().any(fits))
}
