//! The lines of the document: their prefixes, and the blank lines between blocks.

/// The kind of a block, as far as it affects the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Block {
    Paragraph,
    Heading,
    Code,
    Rule,
    Quote,
    /// A list; `other` is true if it uses the second of the two markers.
    List {
        ordered: bool,
        other: bool,
        /// True if it may follow a paragraph without a blank line: its number is 1, or it has none.
        interrupts: bool,
    },
    Table,
}

/// The maximum indentation depth of containers. Deeper text is not indented further.
const DEPTH: usize = 32;
/// The same depth once the document has become much longer than the page.
const DEPTH_OF_LONG: usize = 4;

#[derive(Debug)]
struct Container {
    /// The length of the outer prefix.
    prefix: usize,
    /// True if its blocks are not separated by blank lines.
    tight: bool,
    written: usize,
}

/// The document being written.
pub(super) struct Lines {
    out: String,
    /// The prefix of every line in the open containers.
    prefix: String,
    /// The prefix of the next line, including markers.
    head: String,
    /// True if the next line has not been begun.
    fresh: bool,
    containers: Vec<Container>,
    pub(super) last: Option<Block>,
    /// The length beyond which the document is much longer than the page.
    long: usize,
}

impl Lines {
    pub(super) fn new(page: usize) -> Lines {
        Lines {
            out: String::with_capacity(page / 4),
            prefix: String::new(),
            head: String::new(),
            fresh: true,
            containers: Vec::new(),
            last: None,
            long: page.saturating_mul(4) + (1 << 20),
        }
    }

    /// Returns true if one more container may be indented.
    pub(super) fn has_room(&self) -> bool {
        self.containers.len() < if self.out.len() > self.long { DEPTH_OF_LONG } else { DEPTH }
    }

    /// Ends the line before a block of this kind, and adds a blank line if it needs one.
    pub(super) fn separate(&mut self, block: Block) {
        if self.fresh {
            return;
        }
        let tight = self.containers.last().is_some_and(|container| container.tight);
        let open_ended = matches!(self.last, Some(Block::Paragraph | Block::Quote | Block::List { .. } | Block::Table));
        let joins = match block {
            // It would be parsed as part of the previous text.
            Block::Paragraph | Block::Table => !open_ended,
            Block::Quote => self.last != Some(Block::Quote),
            Block::List { interrupts, .. } => interrupts || !open_ended,
            Block::Heading | Block::Code | Block::Rule => true,
        };
        self.end_line(tight && joins);
    }

    /// Ends the line; `joins` omits the blank line.
    pub(super) fn end_line(&mut self, joins: bool) {
        if self.fresh {
            return;
        }
        self.out.push('\n');
        if !joins {
            self.out.push_str(self.prefix.trim_end());
            self.out.push('\n');
        }
        self.fresh = true;
        self.head.clone_from(&self.prefix);
    }

    /// Writes one line with its prefix. The line break is written before the next one.
    pub(super) fn line(&mut self, line: &str) {
        if !self.fresh {
            self.end_line(true);
        }
        if line.is_empty() {
            self.out.push_str(self.head.trim_end());
        } else {
            self.out.push_str(&self.head);
            self.out.push_str(line);
        }
        self.fresh = false;
    }

    /// Opens a container: `first` is the prefix of its first line, `rest` that of the others.
    pub(super) fn open(&mut self, first: &str, rest: &str, tight: bool) {
        if self.fresh && self.head.len() < self.prefix.len() {
            self.head.clone_from(&self.prefix);
        }
        self.containers.push(Container { prefix: self.prefix.len(), tight, written: self.out.len() });
        self.head.push_str(first);
        self.prefix.push_str(rest);
        self.last = None;
    }

    /// Closes the last container, and writes its marker if it is empty.
    pub(super) fn close(&mut self, block: Option<Block>) {
        let Some(container) = self.containers.pop() else {
            return;
        };
        if self.out.len() == container.written {
            self.line("");
        }
        self.prefix.truncate(container.prefix);
        if self.fresh {
            self.head.clone_from(&self.prefix);
        }
        self.last = block;
    }

    /// Returns the document, with one line break at its end.
    pub(super) fn finish(mut self) -> String {
        let end = self.out.trim_end_matches('\n').len();
        self.out.truncate(end);
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.out
    }
}
