//! Applies the hunks of a unified diff to a text, by the rules of `git apply`.

use std::collections::HashMap;
use std::ops::ControlFlow;

use sinew_base::{CancelToken, Error, ErrorCode, Result};

use crate::hunk::{Hunk, LineKind};
use crate::lines::lines_of;
use crate::nearest::{self, Mismatch};
use crate::report::{AppliedText, HunkPlace};
use crate::sequence;

/// The id of a line that a hunk has written, which other hunks may not match.
const WRITTEN: u32 = u32::MAX;

/// The lines of the text while hunks are applied. Equal lines have equal ids.
struct Image<'t> {
    lines: Vec<(&'t [u8], u32)>,
    ids: HashMap<&'t [u8], u32>,
}

impl<'t> Image<'t> {
    fn new(text: &'t [u8]) -> Image<'t> {
        let mut image = Image { lines: Vec::new(), ids: HashMap::new() };
        for line in lines_of(text) {
            let id = image.id(line);
            image.lines.push((line, id));
        }
        image
    }

    fn id(&mut self, line: &'t [u8]) -> u32 {
        let next = self.ids.len() as u32;
        *self.ids.entry(line).or_insert(next)
    }
}

/// Applies `hunks` to the text of the file `name`.
pub(crate) fn apply<'t>(
    hunks: &[Hunk<'t>],
    old: &'t [u8],
    fuzz: usize,
    name: &str,
    cancel: &CancelToken,
) -> Result<AppliedText> {
    let mut image = Image::new(old);
    let mut places = Vec::with_capacity(hunks.len());
    let (mut added, mut removed) = (0, 0);
    for (number, hunk) in hunks.iter().enumerate() {
        cancel.check().map_err(Error::aborted)?;
        let place = apply_hunk(&mut image, hunk, fuzz).map_err(|miss| {
            let message = format!("{name}: hunk {} (line {} of the patch) does not match{miss}", number + 1, hunk.line);
            Error::new(ErrorCode::InvalidState, message)
        })?;
        places.push(place);
        added += hunk.count(LineKind::Added);
        removed += hunk.count(LineKind::Removed);
    }
    let mut text = Vec::with_capacity(old.len());
    image.lines.iter().for_each(|(line, _)| text.extend_from_slice(line));
    Ok(AppliedText { text, places, added, removed })
}

/// The old lines of a hunk without the context that fuzz ignores, and the ends of the text that they must touch.
struct Pattern<'a, 't> {
    ids: &'a [u32],
    lines: &'a [&'t [u8]],
    at_begin: bool,
    at_end: bool,
    /// True if the last line is context without a newline. As in git, it also matches a file with a newline there.
    loose_end: bool,
}

fn apply_hunk<'t>(image: &mut Image<'t>, hunk: &Hunk<'t>, fuzz: usize) -> Result<HunkPlace, Mismatch> {
    let lines: Vec<&'t [u8]> = hunk.old_lines().collect();
    let ids: Vec<u32> = lines.iter().map(|line| image.id(line)).collect();
    let expected = hunk.new_start.saturating_sub(1);
    let (mut leading, mut trailing) = hunk.context();
    let (mut skip, mut drop) = (0, 0);
    let (mut at_begin, mut at_end) = (hunk.old_start <= 1, trailing == 0);
    for used in 0..=fuzz {
        let end = ids.len() - drop;
        let pattern = Pattern {
            ids: &ids[skip..end],
            lines: &lines[skip..end],
            at_begin,
            at_end,
            loose_end: trailing > 0 && drop == 0,
        };
        if let Some(at) = find(image, &pattern, expected.saturating_add(skip)) {
            let announced = i64::try_from(expected.saturating_add(skip)).unwrap_or(i64::MAX);
            let offset = at as i64 - announced;
            replace(image, hunk, at, (skip, drop));
            return Ok(HunkPlace { line: at - at.min(skip) + 1, offset, fuzz: used });
        }
        // The longer context first, as in git; one line must remain, because otherwise the hunk would match anywhere.
        let (was_leading, was_trailing) = (leading, trailing);
        if was_leading >= was_trailing && leading > 0 && ids.len() - drop - skip > 1 {
            (leading, skip) = (leading - 1, skip + 1);
        }
        if was_trailing >= was_leading && trailing > 0 && ids.len() - drop - skip > 1 {
            (trailing, drop) = (trailing - 1, drop + 1);
        }
        (at_begin, at_end) = (false, ends_unterminated(hunk));
    }
    Err(miss(image, hunk, &lines, expected))
}

