//! Lines of styled text, and the rows of a screen that they become.

use std::sync::Arc;

use sinew_term::{clusters, is_hidden, reveal};

use super::style::{Color, Style};

/// The character that stands for a cell of a picture; it is never written.
const PICTURE_CELL: char = '\u{FFFC}';
/// The blanks that a tab stands for reach the next column that is a multiple of this.
const TAB_STOP: usize = 4;
/// A cluster of more bytes keeps its first characters only: no script needs more, and a terminal has to draw it.
const CLUSTER_LIMIT: usize = 64;

/// A piece of text with one look, up to the byte `end` of its text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Run {
    /// The byte behind the piece.
    pub end: usize,
    /// Its look.
    pub style: Style,
    /// The address that it links to.
    pub link: Option<Arc<str>>,
}

/// Styled text without a width: what is pushed is made harmless, so that a line can be shown as it is.
///
/// Escape sequences and controls go, line ends become blanks, tabs become blanks to the next stop of four, marks
/// that stand alone go, and what nobody would see, bidirectional controls and tags, is shown as `‹U+202E›`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Line {
    text: String,
    runs: Vec<Run>,
    columns: usize,
}

impl Line {
    /// An empty line.
    #[must_use]
    pub fn new() -> Line {
        Line::default()
    }

    /// A line of one look.
    #[must_use]
    pub fn styled(text: &str, style: Style) -> Line {
        let mut line = Line::new();
        line.push(text, style);
        line
    }

    /// A line in the terminal's own look.
    #[must_use]
    pub fn plain(text: &str) -> Line {
        Line::styled(text, Style::PLAIN)
    }

    /// Appends text. Linear in the text.
    pub fn push(&mut self, text: &str, style: Style) -> &mut Line {
        self.push_linked(text, style, None)
    }

    /// Appends text that links to an address. Only an address that is safe to open becomes a link ([`is_safe_link`]).
    pub fn push_linked(&mut self, text: &str, style: Style, link: Option<&Arc<str>>) -> &mut Line {
        let before = self.text.len();
        self.append_harmless(text);
        if self.text.len() > before {
            let link = link.filter(|link| is_safe_link(link));
            let end = self.text.len();
            match self.runs.last_mut() {
                Some(run) if run.style == style && run.link.as_ref() == link => run.end = end,
                _ => self.runs.push(Run { end, style, link: link.cloned() }),
            }
        }
        self
    }

    /// Appends another line.
    pub fn append(&mut self, other: &Line) -> &mut Line {
        let base = self.text.len();
        self.text.push_str(&other.text);
        self.columns += other.columns;
        self.runs.extend(other.runs.iter().map(|run| Run { end: run.end + base, ..run.clone() }));
        self
    }

    fn append_harmless(&mut self, text: &str) {
        if text.bytes().all(|byte| (0x20..0x7F).contains(&byte)) {
            // Behind a mark of prepending scripts a letter would join it; that is told apart where rows are cut.
            self.text.push_str(text);
            self.columns += text.len();
            return;
        }
        for cluster in clusters(&reveal(text), 1) {
            let first = cluster.text.chars().next().unwrap_or(' ');
            match first {
                '\t' => {
                    let blanks = TAB_STOP - self.columns % TAB_STOP;
                    self.text.extend(std::iter::repeat_n(' ', blanks));
                    self.columns += blanks;
                }
                _ if cluster.width == 0 => {}
                _ => {
                    let mut end = cluster.text.len().min(CLUSTER_LIMIT);
                    while !cluster.text.is_char_boundary(end) {
                        end -= 1;
                    }
                    // A sequence or a control may stand between the characters of a cluster.
                    let kept = sinew_term::sanitize(&cluster.text[..end]);
                    self.columns += cluster.width;
                    self.text.push_str(&kept);
                }
            }
        }
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The pieces, in order.
    #[must_use]
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The bytes `from..to` as a line of their own.
    #[must_use]
    pub fn part(&self, from: usize, to: usize) -> Line {
        let mut runs = Vec::new();
        let mut start = 0;
        for run in &self.runs {
            let (low, high) = (start.max(from), run.end.min(to));
            start = run.end;
            if low < high {
                runs.push(Run { end: high - from, ..run.clone() });
            }
        }
        let text = self.text[from..to].to_owned();
        Line { columns: sinew_term::visible_width(&text, 1), text, runs }
    }

    /// The cells it takes.
    #[must_use]
    pub fn width(&self) -> usize {
        sinew_term::visible_width(&self.text, 1)
    }

    /// The line as one row, cut to `width` cells with `…` where it is longer.
    #[must_use]
    pub fn into_row(self, width: usize) -> Row {
        if self.width() <= width {
            return Row::new(self, 0);
        }
        let mut end = 0;
        let mut used = 0;
        for cluster in clusters(&self.text, 1) {
            if used + cluster.width + 1 > width {
                break;
            }
            used += cluster.width;
            end = cluster.start + cluster.text.len();
        }
        let style = self.runs.iter().find(|run| run.end > end).map_or(Style::PLAIN, |run| run.style);
        let mut cut = self.part(0, end);
        if width > 0 {
            cut.push("…", style);
        }
        Row::new(cut, 0)
    }
}

/// The beginnings of addresses that a terminal may be told to open: each leads to a browser, a mail that is not sent yet,
/// or a file of this machine. Other schemes start programs, and a file of another host tells that host who the user is.
const SAFE_LINKS: [&str; 5] = ["http://", "https://", "mailto:", "file:///", "file://localhost/"];

/// Returns true for an address that a link may lead to: `http`, `https`, `mailto`, and files of this machine.
#[must_use]
pub fn is_safe_link(address: &str) -> bool {
    let rest = SAFE_LINKS.iter().find_map(|start| {
        let (scheme, rest) = address.split_at_checked(start.len())?;
        scheme.eq_ignore_ascii_case(start).then_some((*start, rest))
    });
    let unseen = |c: char| c.is_control() || c.is_whitespace() || is_hidden(c);
    // A path that begins with two slashes names a host on some systems.
    rest.is_some_and(|(start, rest)| !(rest.is_empty() || start.starts_with("file:") && rest.starts_with(['/', '\\'])))
        && !address.contains(unseen)
}

/// A mark that a row carries for the terminal (OSC 133).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// A prompt of the user begins in this row.
    Prompt,
    /// The run that followed a prompt ended.
    Done,
}

