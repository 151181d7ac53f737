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
    /// The name of the old file after `---`. Default: `a`.
    pub old_name: String,
    /// The name of the new file after `+++`. Default: `b`.
    pub new_name: String,
    /// The number of unchanged lines around each change. Default: 3.
    pub context: usize,
    /// The time limit, as in [`DiffOptions`](crate::DiffOptions). Default: 500 ms.
    pub effort: Duration,
}

impl Default for UnifiedOptions {
    fn default() -> UnifiedOptions {
        UnifiedOptions { old_name: "a".to_owned(), new_name: "b".to_owned(), context: 3, effort: EFFORT }
    }
}

/// Formats the difference of two texts as a unified diff; empty if they are equal.
///
/// `patch` and `git apply` reproduce the new text from the old one, byte for byte. A file name that contains control
/// characters, quotes or backslashes is quoted as in git. Running time and cancellation are those of
/// [`diff`](crate::diff).
///
/// # Errors
/// Returns the errors of [`diff`](crate::diff).
pub fn unified_diff(old: &str, new: &str, options: &UnifiedOptions, cancel: &CancelToken) -> Result<String> {
    let (old, new) = Pieces::pair(old, new, Unit::Line, cancel)?;
    let ops = compare::compare(&old, &new, options.effort, cancel)?;
    let mut out = String::new();
    // A context of more lines than the limit would overflow when it is doubled.
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

/// Returns a name as the tools parse it: quoted if it contains characters that would end it or be lost, and followed by
/// a tab if it contains a blank.
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
