//! Tests of Markdown from HTML.

mod markdown;
mod page_limits;
