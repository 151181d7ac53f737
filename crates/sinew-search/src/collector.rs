//! Collects rows from the matches that ripgrep's searcher finds in one text.

use std::io;
use std::ops::Range;

use grep_matcher::Matcher;
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkFinish, SinkMatch,
};
use sinew_base::{CancelTicker, CancelToken, lossy};

use crate::excerpt::{excerpt, line_start};
use crate::matcher::PatternMatcher;
use crate::pattern::Pattern;
use crate::rows::{Head, Rows, clamp};

/// The maximum length of a line in a row, in characters, if `max_columns` is not set.
const LINE_LIMIT: usize = 16 << 20;
/// The number of bytes after a block of lines that are included when its matches are searched again: enough for a
/// look-ahead at the next characters.
const LOOK_AHEAD: usize = 128;
/// The byte order mark of UTF-8.
const UTF_8_BOM: &[u8] = b"\xEF\xBB\xBF";
/// The maximum length of a line in memory, in bytes.
const HEAP_LIMIT: usize = 256 << 20;

/// The kind of rows that a search collects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// One row per matching line.
    #[default]
    Content,
    /// One row per file with a match.
    FilesWithMatches,
    /// One row per file with a match, including the number of its matching lines.
    Count,
}

/// Options of a [`Collector`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct CollectOptions {
    pub(crate) mode: Mode,
    pub(crate) multiline: bool,
    pub(crate) before: usize,
    pub(crate) after: usize,
    /// The maximum line width, in characters.
    pub(crate) width: usize,
    /// The maximum number of matching lines per text.
    pub(crate) per_file: usize,
}

impl CollectOptions {
    pub(crate) fn new(
        mode: Mode,
        multiline: bool,
        context: [Option<u32>; 3],
        max_columns: Option<u32>,
    ) -> CollectOptions {
        let [both, before, after] = context;
        let lines = |own: Option<u32>| match mode {
            Mode::Content => own.or(both).unwrap_or(0) as usize,
            Mode::FilesWithMatches | Mode::Count => 0,
        };
        let width = match max_columns.unwrap_or(0) {
            0 => LINE_LIMIT,
            width => (width as usize).min(LINE_LIMIT),
        };
        CollectOptions { mode, multiline, before: lines(before), after: lines(after), width, per_file: usize::MAX }
    }

    /// Creates a searcher with these options.
    pub(crate) fn searcher(&self, pattern: &Pattern, binary: BinaryDetection) -> Searcher {
        SearcherBuilder::new()
            .line_terminator(pattern.terminator)
            .multi_line(self.multiline)
            .line_number(self.mode == Mode::Content)
            .before_context(self.before)
            .after_context(self.after)
            .heap_limit(Some(HEAP_LIMIT))
            .binary_detection(binary)
            .build()
    }
}

/// Collects the rows of one text.
pub(crate) struct Collector<'a> {
    matcher: &'a PatternMatcher,
    collect: CollectOptions,
    ticker: CancelTicker<'a>,
    rows: &'a mut Rows,
    path: &'a str,
    file: Option<usize>,
    /// The number of matching lines that are still needed.
    left: usize,
    /// Look for one more match after the last one that is needed.
    seeks_more: bool,
    /// The number of bytes before the text that the searcher receives.
    skipped: u64,
    before: Vec<[u32; 3]>,
    last: Option<usize>,
    after_left: usize,
    /// The number of matching lines found so far.
    pub(crate) found: usize,
    /// True if there is a match after the first `collect.per_file` matching lines.
    pub(crate) more: bool,
    /// The position of the first NUL byte; `None` if no NUL byte was found or the searcher did not look for one.
    pub(crate) binary_at: Option<u64>,
    /// True if a row contains a NUL byte.
    pub(crate) shows_nul: bool,
}

