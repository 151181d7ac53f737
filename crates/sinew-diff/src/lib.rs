//! Differences of two texts: as changes by lines or words, and as a unified diff that `patch` and `git apply` read.
//!
//! The comparison is that of the crate `similar`. A line ends with `\n` alone, as for `patch`: a `\r` before it is a part of the line, so that
//! a change of line ends is a change. No text is refused for what it holds; one of too many pieces is.

mod compare;
mod tokens;
mod unified;

use std::time::Duration;

use similar::{DiffOp, DiffTag};
use sinew_base::{CancelToken, Result};

pub use tokens::PIECES;
use tokens::Pieces;
pub use unified::{UnifiedOptions, unified_diff};

/// The pieces that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unit {
    /// Lines with their ends.
    #[default]
    Line,
    /// Words as Unicode divides text; punctuation, line ends and runs of blanks are pieces of their own.
    Word,
}

impl Unit {
    /// The unit that options name so.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Unit> {
        match name {
            "line" => Some(Unit::Line),
            "word" => Some(Unit::Word),
            _ => None,
        }
    }
}

/// Options of [`diff`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiffOptions {
    /// The pieces that are compared. Default: [`Unit::Line`].
    pub unit: Unit,
    /// The longest time for the search of the shortest difference; what is not compared by then counts as replaced. Texts that are that
    /// different are rare, and small ones (up to 4,000 pieces) are always compared to the end. Default: 500 ms.
    pub effort: Duration,
}

/// The default of [`DiffOptions::effort`].
pub(crate) const EFFORT: Duration = Duration::from_millis(500);

impl Default for DiffOptions {
    fn default() -> DiffOptions {
        DiffOptions { unit: Unit::Line, effort: EFFORT }
    }
}

/// The side on which the text of a change is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// In both texts.
    Equal,
    /// In the old text alone.
    Removed,
    /// In the new text alone.
    Added,
}

/// A stretch of text that both or only one of two texts have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change<'a> {
    /// The side on which it is found.
    pub kind: ChangeKind,
    /// The stretch, never empty.
    pub text: &'a str,
}

impl Change<'_> {
    /// Returns the length of the text in UTF-16 units, by which JavaScript counts.
    #[must_use]
    pub fn utf16_len(&self) -> usize {
        // One unit per character, and a second one for what UTF-8 writes in four bytes.
        self.text.bytes().map(|byte| usize::from(byte & 0xC0 != 0x80) + usize::from(byte >= 0xF0)).sum()
    }
}

/// Compares two texts.
///
/// The texts of all changes but the added ones, joined, are the old text; those of all but the removed ones the new text. A removed stretch comes
/// before the added one that took its place. The time is linear in the texts, and that of the search for the shortest difference besides, which
/// [`DiffOptions::effort`] limits. Looks at `cancel` every 128 pieces, and before and after the comparison.
///
/// # Errors
/// More than [`PIECES`] pieces in one text; [`Aborted`](sinew_base::Aborted) when `cancel` ended it.
pub fn diff<'a>(old: &'a str, new: &'a str, options: &DiffOptions, cancel: &CancelToken) -> Result<Vec<Change<'a>>> {
    let (old, new) = Pieces::pair(old, new, options.unit, cancel)?;
    let ops = compare::compare(&old, &new, options.effort, cancel)?;
    let mut changes = Vec::with_capacity(ops.len());
    for op in &ops {
        let mut add = |kind, text: &'a str| {
            if !text.is_empty() {
                changes.push(Change { kind, text });
            }
        };
        if op.tag() == DiffTag::Equal {
            add(ChangeKind::Equal, old.text(op.old_range()));
        } else {
            add(ChangeKind::Removed, old.text(op.old_range()));
            add(ChangeKind::Added, new.text(op.new_range()));
        }
    }
    Ok(changes)
}

/// The operations of a comparison, in order and without gaps.
type Ops = Vec<DiffOp>;