/// One row of the screen: text that fits the width it was made for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Row {
    text: String,
    runs: Vec<Run>,
    /// The colour from the end of the text to the edge.
    pub fill: Color,
    /// The logical line of its block that it belongs to; the same at every width.
    pub line: u32,
    /// No line end follows: the next row goes on with the same line, and the terminal is told so.
    pub soft: bool,
    /// A mark for the terminal.
    pub mark: Option<Mark>,
    /// All of it is text of others, as code is: what looks like a symbol of ours in it is none.
    pub foreign: bool,
    /// The sequence that draws its cells, which its text only counts.
    pub picture: Option<Arc<str>>,
}

/// A cluster of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cell<'a> {
    /// Its characters.
    pub text: &'a str,
    /// 1 or 2.
    pub width: usize,
    /// True if every terminal agrees about the width.
    pub certain: bool,
    /// Its look.
    pub style: Style,
    /// The address that it links to.
    pub link: Option<&'a Arc<str>>,
}

impl Row {
    /// A row of a line, without the blanks at its end that cannot be seen.
    #[must_use]
    pub fn new(line: Line, number: u32) -> Row {
        let mut row = Row { text: line.text, runs: line.runs, line: number, ..Row::default() };
        row.trim();
        row
    }

    /// A row of which blanks at the end belong to the text, since it goes on in the next one.
    #[must_use]
    pub(crate) fn soft(line: Line, number: u32) -> Row {
        Row { text: line.text, runs: line.runs, line: number, soft: true, ..Row::default() }
    }

    /// A row of a picture: so many cells, less than the screen has, which a sequence draws from the first one on. It leaves the
    /// cursor in this row.
    #[must_use]
    pub fn drawn(columns: usize, number: u32, sequence: Arc<str>) -> Row {
        let cells = PICTURE_CELL.to_string().repeat(columns);
        Row { picture: Some(sequence), foreign: true, ..Row::new(Line::plain(&cells), number) }
    }

    /// The same with the rest of the row in a colour.
    #[must_use]
    pub fn filled(mut self, color: Color) -> Row {
        self.fill = color;
        self
    }

    /// The same in one colour; what makes a word stand out stays.
    #[must_use]
    pub(crate) fn toned(&self, look: Style) -> Row {
        let tone = |run: &Run| Run { style: Style { attrs: run.style.attrs.with(look.attrs), ..look }, ..run.clone() };
        Row { runs: self.runs.iter().map(tone).collect(), ..self.clone() }
    }

    /// The same with a colour behind the text that has none.
    #[must_use]
    pub(crate) fn on(mut self, color: Color) -> Row {
        self.runs.iter_mut().filter(|run| run.style.bg == Color::Default).for_each(|run| run.style.bg = color);
        self
    }

    /// The same, with symbols that are ours or those of others.
    #[must_use]
    pub(crate) fn foreign(self, foreign: bool) -> Row {
        Row { foreign, ..self }
    }

    /// The same as a part of another line of its block.
    #[must_use]
    pub(crate) fn numbered(self, line: u32) -> Row {
        Row { line, ..self }
    }

    fn trim(&mut self) {
        while let Some(run) = self.runs.last() {
            let start = self.runs.len().checked_sub(2).map_or(0, |before| self.runs[before].end);
            let seen = run.style.bg != Color::Default
                || run.style.attrs.0
                    & (super::style::Attrs::UNDERLINE.0
                        | super::style::Attrs::REVERSE.0
                        | super::style::Attrs::STRIKE.0)
                    != 0;
            if seen {
                return;
            }
            let kept = self.text[start..].trim_end_matches(' ').len() + start;
            self.text.truncate(kept);
            if kept > start {
                if let Some(run) = self.runs.last_mut() {
                    run.end = kept;
                }
                return;
            }
            self.runs.pop();
        }
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The cells that the text takes.
    #[must_use]
    pub fn width(&self) -> usize {
        sinew_term::visible_width(&self.text, 1)
    }

    /// The row as it is where it fits, else cut.
    pub(crate) fn cut(self, width: usize) -> Row {
        if self.width() <= width {
            return self;
        }
        Row { fill: self.fill, mark: self.mark, foreign: self.foreign, ..self.to_line().into_row(width) }
    }

    pub(crate) fn run_count(&self) -> usize {
        self.runs.len()
    }

    /// The text and its looks as a line again.
    #[must_use]
    pub fn to_line(&self) -> Line {
        Line { text: self.text.clone(), runs: self.runs.clone(), columns: self.width() }
    }

    /// The clusters, from left to right.
    pub fn cells(&self) -> impl Iterator<Item = Cell<'_>> {
        let mut run = 0;
        clusters(&self.text, 1).map(move |cluster| {
            while self.runs.get(run).is_some_and(|run| run.end <= cluster.start) {
                run += 1;
            }
            let (style, link) = self.runs.get(run).map_or((Style::PLAIN, None), |run| (run.style, run.link.as_ref()));
            Cell {
                text: cluster.text,
                width: cluster.width,
                certain: super::width::is_certain(cluster.text),
                style,
                link,
            }
        })
    }
}
