//! The text of one block, collected with markers for the start and the end of emphasis and links, and written when it
//! is complete. Whether CommonMark recognises a delimiter depends on the characters on both sides of it.

use super::escape;

/// The kind of a span of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Emphasis,
    Strong,
    /// An element that is written as HTML.
    Html(&'static str),
    Link {
        address: String,
        title: String,
    },
}

#[derive(Debug)]
struct Span {
    kind: Kind,
    /// The offset of its start in the text; `None` while it is empty.
    start: Option<usize>,
    /// True if a part of it was written in an earlier block.
    continued: bool,
}

#[derive(Debug, Clone, Copy)]
struct Mark {
    at: usize,
    opens: bool,
    kind: usize,
}

/// The text of the open block.
#[derive(Default)]
pub(super) struct Inline {
    text: String,
    /// White space that is written if text follows.
    space: String,
    open: Vec<Span>,
    /// The kinds of the markers, which refer to them by index.
    kinds: Vec<(Kind, bool)>,
    marks: Vec<Mark>,
    pub(super) in_table: bool,
    /// The address of the last link.
    last_link: String,
    code: Option<String>,
    code_depth: usize,
    /// A buffer that is reused for the next text.
    spare: String,
}

impl Inline {
    pub(super) fn text(&mut self, text: &str) {
        if self.code_depth > 0 {
            self.code.get_or_insert_default().push_str(text);
            return;
        }
        let in_link = self.in_link();
        let mut rest = text;
        while let [first, after @ ..] = rest.as_bytes() {
            if is_space(*first) {
                if !self.space.ends_with(' ') {
                    self.space.push(' ');
                }
                let more = after.iter().take_while(|byte| is_space(**byte)).count();
                rest = &rest[1 + more..];
                continue;
            }
            if let Some(following) = rest.strip_prefix('\u{a0}') {
                self.space.push('\u{a0}');
                rest = following;
                continue;
            }
            let words;
            (words, rest) = rest.split_at(end_of_words(rest.as_bytes()));
            self.begin();
            escape::text(&mut self.text, words, in_link, self.in_table);
        }
    }

    /// Appends literal Markdown: an image or a check box.
    pub(super) fn raw(&mut self, text: &str) {
        self.end_code();
        self.begin();
        self.text.push_str(text);
    }

    /// Appends a line break within the block.
    pub(super) fn line_break(&mut self, text: &str) {
        if self.code_depth > 0 {
            self.code.get_or_insert_default().push(' ');
            return;
        }
        self.space.clear();
        if !self.text.is_empty() {
            self.space.push_str(text);
        }
    }

    pub(super) fn open(&mut self, kind: Kind) {
        self.end_code();
        self.open.push(Span { kind, start: None, continued: false });
    }

    /// Ends the innermost span. An empty span is dropped, unless it is a link to a different address than the previous
    /// link, or with `keep_empty`.
    pub(super) fn close(&mut self, keep_empty: bool) {
        self.end_code();
        let Some(span) = self.open.pop() else {
            return;
        };
        match (span.start, &span.kind) {
            (Some(kind), _) => {
                self.marks.push(Mark { at: self.text.len(), opens: false, kind });
                if let Kind::Link { address, .. } = span.kind {
                    self.last_link = address;
                }
            }
            // A link without text is kept.
            (None, Kind::Link { address, .. }) if !span.continued && (keep_empty || *address != self.last_link) => {
                self.last_link.clone_from(address);
                self.open.push(span);
                self.begin();
                self.close(false);
            }
            (None, _) => {}
        }
    }

    pub(super) fn open_code(&mut self) {
        self.code_depth += 1;
    }

    pub(super) fn close_code(&mut self) {
        if self.code_depth == 1 {
            self.end_code();
        }
        self.code_depth = self.code_depth.saturating_sub(1);
    }

    pub(super) fn in_code(&self) -> bool {
        self.code_depth > 0
    }

    pub(super) fn in_link(&self) -> bool {
        self.open.iter().any(|span| matches!(span.kind, Kind::Link { .. }))
    }

