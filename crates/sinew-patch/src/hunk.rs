//! Hunks of unified diffs.

use sinew_base::Result;

use crate::lines::damaged;

/// A hunk: old lines, and the lines that replace them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk<'t> {
    /// The line of the patch where the hunk begins, from 1.
    pub line: usize,
    /// The first old line that the patch specifies; 0 for a hunk without old lines at the start.
    pub old_start: usize,
    /// The first new line that the patch specifies.
    pub new_start: usize,
    /// The lines, in the order of the patch.
    pub lines: Vec<HunkLine<'t>>,
}

/// A line of a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HunkLine<'t> {
    /// The texts that contain the line.
    pub kind: LineKind,
    /// The line with its `\n`, or without one if the patch says that the file does not end with a newline.
    pub text: &'t [u8],
}

/// The texts that contain a line: the old, the new, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// Both.
    Context,
    /// The old text.
    Removed,
    /// The new text.
    Added,
}

impl<'t> Hunk<'t> {
    /// Returns the lines of the old text.
    pub(crate) fn old_lines(&self) -> impl Iterator<Item = &'t [u8]> {
        self.lines.iter().filter(|line| line.kind != LineKind::Added).map(|line| line.text)
    }

    /// Returns the number of lines of one kind.
    pub(crate) fn count(&self, kind: LineKind) -> usize {
        self.lines.iter().filter(|line| line.kind == kind).count()
    }

    /// Returns the number of context lines at the start and at the end.
    pub(crate) fn context(&self) -> (usize, usize) {
        let is_context = |line: &&HunkLine<'_>| line.kind == LineKind::Context;
        (self.lines.iter().take_while(is_context).count(), self.lines.iter().rev().take_while(is_context).count())
    }
}

/// The lines of a patch, and the position of the next one.
pub(crate) struct Reader<'t> {
    lines: Vec<&'t [u8]>,
    at: usize,
}

impl<'t> Reader<'t> {
    pub(crate) fn new(text: &'t [u8]) -> Reader<'t> {
        Reader { lines: crate::lines::lines_of(text).collect(), at: 0 }
    }

    /// Returns the next line with its line end; `None` at the end.
    pub(crate) fn peek(&self) -> Option<&'t [u8]> {
        self.lines.get(self.at).copied()
    }

    /// Returns the line `ahead` lines after the next one; empty beyond the end.
    pub(crate) fn ahead(&self, ahead: usize) -> &'t [u8] {
        self.lines.get(self.at + ahead).copied().unwrap_or_default()
    }

    pub(crate) fn skip(&mut self) {
        self.at += 1;
    }

    /// Returns the number of the next line, from 1.
    pub(crate) fn number(&self) -> usize {
        self.at + 1
    }
}

/// The header of a hunk: the first line and the number of lines, old and new.
#[derive(Clone, Copy)]
struct HunkHeader {
    old: (usize, usize),
    new: (usize, usize),
}

/// Parses `@@ -1,2 +3,4 @@ …`. Numbers beyond `usize` are clamped.
fn header(line: &[u8]) -> Option<HunkHeader> {
    let rest = line.strip_prefix(b"@@ -")?;
    let (old, rest) = range(rest)?;
    let (new, rest) = range(rest.strip_prefix(b" +")?)?;
    rest.starts_with(b" @@").then_some(HunkHeader { old, new })
}

fn range(text: &[u8]) -> Option<((usize, usize), &[u8])> {
    let (start, rest) = number(text)?;
    match rest.strip_prefix(b",") {
        Some(rest) => number(rest).map(|(count, rest)| ((start, count), rest)),
        None => Some(((start, 1), rest)),
    }
}

fn number(text: &[u8]) -> Option<(usize, &[u8])> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let value = text[..digits]
        .iter()
        .fold(0_usize, |value, digit| value.saturating_mul(10).saturating_add(usize::from(digit - b'0')));
    (digits > 0).then(|| (value, &text[digits..]))
}

/// Parses the hunks of the file `name`, which begin at the next line; empty if there is none.
pub(crate) fn hunks<'t>(reader: &mut Reader<'t>, name: &str) -> Result<Vec<Hunk<'t>>> {
    let mut hunks = Vec::new();
    while reader.peek().is_some_and(|line| line.starts_with(b"@@")) {
        hunks.push(hunk(reader, name, hunks.len() + 1)?);
    }
    let surplus = reader.peek().unwrap_or_default();
    let next_file = surplus.starts_with(b"--- ") && reader.ahead(1).starts_with(b"+++ ");
    // An e-mail ends with such a line and the version of git.
    let signature = matches!(surplus, b"-- \n" | b"--\n" | b"-- \r\n");
    if !hunks.is_empty() && matches!(surplus.first(), Some(b'+' | b'-')) && !next_file && !signature {
        let number = hunks.len();
        return Err(damaged(
            reader.number(),
            format!("{name}: hunk {number} has more lines than its header announces"),
        ));
    }
    Ok(hunks)
}

