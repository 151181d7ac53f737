//! The loop: ask, run the tools, ask again. Opens no file and reads no environment: what it needs comes through
//! [`Provider`](sinew_llm::provider::Provider), [`Tool`](sinew_tools::tool::Tool), [`Journal`] and [`Sink`].
//!
//! | module | knows |
//! |---|---|
//! | `run` | the needs of a run, and how it tells its events |
//! | `turns` | the order of everything |
//! | `stream_events` | a provider's stream as events, merged for 50 ms |
//! | `as_called` | calls as the model made them, of tools that stand in no request |
//! | `batch` | the tool calls of one answer: which run beside which, and in which order they count |
//! | `call` | one call: look up, mend, check, hooks, run, hooks |
//! | `guard` | calls that can only fail, ended while they stream |
//! | `queue` | messages of the user that wait: steering and follow-ups |
//! | `repair` | messages as a provider accepts them |
//! | `stream_monitor` | readers of an answer that streams, which may end it |
//! | `request_observer` | extensions that see requests and answers on the wire |

mod as_called;
mod batch;
mod call;
mod guard;
mod queue;
mod repair;
mod request_observer;
mod run;
mod stream_events;
mod stream_monitor;
mod turns;

#[cfg(test)]
mod failure_tests;
#[cfg(test)]
mod hang_tests;
#[cfg(test)]
mod tests;

pub(crate) use as_called::{as_called, as_loaded};
pub(crate) use batch::call_alone;
pub use queue::{ClearedQueues, Full, QUEUE_LIMIT, QueueMode, Queues};
pub use repair::repair;
pub(crate) use run::{CallPath, changed, not_found, tell_event};
pub use run::{
    Catalogue, Interrupt, Journal, Loaded, Run, RunSettings, SendRequest, Sink, ToolExecution, Toolset, TurnRequest,
};
pub use stream_monitor::{Correction, StreamMonitor};
pub(crate) use turns::CUTS;
pub use turns::RunResult;