    /// Writes the collected code: before a link begins or ends in it, and at its end.
    fn end_code(&mut self) {
        let Some(code) = self.code.take() else {
            return;
        };
        let code = code.replace(['\n', '\r', '\t'], " ");
        if code.trim_matches(' ').is_empty() {
            if !code.is_empty() && !self.space.ends_with(' ') {
                self.space.push(' ');
            }
            return;
        }
        // Two adjacent code spans would be parsed as one.
        let marked = self.marks.last().is_some_and(|mark| mark.at == self.text.len())
            || self.open.iter().any(|span| span.start.is_none());
        if self.text.ends_with('`') && self.space.is_empty() && !marked {
            self.space.push(' ');
        }
        self.begin();
        escape::code_span(&mut self.text, &code, self.in_table);
    }

    /// Prepares for more text: writes the pending space, and starts the pending spans.
    fn begin(&mut self) {
        if self.text.is_empty() {
            // Leading white space of a block has no meaning, unless it is a no-break space, which is written as an
            // entity because Markdown parsers trim the character.
            let hard = self.space.trim_start_matches([' ', '\n']);
            if !hard.is_empty() {
                self.text.push_str(&hard.replace('\u{a0}', "&nbsp;"));
            }
        } else {
            self.text.push_str(&self.space);
        }
        self.space.clear();
        for span in &mut self.open {
            if span.start.is_none() {
                let kind = self.kinds.len();
                self.kinds.push((span.kind.clone(), false));
                span.start = Some(kind);
                self.marks.push(Mark { at: self.text.len(), opens: true, kind });
            }
        }
    }

    /// Returns the complete text of the block; open spans continue in the next block. Runs in linear time.
    pub(super) fn take(&mut self) -> String {
        self.end_code();
        for index in (0..self.open.len()).rev() {
            let span = &mut self.open[index];
            if let Some(kind) = span.start.take() {
                span.continued = true;
                self.marks.push(Mark { at: self.text.len(), opens: false, kind });
            }
        }
        if !self.text.is_empty() {
            // Trailing no-break spaces are text; a break is not.
            let hard = self.space.rfind('\u{a0}').map_or(0, |at| at + '\u{a0}'.len_utf8());
            if hard > 0 {
                self.text.push_str(&self.space[..hard].replace('\u{a0}', "&nbsp;"));
            }
        }
        self.space.clear();
        if self.text.is_empty() && self.marks.is_empty() {
            return String::new();
        }
        let mut out = std::mem::take(&mut self.spare);
        if self.marks.is_empty() {
            return std::mem::replace(&mut self.text, out);
        }
        choose(&self.text, &self.marks, &mut self.kinds);
        render(&mut out, &self.text, &self.marks, &self.kinds);
        self.text.clear();
        self.marks.clear();
        self.kinds.clear();
        out
    }

    /// Returns the buffer of a text from [`Inline::take`] for reuse.
    pub(super) fn give_back(&mut self, mut text: String) {
        text.clear();
        self.spare = text;
    }
}

const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0xc)
}

/// Bytes that may end a word: white space, and the first byte of a no-break space.
const ENDS_WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = is_space(byte as u8) || byte == 0xc2;
        byte += 1;
    }
    table
};

/// Returns the end of the word at the start of `bytes`, or of the last of several words separated by single spaces.
fn end_of_words(bytes: &[u8]) -> usize {
    let mut end = 0;
    while let Some(byte) = bytes.get(end) {
        if ENDS_WORD[usize::from(*byte)] {
            let next = bytes.get(end + 1).copied();
            let inside = match byte {
                b' ' => next.is_some_and(|next| next > b' ' && next != 0xc2),
                0xc2 => next != Some(0xa0),
                _ => false,
            };
            if !inside {
                break;
            }
        }
        end += 1;
    }
    end
}

fn is_delimiter(kind: &Kind) -> bool {
    matches!(kind, Kind::Emphasis | Kind::Strong)
}

