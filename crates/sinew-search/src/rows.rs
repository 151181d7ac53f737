//! Search results as one text and one list of numbers: ten thousand rows need two allocations, cross a language
//! boundary as two values, and are read in order.
//!
//! The numbers, each a `u32`:
//!
//! ```text
//! file     path bytes, path units, rows in this file, then its rows
//! row      line number, column, byte offset (low, high), match count, flags (1 = truncated),
//!          line bytes, line units, lines before, lines after, then its lines before and after
//! context  line number, line bytes, line units
//! ```
//!
//! The text contains, in this order and without separators: the path of each file, and for each row the lines before,
//! the line, and the lines after. *Units* are UTF-16 code units, which other languages use for lengths.

/// The count of numbers per file, row and context line.
const FILE: usize = 3;
const ROW: usize = 10;
const CONTEXT: usize = 3;
/// Flag: the line was cut to a window.
const TRUNCATED: u32 = 1;

/// Rows in path order, then line order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rows {
    text: String,
    numbers: Vec<u32>,
    rows: usize,
}

/// One match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row<'a> {
    /// The path relative to the searched directory, with `/` separators; the given path if a single file was searched.
    pub path: &'a str,
    /// The line number from 1; 0 in a row that represents a file.
    pub line_number: u32,
    /// The line without its terminator; several lines if the match spans them.
    pub line: &'a str,
    /// The start of the match, in characters of the complete line, from 1; 0 in a row that represents a file.
    pub column: u32,
    /// The start of the match, in bytes from the start of the file. In a UTF-16 file, the offset in the text as UTF-8,
    /// without its byte order mark.
    pub byte_offset: u64,
    /// True if the line was cut to a window.
    pub truncated: bool,
    /// The number of rows of the file (matching lines; with `multiline`, matches on distinct lines); `None` except in
    /// rows of [`crate::Mode::Count`].
    pub match_count: Option<u32>,
    /// The lines before the match, except those that another row shows.
    pub before: Vec<ContextLine<'a>>,
    /// The lines after the match, except those that another row shows.
    pub after: Vec<ContextLine<'a>>,
}

/// A line beside a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextLine<'a> {
    /// The line number from 1.
    pub line_number: u32,
    /// The line without its terminator.
    pub line: &'a str,
}

/// The fields of a row apart from its lines.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Head {
    pub(crate) line_number: u32,
    pub(crate) column: u32,
    pub(crate) byte_offset: u64,
    pub(crate) match_count: u32,
    pub(crate) truncated: bool,
}

impl Rows {
    /// Returns the number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Returns true if there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Returns the rows in order.
    #[must_use]
    pub fn iter(&self) -> Iter<'_> {
        Iter { text: &self.text, numbers: &self.numbers, path: "", left: 0 }
    }

    /// Returns the text and the numbers in the format that the module documentation describes.
    #[must_use]
    pub fn into_columns(self) -> (String, Vec<u32>) {
        (self.text, self.numbers)
    }

    /// Returns the size of the rows in memory, in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.text.len() + self.numbers.len() * size_of::<u32>()
    }

    pub(crate) fn append(&mut self, other: &Rows) {
        self.text.push_str(&other.text);
        self.numbers.extend_from_slice(&other.numbers);
        self.rows += other.rows;
    }

    /// Returns the rows without the first `skip`, at most `take`.
    pub(crate) fn cut(&self, skip: usize, take: usize) -> Rows {
        let mut out = Rows::default();
        let mut file = None;
        for row in self.iter().skip(skip).take(take) {
            let slot = match file {
                Some((path, slot)) if path == row.path => slot,
                _ => out.open_file(row.path),
            };
            file = Some((row.path, slot));
            let before: Vec<_> = row.before.iter().map(|line| out.push_text(line.line_number, line.line)).collect();
            let head = Head {
                line_number: row.line_number,
                column: row.column,
                byte_offset: row.byte_offset,
                match_count: row.match_count.unwrap_or(0),
                truncated: row.truncated,
            };
            let at = out.push_row(slot, head, row.line, &before);
            for line in &row.after {
                out.push_after(at, line.line_number, line.line);
            }
        }
        out
    }

    /// Begins a file; returns its handle for [`Rows::push_row`].
    pub(crate) fn open_file(&mut self, path: &str) -> usize {
        let at = self.numbers.len();
        self.text.push_str(path);
        self.numbers.extend([clamp(path.len()), units(path), 0]);
        at
    }

    /// Appends a context line to the text and returns its numbers, which follow with the row.
    pub(crate) fn push_text(&mut self, line_number: u32, line: &str) -> [u32; CONTEXT] {
        self.text.push_str(line);
        [line_number, clamp(line.len()), units(line)]
    }

    /// Removes context lines that belong to no row.
    pub(crate) fn drop_text(&mut self, lines: &[[u32; CONTEXT]]) {
        let bytes: usize = lines.iter().map(|line| line[1] as usize).sum();
        self.text.truncate(self.text.len() - bytes);
    }

    /// Adds a row to the file `file`; returns its handle for [`Rows::push_after`].
    pub(crate) fn push_row(&mut self, file: usize, head: Head, line: &str, before: &[[u32; CONTEXT]]) -> usize {
        let at = self.numbers.len();
        self.text.push_str(line);
        self.numbers.extend([
            head.line_number,
            head.column,
            head.byte_offset as u32,
            (head.byte_offset >> 32) as u32,
            head.match_count,
            if head.truncated { TRUNCATED } else { 0 },
            clamp(line.len()),
            units(line),
            clamp(before.len()),
            0,
        ]);
        self.numbers.extend(before.iter().flatten());
        self.numbers[file + FILE - 1] += 1;
        self.rows += 1;
        at
    }

    /// Adds a context line after `row`, which must be the last row.
    pub(crate) fn push_after(&mut self, row: usize, line_number: u32, line: &str) {
        let numbers = self.push_text(line_number, line);
        self.numbers.extend(numbers);
        self.numbers[row + ROW - 1] += 1;
    }
}

