//! Exports a session as one HTML page: no network, no scripts, and no markup from the transcript.
//!
//! | module | contents |
//! |---|---|
//! | `html_writer` | the writer of the page: text is escaped, without controls and secrets |
//! | `block` | texts, thinking and images of messages |
//! | `code` | blocks of code and output: colours, diffs, collapsed parts |
//! | `markdown` | Markdown as markup |
//! | `message` | messages by role, and other entries |
//! | `tool` | tool calls with their results |
//! | `outline` | the order of the entries, the rows of the map, the totals |
//! | `layout` | the parts around the conversation: header, map, summary |
//! | `page` | the page: every entry in order |
//! | `target` | the path of the file, and the files that it must not replace |
//!
//! The session is read twice, entry by entry: once for the map and the totals, and once for the page, which is written
//! in parts. The memory required is that of the largest entry and of one line per entry.

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

/// The content of a page in addition to the session itself.
#[derive(Debug, Default)]
pub struct Options<'a> {
    /// Secrets that are hidden everywhere on the page; `None` hides nothing.
    pub secrets: Option<&'a Secrets>,
    /// The system prompt; `None` if it is unknown, because a session file does not contain it.
    pub system: Option<&'a str>,
    /// The tools of the model, if they are known.
    pub tools: &'a [Tool],
    /// The text of the footer: which program created the page.
    pub made_by: &'a str,
}

/// A tool as described to the model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tool {
    /// The name.
    pub name: String,
    /// The description, in Markdown.
    pub description: String,
    /// The schema of the arguments.
    pub parameters: Value,
}