impl<'a> Collector<'a> {
    /// Creates a collector of at most `limit` matching lines (and at most `collect.per_file`) of the text named `path`.
    pub(crate) fn new(
        matcher: &'a PatternMatcher,
        collect: CollectOptions,
        limit: usize,
        path: &'a str,
        rows: &'a mut Rows,
        cancel: &'a CancelToken,
    ) -> Collector<'a> {
        let (left, seeks_more) = match collect.mode {
            Mode::Content => (collect.per_file.min(limit), collect.per_file < limit),
            Mode::FilesWithMatches => (collect.per_file.min(1), false),
            Mode::Count => (collect.per_file, true),
        };
        Collector {
            matcher,
            collect,
            ticker: CancelTicker::new(cancel),
            rows,
            path,
            file: None,
            left,
            seeks_more,
            skipped: 0,
            before: Vec::new(),
            last: None,
            after_left: 0,
            found: 0,
            more: false,
            binary_at: None,
            shows_nul: false,
        }
    }

    /// Returns true if the limits allow any result.
    pub(crate) fn wants_any(&self) -> bool {
        self.left > 0
    }

    /// Returns true if the limits allow no further result.
    pub(crate) fn is_full(&self) -> bool {
        self.left == 0
    }

    /// Tells the collector how the text begins: the searcher drops the byte order mark of UTF-8, and offsets count it.
    pub(crate) fn begins_with(&mut self, beginning: &[u8]) {
        self.skipped = if beginning.starts_with(UTF_8_BOM) { UTF_8_BOM.len() as u64 } else { 0 };
    }

    /// Returns true if the searcher has to go on.
    fn goes_on(&self) -> bool {
        self.left > 0 || self.after_left > 0 || self.seeks_more
    }

    /// Records a match that is not needed.
    fn see_more(&mut self) {
        self.more |= self.seeks_more;
    }

    /// Finishes the text: removes context lines that belong to no row, and adds the row of a file that is only listed
    /// or counted. Results found before an error are kept.
    pub(crate) fn close(self) {
        self.rows.drop_text(&self.before);
        let counts = match self.collect.mode {
            Mode::Content => return,
            Mode::FilesWithMatches => false,
            Mode::Count => true,
        };
        if self.found > 0 {
            let file = self.rows.open_file(self.path);
            let match_count = if counts { clamp(self.found) } else { 0 };
            self.rows.push_row(file, Head { match_count, ..Head::default() }, "", &[]);
        }
    }

    /// Records the position of a NUL byte, unless it is after the last line that is needed.
    fn see_nul(&mut self, offset: Option<u64>) {
        if !(self.seeks_more && self.is_full()) {
            self.binary_at = self.binary_at.or(offset.map(|offset| self.skipped + offset));
        }
    }

    fn step(&mut self) -> io::Result<()> {
        self.ticker.step().map_err(|aborted| io::Error::other(aborted.to_string()))
    }

    /// Adds one match; `hit` is relative to `line`, which begins `offset` bytes into the text.
    fn take(&mut self, line: &[u8], hit: Range<usize>, line_number: u64, offset: u64) {
        self.found += 1;
        self.left -= 1;
        if self.collect.mode != Mode::Content {
            return;
        }
        let shown = without_end(line);
        self.shows_nul |= memchr::memchr(0, shown).is_some();
        let byte_offset = self.skipped + offset + hit.start as u64;
        let mut row = Head { line_number: clamp(line_number), byte_offset, ..Head::default() };
        // A match can consist of the line terminator alone, which is not shown.
        let hit = hit.start.min(shown.len())..hit.end.min(shown.len());
        // Valid text, the usual case, is borrowed; other text is shown with U+FFFD, and the match offsets are adjusted.
        let text = lossy(shown);
        let hit = match &text {
            std::borrow::Cow::Borrowed(text) => floor(text, hit.start)..floor(text, hit.end),
            std::borrow::Cow::Owned(text) => {
                let start = String::from_utf8_lossy(&shown[..hit.start]).len();
                let end = start + String::from_utf8_lossy(&shown[hit]).len();
                floor(text, start.min(text.len()))..floor(text, end.min(text.len()))
            }
        };
        row.column = clamp(text[..hit.start].chars().count() + 1);
        let cut = excerpt(&text, hit, self.collect.width);
        row.truncated = cut.is_some();
        let file = match self.file {
            Some(file) => file,
            None => {
                // The path must be in the text before the context lines of its rows.
                debug_assert!(self.before.is_empty());
                self.rows.open_file(self.path)
            }
        };
        self.file = Some(file);
        self.last = Some(self.rows.push_row(file, row, cut.as_deref().unwrap_or(&text), &self.before));
        self.before.clear();
        self.after_left = self.collect.after;
    }

    /// Adds the matches of a block of lines, one row for all matches of the same line.
    fn take_block(&mut self, found: &SinkMatch<'_>) -> io::Result<()> {
        let block = found.bytes_range_in_buffer();
        let buffer = &found.buffer()[..(block.end + LOOK_AHEAD).min(found.buffer().len())];
        // The lines of the current row, the first match in it, and the number of its first line.
        let mut open: Option<(Range<usize>, Range<usize>, u64)> = None;
        let mut counted = (block.start, found.line_number().unwrap_or(0));
        let mut at = block.start;
        while at <= block.end {
            self.step()?;
            let Some(hit) = self.matcher.find_at(buffer, at).map_err(io::Error::other)? else { break };
            // A match after the terminator of the last line is outside the block; without a terminator the line
            // continues to here.
            if hit.start() > block.end || (hit.start() == block.end && buffer[block.end - 1] == b'\n') {
                break;
            }
            let end = hit.end().min(block.end);
            let first =
                memchr::memrchr(b'\n', &buffer[block.start..hit.start()]).map_or(block.start, |n| block.start + n + 1);
            // A match that ends after a line terminator does not extend into the next line.
            let inside = (end.max(hit.start() + 1) - 1).min(block.end - 1);
            let last = memchr::memchr(b'\n', &buffer[inside..block.end]).map_or(block.end, |n| inside + n + 1);
            match &mut open {
                Some((lines, _, _)) if first < lines.end => lines.end = lines.end.max(last),
                _ => {
                    if let Some((lines, hit, number)) = open.take() {
                        self.take_lines(found, buffer, lines, hit, number);
                        if self.left == 0 {
                            self.see_more();
                            return Ok(());
                        }
                    }
                    counted.1 += memchr::memchr_iter(b'\n', &buffer[counted.0..first]).count() as u64;
                    counted.0 = first;
                    open = Some((first..last, hit.start()..end, counted.1));
                }
            }
            at = if hit.end() > at { hit.end().max(hit.start() + 1) } else { at + 1 };
        }
        let whole = (block.clone(), block.start..block.start, counted.1);
        let (lines, hit, number) = match open {
            Some(open) => open,
            // The searcher found a match that does not occur again in this block, so the block is the row.
            None => whole,
        };
        self.take_lines(found, buffer, lines, hit, number);
        Ok(())
    }

    fn take_lines(
        &mut self,
        found: &SinkMatch<'_>,
        buffer: &[u8],
        lines: Range<usize>,
        hit: Range<usize>,
        number: u64,
    ) {
        let block = found.bytes_range_in_buffer();
        let offset = found.absolute_byte_offset() + (lines.start - block.start) as u64;
        let hit = hit.start - lines.start..hit.end - lines.start;
        self.take(&buffer[lines], hit, number, offset);
    }
}

