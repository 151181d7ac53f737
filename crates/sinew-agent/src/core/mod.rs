//! The agent loop: request an answer, run its tools, repeat. Opens no file and reads no environment variable; its
//! inputs come through [`Provider`](sinew_llm::provider::Provider), [`Tool`](sinew_tools::tool::Tool), [`Journal`] and
//! [`Sink`].
//!
//! | module | contents |
//! |---|---|
//! | `run` | the inputs of a run, and how it emits events |
//! | `turns` | the sequence of turns |
//! | `stream_events` | a provider's stream as events, merged for 50 ms |
//! | `as_called` | catalogued calls in the form in which the model made them |
//! | `batch` | the tool calls of one answer: which run in parallel, and the order of their results |
//! | `call` | one call: look up, repair, validate, hooks, run, hooks |
//! | `guard` | calls that cannot succeed, ended while they stream |
//! | `queue` | queued messages of the user: steering and follow-ups |
//! | `repair` | messages in the form that a provider accepts |
//! | `stream_monitor` | monitors of a streaming answer, which may end it |
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
    is_named,
};
pub use stream_monitor::{Correction, StreamMonitor};
pub(crate) use turns::CUTS;
pub use turns::RunResult;
