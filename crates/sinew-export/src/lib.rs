//! A session as one HTML page: no network, no script, nothing of the transcript is markup.
//!
//! | module | knows |
//! |---|---|
//! | `html_writer` | the way into the page: text is escaped, without controls and without values that are to be hidden |
//! | `block` | texts, thoughts and pictures of messages |
//! | `code` | blocks of code and output: colours, diffs, folds |
//! | `markdown` | Markdown as markup |
//! | `message` | messages by role, and entries that are none |
//! | `tool` | calls of tools with what they answered |
//! | `outline` | the order of the entries, the rows of the map, the totals |
//! | `layout` | the parts around the conversation: head, map, facts |
//! | `page` | the page: every entry in its place |
//! | `target` | the path of the file, and the files that it must not replace |
//!
//! The session is read twice, entry by entry: once for the map and the totals, once for the page, which goes to the
//! disk piece by piece. Memory is that of the largest entry and of a line per entry.

mod block;
mod code;
mod html_writer;
mod layout;
mod markdown;
mod message;
mod outline;
mod page;
mod target;
#[cfg(test)]
mod tests;
mod tool;

use serde_json::Value;
use sinew_session::secrets::Secrets;

pub use page::write;
pub use target::{default_name, export, unquoted};

/// The content of a page beside the session itself.
#[derive(Debug, Default)]
pub struct Options<'a> {
    /// Values that are hidden in everything that is written.
    pub secrets: Option<&'a Secrets>,
    /// The system prompt, where it is known; a session file does not hold it.
    pub system: Option<&'a str>,
    /// The tools that the model has, where they are known.
    pub tools: &'a [Tool],
    /// Words for the foot of the page: which program made it.
    pub made_by: &'a str,
}

/// A tool as the model knows it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its description, in Markdown.
    pub description: String,
    /// The schema of its arguments.
    pub parameters: Value,
}
