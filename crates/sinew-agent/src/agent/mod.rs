//! An agent at work on a session: prompts in, events out, and what happens after a run.
//!
//! | module | knows |
//! |---|---|
//! | `session` | [`AgentSession`]: its parts; abort, model and tools, events |
//! | `lifecycle` | the states of an agent and the moves between them |
//! | `activity` | the permit of the one activity at a time, tokens, compactions and waits inside it |
//! | `conversation` | the session's file and the context, and messages that are recorded beside a run |
//! | `session_recorder` | entries of the session's file |
//! | `settings` | settings of the user, and of the next request |
//! | `once` | warnings that are given once |
//! | `prompt` | prompts, queues, the work on them |
//! | `run_loop` | runs that follow a run: retry, promotion, compaction, reminder, queued messages |
//! | `recorded_turn` | the stretches of a turn that undo can take back |
//! | `retry` | the decision whether and when to try again |
//! | `compact` | a summary, and the context that begins with it |
//! | `extension_points` | the points at which extensions are asked |
//! | `background` | jobs that end and lists that are put away, beside the runs |
//! | `model_override` | another model for one prompt |
//! | `models` | resolving models |
//! | `meter` | cost of requests, and its limit |
//! | `stats` | counts, cost, fill of the window |
//! | `event_bus` | events to every listener, bounded |
//! | `navigate` | moves in the tree, and sessions made from this one |
//! | `handoff` | a new session that begins with what this one leaves |
//! | `title` | a title after the first answer |
//! | `undo` | undo and redo of files |

mod activity;
mod background;
mod compact;
mod conversation;
mod event_bus;
mod extension_points;
mod handoff;
mod lifecycle;
mod meter;
mod model_override;
mod models;
mod navigate;
mod once;
mod prompt;
mod recorded_turn;
mod retry;
mod run_loop;
mod session;
mod session_recorder;
mod settings;
mod stats;
mod title;
mod undo;
mod user_call;

#[cfg(test)]
mod compact_tests;
#[cfg(test)]
mod control_tests;
#[cfg(test)]
mod extension_points_tests;
#[cfg(test)]
mod navigate_tests;
#[cfg(test)]
mod queue_properties;
#[cfg(test)]
mod tests;

pub use background::IdlePolicy;
pub use compact::CompactionResult;
pub use event_bus::{CAPACITY, CAPACITY_BYTES, EventBus, Snapshots, Subscriber};
pub use extension_points::CancelDecision;
pub use handoff::HandoffResult;
pub use meter::{Budget, Meter, Metered};
pub use model_override::ModelOverride;
pub use models::{ModelResolver, ResolvedModel};
pub use navigate::{BranchSummaryChoice, BranchedSession, NavigationResult, SessionCopy};
pub use prompt::{AcceptedPrompt, Delivery};
pub use retry::{RetryDecision, RetrySettings, decide};
pub use run_loop::{Outcome, Stop};
pub use session::{AgentParts, AgentSession, OpenItems};
pub use settings::{AgentSettings, BranchSummarySettings, CompactionSettings};
pub use stats::{ContextUsage, SessionStats, TokenCounts};
