//! Applies the chunks of the Begin Patch form to a text.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::ControlFlow;

use sinew_base::{CancelToken, Error, ErrorCode, Result};

use crate::hunk::LineKind;
use crate::lines::lines_of;
use crate::nearest::{Mismatch, nearest, shown};
use crate::report::{AppliedText, HunkPlace};
use crate::sequence;

/// A chunk of an `*** Update File`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk<'t> {
    /// The line of the patch where the chunk begins, from 1.
    pub line: usize,
    /// The lines after `@@`, which have to occur in the file in this order before the chunk.
    pub anchors: Vec<&'t [u8]>,
    /// The lines, in the order of the patch.
    pub lines: Vec<ChunkLine<'t>>,
    /// True if `*** End of File` follows: the old lines are the last ones of the file.
    pub at_end: bool,
}

/// A line of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkLine<'t> {
    /// The texts that contain the line.
    pub kind: LineKind,
    /// The line without its line end.
    pub text: &'t [u8],
}

/// A line of the file, and its line end: `\n`, `\r\n`, or nothing at the end of the file.
#[derive(Clone, Copy)]
struct Line<'a> {
    text: &'a [u8],
    end: &'a [u8],
}

impl<'a> Line<'a> {
    fn new(line: &'a [u8]) -> Line<'a> {
        let ending = match line {
            [.., b'\r', b'\n'] => 2,
            [.., b'\n'] => 1,
            _ => 0,
        };
        let (text, end) = line.split_at(line.len() - ending);
        Line { text, end }
    }
}

/// How lines are compared, from the strictest to the loosest. A stricter match anywhere has precedence.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineComparison {
    Equal,
    TrailingBlanks,
    SurroundingBlanks,
    Typography,
}

const LIKENESSES: [LineComparison; 4] = [
    LineComparison::Equal,
    LineComparison::TrailingBlanks,
    LineComparison::SurroundingBlanks,
    LineComparison::Typography,
];

impl LineComparison {
    /// Returns the form in which similar lines are equal.
    fn form(self, line: &[u8]) -> Cow<'_, [u8]> {
        match self {
            LineComparison::Equal => Cow::Borrowed(line),
            LineComparison::TrailingBlanks => Cow::Borrowed(line.trim_ascii_end()),
            LineComparison::SurroundingBlanks => Cow::Borrowed(line.trim_ascii()),
            LineComparison::Typography => match std::str::from_utf8(line) {
                Ok(text) => Cow::Owned(text.chars().map(plain).collect::<String>().trim().as_bytes().to_vec()),
                Err(_) => Cow::Borrowed(line.trim_ascii()),
            },
        }
    }
}

/// Returns the ASCII character for typographic dashes, quotes and spaces.
fn plain(letter: char) -> char {
    match letter {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    }
}

/// The lines of the file, with ids that are equal for equal lines, per likeness.
struct Finder<'a> {
    lines: Vec<Line<'a>>,
    ids: Vec<LineIds<'a>>,
}

/// The id of each form, and the ids of the lines of the file.
type LineIds<'a> = (HashMap<Cow<'a, [u8]>, u32>, Vec<u32>);

impl<'a> Finder<'a> {
    fn new(text: &'a [u8]) -> Finder<'a> {
        Finder { lines: lines_of(text).map(Line::new).collect(), ids: Vec::new() }
    }

    /// Returns the first position of `wanted` at or after `from`; with `at_end` only the last position of the file.
    /// `None` if there is none.
    fn find(&mut self, wanted: &[&[u8]], from: usize, at_end: bool) -> Option<usize> {
        let last = self.lines.len().checked_sub(wanted.len()).filter(|last| *last >= from)?;
        let start = if at_end { last } else { from };
        (0..LIKENESSES.len()).find_map(|level| self.find_alike(level, wanted, start))
    }

    fn find_alike(&mut self, level: usize, wanted: &[&[u8]], start: usize) -> Option<usize> {
        let likeness = LIKENESSES[level];
        while self.ids.len() <= level {
            let likeness = LIKENESSES[self.ids.len()];
            let mut known = HashMap::new();
            let mut ids = Vec::with_capacity(self.lines.len());
            for line in &self.lines {
                let next = known.len() as u32;
                ids.push(*known.entry(likeness.form(line.text)).or_insert(next));
            }
            self.ids.push((known, ids));
        }
        let (known, ids) = &self.ids[level];
        let pattern: Option<Vec<u32>> = wanted.iter().map(|line| known.get(&*likeness.form(line)).copied()).collect();
        let mut found = None;
        sequence::each_match(ids[start..].iter().copied(), &pattern?, |at| {
            found = Some(start + at);
            ControlFlow::Break(())
        });
        found
    }

    fn miss(&self, wanted: &[&[u8]], from: usize) -> Mismatch {
        let text: Vec<&[u8]> = self.lines.iter().map(|line| line.text).collect();
        match nearest(&text, wanted, from) {
            Some(Mismatch::Whole { line }) if line <= from => {
                Mismatch::because(format!("its lines are at line {line}, before the end of the chunk above"))
            }
            Some(Mismatch::Whole { line }) => {
                Mismatch::because(format!("its lines are at line {line}, not at the end of the file"))
            }
            Some(miss) => miss,
            None => Mismatch::because("no line of the file is like the lines that it expects"),
        }
    }
}

/// Lines of the file that are replaced.
struct Replacement<'a, 't> {
    start: usize,
    lines: &'a [ChunkLine<'t>],
}

