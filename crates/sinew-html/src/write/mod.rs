//! Writes the tree as Markdown, in one traversal without recursion.

mod clean;
mod code;
mod element;
mod escape;
mod inline;
mod lines;
mod math;
mod media;
mod table;

use std::collections::HashSet;

use sinew_base::{CancelTicker, CancelToken, Result};

use self::clean::Cleaning;
use self::element::{Role, role};
use self::inline::{Inline, Kind};
use self::lines::{Block, Lines};
use crate::Options;
use crate::tree::{Data, NIL, ROOT, Tree};

/// Returns the document as Markdown. `page` is the length of the page in bytes. Runs in linear time.
pub(crate) fn markdown(tree: &Tree, page: usize, options: &Options, cancel: &CancelToken) -> Result<String> {
    let layouts = table::layouts(tree, cancel)?;
    let mut cleaning = options.clean_content.then(|| Cleaning::new(tree));
    loop {
        let written = write(tree, page, options, (cleaning.as_ref(), &layouts), cancel)?;
        if !written.is_empty() || !cleaning.as_mut().is_some_and(Cleaning::retry) {
            return Ok(written);
        }
    }
}

/// Writes the document once.
fn write(
    tree: &Tree,
    page: usize,
    options: &Options,
    (cleaning, layouts): (Option<&Cleaning>, &HashSet<u32>),
    cancel: &CancelToken,
) -> Result<String> {
    let mut writer = Writer {
        tree,
        options,
        cleaning,
        layouts,
        lines: Lines::new(page),
        inline: Inline::default(),
        roles: Vec::new(),
        opened: Vec::new(),
        lists: Vec::new(),
        items: Vec::new(),
        heading: None,
        table: None,
    };
    let mut ticker = CancelTicker::new(cancel);
    let mut id = ROOT;
    loop {
        ticker.step()?;
        let mut role = writer.role(id);
        if writer.enter(id, role) && tree.node(id).first != NIL {
            writer.roles.push(role);
            id = tree.node(id).first;
            continue;
        }
        loop {
            writer.leave(id, role);
            if tree.node(id).next != NIL {
                id = tree.node(id).next;
                break;
            }
            id = tree.node(id).parent;
            role = writer.roles.pop().flatten();
            if id == NIL {
                writer.end_block();
                return Ok(writer.lines.finish());
            }
        }
    }
}

struct Writer<'a> {
    tree: &'a Tree,
    options: &'a Options,
    cleaning: Option<&'a Cleaning>,
    layouts: &'a HashSet<u32>,
    lines: Lines,
    inline: Inline,
    /// The roles of the open elements; `None` for other nodes.
    roles: Vec<Option<Role>>,
    /// The elements whose spans are open.
    opened: Vec<u32>,
    lists: Vec<List>,
    /// The open containers: the element, and whether it is indented.
    items: Vec<(u32, bool)>,
    heading: Option<usize>,
    table: Option<OpenTable>,
}

struct List {
    id: u32,
    ordered: bool,
    /// True if it uses the second of the two markers.
    other: bool,
    number: u64,
    /// The numbers descend.
    reversed: bool,
    loose: bool,
    begun: bool,
    /// The indentation of its items.
    indent: usize,
}

#[derive(Default)]
struct OpenTable {
    id: u32,
    rows: table::Rows,
    /// The text of the open cell.
    cell: Option<String>,
    /// The element of the open or last cell.
    cell_id: u32,
}

