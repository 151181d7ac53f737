//! A file as lines, and changes applied to them.

use std::ops::Range;

use crate::line_patch::{ChangePosition, Op};

/// The content of a file, split into lines. Concatenating them yields the same bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lines<'a> {
    bom: bool,
    /// With line ends; only the last line may have none.
    all: Vec<&'a [u8]>,
    /// The line end of new lines.
    end: &'static [u8],
}

/// A change by line numbers from 0; an empty range is an insertion before its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hunk {
    pub(super) at: Range<usize>,
    pub(super) body: Vec<String>,
}

/// The new content, and which of its lines (from 0) the patch added or the model knew before.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PatchResult {
    pub(super) content: Vec<u8>,
    pub(super) known: Vec<Range<usize>>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(content: &'a [u8]) -> Lines<'a> {
        let bare = content.strip_prefix(b"\xef\xbb\xbf");
        let text = bare.unwrap_or(content);
        let all: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
        let windows = all.iter().filter(|line| line.ends_with(b"\r\n")).count();
        let ended = all.iter().filter(|line| line.ends_with(b"\n")).count();
        Lines { bom: bare.is_some(), all, end: if windows * 2 > ended { b"\r\n" } else { b"\n" } }
    }

    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    /// Returns the lines without line ends.
    pub(super) fn bare(&self) -> impl Iterator<Item = &'a [u8]> {
        self.all.iter().map(|line| crate::read_tracker::bare(line))
    }

    /// Returns a line without its line end; `None` if there is no such line.
    pub(super) fn line(&self, index: usize) -> Option<&'a [u8]> {
        self.all.get(index).map(|line| crate::read_tracker::bare(line))
    }

    /// Returns the changes as sorted hunks; those at the same position keep their order.
    ///
    /// # Errors
    /// Returns a text that contains `name` if a line is beyond the end, or if two changes overlap.
    pub(super) fn hunks(&self, name: &str, ops: &[Op]) -> Result<Vec<Hunk>, String> {
        let count = self.count();
        let mut hunks = Vec::with_capacity(ops.len());
        for op in ops {
            let (at, last) = match &op.at {
                ChangePosition::Lines(range) => (range.clone(), range.end),
                ChangePosition::Between { at, named } => (*at..*at, *named),
                ChangePosition::Start => (0..0, 0),
                ChangePosition::End => (count..count, 0),
            };
            if last > count {
                return Err(format!("Line {last} is beyond the end of {name}: its last line is {count}."));
            }
            hunks.push(Hunk { at, body: op.body.clone() });
        }
        // An insertion precedes the lines that begin at its position.
        hunks.sort_by_key(|hunk| (hunk.at.start, !hunk.at.is_empty()));
        let mut end = 0;
        for hunk in &hunks {
            if hunk.at.start < end {
                let (first, last) = (hunk.at.start + 1, hunk.at.end.min(end).max(hunk.at.start + 1));
                return Err(format!("Ops overlap at lines {first}..{last} in {name}."));
            }
            end = end.max(hunk.at.end);
        }
        Ok(hunks)
    }

    /// Returns a line, the line end that it has or gets if another line follows it, and `known`.
    fn split(&self, index: usize, known: bool) -> (&'a [u8], &'a [u8], bool) {
        let line = self.all[index];
        // A lone carriage return at the very end is content.
        let bare = if line.ends_with(b"\n") { crate::read_tracker::bare(line) } else { line };
        let own = &line[bare.len()..];
        (bare, if own.is_empty() { self.end } else { own }, known)
    }

    /// Applies sorted hunks that do not overlap. Other lines are unchanged byte for byte, and the file keeps its last
    /// line end or its absence. `known` are the lines that the model knows.
    pub(super) fn apply(&self, hunks: &[Hunk], known: &[Range<usize>]) -> PatchResult {
        // Each line, its line end, and whether it is known.
        let mut out: Vec<(&[u8], &[u8], bool)> = Vec::with_capacity(self.count());
        let mut at = 0;
        let is_known = |index: usize| {
            let behind = known.partition_point(|range| range.end <= index);
            known.get(behind).is_some_and(|range| range.contains(&index))
        };
        for hunk in hunks {
            out.extend((at..hunk.at.start).map(|index| self.split(index, is_known(index))));
            out.extend(hunk.body.iter().zip(hunk.at.start..).map(|(line, index)| {
                // A new line gets the line end of the line that it replaces.
                let end = if index < hunk.at.end { self.split(index, true).1 } else { self.end };
                (line.as_bytes(), end, true)
            }));
            at = hunk.at.end;
        }
        out.extend((at..self.count()).map(|index| self.split(index, is_known(index))));
        let ended = self.all.last().is_none_or(|line| line.ends_with(b"\n"));
        let mut content = if self.bom { b"\xef\xbb\xbf".to_vec() } else { Vec::new() };
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let last = out.len().wrapping_sub(1);
        for (index, (line, end, known)) in out.into_iter().enumerate() {
            content.extend_from_slice(line);
            if index != last || ended {
                content.extend_from_slice(end);
            }
            if known {
                match ranges.last_mut() {
                    Some(range) if range.end == index => range.end += 1,
                    _ => ranges.push(index..index + 1),
                }
            }
        }
        PatchResult { content, known: ranges }
    }
}

/// Moves hunks of `base` to `now`, a version with other changes. `None` if another change overlaps or directly adjoins
/// one of the hunks.
pub(super) fn moved(base: &Lines<'_>, now: &Lines<'_>, hunks: &[Hunk]) -> Option<Vec<Hunk>> {
    let (old, new): (Vec<&[u8]>, Vec<&[u8]>) = (base.bare().collect(), now.bare().collect());
    let deadline = std::time::Instant::now() + std::time::Duration::from_millis(500);
    let theirs = similar::capture_diff_slices_deadline(similar::Algorithm::Myers, &old, &new, Some(deadline));
    hunks
        .iter()
        .map(|hunk| {
            let shift = theirs.iter().find_map(|op| {
                let (old, new) = (op.old_range(), op.new_range());
                if op.tag() != similar::DiffTag::Equal {
                    return None;
                }
                // The lines on both sides are unchanged, unless the file begins or ends there in both versions.
                let start =
                    old.start < hunk.at.start || (old.start == hunk.at.start && old.start == 0 && new.start == 0);
                let ends = old.end == base.count() && new.end == now.count();
                let end = hunk.at.end < old.end || (hunk.at.end == old.end && ends);
                (start && end).then_some((old.start, new.start))
            });
            let untouched_empty = base.count() == 0 && now.count() == 0;
            let (from, to) = shift.or(untouched_empty.then_some((0, 0)))?;
            let place = |line: usize| line - from + to;
            Some(Hunk { at: place(hunk.at.start)..place(hunk.at.end), body: hunk.body.clone() })
        })
        .collect()
}
