//! The loop: ask, run the tools, ask again. Opens no file and reads no environment: what it needs comes through
//! [`Provider`](sinew_llm::provider::Provider), [`Tool`](sinew_tools::tool::Tool), [`Journal`] and [`Sink`].
//!
//! | module | knows |
//! |---|---|
//! | `run` | what a run needs and how it tells its events |
//! | `turns` | the order of everything |
//! | `stream_events` | a provider's stream as events, merged for 50 ms |
//! | `batch` | the tool calls of one answer: which run beside which, and in which order they count |
//! | `call` | one call: look up, mend, check, hooks, run, hooks |
//! | `guard` | calls that can only fail, ended while they stream |
//! | `queue` | what the user says meanwhile |
//! | `repair` | messages as a provider accepts them |
//! | `watch` | who reads an answer while it comes and may end it |

mod batch;
mod call;
mod guard;
mod queue;
mod repair;
mod run;
mod stream_events;
mod tap;
mod turns;
mod watch;

#[cfg(test)]
mod faults;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod tests;

pub use queue::{Cleared, Full, Mode, QUEUE_LIMIT, Queues};
pub use repair::repair;
pub use run::{Ask, Interrupt, Journal, Question, Run, RunSettings, Sink, ToolExecution, Toolset};
pub(crate) use run::{changed, tell_event};
pub(crate) use turns::CUTS;
pub use turns::Ended;
pub use watch::{Correction, Watch};