/// Returns true if the new lines end the file without a newline, so that they can only be at its end.
fn ends_unterminated(hunk: &Hunk<'_>) -> bool {
    hunk.lines.iter().any(|line| !line.text.ends_with(b"\n"))
}

/// Returns the position of a pattern that is nearest to `expected`; of two at the same distance the later one, as in
/// git.
fn find(image: &Image<'_>, pattern: &Pattern<'_, '_>, expected: usize) -> Option<usize> {
    let (total, wanted) = (image.lines.len(), pattern.ids.len());
    let last = total.checked_sub(wanted)?;
    // A hunk without any context is only located by its line number.
    if wanted == 0 && expected != last {
        return None;
    }
    let unterminated = pattern.lines.last().is_some_and(|line| !line.ends_with(b"\n"));
    let matches = |at: usize| matches_at(image, pattern, at, unterminated);
    match (pattern.at_begin, pattern.at_end || unterminated) {
        (true, true) => (last == 0 && matches(0)).then_some(0),
        (true, false) => matches(0).then_some(0),
        (false, true) => matches(last).then_some(last),
        (false, false) => nearest_match(image, pattern.ids, expected.min(total)),
    }
}

fn matches_at(image: &Image<'_>, pattern: &Pattern<'_, '_>, at: usize, unterminated: bool) -> bool {
    let found = &image.lines[at..at + pattern.ids.len()];
    let same = |(line, id): (&(&[u8], u32), &u32)| line.1 == *id;
    if !(unterminated && pattern.loose_end && !pattern.at_end) {
        return found.iter().zip(pattern.ids).all(same);
    }
    let (Some((last, before)), Some(wanted)) = (found.split_last(), pattern.lines.last()) else { return true };
    let same_end = last.1 != WRITTEN && last.0.strip_suffix(b"\n").unwrap_or(last.0) == *wanted;
    same_end && before.iter().zip(pattern.ids).all(same)
}

fn nearest_match(image: &Image<'_>, pattern: &[u32], expected: usize) -> Option<usize> {
    let mut best: Option<usize> = None;
    sequence::each_match(image.lines.iter().map(|(_, id)| *id), pattern, |found| {
        if best.is_some_and(|best| found.abs_diff(expected) > best.abs_diff(expected)) {
            return ControlFlow::Break(());
        }
        best = Some(found);
        ControlFlow::Continue(())
    });
    best
}

/// Replaces the old lines of a hunk at `at` by the new ones, without the context that fuzz ignores.
fn replace<'t>(image: &mut Image<'t>, hunk: &Hunk<'t>, at: usize, (skip, drop): (usize, usize)) {
    let used = &hunk.lines[skip..hunk.lines.len() - drop];
    let old = used.iter().filter(|line| line.kind != LineKind::Added).count();
    let new = used.iter().filter(|line| line.kind != LineKind::Removed).map(|line| (line.text, WRITTEN));
    image.lines.splice(at..at + old, new);
}