/// Applies `chunks` to the text of the file `name`. Added lines get the line end of their neighbours.
pub(crate) fn apply(chunks: &[Chunk<'_>], old: &[u8], name: &str, cancel: &CancelToken) -> Result<AppliedText> {
    let mark = "\u{feff}".as_bytes();
    let (mark, body) = old.split_at(if old.starts_with(mark) { mark.len() } else { 0 });
    let mut finder = Finder::new(body);
    let mut from = 0;
    let mut replacements = Vec::with_capacity(chunks.len());
    for (number, chunk) in chunks.iter().enumerate() {
        cancel.check().map_err(Error::aborted)?;
        let place = locate(&mut finder, chunk, from, !mark.is_empty()).map_err(|miss| {
            let message =
                format!("{name}: chunk {} (line {} of the patch) does not match{miss}", number + 1, chunk.line);
            Error::new(ErrorCode::InvalidState, message)
        })?;
        from = place.next;
        replacements.push((number, Replacement { start: place.start, lines: &chunk.lines[..place.used] }));
    }
    replacements.sort_by_key(|(_, replacement)| replacement.start);
    let (lines, mut places) = assemble(&finder.lines, &replacements);
    places.sort_by_key(|(number, _)| *number);
    let mut text = mark.to_vec();
    for line in lines {
        text.extend_from_slice(line.text);
        text.extend_from_slice(line.end);
    }
    let count = |kind| chunks.iter().flat_map(|chunk| &chunk.lines).filter(|line| line.kind == kind).count();
    let places = places.into_iter().map(|(_, line)| HunkPlace { line, offset: 0, fuzz: 0 }).collect();
    Ok(AppliedText { text, places, added: count(LineKind::Added), removed: count(LineKind::Removed) })
}

/// The position of a chunk: its first line, the line where the search of the next chunk begins, and how many of its
/// lines are used.
struct ChunkPlace {
    start: usize,
    next: usize,
    used: usize,
}

fn locate(finder: &mut Finder<'_>, chunk: &Chunk<'_>, mut from: usize, marked: bool) -> Result<ChunkPlace, Mismatch> {
    for anchor in &chunk.anchors {
        let missing = || Mismatch::because(format!("no line below the chunk above is {}", shown(anchor)));
        from = finder.find(&[unmarked(anchor, marked)], from, false).ok_or_else(missing)? + 1;
    }
    let old = chunk.lines.iter().filter(|line| line.kind != LineKind::Added);
    let wanted: Vec<&[u8]> = old.map(|line| unmarked(line.text, marked)).collect();
    let used = chunk.lines.len();
    if wanted.is_empty() {
        let end = finder.lines.len();
        let start = if chunk.anchors.is_empty() || chunk.at_end { end } else { from };
        return Ok(ChunkPlace { start, next: from, used });
    }
    if let Some(start) = finder.find(&wanted, from, chunk.at_end) {
        return Ok(ChunkPlace { start, next: start + wanted.len(), used });
    }
    // An empty line between chunks looks like an empty context line.
    if let [before @ .., b""] = &wanted[..]
        && chunk.lines.last().is_some_and(|line| line.kind == LineKind::Context)
        && !before.is_empty()
        && let Some(start) = finder.find(before, from, chunk.at_end)
    {
        return Ok(ChunkPlace { start, next: start + before.len(), used: used - 1 });
    }
    Err(finder.miss(&wanted, from))
}

/// Removes the byte order mark from a line of the patch if the file has one, because it is also removed from the file's
/// lines.
fn unmarked(line: &[u8], marked: bool) -> &[u8] {
    if marked { line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line) } else { line }
}

