//! An agent at work on a session: prompts in, events out, and what happens after a run.
//!
//! | module | knows |
//! |---|---|
//! | `session` | [`AgentSession`]: prompts, queues, abort, model and tools |
//! | `ask` | the points at which extensions are asked |
//! | `attend` | jobs that end and lists that are put away, beside the runs |
//! | `chain` | what follows a run: retry, promotion, compaction, reminder, what was queued |
//! | `compact` | asking for a summary and taking it up |
//! | `phases` | whether it compacts or waits for another attempt, and how that alone is ended |
//! | `record` | what happened beside the model: commands of the user |
//! | `facts` | what there is to know of a session: counts, cost |
//! | `retry` | whether to try again, and when |
//! | `borrow` | another model for one prompt |
//! | `event_bus` | events to every listener, bounded |
//! | `keep` | messages to the session's file |
//! | `models` | who answers |
//! | `meter` | what requests cost, and when that is enough |
//! | `navigate` | going elsewhere in the tree, and sessions made from this one |
//! | `handoff` | a new session that begins with what this one leaves |
//! | `title` | a title after the first answer |

mod ask;
mod attend;
mod borrow;
mod chain;
mod compact;
mod event_bus;
mod facts;
mod handoff;
mod keep;
mod meter;
mod models;
mod navigate;
mod phases;
mod record;
mod retry;
mod session;
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
pub use navigate::{BranchSummarySettings, Branched, Leave, Moved, SessionCopy};
pub use retry::{Again, RetrySettings, decide};
pub use session::{Accepted, AgentSession, AgentSettings, CompactionSettings, Parts, Streaming};
