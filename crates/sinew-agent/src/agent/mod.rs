//! An agent that works on a session: it accepts prompts, emits events, and does the work after a run.
//!
//! | module | contents |
//! |---|---|
//! | `session` | [`AgentSession`]: its parts; abort, model and tools, events |
//! | `lifecycle` | the states of an agent and the transitions between them |
//! | `activity` | the permit of the current activity; its token, compactions and waits |
//! | `conversation` | the session's file and the context, and messages that are recorded during a run |
//! | `session_recorder` | entries of the session's file |
//! | `settings` | the user's settings, and those of the next request |
//! | `once_flag` | warnings that are shown once |
//! | `prompt` | prompts, queues, and the work on them |
//! | `run_loop` | the runs that follow a run: retry, promotion, compaction, reminder, queued messages |
//! | `recorded_turn` | the recorded changes of a turn, which can be undone |
//! | `retry` | the decision whether and when to retry |
//! | `compact` | summaries, and the context that begins with one |
//! | `extension_points` | calls of extensions at their points |
//! | `background` | finished jobs and cleared todo lists, outside of the runs |
//! | `model_override` | another model for one prompt |
//! | `models` | model resolution |
//! | `meter` | the cost of requests, and its limit |
//! | `stats` | counts, cost, use of the context window |
//! | `event_bus` | bounded queues of events for subscribers |
//! | `navigate` | moves in the session tree, and copies of the session |
//! | `handoff` | a new session that starts with a summary of this one |
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
mod once_flag;
mod outside_work;
mod oversize;
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
pub use meter::{Amount, Budget, Meter, MeteredModels, MeteredProvider};
pub use model_override::ModelOverride;
pub use models::{ModelResolver, ResolvedModel, WorkPermit};
pub use navigate::{BranchSummaryChoice, BranchedSession, NavigationResult, SessionCopy};
pub use outside_work::DescribeWork;
pub use prompt::{AcceptedPrompt, Delivery};
pub use recorded_turn::KeepRecord;
pub use retry::{RetryDecision, RetrySettings, decide};
pub use run_loop::{Outcome, Stop};
pub use session::{AgentParts, AgentSession, OpenItems};
pub use settings::{AgentSettings, BranchSummarySettings, CompactionSettings};
pub use stats::{ContextUsage, PrefixSize, SessionStats, TokenCounts, last_text};
