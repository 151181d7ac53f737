//! The requested range of lines of a file.

/// `limit` lines, starting at `offset` (from 1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) offset: Option<usize>,
    pub(super) limit: Option<usize>,
    /// Without line numbers and context lines.
    pub(super) raw: bool,
}

impl Range {
    /// Fills the missing values from `other`.
    pub(super) fn or(self, other: Range) -> Range {
        Range { offset: self.offset.or(other.offset), limit: self.limit.or(other.limit), raw: self.raw || other.raw }
    }
}

/// Parses a range at the end of a name: `a.rs:10-20`, `:10+5`, `:10` (one line), `:10-` (to the end), `:raw`. `None`
/// without one.
pub(super) fn of_name(name: &str) -> Option<(&str, Range)> {
    let (path, end) = name.rsplit_once(':')?;
    let number = |text: &str| text.parse::<usize>().ok().filter(|number| *number > 0);
    let range = |offset, limit| Some(Range { offset: Some(offset), limit, raw: false });
    let range = if end == "raw" {
        Some(Range { raw: true, ..Range::default() })
    } else if let Some((first, count)) = end.split_once('+') {
        range(number(first)?, Some(number(count)?))
    } else if let Some((first, last)) = end.split_once('-') {
        let first = number(first)?;
        match last {
            "" => range(first, None),
            last => range(first, Some((number(last)?.checked_sub(first)?).saturating_add(1))),
        }
    } else {
        range(number(end)?, Some(1))
    };
    (!path.is_empty()).then_some((path, range?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expect: Option<(&str, Option<usize>, Option<usize>, bool)>) {
        let got = of_name(name).map(|(path, range)| (path, range.offset, range.limit, range.raw));
        assert_eq!(got, expect, "{name}");
    }

    #[test]
    fn file_names_can_end_with_a_line_range() {
        check("a:3-5", Some(("a", Some(3), Some(3), false)));
        check("a:3+5", Some(("a", Some(3), Some(5), false)));
        check("a:3", Some(("a", Some(3), Some(1), false)));
        check("a:3-", Some(("a", Some(3), None, false)));
        check("a:raw", Some(("a", None, None, true)));
        check("a:b:3", Some(("a:b", Some(3), Some(1), false)));
        for none in ["a", "a:", "a:x", "a:0", "a:5-3", "a:3-x", ":3", "a:99999999999999999999"] {
            check(none, None);
        }
    }
}
