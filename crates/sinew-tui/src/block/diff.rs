//! The difference of two texts, line by line, with the changed words marked.

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::code::CodeLines;
use crate::screen::{Block, Layout, RenderedRows};
use crate::text::row::{Line, Row};
use crate::text::style::{Attrs, Color, Style};
use crate::text::wrap::{WrapMode, wrap};
use crate::theme::{Theme, Token};

/// Options for showing a difference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DiffOptions {
    /// The number of unchanged lines around a change.
    pub context: usize,
    /// The maximum number of rows.
    pub rows: usize,
}

impl Default for DiffOptions {
    fn default() -> DiffOptions {
        DiffOptions { context: 2, rows: 40 }
    }
}

/// The minimum width for line numbers.
const NUMBERS: usize = 60;
/// The minimum similarity of a pair of lines for a comparison by words.
const SIMILAR: f32 = 0.4;

/// A header and a difference. The block is complete from the start.
#[derive(Debug)]
pub struct DiffBlock {
    header: Line,
    old: String,
    new: String,
    lang: String,
    options: DiffOptions,
}

impl DiffBlock {
    /// Creates a block with the difference of two texts in a language (`""` for none).
    #[must_use]
    pub fn new(header: Line, old: &str, new: &str, lang: &str, options: DiffOptions) -> DiffBlock {
        DiffBlock { header, old: old.to_owned(), new: new.to_owned(), lang: lang.to_owned(), options }
    }
}

impl Block for DiffBlock {
    fn version(&self) -> u64 {
        0
    }

    fn render(&mut self, layout: &Layout<'_>, _: bool, out: &mut RenderedRows) {
        out.reopen();
        let none = Line::new();
        let mut rows = Vec::new();
        wrap(&self.header, layout.width, WrapMode::Words, 1, (&none, &none), &mut rows);
        rows.extend(diff_lines(&self.old, &self.new, &self.lang, layout.width, layout.theme, self.options));
        for row in &mut rows {
            row.line = 1;
        }
        out.extend(rows);
        out.finish();
    }

    fn plain(&self) -> String {
        format!("{}\n{}", self.header.text(), self.new)
    }
}

/// A line of the difference.
struct Change {
    mark: char,
    number: usize,
    line: Line,
}

/// Returns the rows of a difference: `-` removed, `+` added, unchanged lines around them, and `⋯ 18 unchanged` for the
/// rest.
#[must_use]
pub fn diff_lines(old: &str, new: &str, lang: &str, width: usize, theme: &Theme, options: DiffOptions) -> Vec<Row> {
    let hunk = Hunk { old: old.lines().collect(), new: new.lines().collect(), unchanged: 0, first: (1, 1), file: None };
    let digits = hunk.old.len().max(hunk.new.len()).max(1).to_string().len();
    let mut rows = DiffRows { lang, width, theme, options, digits, hidden: 0, rows: Vec::new() };
    rows.add(&hunk);
    rows.note_hidden();
    rows.cut()
}

/// Returns the rows of a unified diff, with the name of each file except the first. The lines after the last hunk are
/// unknown and not mentioned.
#[must_use]
pub fn patch_lines(patch: &str, lang: &str, width: usize, theme: &Theme, options: DiffOptions) -> Vec<Row> {
    let hunks = read_hunks(patch);
    let last = hunks.iter().map(|hunk| (hunk.first.0 + hunk.old.len()).max(hunk.first.1 + hunk.new.len())).max();
    let digits = last.unwrap_or(1).to_string().len();
    let mut rows = DiffRows { lang, width, theme, options, digits, hidden: 0, rows: Vec::new() };
    let mut next = 1;
    for hunk in &hunks {
        if let Some(file) = hunk.file {
            rows.rows.push(Line::styled(file, Style::PLAIN.with(Attrs::BOLD)).into_row(width));
            (rows.hidden, next) = (0, 1);
        }
        rows.hidden += hunk.first.1.saturating_sub(next);
        rows.add(hunk);
        next = hunk.first.1 + hunk.new.len();
    }
    rows.cut()
}

/// Returns the numbers of lines that a unified diff adds and removes.
#[must_use]
pub fn patch_counts(patch: &str) -> (usize, usize) {
    let hunks = read_hunks(patch);
    let count = |lines: fn(&Hunk<'_>) -> usize| hunks.iter().map(|hunk| lines(hunk) - hunk.unchanged).sum();
    (count(|hunk| hunk.new.len()), count(|hunk| hunk.old.len()))
}

/// Corresponding lines of two texts, and the numbers of the first ones.
struct Hunk<'a> {
    old: Vec<&'a str>,
    new: Vec<&'a str>,
    /// The number of lines that the diff marks as unchanged.
    unchanged: usize,
    first: (usize, usize),
    /// The name of the file; `None` if it is the file of the previous hunk.
    file: Option<&'a str>,
}

