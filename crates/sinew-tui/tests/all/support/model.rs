//! Random sessions: blocks with known content, operations on them, and the rows that a terminal must show afterwards.

use proptest::prelude::*;
use sinew_tui::{
    Attrs, Block, BlockId, Caret, Chrome, Color, Layout, Line, RenderedRows, Row, Screen, Style, WrapMode, wrap,
};

/// A block of lines, of which those after the first `settled` ones may still change.
pub struct Lines {
    pub lines: Vec<(String, WrapMode)>,
    pub settled: usize,
    pub finished: bool,
    pub version: u64,
}

impl Block for Lines {
    fn version(&self) -> u64 {
        self.version
    }

    fn render(&mut self, layout: &Layout<'_>, _: bool, out: &mut RenderedRows) {
        // Rows of lines that are not settled are replaced; settled rows are never built again.
        let made = out.rows[..out.settled].last().map_or(0, |row| row.line as usize);
        out.reopen();
        for (index, (text, mode)) in self.lines.iter().enumerate().skip(made) {
            out.extend(rows_of(text, layout.width, *mode, u32::try_from(index + 1).expect("few")));
            if index < self.settled {
                out.settle();
            }
        }
        out.finished = self.finished;
    }

    fn plain(&self) -> String {
        self.lines.iter().map(|(text, _)| format!("{text}\n")).collect()
    }
}

/// Returns the rows of a line. A line that consists of `#` is one row of an image with as many cells, if it fits.
pub fn rows_of(text: &str, width: usize, mode: WrapMode, number: u32) -> Vec<Row> {
    let columns = text.len();
    if columns > 0 && columns < width && text.bytes().all(|byte| byte == b'#') {
        let sequence =
            format!("\x1b]1337;File=inline=1;width={columns};height=1:{}\x1b\\", "x".repeat(number as usize));
        return vec![Row::drawn(columns, number, sequence.into())];
    }
    let (mut rows, none) = (Vec::new(), Line::new());
    wrap(&styled(text), width, mode, number, (&none, &none), &mut rows);
    rows
}

/// Returns a line whose words have a style that depends on their first letter.
pub fn styled(text: &str) -> Line {
    let mut line = Line::new();
    for word in text.split_inclusive(' ') {
        let style = match word.as_bytes().first().map_or(0, |byte| byte % 5) {
            0 => Style::PLAIN.with(Attrs::BOLD),
            1 => Style::fg(Color::Rgb(200, 30, 90)),
            2 => Style::fg(Color::Indexed(33)).with(Attrs::ITALIC),
            3 => Style::fg(Color::Named(2)).on(Color::Named(4)),
            _ => Style::PLAIN,
        };
        line.push(word, style);
    }
    line
}

#[derive(Clone, Debug)]
pub enum Op {
    /// Adds a block.
    Push,
    /// Adds a line to an open block.
    Line(usize, String, WrapMode),
    /// Appends text to the last line of an open block, if the line is not settled.
    Delta(usize, String),
    /// Settles lines of an open block.
    Settle(usize, usize),
    /// Settles all lines of a block and finishes it.
    Finish(usize),
    /// Shows a popup or panel of this many rows; 0 closes it.
    Cover(usize),
    /// Sets the rows of the editor, and the row and column of its cursor.
    Editor(Vec<String>, usize, usize),
    Status(String),
    Above(usize),
    Reset,
    LeaveAndReturn,
}

const WORDS: [&str; 9] = ["alpha", "be", "gamma-delta", "日本語", "x", "Ελλάδα", "naïve", "supercalifragilistic", "e"];

fn words(from: usize, to: usize) -> impl Strategy<Value = String> {
    prop::collection::vec((prop::sample::select(&WORDS[..]), 0..1000u32), from..to)
        .prop_map(|words| words.iter().map(|(word, n)| format!("{word}{n}")).collect::<Vec<_>>().join(" "))
}

pub fn op() -> impl Strategy<Value = Op> {
    let mode = prop::sample::select(vec![WrapMode::Words, WrapMode::Cells, WrapMode::Soft]);
    prop_oneof![
        2 => Just(Op::Push),
        6 => (0..4usize, words(0, 7), mode).prop_map(|(block, text, mode)| Op::Line(block, text, mode)),
        4 => (0..4usize, words(1, 3)).prop_map(|(block, text)| Op::Delta(block, text)),
        4 => (0..4usize, 1..6usize).prop_map(|(block, count)| Op::Settle(block, count)),
        3 => (0..4usize).prop_map(Op::Finish),
        2 => (0..6usize).prop_map(Op::Cover),
        3 => (prop::collection::vec(words(0, 2), 1..4), 0..4usize, 0..30usize)
            .prop_map(|(rows, row, column)| Op::Editor(rows, row, column)),
        2 => words(0, 3).prop_map(Op::Status),
        1 => (0..3usize).prop_map(Op::Above),
        1 => Just(Op::Reset),
        1 => Just(Op::LeaveAndReturn),
    ]
}

