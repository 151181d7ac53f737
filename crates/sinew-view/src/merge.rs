//! Merges two changes of a text.

use std::ops::Range;

use sinew_base::{CancelToken, Result};
use sinew_diff::{ChangeKind, DiffOptions, diff};

/// The result of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Merge {
    /// Both changes are in the text.
    Clean(Vec<u8>),
    /// The changes overlap; the text has them between conflict markers.
    Conflict(Vec<u8>),
}

/// Returns true if git would treat the content as binary.
pub(crate) fn is_binary(content: &[u8]) -> bool {
    content.iter().take(8_000).any(|byte| *byte == 0)
}

/// Returns a text with one character per byte, which compares like the bytes.
pub(crate) fn as_text(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

/// Returns the bytes of a text from [`as_text`]; other characters become UTF-8.
pub(crate) fn as_bytes(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for c in text.chars() {
        match u8::try_from(c) {
            Ok(byte) => bytes.push(byte),
            Err(_) => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes
}

/// A replacement of lines of the base.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hunk<'t> {
    base: Range<usize>,
    lines: Vec<&'t str>,
}

/// Returns the replacements that turn the base into the other text.
fn hunks<'t>(base: &'t str, other: &'t str, cancel: &CancelToken) -> Result<Vec<Hunk<'t>>> {
    let mut hunks: Vec<Hunk<'t>> = Vec::new();
    let mut at = 0;
    let mut is_open = false;
    for change in diff(base, other, &DiffOptions::default(), cancel)? {
        let lines: Vec<&str> = change.text.split_inclusive('\n').collect();
        if change.kind == ChangeKind::Equal {
            at += lines.len();
            is_open = false;
            continue;
        }
        if !is_open {
            hunks.push(Hunk { base: at..at, lines: Vec::new() });
            is_open = true;
        }
        let Some(hunk) = hunks.last_mut() else { continue };
        if change.kind == ChangeKind::Removed {
            at += lines.len();
            hunk.base.end = at;
        } else {
            hunk.lines.extend(lines);
        }
    }
    Ok(hunks)
}

/// Returns the lines of one side in a range of the base that contains whole hunks.
fn side<'t>(base: &[&'t str], hunks: &[Hunk<'t>], range: &Range<usize>) -> Vec<&'t str> {
    let mut lines = Vec::new();
    let mut at = range.start;
    for hunk in hunks {
        lines.extend_from_slice(&base[at..hunk.base.start]);
        lines.extend_from_slice(&hunk.lines);
        at = hunk.base.end;
    }
    lines.extend_from_slice(&base[at..range.end]);
    lines
}

/// Merges the changes from `base` to `ours` and to `theirs`, line by line. Changes that overlap or touch each other
/// conflict, unless both sides made the same change, as in `git merge-file`.
///
/// # Errors
/// Returns an error if a text has too many lines or if the call is cancelled.
pub(crate) fn merge(base: &[u8], ours: &[u8], theirs: &[u8], cancel: &CancelToken) -> Result<Merge> {
    let [base, ours, theirs] = [as_text(base), as_text(ours), as_text(theirs)];
    let lines: Vec<&str> = base.split_inclusive('\n').collect();
    let (mut left, mut right) = (&hunks(&base, &ours, cancel)?[..], &hunks(&base, &theirs, cancel)?[..]);
    let mut out = String::with_capacity(ours.len().max(theirs.len()));
    let mut is_clean = true;
    let mut at = 0;
    loop {
        let start = match (left.first(), right.first()) {
            (None, None) => break,
            (Some(one), None) | (None, Some(one)) => one.base.start,
            (Some(one), Some(two)) => one.base.start.min(two.base.start),
        };
        // Collects the hunks that overlap or touch each other.
        let mut range = start..start;
        let (mut from_left, mut from_right) = (0, 0);
        loop {
            let touches = |hunk: Option<&Hunk<'_>>| hunk.is_some_and(|hunk| hunk.base.start <= range.end);
            if touches(left.get(from_left)) {
                range.end = range.end.max(left[from_left].base.end);
                from_left += 1;
            } else if touches(right.get(from_right)) {
                range.end = range.end.max(right[from_right].base.end);
                from_right += 1;
            } else {
                break;
            }
        }
        out.extend(lines[at..range.start].iter().copied());
        let ours = side(&lines, &left[..from_left], &range);
        let theirs = side(&lines, &right[..from_right], &range);
        if from_right == 0 || ours == theirs {
            out.extend(ours);
        } else if from_left == 0 {
            out.extend(theirs);
        } else {
            is_clean = false;
            write_conflict(&mut out, &ours, &theirs);
        }
        at = range.end;
        (left, right) = (&left[from_left..], &right[from_right..]);
    }
    out.extend(lines[at..].iter().copied());
    let bytes = as_bytes(&out);
    Ok(if is_clean { Merge::Clean(bytes) } else { Merge::Conflict(bytes) })
}

/// Writes both sides between markers, without the lines that they have in common at both ends.
fn write_conflict(out: &mut String, ours: &[&str], theirs: &[&str]) {
    let start = ours.iter().zip(theirs).take_while(|(one, two)| one == two).count();
    out.extend(ours[..start].iter().copied());
    let (ours, theirs) = (&ours[start..], &theirs[start..]);
    let end = ours.iter().rev().zip(theirs.iter().rev()).take_while(|(one, two)| one == two).count();
    let block = |out: &mut String, marker: &str, lines: &[&str]| {
        out.push_str(marker);
        out.push('\n');
        out.extend(lines.iter().copied());
        if lines.last().is_some_and(|line| !line.ends_with('\n')) {
            out.push('\n');
        }
    };
    block(out, "<<<<<<< directory", &ours[..ours.len() - end]);
    block(out, "=======", &theirs[..theirs.len() - end]);
    out.push_str(">>>>>>> view\n");
    out.extend(ours[ours.len() - end..].iter().copied());
}
