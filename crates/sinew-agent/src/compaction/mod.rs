//! Compaction of a context that grows too large: prune old outputs, then sum up what is old.
//!
//! Functions of messages; who asks the model and who writes the entries is the session's business.
//!
//! | module | knows |
//! |---|---|
//! | `estimate` | how many tokens a context has |
//! | `cut` | where the old ends and the recent begins |
//! | `prune` | which outputs are old enough to go |
//! | `shorten` | how much of large outputs fits where there is nothing else to leave out |
//! | `summary` | what a model is asked for, and what code adds to its answer |

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
pub use prune::{Pruned, prune};
pub use shorten::{Shortened, shorten};
pub use summary::{
    Files, SECTIONS, SUMMARY_SYSTEM, files_of, joined, request_text, serialise, with_files, without_files,
};

/// Limits of the user, and the part of them that a window allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Tokens that stay free for the answer. Default 16,384.
    pub reserve: u64,
    /// Tokens of recent messages that stay as they are. Default 20,000.
    pub keep_recent: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { reserve: 16_384, keep_recent: 20_000 }
    }
}

impl Limits {
    /// The limits for a window: on a small one each is at most a quarter of it.
    #[must_use]
    pub fn within(self, window: u64) -> Limits {
        if window >= 40_000 {
            return self;
        }
        Limits { reserve: self.reserve.min(window / 4), keep_recent: self.keep_recent.min(window / 4) }
    }

    /// Returns whether a context of `tokens` leaves too little of the window.
    #[must_use]
    pub fn exceeded(self, tokens: u64, window: u64) -> bool {
        tokens > window.saturating_sub(self.within(window).reserve)
    }
}
