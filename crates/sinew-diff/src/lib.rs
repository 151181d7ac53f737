//! Compares two texts: as changes by lines or words, and as a unified diff for `patch` and `git apply`.
//!
//! The comparison uses the crate `similar`. A line ends with `\n` only, as in `patch`: a `\r` before it belongs to the
//! line, so that a change of line ends is a change. Texts may contain any characters; texts with too many pieces are
//! rejected.

mod compare;
mod tokens;
mod unified;

use std::time::Duration;

use similar::{DiffOp, DiffTag};
use sinew_base::{CancelToken, Result};

pub use tokens::PIECES;
use tokens::Pieces;
pub use unified::{UnifiedOptions, unified_diff};

/// The unit of comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unit {
    /// Lines, including their line ends.
    #[default]
    Line,
    /// Words as defined by Unicode; punctuation, line ends and runs of blanks are separate pieces.
    Word,
}

impl Unit {
    /// Returns the unit with that name; `None` for an unknown name.
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
    /// The unit of comparison. Default: [`Unit::Line`].
    pub unit: Unit,
    /// The time limit of the search for the shortest difference; what was not compared by then counts as replaced. This
    /// only affects very different texts; small ones (up to 4,000 pieces) are always compared completely. Default: 500
    /// ms.
    pub effort: Duration,
}

/// The default of [`DiffOptions::effort`].
pub(crate) const EFFORT: Duration = Duration::from_millis(500);

impl Default for DiffOptions {
    fn default() -> DiffOptions {
        DiffOptions { unit: Unit::Line, effort: EFFORT }
    }
}

/// The texts that contain a change: the old, the new, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// In both texts.
    Equal,
    /// Only in the old text.
    Removed,
    /// Only in the new text.
    Added,
}

/// A range of text that is in both texts, or only in one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change<'a> {
    /// The texts that contain it.
    pub kind: ChangeKind,
    /// The text, never empty.
    pub text: &'a str,
}

impl Change<'_> {
    /// Returns the length of the text in UTF-16 units, as JavaScript counts.
    #[must_use]
    pub fn utf16_len(&self) -> usize {
        // One unit per character, and a second one for characters of four UTF-8 bytes.
        self.text.bytes().map(|byte| usize::from(byte & 0xC0 != 0x80) + usize::from(byte >= 0xF0)).sum()
    }
}

/// Compares two texts.
///
/// Join every change except `Added` to get the old text; every change except `Removed` to get the new one. A removed
/// text precedes the added one that replaces it. Runs in time linear in the texts, plus the search for the shortest
/// difference, which [`DiffOptions::effort`] limits. Checks `cancel` every 128 pieces, and before and after the
/// comparison.
///
/// # Errors
/// Returns an error if a text has more than [`PIECES`] pieces, and [`Aborted`](sinew_base::Aborted) if `cancel` is set.
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
