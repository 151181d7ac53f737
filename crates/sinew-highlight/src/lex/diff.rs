//! Differences between files.

use super::scan::Line;
use crate::category::Category::{Comment, Deleted, Inserted, Keyword, Plain, Type};

/// Highlights one line; lines are independent of each other.
pub(crate) fn line(line: &mut Line<'_, '_, '_>) {
    let text = line.text;
    let begins = |prefix: &[u8]| text.starts_with(prefix);
    let category = match line.first() {
        b'+' if begins(b"+++ ") => Keyword,
        b'-' if begins(b"--- ") => Keyword,
        b'+' | b'>' => Inserted,
        b'-' if text == b"---" => Keyword,
        b'-' | b'<' => Deleted,
        b'!' => Inserted,
        b'@' if begins(b"@@") => return range(line),
        b'*' if begins(b"***") => Type,
        b'd' if begins(b"diff ") => Keyword,
        b'I' if begins(b"Index: ") => Keyword,
        b'=' if begins(b"===") => Keyword,
        b'#' => Comment,
        b'0'..=b'9' if text.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b',' | b'a' | b'c' | b'd')) => {
            Type
        }
        _ => Plain,
    };
    line.rest(category);
}

/// `@@ -1,2 +1,3 @@ context`.
fn range(line: &mut Line<'_, '_, '_>) {
    let end = line.find(b"@@", 2).map_or(line.text.len(), |end| end + 2);
    line.take(end, Type);
    line.rest(Plain);
}