impl Sink for Collector<'_> {
    type Error = io::Error;

    fn matched(&mut self, searcher: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.step()?;
        if self.left == 0 {
            self.see_more();
            return Ok(false);
        }
        if searcher.multi_line_with_matcher(self.matcher) {
            self.take_block(found)?;
        } else {
            let line = found.bytes();
            let hit = match self.collect.mode {
                Mode::Content => {
                    // The searcher also hides the line terminator from the matcher.
                    let inside = match searcher.line_terminator().is_crlf() {
                        true => without_end(line),
                        false => line.strip_suffix(b"\n").unwrap_or(line),
                    };
                    let found = self.matcher.find(inside).map_err(io::Error::other)?;
                    found.map_or(0..0, |hit| hit.start()..hit.end())
                }
                Mode::FilesWithMatches | Mode::Count => 0..0,
            };
            self.take(line, hit, found.line_number().unwrap_or(0), found.absolute_byte_offset());
        }
        Ok(self.goes_on())
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        self.step()?;
        let line_number = clamp(context.line_number().unwrap_or(0));
        match (context.kind(), self.last) {
            (SinkContextKind::After, Some(row)) if self.after_left > 0 => {
                let text = lossy(without_end(context.bytes()));
                self.rows.push_after(row, line_number, &line_start(&text, self.collect.width));
                self.after_left -= 1;
                Ok(self.goes_on())
            }
            (SinkContextKind::Before, _) if self.left > 0 => {
                if self.file.is_none() {
                    self.file = Some(self.rows.open_file(self.path));
                }
                let text = lossy(without_end(context.bytes()));
                let numbers = self.rows.push_text(line_number, &line_start(&text, self.collect.width));
                self.before.push(numbers);
                Ok(true)
            }
            // The context before a match that is not needed any more.
            (SinkContextKind::Before, _) => {
                self.see_more();
                Ok(false)
            }
            _ => Ok(true),
        }
    }

    fn binary_data(&mut self, _: &Searcher, offset: u64) -> io::Result<bool> {
        self.see_nul(Some(offset));
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.see_nul(finish.binary_byte_offset());
        Ok(())
    }
}

/// Returns a line without its `\n` or `\r\n`.
fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Returns the character boundary at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at)
}
