//! Searches a sequence of numbers in another one.

use std::ops::ControlFlow;

/// Calls `visit` with the position of each match of `pattern`, in order, until it breaks. Runs in time linear in both
/// lengths (Knuth, Morris and Pratt), so that texts of equal lines are fast too. An empty pattern has no matches.
pub(crate) fn each_match(
    text: impl Iterator<Item = u32>,
    pattern: &[u32],
    mut visit: impl FnMut(usize) -> ControlFlow<()>,
) {
    if pattern.is_empty() {
        return;
    }
    let mut borders = vec![0_usize; pattern.len()];
    let mut length = 0;
    for at in 1..pattern.len() {
        while length > 0 && pattern[at] != pattern[length] {
            length = borders[length - 1];
        }
        length += usize::from(pattern[at] == pattern[length]);
        borders[at] = length;
    }
    length = 0;
    for (at, id) in text.enumerate() {
        while length > 0 && id != pattern[length] {
            length = borders[length - 1];
        }
        length += usize::from(id == pattern[length]);
        if length == pattern.len() {
            if visit(at + 1 - length).is_break() {
                return;
            }
            length = borders[length - 1];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_may_overlap() {
        let check = |text: &[u32], pattern: &[u32], expect: &[usize]| {
            let mut found = Vec::new();
            each_match(text.iter().copied(), pattern, |at| {
                found.push(at);
                ControlFlow::Continue(())
            });
            assert_eq!(found, expect);
        };
        check(&[1, 1, 1, 1], &[1, 1], &[0, 1, 2]);
        check(&[1, 2, 1, 1, 2, 1, 2, 3], &[1, 2, 1, 2, 3], &[3]);
        check(&[1, 2], &[1, 2, 3], &[]);
        check(&[1, 2], &[], &[]);
    }
}