/// Reads the hunks of a unified diff; a diff without headers is one hunk that begins at the first line.
fn read_hunks(patch: &str) -> Vec<Hunk<'_>> {
    let mut hunks: Vec<Hunk<'_>> = Vec::new();
    let first_of = |word: &str| word.get(1..)?.split(',').next()?.parse::<usize>().ok();
    let count_of = |word: &str| word.split(',').nth(1).map_or(Some(1), |count| count.parse().ok()).unwrap_or(0);
    // The numbers of lines that the hunk still has, according to its header.
    let mut left: Option<(usize, usize)> = None;
    let mut file = None;
    for line in patch.lines() {
        if matches!(left, None | Some((0, 0))) {
            if let Some(header) = line.strip_prefix("@@ ") {
                let mut words = header.split(' ');
                let (old, new) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
                left = Some((count_of(old), count_of(new)));
                let first = (first_of(old).unwrap_or(1).max(1), first_of(new).unwrap_or(1).max(1));
                let file = file.take().filter(|_| !hunks.is_empty());
                hunks.push(Hunk { old: Vec::new(), new: Vec::new(), unchanged: 0, first, file });
                continue;
            }
            if left.is_some() || (hunks.is_empty() && (line.starts_with("--- ") || line.starts_with("+++ "))) {
                // A tab ends a name that contains blanks.
                file = line.strip_prefix("+++ ").map(|name| name.trim_end_matches('\t')).or(file);
                continue;
            }
        }
        if hunks.is_empty() {
            hunks.push(Hunk { old: Vec::new(), new: Vec::new(), unchanged: 0, first: (1, 1), file: None });
        }
        let Some(hunk) = hunks.last_mut() else { continue };
        let (mark, text) = line.split_at(line.len().min(1));
        match mark {
            "-" => hunk.old.push(text),
            "+" => hunk.new.push(text),
            // The note that a file does not end with a line feed.
            "\\" => continue,
            _ => {
                hunk.old.push(text);
                hunk.new.push(text);
                hunk.unchanged += 1;
            }
        }
        if let Some((old, new)) = &mut left {
            *old = old.saturating_sub(usize::from(mark != "+"));
            *new = new.saturating_sub(usize::from(mark != "-"));
        }
    }
    hunks
}

/// Builds the rows of a difference.
struct DiffRows<'a> {
    lang: &'a str,
    width: usize,
    theme: &'a Theme,
    options: DiffOptions,
    digits: usize,
    /// The number of unchanged lines since the last row.
    hidden: usize,
    rows: Vec<Row>,
}

impl DiffRows<'_> {
    fn add(&mut self, hunk: &Hunk<'_>) {
        let colored = |lines: &[&str]| {
            let mut code = CodeLines::new(self.lang);
            lines.iter().map(|line| code.line(line, self.theme, Color::Default)).collect::<Vec<_>>()
        };
        let (old_code, new_code) = (colored(&hunk.old), colored(&hunk.new));
        let ops = capture_diff_slices(Algorithm::Myers, &hunk.old, &hunk.new);
        let last = ops.len().saturating_sub(1);
        let removed = |at: usize, line: Line| Change { mark: '-', number: hunk.first.0 + at, line };
        let added = |at: usize, line: Line| Change { mark: '+', number: hunk.first.1 + at, line };
        for (index, op) in ops.iter().enumerate() {
            let mut changes = Vec::new();
            match *op {
                DiffOp::Equal { new_index, len, .. } => {
                    let head = if index == 0 { 0 } else { self.options.context.min(len) };
                    let tail = if index == last { 0 } else { self.options.context.min(len - head) };
                    let same = |at: usize| Change { mark: ' ', ..added(at, new_code[at].clone()) };
                    changes.extend((new_index..new_index + head).map(same));
                    self.push(&changes);
                    changes.clear();
                    self.hidden += len - head - tail;
                    changes.extend((new_index + len - tail..new_index + len).map(same));
                }
                DiffOp::Delete { old_index, old_len, .. } => {
                    changes.extend((old_index..old_index + old_len).map(|at| removed(at, old_code[at].clone())));
                }
                DiffOp::Insert { new_index, new_len, .. } => {
                    changes.extend((new_index..new_index + new_len).map(|at| added(at, new_code[at].clone())));
                }
                DiffOp::Replace { old_index, old_len, new_index, new_len } => {
                    let pairs = old_len.min(new_len);
                    let words: Vec<_> = (0..pairs)
                        .map(|at| changed_words(hunk.old[old_index + at], hunk.new[new_index + at]))
                        .collect();
                    for at in 0..old_len {
                        let marks = words.get(at).map_or(&[][..], |(old, _)| old);
                        let line = emphasised(&old_code[old_index + at], hunk.old[old_index + at], marks);
                        changes.push(removed(old_index + at, line));
                    }
                    for at in 0..new_len {
                        let marks = words.get(at).map_or(&[][..], |(_, new)| new);
                        let line = emphasised(&new_code[new_index + at], hunk.new[new_index + at], marks);
                        changes.push(added(new_index + at, line));
                    }
                }
            }
            self.push(&changes);
        }
    }

    fn push(&mut self, changes: &[Change]) {
        if !changes.is_empty() {
            self.note_hidden();
            push(changes, self.digits, self.width, self.theme, &mut self.rows);
        }
    }

    /// Appends the number of hidden unchanged lines.
    fn note_hidden(&mut self) {
        let hidden = std::mem::take(&mut self.hidden);
        if hidden > 0 {
            let text = format!("⋯ {hidden} unchanged");
            self.rows.push(Line::styled(&text, self.theme.style(Token::Dim)).into_row(self.width));
        }
    }

    /// Returns the rows within the limit.
    fn cut(self) -> Vec<Row> {
        let DiffRows { mut rows, options, width, theme, .. } = self;
        if rows.len() > options.rows {
            let hidden = rows.len() - options.rows + 1;
            rows.truncate(options.rows - 1);
            rows.push(Line::styled(&format!("⋯ {hidden} more rows"), theme.style(Token::Dim)).into_row(width));
        }
        rows
    }
}

