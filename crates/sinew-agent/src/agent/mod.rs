//! An agent at work on a session: prompts in, events out, and what happens after a run.
//!
//! | module | knows |
//! |---|---|
//! | `session` | [`AgentSession`]: prompts, queues, abort, model and tools |
//! | `attend` | jobs that end and lists that are put away, beside the runs |
//! | `chain` | what follows a run: retry, promotion, compaction, reminder, what was queued |
//! | `compact` | asking for a summary and taking it up |
//! | `retry` | whether to try again, and when |
//! | `borrow` | another model for one prompt |
//! | `fanout` | events to every listener, bounded |
//! | `keep` | messages to the session's file |
//! | `models` | who answers |
//! | `navigate` | going elsewhere in the tree, and sessions made from this one |
//! | `handoff` | a new session that begins with what this one leaves |
//! | `title` | a title after the first answer |

mod attend;
mod borrow;
mod chain;
mod compact;
mod fanout;
mod handoff;
mod keep;
mod models;
mod navigate;
mod retry;
mod session;
mod title;

#[cfg(test)]
mod navigate_tests;
#[cfg(test)]
mod queue_law;
#[cfg(test)]
mod tests;

pub use attend::Idle;
pub use borrow::Borrowed;
pub use chain::{Outcome, Stop};
pub use compact::Compacted;
pub use fanout::{CAPACITY, CAPACITY_BYTES, Fanout, Listener};
pub use handoff::HandedOff;
pub use models::{Models, Reached};
pub use navigate::{BranchSummarySettings, Branched, Leave, Moved};
pub use retry::{Again, RetrySettings, decide};
pub use session::{AgentSession, AgentSettings, CompactionSettings, Parts, Streaming};
