//! Excerpts of long texts for the model: complete lines within 2,000 lines and 50 KB.

use serde_json::{Value, json};

/// The maximum number of lines.
pub(super) const LINES: usize = 2_000;
/// The maximum size in bytes.
pub(super) const BYTES: usize = 50 * 1024;

/// The limit that truncated a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    Lines,
    Bytes,
}

/// A text within the limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TruncatedText<'a> {
    pub(super) text: &'a str,
    /// The limit that was exceeded; `None` if nothing was cut.
    pub(super) by: Option<Limit>,
    pub(super) total_lines: usize,
    pub(super) total_bytes: usize,
    pub(super) lines: usize,
}

impl TruncatedText<'_> {
    /// Returns `details.meta.truncation`; `first` is the number of the first shown line.
    pub(super) fn meta(&self, direction: &str, first: usize, artifact: Option<u64>) -> Value {
        let by = if self.by == Some(Limit::Lines) { "lines" } else { "bytes" };
        let mut meta = json!({
            "direction": direction,
            "truncatedBy": by,
            "totalLines": self.total_lines,
            "totalBytes": self.total_bytes,
            "outputLines": self.lines,
            "outputBytes": self.text.len(),
            "shownRange": {"start": first, "end": (first + self.lines).saturating_sub(1)},
        });
        if let Some(id) = artifact {
            meta["artifactId"] = json!(id.to_string());
        }
        meta
    }
}

/// Returns the number of lines, including a last line without a line end.
pub(super) fn lines_of(text: &str) -> usize {
    text.lines().count()
}

/// Returns the start of `text`: complete lines within both limits, without the last line end. Empty if the first line
/// alone exceeds the byte limit.
pub(super) fn head(text: &str, most_lines: usize, most_bytes: usize) -> TruncatedText<'_> {
    let (total_lines, total_bytes) = (lines_of(text), text.len());
    let (mut end, mut lines, mut by) = (0, 0, None);
    for line in text.split_inclusive('\n') {
        let bare = line.strip_suffix('\n').unwrap_or(line).len();
        if lines == most_lines {
            by = Some(Limit::Lines);
        } else if end + bare > most_bytes {
            by = Some(Limit::Bytes);
        }
        if by.is_some() {
            break;
        }
        (end, lines) = (end + line.len(), lines + 1);
    }
    let shown = &text[..end];
    TruncatedText { text: shown.strip_suffix('\n').unwrap_or(shown), by, total_lines, total_bytes, lines }
}

/// Returns the end of `text`: complete lines within both limits, or the end of the last line if it alone is too long.
pub(super) fn tail(text: &str, most_lines: usize, most_bytes: usize) -> TruncatedText<'_> {
    let (total_lines, total_bytes) = (lines_of(text), text.len());
    let whole = text.strip_suffix('\n').unwrap_or(text);
    let (mut start, mut lines, mut by) = (text.len(), 0, None);
    for line in text.split_inclusive('\n').rev() {
        if lines == most_lines {
            by = Some(Limit::Lines);
        } else if whole.len() - start.min(whole.len()) + line.len() > most_bytes + usize::from(lines == 0) {
            by = Some(Limit::Bytes);
        }
        if by.is_some() {
            break;
        }
        (start, lines) = (start - line.len(), lines + 1);
    }
    if lines == 0 && by == Some(Limit::Bytes) {
        start = whole.len().saturating_sub(most_bytes);
        while !whole.is_char_boundary(start) {
            start += 1;
        }
        lines = 1;
    }
    TruncatedText { text: whole.get(start..).unwrap_or_default(), by, total_lines, total_bytes, lines }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(cut: TruncatedText<'_>, text: &str, by: Option<Limit>, total: usize, lines: usize) {
        assert_eq!((cut.text, cut.by, cut.total_lines, cut.lines), (text, by, total, lines));
    }

    #[test]
    fn the_head_consists_of_whole_lines() {
        check(head("a\nb\nc", 2, 100), "a\nb", Some(Limit::Lines), 3, 2);
        check(head("a\nb\nc\n", 3, 100), "a\nb\nc", None, 3, 3);
        check(head("aaa\nbbb\n", 9, 5), "aaa", Some(Limit::Bytes), 2, 1);
        check(head("aaa\nbbb\n", 9, 7), "aaa\nbbb", None, 2, 2);
        check(head("too long", 9, 3), "", Some(Limit::Bytes), 1, 0);
        check(head("", 9, 3), "", None, 0, 0);
        check(head("\n\n", 1, 3), "", Some(Limit::Lines), 2, 1);
    }

    #[test]
    fn the_tail_consists_of_whole_lines_or_the_end_of_one() {
        check(tail("a\nb\nc", 2, 100), "b\nc", Some(Limit::Lines), 3, 2);
        check(tail("aaa\nbbb\n", 9, 5), "bbb", Some(Limit::Bytes), 2, 1);
        check(tail("aaa\nbbb\n", 9, 7), "aaa\nbbb", None, 2, 2);
        check(tail("too漢字", 9, 5), "字", Some(Limit::Bytes), 1, 1);
        check(tail("", 9, 3), "", None, 0, 0);
    }
}