/// Generates operations that also add rows of images.
pub fn picture_op() -> impl Strategy<Value = Op> {
    let picture =
        (0..4usize, 1..30usize).prop_map(|(block, columns)| Op::Line(block, "#".repeat(columns), WrapMode::Words));
    prop_oneof![3 => op(), 1 => picture]
}

/// A screen and the content that was added to it so far.
pub struct Session {
    pub screen: Screen,
    pub ids: Vec<(BlockId, Shadow)>,
    pub chrome: Chrome,
}

/// The content of a block, stored separately, since the screen drops blocks that have scrolled out.
#[derive(Clone, Default)]
pub struct Shadow {
    pub lines: Vec<(String, WrapMode)>,
    pub settled: usize,
    pub finished: bool,
}

impl Session {
    pub fn new(screen: Screen) -> Session {
        let mut session = Session { screen, ids: Vec::new(), chrome: Chrome::default() };
        session.chrome.editor = vec![Row::new(Line::plain("› "), 0)];
        session.chrome.status = vec![Row::new(Line::plain("ready"), 0)];
        session
    }

    /// Applies an operation; the caller paints.
    pub fn apply(&mut self, op: &Op) {
        let open: Vec<usize> = (0..self.ids.len()).filter(|at| !self.ids[*at].1.finished).collect();
        let pick = |nth: usize| open.get(nth % open.len().max(1)).copied();
        match op {
            Op::Push if open.len() < 4 => {
                let block = Lines { lines: Vec::new(), settled: 0, finished: false, version: 0 };
                self.ids.push((self.screen.push(block), Shadow::default()));
            }
            Op::Line(block, text, mode) => self.change(pick(*block), |shadow| shadow.lines.push((text.clone(), *mode))),
            Op::Delta(block, text) => self.change(pick(*block), |shadow| {
                if shadow.settled < shadow.lines.len()
                    && let Some((line, _)) = shadow.lines.last_mut()
                {
                    line.push_str(text);
                }
            }),
            Op::Settle(block, count) => {
                self.change(pick(*block), |shadow| shadow.settled = (shadow.settled + count).min(shadow.lines.len()));
            }
            Op::Finish(block) => self.change(pick(*block), |shadow| {
                shadow.settled = shadow.lines.len();
                shadow.finished = true;
            }),
            Op::Cover(rows) => {
                // Panels push the document up, popups do not.
                self.chrome.pushes = rows % 2 == 1;
                self.chrome.cover = (0..*rows).map(|row| Row::new(styled(&format!("panel {row}")), 0)).collect();
            }
            Op::Editor(rows, row, column) => {
                self.chrome.editor = rows.iter().map(|text| Row::new(Line::plain(&format!("› {text}")), 0)).collect();
                let row = row % rows.len();
                let width = self.chrome.editor[row].width();
                self.chrome.caret = Caret { row, column: (*column).min(width), ..Caret::default() };
            }
            Op::Status(text) => self.chrome.status = vec![Row::new(styled(text), 0)],
            Op::Above(rows) => {
                self.chrome.above = (0..*rows).map(|row| Row::new(styled(&format!("queue {row}")), 0)).collect();
            }
            Op::Push | Op::Reset | Op::LeaveAndReturn => {}
        }
        self.screen.set_chrome(self.chrome.clone());
    }

    fn change(&mut self, at: Option<usize>, change: impl FnOnce(&mut Shadow)) {
        let Some(at) = at else { return };
        let (id, shadow) = &mut self.ids[at];
        change(shadow);
        let block = self.screen.block::<Lines>(*id).expect("an open block is kept");
        block.lines.clone_from(&shadow.lines);
        (block.settled, block.finished) = (shadow.settled, shadow.finished);
        block.version += 1;
    }

    /// Returns all rows that may have scrolled out, in order: those of the finished blocks before the first open one,
    /// and the settled rows of that one.
    pub fn settled_rows(&self, width: usize) -> Vec<Row> {
        let mut rows = Vec::new();
        for (index, (_, shadow)) in self.ids.iter().enumerate() {
            if index > 0 {
                rows.push(Row::default());
            }
            for (number, (text, mode)) in shadow.lines[..shadow.settled].iter().enumerate() {
                rows.extend(rows_of(text, width, *mode, number as u32 + 1));
            }
            if !shadow.finished {
                break;
            }
        }
        rows
    }

    /// Returns the text of the same lines without blanks.
    pub fn settled_text(&self) -> String {
        let mut out = String::new();
        for (_, shadow) in &self.ids {
            for (text, _) in &shadow.lines[..shadow.settled] {
                out.extend(text.chars().filter(|c| *c != ' '));
            }
            if !shadow.finished {
                break;
            }
        }
        out
    }
}
