//! The loop: ask, run the tools, ask again. Opens no file and reads no environment: what it needs comes through
//! [`Provider`](sinew_llm::provider::Provider), [`Tool`](crate::tool::Tool), [`Journal`] and [`Sink`].
//!
//! | module | knows |
//! |---|---|
//! | `run` | turns: the order of everything |
//! | `bridge` | a provider's stream as events, merged for 50 ms |
//! | `batch` | the tool calls of one answer: which run beside which, and in which order they count |
//! | `call` | one call: look up, mend, check, hooks, run, hooks |
//! | `guard` | calls that can only fail, ended while they stream |
//! | `hook` | hooks that can hold nothing |
//! | `queue` | what the user says meanwhile |
//! | `repair` | messages as a provider accepts them |
//! | `schema` | whether arguments fit |
//! | `watch` | who reads an answer while it comes and may end it |

mod batch;
mod bridge;
mod call;
mod guard;
mod hook;
mod queue;
mod repair;
mod run;
mod schema;
mod tap;
mod watch;

#[cfg(test)]
mod faults;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod tests;

pub(crate) use hook::ask;
pub use queue::{Cleared, Full, Mode, QUEUE_LIMIT, Queues};
pub use repair::repair;
pub use run::{Ask, Ended, Interrupt, Journal, Question, Run, RunSettings, Sink, ToolExecution, Toolset};
pub(crate) use run::{CUTS, changed, tell_event};
pub use schema::validate;
pub use watch::{Correction, Watch};
