//! Excerpts of long lines around a match.

use std::borrow::Cow;
use std::ops::Range;

/// Replaces a truncated end.
const MARK: &str = "...";

/// Cuts `line` to at most `width` characters that contain the start of the match, and the whole match if it fits. A
/// truncated end becomes `...`, which counts as three characters. `hit` is the match in bytes of `line`. Returns `None`
/// if the line is short enough. A window narrower than seven characters has no room for the marks, so they are added to
/// its width.
pub(crate) fn excerpt(line: &str, hit: Range<usize>, width: usize) -> Option<String> {
    // A line with at most `width` bytes has at most `width` characters.
    if line.len() <= width {
        return None;
    }
    let total = line.chars().count();
    if total <= width {
        return None;
    }
    let marks = if width < 2 * MARK.len() + 1 { 0 } else { MARK.len() };
    let start = line[..hit.start].chars().count();
    let length = line[hit].chars().count();
    let (from, to) = place(total, start, length, width, marks);
    let mut cut = String::with_capacity(to - from + 2 * MARK.len());
    if from > 0 {
        cut.push_str(MARK);
    }
    cut.push_str(characters(line, from, to));
    if to < total {
        cut.push_str(MARK);
    }
    Some(cut)
}

/// Returns the character range to show out of `total`.
fn place(total: usize, start: usize, length: usize, width: usize, marks: usize) -> (usize, usize) {
    // The beginning of the line, if it contains the match.
    let head = width - marks;
    if start + length.min(head) <= head {
        return (0, head);
    }
    // The end of the line, if it contains the match.
    if start >= total - head {
        return (total - head, total);
    }
    let inner = width - 2 * marks;
    let spare = inner.saturating_sub(length);
    let from = (start - (spare / 2).min(start)).min(total - inner);
    (from, from + inner)
}

fn characters(line: &str, from: usize, to: usize) -> &str {
    let mut bounds = line.char_indices().map(|(at, _)| at).skip(from);
    let start = bounds.next().unwrap_or(line.len());
    let end = if to > from { bounds.nth(to - from - 1).unwrap_or(line.len()) } else { start };
    &line[start..end]
}

/// Cuts the end of `line` after `width` characters.
pub(crate) fn line_start(line: &str, width: usize) -> Cow<'_, str> {
    excerpt(line, 0..0, width).map_or(Cow::Borrowed(line), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(line: &str, hit: &str, width: usize, expect: &str) {
        let at = line.find(hit).unwrap();
        let cut = excerpt(line, at..at + hit.len(), width).unwrap_or_else(|| line.to_string());
        assert_eq!(cut, expect);
    }

    #[test]
    fn an_excerpt_contains_the_match() {
        check("0123456789", "5", 10, "0123456789");
        check("0123456789abcdef", "1", 10, "0123456...");
        check("0123456789abcdef", "f", 10, "...9abcdef");
        check("0123456789abcdefghijklmnopqrstuvwxyz", "g", 11, "...efghi...");
        check("ααααααααββββββββγγγγγγγγ", "β", 9, "...αββ...");
        check(&format!("{}needle{}", "x".repeat(100_000), "y".repeat(100_000)), "needle", 16, "...xxneedleyy...");
        check("0123456789", "5", 3, "...456...");
    }

    proptest! {
        #[test]
        fn a_cut_line_has_the_width_and_contains_the_match(before in ".{0,60}", hit in ".{1,8}", after in ".{0,60}", width in 7usize..80) {
            let line = format!("{before}{hit}{after}");
            let shown = excerpt(&line, before.len()..before.len() + hit.len(), width);
            match shown {
                None => prop_assert!(line.chars().count() <= width),
                Some(cut) => {
                    prop_assert_eq!(cut.chars().count(), width);
                    let visible: String = hit.chars().take(width - 6).collect();
                    prop_assert!(cut.contains(&visible), "{} not in {}", visible, cut);
                }
            }
        }
    }
}
