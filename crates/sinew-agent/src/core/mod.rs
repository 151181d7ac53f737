//! The agent loop: request an answer, run its tools, repeat. Opens no file and reads no environment variable; its
//! inputs come through [`Provider`](sinew_llm::provider::Provider), [`Tool`](sinew_tools::tool::Tool), [`Journal`] and
//! [`Sink`].
//!
//! | module | contents |
//! |---|---|
//! | `run` | the inputs of a run, and how it emits events |
//! | `turns` | the sequence of turns |
//! | `stream_events` | a provider's stream as events, merged for 50 ms |
//! | `catalogue_calls` | catalogued calls in the form in which the model made them |
//! | `batch` | the tool calls of one answer: which run in parallel, and the order of their results |
//! | `call` | one call: look up, repair, validate, hooks, run, hooks |
//! | `guard` | calls that cannot succeed, ended while they stream |
//! | `queue` | queued messages of the user: steering and follow-ups |
//! | `repair` | messages in the form that a provider accepts |
//! | `stream_monitor` | monitors of a streaming answer, which may end it |
//! | `request_observer` | extensions that see requests and answers on the wire |

mod batch;
mod call;
mod catalogue_calls;
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

pub(crate) use batch::call_alone;
pub(crate) use catalogue_calls::{as_called, as_loaded};
pub use queue::{ClearedQueues, QUEUE_LIMIT, QueueFull, QueueMode, Queues};
pub use repair::repair;
pub(crate) use run::{CallPath, changed, not_found, tell_event};
pub use run::{
    Catalogue, Interrupt, Journal, LoadedTools, Run, RunSettings, SendRequest, Sink, ToolExecution, Toolset,
    TurnRequest, is_named,
};
pub use stream_monitor::{Correction, StreamMonitor};
pub use turns::RunResult;
pub(crate) use turns::{CUTS, PAUSES};
