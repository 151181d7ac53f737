//! An agent at work on a session: prompts in, events out, and what happens after a run.
//!
//! | module | knows |
//! |---|---|
//! | `session` | [`AgentSession`]: its parts; abort, model and tools, events |
//! | `lifecycle` | the states of an agent and the moves between them |
//! | `activity` | the permit of the one activity at a time, tokens, compactions and waits inside it |
//! | `conversation` | the session's file and the context, and what is recorded beside a run |
//! | `session_recorder` | entries of the session's file |
//! | `settings` | what the user sets, and what may change between two requests |
//! | `once` | what is said once |
//! | `prompt` | prompts, queues, the work on them |
//! | `ask` | the points at which extensions are asked |
//! | `attend` | jobs that end and lists that are put away, beside the runs |
//! | `chain` | what follows a run: retry, promotion, compaction, reminder, what was queued |
//! | `compact` | asking for a summary and taking it up |
//! | `facts` | what there is to know of a session: counts, cost |
//! | `retry` | whether to try again, and when |
//! | `borrow` | another model for one prompt |
//! | `event_bus` | events to every listener, bounded |
//! | `models` | who answers |
//! | `meter` | what requests cost, and when that is enough |
//! | `navigate` | going elsewhere in the tree, and sessions made from this one |
//! | `handoff` | a new session that begins with what this one leaves |
//! | `title` | a title after the first answer |

mod activity;
mod ask;
mod attend;
mod borrow;
mod chain;
mod compact;
mod conversation;
mod event_bus;
mod facts;
mod handoff;
mod lifecycle;
mod meter;
mod models;
mod navigate;
mod once;
mod prompt;
mod retry;
mod session;
mod session_recorder;
mod settings;
mod title;

#[cfg(test)]
mod ask_tests;
#[cfg(test)]
mod compact_tests;
#[cfg(test)]
mod control_tests;
#[cfg(test)]
mod navigate_tests;
#[cfg(test)]
mod queue_law;
#[cfg(test)]
mod tests;

pub use ask::Leaving;
pub use attend::Idle;
pub use borrow::Borrowed;
pub use chain::{Outcome, Stop};
pub use compact::Compacted;
pub use event_bus::{CAPACITY, CAPACITY_BYTES, EventBus, Snapshots, Subscriber};
pub use facts::{ContextUsage, Counts, TokenCounts};
pub use handoff::HandedOff;
pub use meter::{Budget, Meter, Metered};
pub use models::{Models, Reached};
pub use navigate::{Branched, Leave, Moved, SessionCopy};
pub use prompt::{Accepted, Streaming};
pub use retry::{Again, RetrySettings, decide};
pub use session::{AgentSession, OpenItems, Parts};
pub use settings::{AgentSettings, BranchSummarySettings, CompactionSettings};
