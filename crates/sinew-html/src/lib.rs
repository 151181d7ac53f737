//! HTML to Markdown.
