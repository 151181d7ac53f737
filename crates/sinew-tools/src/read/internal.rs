//! Shows texts that are not files in the same way as files.

use super::range::Range;
use crate::tool::ToolOutput;
use crate::truncate;

/// Returns the lines of a text with their numbers, within the limits.
pub(super) fn lines(text: &str, range: Range) -> ToolOutput {
    let total = text.lines().count();
    if total == 0 {
        return ToolOutput::text("The file is empty.");
    }
    let first = range.offset.unwrap_or(1);
    if first > total {
        return ToolOutput::text(format!("Line {first} is beyond the end ({total} lines total)."));
    }
    let numbered: Vec<String> = (1..)
        .zip(text.lines())
        .skip(first - 1)
        .take(range.limit.unwrap_or(truncate::LINES))
        .map(|(number, line)| format!("{number}:{line}"))
        .collect();
    let numbered = numbered.join("\n");
    let cut = truncate::head(&numbered, truncate::LINES, truncate::BYTES);
    let last = first + cut.lines - 1;
    let mut shown = cut.text.to_string();
    if last < total {
        shown.push_str(&format!("\n[Showing lines {first}-{last} of {total}. Use offset={} to continue.]", last + 1));
    }
    ToolOutput::text(shown)
}
