//! Unified diffs.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;
use std::time::Duration;

use similar::udiff::UnifiedHunkHeader;
use similar::{DiffTag, group_diff_ops};
use sinew_base::{CancelToken, Result};

use crate::tokens::Pieces;
use crate::{EFFORT, Unit, compare};

/// Options of [`unified_diff`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnifiedOptions {
    /// The name of the old file, behind `---`. Default: `a`.
    pub old_name: String,
    /// The name of the new file, behind `+++`. Default: `b`.
    pub new_name: String,
    /// Unchanged lines around each change. Default: 3.
    pub context: usize,
    /// As for [`DiffOptions`](crate::DiffOptions). Default: 500 ms.
    pub effort: Duration,
}

impl Default for UnifiedOptions {
    fn default() -> UnifiedOptions {
        UnifiedOptions { old_name: "a".to_owned(), new_name: "b".to_owned(), context: 3, effort: EFFORT }
    }
}

/// Writes the difference of two texts as a unified diff; nothing where they are equal.
///
/// `patch` and `git apply` make the new text of the old one by it, byte for byte. A file name is quoted as git does it where it holds control
/// characters, quotes or backslashes. Costs and cancellation are those of [`diff`](crate::diff).
///
/// # Errors
/// As [`diff`](crate::diff).
pub fn unified_diff(old: &str, new: &str, options: &UnifiedOptions, cancel: &CancelToken) -> Result<String> {
    let (old, new) = Pieces::pair(old, new, Unit::Line, cancel)?;
    let ops = compare::compare(&old, &new, options.effort, cancel)?;
    let mut out = String::new();
    // A span of more lines than there are would overflow where it is doubled.
    for hunk in group_diff_ops(ops, options.context.min(crate::PIECES)) {
        if hunk.iter().all(|op| op.tag() == DiffTag::Equal) {
            continue;
        }
        if out.is_empty() {
            let _ = write!(out, "--- {}\n+++ {}\n", file_name(&options.old_name), file_name(&options.new_name));
        }
        let _ = writeln!(out, "{}", UnifiedHunkHeader::new(&hunk));
        for op in &hunk {
            if op.tag() == DiffTag::Equal {
                lines(&mut out, ' ', &old, op.old_range());
            } else {
                lines(&mut out, '-', &old, op.old_range());
                lines(&mut out, '+', &new, op.new_range());
            }
        }
    }
    Ok(out)
}

fn lines(out: &mut String, mark: char, text: &Pieces<'_>, range: Range<usize>) {
    for line in text.text(range).split_inclusive('\n') {
        out.push(mark);
        out.push_str(line);
        if !line.ends_with('\n') {
            out.push_str("\n\\ No newline at end of file\n");
        }
    }
}

/// A name as the tools read it: in quotes where a character would end it or be lost, and with a tab behind it where
/// a blank would end it.
fn file_name(name: &str) -> Cow<'_, str> {
    if name.contains(|c: char| c.is_ascii_control() || c == '"' || c == '\\') {
        let mut quoted = String::from("\"");
        for c in name.chars() {
            match c {
                '"' | '\\' => quoted.extend(['\\', c]),
                '\n' => quoted.push_str("\\n"),
                '\t' => quoted.push_str("\\t"),
                c if c.is_ascii_control() => {
                    let _ = write!(quoted, "\\{:03o}", u32::from(c));
                }
                c => quoted.push(c),
            }
        }
        quoted.push('"');
        return quoted.into();
    }
    if name.contains(' ') { format!("{name}\t").into() } else { name.into() }
}
