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

mod attend;
mod borrow;
mod chain;
mod compact;
mod fanout;
mod keep;
mod models;
mod retry;
mod session;

#[cfg(test)]
mod queue_law;
#[cfg(test)]
mod tests;

pub use attend::Idle;
pub use borrow::Borrowed;
pub use chain::{Outcome, Stop};
pub use compact::Compacted;
pub use fanout::{CAPACITY, CAPACITY_BYTES, Fanout, Listener};
pub use models::{Models, Reached};
pub use retry::{Again, RetrySettings, decide};
pub use session::{AgentSession, AgentSettings, CompactionSettings, Parts, Streaming};