impl Writer<'_> {
    fn role(&self, id: u32) -> Option<Role> {
        matches!(self.tree.node(id).data, Data::Element { .. })
            .then(|| role(self.tree, id, self.options, self.cleaning))
    }

    /// Handles the start of a node. Returns true if its children follow.
    fn enter(&mut self, id: u32, role: Option<Role>) -> bool {
        let Some(role) = role else {
            if let Data::Text(text) = &self.tree.node(id).data {
                self.inline.text(text);
            }
            return true;
        };
        match role {
            Role::Dropped => return false,
            Role::Inline => {}
            Role::Block | Role::Row if self.table.as_ref().is_some_and(|table| table.cell.is_none()) => {
                self.end_block();
                if let Some(table) = &mut self.table {
                    match self.tree.name(id).map(|name| &**name) {
                        Some("tr") => table.rows.begin_row(),
                        Some("thead" | "tbody" | "tfoot") => table.rows.end_group(),
                        _ => {}
                    }
                }
            }
            Role::Block | Role::Row => self.end_block(),
            Role::Heading(level) => {
                self.end_block();
                self.heading = Some(level);
            }
            Role::Quote => self.open_quote(id),
            Role::List { ordered } => self.open_list(id, ordered),
            Role::Item => self.open_item(id),
            Role::Preformatted => {
                self.preformatted(id);
                return false;
            }
            Role::Rule if self.in_cell() => self.end_block(),
            Role::Rule => {
                self.end_block();
                self.lines.separate(Block::Rule);
                self.lines.line("***");
                self.lines.last = Some(Block::Rule);
            }
            Role::Break => {
                let inline = self.heading.is_some() || self.in_cell();
                self.inline.line_break(if inline { "<br>" } else { "  \n" });
            }
            Role::Emphasis => self.open_span(id, Kind::Emphasis),
            Role::Strong => self.open_span(id, Kind::Strong),
            Role::Html(name) => self.open_span(id, Kind::Html(name)),
            Role::Code => self.inline.open_code(),
            Role::Link => self.link(id),
            Role::Image => self.image(id),
            Role::Embedded(kind) => {
                self.embedded(id, kind);
                return false;
            }
            Role::Formula => {
                self.formula(id);
                return false;
            }
            Role::CheckBox => {
                let checked = self.tree.attribute(id, "checked").is_some();
                self.inline.raw(if checked { "[x]" } else { "[ ]" });
                self.inline.text(" ");
            }
            Role::Table if self.layouts.contains(&id) || self.table.is_some() => self.end_block(),
            Role::Table => {
                self.end_block();
                self.table = Some(OpenTable { id, ..OpenTable::default() });
            }
            // A cell of a table in a cell: its row becomes a line.
            Role::Cell if self.in_cell() => self.inline.text(" "),
            Role::Cell => {
                self.end_block();
                if let Some(table) = &mut self.table {
                    table.cell = Some(String::new());
                    table.cell_id = id;
                    self.inline.in_table = true;
                }
            }
        }
        true
    }

    /// Handles the end of a node.
    fn leave(&mut self, id: u32, role: Option<Role>) {
        let Some(role) = role else { return };
        match role {
            Role::Block | Role::Row => self.end_block(),
            Role::Heading(level) => {
                self.heading = Some(level);
                self.end_heading(level);
                self.heading = None;
            }
            Role::Quote => self.close_container(id, Block::Quote),
            Role::List { ordered } => self.close_list(id, ordered),
            Role::Item => self.close_item(id),
            Role::Emphasis | Role::Strong | Role::Html(_) | Role::Link if self.opened.last() == Some(&id) => {
                self.opened.pop();
                // A link that a page leaves open continues in every block, even in one with only white space.
                self.inline.close(self.tree.node(id).first == NIL);
            }
            Role::Code => self.inline.close_code(),
            Role::Cell if self.table.as_ref().is_some_and(|table| table.cell_id != id) => self.inline.text(" "),
            Role::Cell => {
                self.end_block();
                let shape = table::shape_of(self.tree, id);
                self.inline.in_table = false;
                if let Some(table) = &mut self.table
                    && let Some(text) = table.cell.take()
                {
                    table.rows.cell(text, shape);
                }
            }
            Role::Table => {
                self.end_block();
                if let Some(mut table) = self.table.take_if(|table| table.id == id) {
                    table.rows.end_row();
                    self.table(&table.rows);
                }
            }
            _ => {}
        }
    }

    fn in_cell(&self) -> bool {
        self.table.as_ref().is_some_and(|table| table.cell.is_some())
    }

    /// Writes the collected text as a paragraph, or as a line of the open cell.
    fn end_block(&mut self) {
        if self.heading.is_some() {
            // A block inside a heading: its text continues on the same line.
            self.inline.text(" ");
            return;
        }
        let text = self.inline.take();
        if text.is_empty() {
            return;
        }
        if let Some(cell) = self.table.as_mut().and_then(|table| table.cell.as_mut()) {
            push_line(cell, &text);
            return self.inline.give_back(text);
        }
        self.lines.separate(Block::Paragraph);
        for line in text.split('\n') {
            match escape::line_start(line) {
                Some(at) => self.lines.line(&format!("{}\\{}", &line[..at], &line[at..])),
                None => self.lines.line(line),
            }
        }
        self.lines.last = Some(Block::Paragraph);
        self.inline.give_back(text);
    }

    fn end_heading(&mut self, level: usize) {
        let mut text = self.inline.take();
        if text.contains('\n') {
            text = text.replace('\n', " ");
        }
        if let Some(cell) = self.table.as_mut().and_then(|table| table.cell.as_mut()) {
            push_line(cell, &text);
            return self.inline.give_back(text);
        }
        // Trailing `#` characters would be parsed as the end of the heading.
        let hashes = text.len() - text.trim_end_matches('#').len();
        if hashes > 0 && matches!(text.as_bytes().get(text.len().wrapping_sub(hashes + 1)), None | Some(b' ')) {
            text.insert(text.len() - 1, '\\');
        }
        text.insert_str(0, &"####### "[7 - level..]);
        self.lines.separate(Block::Heading);
        self.lines.line(text.trim_end());
        self.lines.last = Some(Block::Heading);
        self.inline.give_back(text);
    }

    fn open_quote(&mut self, id: u32) {
        self.end_block();
        let indented = self.lines.has_room() && !self.in_cell();
        if indented {
            self.lines.separate(Block::Quote);
            self.lines.open("> ", "> ", false);
        }
        self.items.push((id, indented));
    }

    fn close_container(&mut self, id: u32, block: Block) {
        self.end_block();
        if self.items.last().is_some_and(|(open, _)| *open == id)
            && let Some((_, true)) = self.items.pop()
        {
            self.lines.close(Some(block));
        }
    }

    fn open_list(&mut self, id: u32, ordered: bool) {
        self.end_block();
        let parent = self.tree.node(id).parent;
        // A list between the items of another one belongs to the previous item.
        let inner = self.lists.last().filter(|list| list.id == parent && list.begun && list.indent > 0);
        if let Some(outer) = inner.map(|list| list.indent).filter(|_| self.lines.has_room()) {
            let tight = !self.lists.last().is_some_and(|list| list.loose);
            self.lines.end_line(tight);
            let spaces = " ".repeat(outer);
            self.lines.open(&spaces, &spaces, tight);
            self.items.push((id, true));
        }
        let start = self.tree.attribute(id, "start").and_then(|start| start.trim().parse().ok());
        let reversed = self.tree.attribute(id, "reversed").is_some();
        let is_item = |id: &u32| self.tree.name(*id).is_some_and(|name| &**name == "li");
        let number: u64 =
            start.unwrap_or_else(|| if reversed { self.tree.children(id).filter(is_item).count() as u64 } else { 1 });
        let other = match self.lines.last {
            Some(Block::List { ordered: before, other, .. }) => before == ordered && !other,
            _ => false,
        };
        let loose = self
            .tree
            .children(id)
            .any(|item| self.tree.children(item).any(|child| self.tree.name(child).is_some_and(|name| &**name == "p")));
        // CommonMark supports nine digits.
        let number = number.min(999_999_999);
        self.lists.push(List { id, ordered, other, number, reversed, loose, begun: false, indent: 0 });
    }

    fn close_list(&mut self, id: u32, ordered: bool) {
        self.end_block();
        let mut closed = None;
        if self.lists.last().is_some_and(|list| list.id == id)
            && let Some(list) = self.lists.pop()
            && list.begun
        {
            closed = Some(Block::List { ordered, other: list.other, interrupts: true });
            self.lines.last = closed;
        }
        if self.items.last().is_some_and(|(open, _)| *open == id) {
            self.items.pop();
            self.lines.close(closed);
        }
    }

    fn open_item(&mut self, id: u32) {
        self.end_block();
        let in_cell = self.in_cell();
        if !self.lines.has_room() && !in_cell {
            self.items.push((id, false));
            return;
        }
        let parent = self.tree.node(id).parent;
        let value = self.tree.attribute(id, "value").and_then(|value| value.trim().parse::<u64>().ok());
        let mut stray = List {
            id: NIL,
            ordered: false,
            other: false,
            number: 1,
            reversed: false,
            loose: false,
            begun: false,
            indent: 0,
        };
        let list = match self.lists.last_mut() {
            Some(list) if list.id == parent => list,
            // An item outside a list follows its neighbours.
            _ => {
                stray.begun = matches!(self.lines.last, Some(Block::List { ordered: false, .. }));
                &mut stray
            }
        };
        if let Some(value) = value {
            list.number = value.min(999_999_999);
        }
        let marker = match (list.ordered, list.other) {
            (false, false) => "- ".to_string(),
            (false, true) => "* ".to_string(),
            (true, false) => format!("{}. ", list.number),
            (true, true) => format!("{}) ", list.number),
        };
        let (begun, loose) = (list.begun, list.loose);
        let block =
            Block::List { ordered: list.ordered, other: list.other, interrupts: !list.ordered || list.number == 1 };
        list.number = if list.reversed { list.number.saturating_sub(1) } else { (list.number + 1).min(999_999_999) };
        if in_cell {
            self.items.push((id, false));
            self.inline.raw(marker.trim_end());
            return self.inline.text(" ");
        }
        list.begun = true;
        list.indent = marker.len();
        if begun {
            self.lines.end_line(!loose);
        } else {
            self.lines.separate(block);
        }
        self.lines.open(&marker, &" ".repeat(marker.len()), !loose);
        self.items.push((id, true));
    }

    fn close_item(&mut self, id: u32) {
        let list = self.lists.last();
        let ordered = list.is_some_and(|list| list.ordered);
        let other = list.is_some_and(|list| list.other);
        self.close_container(id, Block::List { ordered, other, interrupts: true });
    }

    fn open_span(&mut self, id: u32, kind: Kind) {
        // Inside code only links are marked, because nothing else is recognised there.
        if self.inline.in_code() && !matches!(kind, Kind::Link { .. }) {
            return;
        }
        self.opened.push(id);
        self.inline.open(kind);
    }

    fn table(&mut self, rows: &table::Rows) {
        let lines = rows.lines();
        if lines.is_empty() {
            return;
        }
        self.lines.separate(Block::Table);
        for line in lines {
            self.lines.line(&line);
        }
        self.lines.last = Some(Block::Table);
    }
}

/// Appends a line to the text of a cell.
fn push_line(cell: &mut String, text: &str) {
    if text.is_empty() {
        return;
    }
    if !cell.is_empty() {
        cell.push_str("<br>");
    }
    cell.push_str(&text.replace('\n', " "));
}
