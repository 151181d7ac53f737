//! Lines of styled text, and the rows of a screen that they become.

use std::sync::Arc;

use sinew_term::{clusters, is_hidden, reveal};

use super::style::{Color, Style};

/// The placeholder for a cell of an image; it is never written.
const PICTURE_CELL: char = '\u{FFFC}';
/// A tab extends to the next column that is a multiple of this.
const TAB_STOP: usize = 4;
/// A larger cluster, in bytes, keeps only its first characters: no script needs more, and a terminal has to draw it.
const CLUSTER_LIMIT: usize = 64;

/// A piece of text with one style, up to the byte `end` of its text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Run {
    /// The byte after the piece.
    pub end: usize,
    /// The style.
    pub style: Style,
    /// The address of its link; `None` without a link.
    pub link: Option<Arc<str>>,
}

/// Styled text without a width. Pushed text is sanitised, so that a line is always safe to show.
///
/// Escape sequences and controls are removed, line ends become blanks, tabs become blanks up to the next stop of four,
/// isolated combining marks are removed, and invisible bidirectional controls and tags are shown as `‹U+202E›`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Line {
    text: String,
    runs: Vec<Run>,
    columns: usize,
}

impl Line {
    /// Creates an empty line.
    #[must_use]
    pub fn new() -> Line {
        Line::default()
    }

    /// Creates a line with one style.
    #[must_use]
    pub fn styled(text: &str, style: Style) -> Line {
        let mut line = Line::new();
        line.push(text, style);
        line
    }

    /// Creates a line in the terminal's default style.
    #[must_use]
    pub fn plain(text: &str) -> Line {
        Line::styled(text, Style::PLAIN)
    }

    /// Appends text. Runs in time linear in the text.
    pub fn push(&mut self, text: &str, style: Style) -> &mut Line {
        self.push_linked(text, style, None)
    }

    /// Appends text that links to an address. Only safe addresses become a link ([`is_safe_link`]).
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
            // A letter would join a preceding mark of a prepending script; this is resolved when rows are cut.
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
                    // A sequence or a control may be between the characters of a cluster.
                    let kept = sinew_term::sanitize(&cluster.text[..end]);
                    self.columns += cluster.width;
                    self.text.push_str(&kept);
                }
            }
        }
    }

    /// Returns the text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the pieces, in order.
    #[must_use]
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Returns the bytes `from..to` as a line.
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

    /// Returns the width in cells.
    #[must_use]
    pub fn width(&self) -> usize {
        sinew_term::visible_width(&self.text, 1)
    }

    /// Converts the line to one row, cut to `width` cells with `…` if it is longer.
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

/// The prefixes of addresses that a terminal may open: each leads to a browser, an unsent mail, or a local file. Other
/// schemes start programs, and a file on another host reveals the user to that host.
const SAFE_LINKS: [&str; 5] = ["http://", "https://", "mailto:", "file:///", "file://localhost/"];

/// Returns true if a link may lead to this address: `http`, `https`, `mailto`, and local files.
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

/// A mark of a row for the terminal (OSC 133).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// A prompt of the user begins in this row.
    Prompt,
    /// The run after a prompt has ended.
    Done,
}

/// A row of the screen: text that fits the width it was made for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Row {
    text: String,
    runs: Vec<Run>,
    /// The colour from the end of the text to the edge.
    pub fill: Color,
    /// The logical line of its block; the same at every width.
    pub line: u32,
    /// True if no line end follows: the next row continues the same line, also in the terminal.
    pub soft: bool,
    /// The mark for the terminal; `None` without a mark.
    pub mark: Option<Mark>,
    /// True if the row is external text, such as code, whose characters are not symbols of the interface.
    pub foreign: bool,
    /// The sequence that draws an image in the cells; `None` for a row of text.
    pub picture: Option<Arc<str>>,
}

/// A cluster of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cell<'a> {
    /// The characters.
    pub text: &'a str,
    /// The width: 1 or 2.
    pub width: usize,
    /// True if all terminals agree about the width.
    pub certain: bool,
    /// The style.
    pub style: Style,
    /// The address of its link; `None` without a link.
    pub link: Option<&'a Arc<str>>,
}

impl Row {
    /// Creates a row of a line, without the invisible blanks at its end.
    #[must_use]
    pub fn new(line: Line, number: u32) -> Row {
        let mut row = Row { text: line.text, runs: line.runs, line: number, ..Row::default() };
        row.trim();
        row
    }

    /// Creates a row that continues in the next one, so blanks at its end are part of the text.
    #[must_use]
    pub(crate) fn soft(line: Line, number: u32) -> Row {
        Row { text: line.text, runs: line.runs, line: number, soft: true, ..Row::default() }
    }

    /// Creates a row of an image with this many cells, fewer than the screen has. The sequence draws them from the
    /// first one and leaves the cursor in this row.
    #[must_use]
    pub fn drawn(columns: usize, number: u32, sequence: Arc<str>) -> Row {
        let cells = PICTURE_CELL.to_string().repeat(columns);
        Row { picture: Some(sequence), foreign: true, ..Row::new(Line::plain(&cells), number) }
    }

    /// Sets the colour of the rest of the row.
    #[must_use]
    pub fn filled(mut self, color: Color) -> Row {
        self.fill = color;
        self
    }

    /// Changes the row to one colour; emphasis is kept.
    #[must_use]
    pub(crate) fn toned(&self, look: Style) -> Row {
        let tone = |run: &Run| Run { style: Style { attrs: run.style.attrs.with(look.attrs), ..look }, ..run.clone() };
        Row { runs: self.runs.iter().map(tone).collect(), ..self.clone() }
    }

    /// Sets the background of text without one.
    #[must_use]
    pub(crate) fn on(mut self, color: Color) -> Row {
        self.runs.iter_mut().filter(|run| run.style.bg == Color::Default).for_each(|run| run.style.bg = color);
        self
    }

    /// Sets whether the row is external text.
    #[must_use]
    pub(crate) fn foreign(self, foreign: bool) -> Row {
        Row { foreign, ..self }
    }

    /// Assigns the row to another line of its block.
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

    /// Returns the text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the width of the text in cells.
    #[must_use]
    pub fn width(&self) -> usize {
        sinew_term::visible_width(&self.text, 1)
    }

    /// Cuts the row if it does not fit.
    pub(crate) fn cut(self, width: usize) -> Row {
        if self.width() <= width {
            return self;
        }
        Row { fill: self.fill, mark: self.mark, foreign: self.foreign, ..self.to_line().into_row(width) }
    }

    pub(crate) fn run_count(&self) -> usize {
        self.runs.len()
    }

    /// Returns the text and its styles as a line.
    #[must_use]
    pub fn to_line(&self) -> Line {
        Line { text: self.text.clone(), runs: self.runs.clone(), columns: self.width() }
    }

    /// Returns the clusters, from left to right.
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