/// Selects the emphasis that is written as HTML, because CommonMark would not recognise its delimiters.
fn choose(text: &str, marks: &[Mark], kinds: &mut [(Kind, bool)]) {
    // Nested emphasis of the same kind: `**a**` is strong.
    let (mut emphasis, mut strong) = (0u32, 0u32);
    for mark in marks {
        let (kind, html) = &mut kinds[mark.kind];
        let depth = match kind {
            Kind::Emphasis => &mut emphasis,
            Kind::Strong => &mut strong,
            _ => continue,
        };
        if mark.opens {
            *html = *depth > 0;
            *depth += 1;
        } else {
            *depth -= 1;
        }
    }
    for run in marks.chunk_by(|a, b| a.at == b.at) {
        let at = run[0].at;
        let before = text[..at].chars().next_back();
        let after = text[at..].chars().next();
        for (index, mark) in run.iter().enumerate() {
            if !is_delimiter(&kinds[mark.kind].0) || kinds[mark.kind].1 {
                continue;
            }
            // A neighbour at the same position is another delimiter, a bracket or a tag, which are all punctuation.
            let inside = |neighbours: &[Mark]| neighbours.iter().any(|mark| !is_plain(kinds, *mark));
            let outer = if mark.opens { &run[..index] } else { &run[index + 1..] };
            let inner = if mark.opens { &run[index + 1..] } else { &run[..index] };
            let (outer_char, inner_char) = if mark.opens { (before, after) } else { (after, before) };
            let outer_char = if inside(outer) { Some('(') } else { outer_char };
            let inner_char = if inside(inner) { Some('(') } else { inner_char };
            // Delimiters of the opposite direction at the same position would be parsed as one run.
            let touches = run
                .iter()
                .any(|other| other.opens != mark.opens && is_delimiter(&kinds[other.kind].0) && !kinds[other.kind].1);
            if touches || !flanks(inner_char, outer_char) {
                kinds[mark.kind].1 = true;
            }
        }
    }
}

/// Returns true if a marker is written with asterisks, which merge with adjacent ones.
fn is_plain(kinds: &[(Kind, bool)], mark: Mark) -> bool {
    is_delimiter(&kinds[mark.kind].0) && !kinds[mark.kind].1
}

/// Returns true if a delimiter between these characters is recognised: CommonMark's left- and right-flanking.
fn flanks(inner: Option<char>, outer: Option<char>) -> bool {
    let Some(inner) = inner.filter(|c| !c.is_whitespace()) else {
        return false;
    };
    let outer_open = outer.is_none_or(|c| c.is_whitespace() || is_punctuation(c));
    !is_punctuation(inner) || outer_open
}

/// Returns true for punctuation and symbols: anything but letters, digits and white space.
fn is_punctuation(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_punctuation() } else { !c.is_alphanumeric() && !c.is_whitespace() }
}

/// Appends the text with its markers.
fn render(out: &mut String, text: &str, marks: &[Mark], kinds: &[(Kind, bool)]) {
    out.reserve(text.len() + marks.len() * 4);
    let mut from = 0;
    // The start of the text of every open link, to check whether it equals the address.
    let mut links = Vec::new();
    for mark in marks {
        out.push_str(&text[from..mark.at]);
        from = mark.at;
        let (kind, html) = &kinds[mark.kind];
        let html = match kind {
            Kind::Emphasis if *html => "em",
            Kind::Strong if *html => "strong",
            Kind::Html(name) => name,
            Kind::Emphasis => {
                out.push('*');
                continue;
            }
            Kind::Strong => {
                out.push_str("**");
                continue;
            }
            Kind::Link { .. } if mark.opens => {
                // An exclamation mark before a link would make it an image.
                if out.ends_with('!') {
                    out.insert(out.len() - 1, '\\');
                }
                links.push(out.len());
                out.push('[');
                continue;
            }
            Kind::Link { address, title } => {
                let start = links.pop().unwrap_or(0);
                end_link(out, start, address, title);
                continue;
            }
        };
        out.push_str(if mark.opens { "<" } else { "</" });
        out.push_str(html);
        out.push('>');
    }
    out.push_str(&text[from..]);
}

fn end_link(out: &mut String, start: usize, address: &str, title: &str) {
    let text = &out[start + 1..];
    if title.is_empty() && text == address && is_autolink(address) {
        out.replace_range(start..=start, "<");
        out.push('>');
        return;
    }
    out.push_str("](");
    out.push_str(address);
    if address.is_empty() && !title.is_empty() {
        out.push_str("<>");
    }
    out.push_str(title);
    out.push(')');
}

/// Returns true if the address may be written in angle brackets.
fn is_autolink(address: &str) -> bool {
    let Some((scheme, rest)) = address.split_once(':') else {
        return false;
    };
    (2..=32).contains(&scheme.len())
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'.' | b'-'))
        && !rest.is_empty()
        && !rest.contains(|c: char| c.is_ascii_control() || matches!(c, ' ' | '<' | '>' | '\\'))
}