fn miss(image: &Image<'_>, hunk: &Hunk<'_>, lines: &[&[u8]], expected: usize) -> Mismatch {
    if lines.is_empty() {
        return match hunk.old_start {
            0 if !image.lines.is_empty() => {
                Mismatch::because("it adds lines to an empty file, and the file is not empty")
            }
            _ => Mismatch::because("it has no context lines, and its place is not the end of the file"),
        };
    }
    let text: Vec<&[u8]> = image.lines.iter().map(|(line, id)| if *id == WRITTEN { &b""[..] } else { *line }).collect();
    let Some(near) = nearest::nearest(&text, lines, expected) else {
        return Mismatch::because("no line of the file is like the lines that it expects");
    };
    match near {
        Mismatch::Whole { line } if hunk.old_start <= 1 && line != 1 => {
            Mismatch::because(format!("its lines are at line {line}, but it belongs to the beginning of the file"))
        }
        Mismatch::Whole { line } if hunk.context() == (0, 0) => {
            Mismatch::because(format!("its lines are at line {line}, but it has no context lines that say so"))
        }
        Mismatch::Whole { line } => Mismatch::because(format!(
            "its lines are at line {line}, but a hunk without context lines at its end belongs to the end of the file"
        )),
        near => near,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Patch;

    /// The new text, and the line, the offset and the fuzz of each hunk.
    type PatchOutcome = (String, Vec<(usize, i64, usize)>);

    fn patched(old: &str, hunks: &str, fuzz: usize) -> Result<PatchOutcome, String> {
        let text = format!("--- a/f\n+++ b/f\n{hunks}");
        let patch = Patch::parse(text.as_bytes()).unwrap();
        let applied = crate::apply_to_text(&patch.files[0], old.as_bytes(), fuzz, &CancelToken::never());
        let applied = applied.map_err(|error| error.message().to_owned())?;
        let places = applied.places.iter().map(|place| (place.line, place.offset, place.fuzz)).collect();
        Ok((String::from_utf8(applied.text).unwrap(), places))
    }

    #[test]
    fn finds_a_moved_hunk_and_reports_the_offset() {
        let hunk = "@@ -2,3 +2,3 @@\n b\n-c\n+C\n d\n";
        assert_eq!(patched("a\nb\nc\nd\n", hunk, 0), Ok(("a\nb\nC\nd\n".into(), vec![(2, 0, 0)])));
        assert_eq!(patched("x\ny\na\nb\nc\nd\n", hunk, 0), Ok(("x\ny\na\nb\nC\nd\n".into(), vec![(4, 2, 0)])));
        assert_eq!(patched("b\nc\nd\n", hunk, 0), Ok(("b\nC\nd\n".into(), vec![(1, -1, 0)])));
    }

    #[test]
    fn fuzz_ignores_context_lines_and_keeps_those_of_the_file() {
        let hunk = "@@ -1,5 +1,5 @@\n a\n b\n-c\n+C\n d\n e\n";
        let old = "A\nb\nc\nd\nE\n";
        assert_eq!(
            patched(old, hunk, 0),
            Err("f: hunk 1 (line 3 of the patch) does not match; the nearest is line 1: expected \"a\", found \"A\""
                .into())
        );
        assert_eq!(patched(old, hunk, 1), Ok(("A\nb\nC\nd\nE\n".into(), vec![(1, 0, 1)])));
        assert!(patched("A\nB\nc\nD\nE\n", hunk, 1).is_err());
        assert_eq!(patched("A\nB\nc\nD\nE\n", hunk, 2), Ok(("A\nB\nC\nD\nE\n".into(), vec![(1, 0, 2)])));
        assert!(patched("A\nB\nx\nD\nE\n", hunk, 9).is_err(), "removed lines always count");
    }

    #[test]
    fn names_the_nearest_line_if_a_hunk_does_not_match() {
        let check = |old: &str, hunk: &str, expect: &str| {
            let message = patched(old, hunk, 0).unwrap_err();
            assert!(message.ends_with(expect), "{message}");
        };
        let hunk = "@@ -10,3 +10,3 @@\n one\n-two\n+2\n three\n";
        check("x\none\nTWO\nthree\n", hunk, "the nearest is line 3: expected \"two\", found \"TWO\"");
        check("x\none\ntwo\n", hunk, "the nearest is line 4: expected \"three\", found the end of the file");
        check("x\n  one\ny\n", hunk, "the nearest is line 2: expected \"one\", found \"  one\"");
        check("", hunk, "no line of the file is like the lines that it expects");
        check("one\ntwo\nthree\n", "@@ -1 +1 @@\n-two\n+2\n", "but it belongs to the beginning of the file");
        check("full\n", "@@ -0,0 +1 @@\n+x\n", "and the file is not empty");
    }

    #[test]
    fn equal_lines_need_linear_time() {
        let old = "same\n".repeat(60_000);
        let hunk = format!("@@ -5,30001 +5,30001 @@\n{}-end\n+END\n same\n", " same\n".repeat(29_999));
        assert!(patched(&old, &hunk, 0).is_err());
    }
}