fn hunk<'t>(reader: &mut Reader<'t>, name: &str, number: usize) -> Result<Hunk<'t>> {
    let line = reader.number();
    let announced = reader.peek().and_then(header).ok_or_else(|| {
        damaged(line, format!("{name}: the header of hunk {number} is not of the form `@@ -1,2 +1,2 @@`"))
    })?;
    reader.skip();
    let (mut old, mut new) = (announced.old.1, announced.new.1);
    let mut lines: Vec<HunkLine<'t>> = Vec::new();
    while old > 0 || new > 0 {
        let fault = |reason: &str| {
            let (has_old, has_new) = (announced.old.1 - old, announced.new.1 - new);
            let HunkHeader { old: (_, want_old), new: (_, want_new) } = announced;
            let counts =
                format!("it announces {want_old} old and {want_new} new lines and has {has_old} and {has_new}");
            Err(damaged(reader.number(), format!("{name}: hunk {number} {reason}; {counts}")))
        };
        let Some(text) = reader.peek() else { return fault("is cut off") };
        let (kind, text) = match text.first() {
            Some(b'\\') if is_end_mark(text) => {
                unterminate(&mut lines);
                reader.skip();
                continue;
            }
            _ if !text.ends_with(b"\n") => return fault("is cut off"),
            Some(b' ') => (LineKind::Context, &text[1..]),
            // Editors strip the space of an empty context line.
            Some(b'\n') => (LineKind::Context, text),
            Some(b'-') => (LineKind::Removed, &text[1..]),
            Some(b'+') => (LineKind::Added, &text[1..]),
            _ => return fault("has a line that begins with neither a blank nor `+` nor `-`"),
        };
        let is_old = usize::from(kind != LineKind::Added);
        let is_new = usize::from(kind != LineKind::Removed);
        if is_old > old || is_new > new {
            return fault("has more lines than its header announces");
        }
        (old, new) = (old - is_old, new - is_new);
        lines.push(HunkLine { kind, text });
        reader.skip();
    }
    if reader.peek().is_some_and(is_end_mark) {
        unterminate(&mut lines);
        reader.skip();
    }
    check_ends(&lines).map_err(|()| {
        damaged(line, format!("{name}: hunk {number} marks a line as having no newline that is not the last one"))
    })?;
    if lines.iter().all(|line| line.kind == LineKind::Context) {
        return Err(damaged(line, format!("{name}: hunk {number} changes nothing")));
    }
    Ok(Hunk { line, old_start: announced.old.0, new_start: announced.new.0, lines })
}

/// Returns true for `\ No newline at end of file`, which programs translate: every translation has this start and this
/// minimum length.
fn is_end_mark(line: &[u8]) -> bool {
    line.starts_with(b"\\ ") && line.len() >= 12
}

/// Removes the newline of the line before the marker.
fn unterminate(lines: &mut [HunkLine<'_>]) {
    if let Some(line) = lines.last_mut() {
        line.text = line.text.strip_suffix(b"\n").unwrap_or(line.text);
    }
}

/// Checks that only the last old and the last new line have no newline.
fn check_ends(lines: &[HunkLine<'_>]) -> Result<(), ()> {
    for other in [LineKind::Added, LineKind::Removed] {
        let mut side = lines.iter().rev().filter(|line| line.kind != other);
        side.next();
        if side.any(|line| !line.text.ends_with(b"\n")) {
            return Err(());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_hunk_headers() {
        let check = |line: &str, expect: Option<[usize; 4]>| {
            let found = header(line.as_bytes()).map(|found| [found.old.0, found.old.1, found.new.0, found.new.1]);
            assert_eq!(found, expect, "{line}");
        };
        check("@@ -1,2 +3,4 @@ fn x()", Some([1, 2, 3, 4]));
        check("@@ -1 +0,0 @@", Some([1, 1, 0, 0]));
        check("@@ -99999999999999999999999,1 +1 @@", Some([usize::MAX, 1, 1, 1]));
        check("@@ --1,3 +1,3 @@", None);
        check("@@ -1,3 +1,3", None);
        check("@@ ... @@", None);
        check("@@@ -1 -1 +1 @@@", None);
    }

    #[test]
    fn rejects_damaged_hunks_with_the_line() {
        let check = |text: &str, expect: &str| {
            let error = hunks(&mut Reader::new(text.as_bytes()), "f").unwrap_err();
            assert!(error.message().contains(expect), "{text:?}: {error}");
        };
        check(
            "@@ -1,2 +1,2 @@\n a\n-b\n",
            "line 4 of the patch: f: hunk 1 is cut off; it announces 2 old and 2 new lines and has 2 and 1",
        );
        check("@@ -1 +1 @@\n-a\n+b\n+c\n", "line 4 of the patch: f: hunk 1 has more lines");
        check("@@ -1,2 +1,2 @@\n a\nb\n", "line 3 of the patch: f: hunk 1 has a line that begins with neither");
        check("@@ -1,2 +1,2 @@\n-a\n\\ No newline at end of file\n+A\n b\n", "no newline that is not the last one");
        check("@@ -1 +1 @@\n a\n", "changes nothing");
        check("@@ -0,0 +0,0 @@\n", "changes nothing");
        check("@@ -1 +1 @@\n-a\n+b\n@@ what @@\n", "line 4 of the patch: f: the header of hunk 2");
    }
}