fn push(changes: &[Change], digits: usize, width: usize, theme: &Theme, rows: &mut Vec<Row>) {
    for change in changes {
        let style = match change.mark {
            '+' => theme.style(Token::ToolDiffAdded),
            '-' => theme.style(Token::ToolDiffRemoved),
            _ => theme.style(Token::ToolDiffContext),
        };
        let mut first = Line::new();
        if width >= NUMBERS {
            first.push(&format!("{:>digits$} ", change.number), theme.style(Token::Dim));
        }
        first.push(&format!("{} ", change.mark), style.with(Attrs::BOLD));
        let rest = Line::plain(&" ".repeat(first.width()));
        wrap(&change.line, width, WrapMode::Cells, 1, (&first, &rest), rows);
    }
}

/// Byte ranges of one line.
type Ranges = Vec<(usize, usize)>;

/// Returns the byte ranges that differ between two lines; empty if the lines have little in common.
fn changed_words(old: &str, new: &str) -> (Ranges, Ranges) {
    let (old_words, new_words) = (words(old), words(new));
    let text = |line: &str, words: &[(usize, usize)]| -> Vec<String> {
        words.iter().map(|(from, to)| line[*from..*to].to_owned()).collect()
    };
    let (a, b) = (text(old, &old_words), text(new, &new_words));
    let ops = capture_diff_slices(Algorithm::Myers, &a, &b);
    let (mut from_old, mut from_new, mut equal) = (Vec::new(), Vec::new(), 0);
    for op in &ops {
        let (range_old, range_new) = (op.old_range(), op.new_range());
        if let DiffOp::Equal { .. } = op {
            equal += range_old.map(|at| a[at].len()).sum::<usize>();
            continue;
        }
        if let (Some(first), Some(last)) = (old_words.get(range_old.start), range_old.clone().last()) {
            from_old.push((first.0, old_words[last].1));
        }
        if let (Some(first), Some(last)) = (new_words.get(range_new.start), range_new.clone().last()) {
            from_new.push((first.0, new_words[last].1));
        }
    }
    let most = old.len().max(new.len()).max(1);
    if (equal as f32) < SIMILAR * most as f32 { (Vec::new(), Vec::new()) } else { (from_old, from_new) }
}

/// Splits a line into words, and everything else into characters.
fn words(line: &str) -> Ranges {
    let mut out: Ranges = Vec::new();
    let mut word = false;
    for (at, c) in line.char_indices() {
        let is_word = c.is_alphanumeric() || c == '_';
        let end = at + c.len_utf8();
        match out.last_mut() {
            Some(last) if word && is_word => last.1 = end,
            _ => out.push((at, end)),
        }
        word = is_word;
    }
    out
}

/// Returns the line with ranges of its source bold and underlined, which is visible without colours as well.
fn emphasised(line: &Line, source: &str, ranges: &[(usize, usize)]) -> Line {
    // Tabs and controls are shown differently; such a line is not emphasised.
    if ranges.is_empty() || line.text() != source {
        return line.clone();
    }
    let mut out = Line::new();
    let mut at = 0;
    for run in line.runs() {
        while at < run.end {
            let inside = ranges.iter().find(|(from, to)| *from <= at && at < *to);
            let next = inside.map_or_else(
                || ranges.iter().map(|(from, _)| *from).filter(|from| *from > at).min().unwrap_or(run.end),
                |(_, to)| *to,
            );
            let end = next.min(run.end);
            let extra = Attrs::BOLD.with(Attrs::UNDERLINE);
            let style: Style = if inside.is_some() { run.style.with(extra) } else { run.style };
            out.push_linked(&line.text()[at..end], style, run.link.as_ref());
            at = end;
        }
    }
    out
}