/// Returns the new lines, and for each chunk its number and its first new line, from 1.
fn assemble<'a>(
    file: &[Line<'a>],
    replacements: &[(usize, Replacement<'_, 'a>)],
) -> (Vec<Line<'a>>, Vec<(usize, usize)>) {
    let usual = file.iter().map(|line| line.end).find(|end| !end.is_empty()).unwrap_or(b"\n");
    let mut lines: Vec<Line<'a>> = Vec::with_capacity(file.len());
    let mut places = Vec::with_capacity(replacements.len());
    let mut at = 0;
    for (number, replacement) in replacements {
        lines.extend_from_slice(&file[at..replacement.start]);
        at = replacement.start;
        places.push((*number, lines.len() + 1));
        let mut removed: Option<&[u8]> = None;
        for line in replacement.lines {
            match line.kind {
                LineKind::Context => {
                    lines.push(file[at]);
                    (at, removed) = (at + 1, None);
                }
                LineKind::Removed => {
                    removed = removed.or(Some(file[at].end));
                    at += 1;
                }
                LineKind::Added => {
                    let near = removed.or_else(|| lines.last().map(|line| line.end));
                    let end = near.filter(|end| !end.is_empty()).unwrap_or(usual);
                    lines.push(Line { text: line.text, end });
                }
            }
        }
    }
    lines.extend_from_slice(&file[at..]);
    // A line that was the last one without a newline gets one if lines follow it now.
    if let Some((_, before)) = lines.split_last_mut() {
        before.iter_mut().filter(|line| line.end.is_empty()).for_each(|line| line.end = usual);
    }
    (lines, places)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Patch;

    fn patched(old: &str, chunks: &str) -> Result<String, String> {
        let text = format!("*** Begin Patch\n*** Update File: f\n{chunks}*** End Patch\n");
        let patch = Patch::parse(text.as_bytes()).unwrap();
        let applied = crate::apply_to_text(&patch.files[0], old.as_bytes(), 0, &CancelToken::never());
        applied.map(|applied| String::from_utf8(applied.text).unwrap()).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn context_lines_keep_their_text_in_the_file() {
        let check = |old: &str, chunks: &str, expect: &str| assert_eq!(patched(old, chunks).as_deref(), Ok(expect));
        check("    a  \n\tb\n", "@@\n a\n-b\n+B\n", "    a  \nB\n");
        check("“a” – b\nc\n", "@@\n \"a\" - b\n-c\n+C\n", "“a” – b\nC\n");
        check("a\r\nb\r\n", "@@\n a\n+x\n", "a\r\nx\r\nb\r\n");
        check("a\nb", "@@\n b\n+c\n", "a\nb\nc\n");
        check("\u{feff}a\nb\n", "@@\n-a\n+A\n", "\u{feff}A\nb\n");
        check(
            "class A\n  def f\n    1\nclass B\n  def f\n    1\n",
            "@@ class B\n@@ def f\n-    1\n+    2\n",
            "class A\n  def f\n    1\nclass B\n  def f\n    2\n",
        );
    }

    #[test]
    fn a_chunk_that_does_not_match_names_the_nearest_line() {
        let check = |old: &str, chunks: &str, expect: &str| {
            let message = patched(old, chunks).unwrap_err();
            assert!(message.starts_with("f: chunk ") && message.ends_with(expect), "{message}");
        };
        check("a\nb\n", "@@\n a\n-c\n+C\n", "the nearest is line 2: expected \"c\", found \"b\"");
        check("a\nb\n", "@@\n-b\n+B\n@@\n-a\n+A\n", "its lines are at line 1, before the end of the chunk above");
        check("a\nb\n", "@@\n-a\n+A\n*** End of File\n", "its lines are at line 1, not at the end of the file");
        check("a\n", "@@ def h():\n-a\n+A\n", "no line below the chunk above is \"def h():\"");
        check("a\n", "@@\n-12345\n+A\n", "no line of the file is like the lines that it expects");
    }
}
