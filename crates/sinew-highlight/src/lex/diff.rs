//! Differences between files.

use super::scan::Line;
use crate::category::Category::{self, Comment, Deleted, Inserted, Keyword, Plain, Type};

/// The state of the lexer between lines: the number of remaining lines of the open hunk in either file. This
/// distinguishes a removed line that begins with `-- ` from a file header.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Diff {
    old: u32,
    new: u32,
}

impl Diff {
    pub(crate) fn line(&mut self, line: &mut Line<'_, '_, '_>) {
        if let Some(category) = self.in_hunk(line.first()) {
            return line.rest(category);
        }
        *self = hunk(line.text).unwrap_or_default();
        header(line);
    }

    /// Counts a line of the open hunk and returns its category; `None` if no hunk is open, or if the line does not
    /// belong to it.
    fn in_hunk(&mut self, first: u8) -> Option<Category> {
        let (old, new, category) = match first {
            // Some programs drop the blank of an empty line.
            b' ' | 0 => (1, 1, Plain),
            b'-' => (1, 0, Deleted),
            b'+' => (0, 1, Inserted),
            b'\\' if *self != Diff::default() => (0, 0, Plain),
            _ => return None,
        };
        if self.old < old || self.new < new || *self == Diff::default() {
            return None;
        }
        (self.old, self.new) = (self.old - old, self.new - new);
        Some(category)
    }
}

/// Returns the numbers of lines in `@@ -1,2 +1,3 @@`; one if a number is missing.
fn hunk(text: &[u8]) -> Option<Diff> {
    let text = std::str::from_utf8(text.strip_prefix(b"@@ -")?).ok()?;
    let (old, rest) = text.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let count = |range: &str| range.split_once(',').map_or(Some(1), |(_, count)| count.parse().ok());
    Some(Diff { old: count(old)?, new: count(new)? })
}

/// Highlights a line outside a hunk, or in a hunk of unknown length.
fn header(line: &mut Line<'_, '_, '_>) {
    let text = line.text;
    let begins = |prefix: &[u8]| text.starts_with(prefix);
    let category = match line.first() {
        b'+' if begins(b"+++ ") => Keyword,
        b'-' if begins(b"--- ") => Keyword,
        b'+' | b'>' => Inserted,
        b'-' if text == b"---" => Keyword,
        b'-' | b'<' => Deleted,
        b'!' => Inserted,
        b'@' if begins(b"@@") => return range(line),
        b'*' if begins(b"***") => Type,
        b'd' if begins(b"diff ") => Keyword,
        b'I' if begins(b"Index: ") => Keyword,
        b'=' if begins(b"===") => Keyword,
        b'#' => Comment,
        b'0'..=b'9' if text.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b',' | b'a' | b'c' | b'd')) => {
            Type
        }
        _ => Plain,
    };
    line.rest(category);
}

/// Highlights `@@ -1,2 +1,3 @@ context`.
fn range(line: &mut Line<'_, '_, '_>) {
    let end = line.find(b"@@", 2).map_or(line.text.len(), |end| end + 2);
    line.take(end, Type);
    line.rest(Plain);
}
