//! Blocks of the transcript.

mod code;
mod diff;
mod markdown;
mod output;
mod text;
mod thought;

pub use diff::{DiffBlock, DiffOptions, diff_lines, patch_counts, patch_lines};
pub use markdown::MarkdownBlock;
pub use output::OutputBlock;
pub use text::TextBlock;
pub use thought::ThoughtBlock;
