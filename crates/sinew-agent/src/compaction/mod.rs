//! Compaction of a context that is too large: prune old tool results first, then summarize old messages.
//!
//! These are functions of messages. The session sends the requests and writes the entries.
//!
//! | module | contents |
//! |---|---|
//! | `estimate` | the number of tokens of a context |
//! | `cut` | the position between old and recent messages |
//! | `prune` | the tool results that are old enough to be replaced |
//! | `shorten` | the size to which large tool results are shortened if nothing old is left |
//! | `summary` | the request for a summary, and the lists that are appended to the answer |

mod cut;
mod estimate;
mod prune;
mod shorten;
mod summary;

#[cfg(test)]
mod tests;

pub use cut::{Cut, cut};
pub(crate) use estimate::counted_tokens;
pub use estimate::{context_tokens, definition_bytes, text_tokens, tokens};
pub use prune::{PrunedResults, prune};
pub use shorten::{ShortenedResults, shorten};
pub use summary::{
    Files, SECTIONS, SUMMARY_SYSTEM, files_of, joined, request_text, serialise, with_files, without_files,
};

/// The limits of the user, adapted to the context window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The number of tokens reserved for the answer. Default: 16,384.
    pub reserve: u64,
    /// The number of tokens of recent messages that are kept. Default: 20,000.
    pub keep_recent: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { reserve: 16_384, keep_recent: 20_000 }
    }
}

impl Limits {
    /// Returns the limits for a window; on a small one each is at most a quarter of it.
    #[must_use]
    pub fn within(self, window: u64) -> Limits {
        if window >= 40_000 {
            return self;
        }
        Limits { reserve: self.reserve.min(window / 4), keep_recent: self.keep_recent.min(window / 4) }
    }

    /// Returns whether a context of `tokens` tokens leaves too little of the window.
    #[must_use]
    pub fn exceeded(self, tokens: u64, window: u64) -> bool {
        tokens > window.saturating_sub(self.within(window).reserve)
    }
}