impl<'a> IntoIterator for &'a Rows {
    type Item = Row<'a>;
    type IntoIter = Iter<'a>;
    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// The rows of [`Rows`], in order.
#[derive(Debug, Clone)]
pub struct Iter<'a> {
    text: &'a str,
    numbers: &'a [u32],
    path: &'a str,
    left: u32,
}

impl<'a> Iter<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u32; N]> {
        let (head, rest) = self.numbers.split_first_chunk::<N>()?;
        self.numbers = rest;
        Some(*head)
    }

    fn text(&mut self, bytes: u32) -> &'a str {
        let (head, rest) = self.text.split_at(bytes as usize);
        self.text = rest;
        head
    }

    fn context(&mut self, numbers: &[u32]) -> Vec<ContextLine<'a>> {
        let lines = numbers.chunks_exact(CONTEXT);
        lines.map(|line| ContextLine { line_number: line[0], line: self.text(line[1]) }).collect()
    }
}

impl<'a> Iterator for Iter<'a> {
    type Item = Row<'a>;

    fn next(&mut self) -> Option<Row<'a>> {
        while self.left == 0 {
            let [bytes, _, rows] = self.take::<FILE>()?;
            self.path = self.text(bytes);
            self.left = rows;
        }
        self.left -= 1;
        let [line_number, column, low, high, count, flags, bytes, _, before, after] = self.take::<ROW>()?;
        let (before_lines, rest) = self.numbers.split_at(before as usize * CONTEXT);
        let (after_lines, rest) = rest.split_at(after as usize * CONTEXT);
        self.numbers = rest;
        let before = self.context(before_lines);
        let line = self.text(bytes);
        let after = self.context(after_lines);
        Some(Row {
            path: self.path,
            line_number,
            line,
            column,
            byte_offset: u64::from(high) << 32 | u64::from(low),
            truncated: flags & TRUNCATED != 0,
            match_count: (count > 0).then_some(count),
            before,
            after,
        })
    }
}

/// Converts a number; larger ones become the maximum `u32`.
pub(crate) fn clamp(number: impl TryInto<u32>) -> u32 {
    number.try_into().unwrap_or(u32::MAX)
}

/// Returns the length in UTF-16 code units.
fn units(text: &str) -> u32 {
    if text.is_ascii() {
        return clamp(text.len());
    }
    clamp(text.chars().map(char::len_utf16).sum::<usize>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Rows {
        let mut rows = Rows::default();
        let file = rows.open_file("a/ä.txt");
        let before = [rows.push_text(1, "one"), rows.push_text(2, "zwölf")];
        let head = Head { line_number: 3, column: 2, byte_offset: 5_000_000_000, ..Head::default() };
        let row = rows.push_row(file, head, "x😀y", &before);
        rows.push_after(row, 4, "end");
        rows.push_row(file, Head { line_number: 9, column: 1, truncated: true, ..Head::default() }, "z...", &[]);
        let file = rows.open_file("b");
        rows.push_row(file, Head { match_count: 7, ..Head::default() }, "", &[]);
        rows
    }

    #[test]
    fn rows_round_trip() {
        let rows = sample();
        let all: Vec<Row> = rows.iter().collect();
        assert_eq!(all.len(), rows.len());
        assert_eq!((all[0].path, all[0].line, all[0].byte_offset), ("a/ä.txt", "x😀y", 5_000_000_000));
        assert_eq!(all[0].before[1], ContextLine { line_number: 2, line: "zwölf" });
        assert_eq!(all[0].after, [ContextLine { line_number: 4, line: "end" }]);
        assert_eq!((all[1].path, all[1].line, all[1].truncated), ("a/ä.txt", "z...", true));
        assert_eq!((all[2].path, all[2].match_count), ("b", Some(7)));
    }

    #[test]
    fn skipping_and_limiting_keeps_whole_rows() {
        let rows = sample();
        for (skip, take) in [(0, 3), (0, 1), (1, 1), (1, 5), (2, 1), (3, 1), (0, 0)] {
            let cut = rows.cut(skip, take);
            let expect: Vec<Row> = rows.iter().skip(skip).take(take).collect();
            assert_eq!(cut.iter().collect::<Vec<_>>(), expect);
            assert_eq!(cut.len(), expect.len());
        }
        let mut joined = rows.cut(0, 1);
        joined.append(&rows.cut(1, 2));
        assert_eq!(joined.iter().collect::<Vec<_>>(), rows.iter().collect::<Vec<_>>());
    }

    #[test]
    fn counts_utf_16_units() {
        let numbers = sample().into_columns().1;
        assert_eq!(&numbers[..3], [8, 7, 2]);
        assert_eq!(&numbers[9..11], [6, 4]);
    }
}
