//! Undo of all changes that a turn made in the session's directory, whether by edit tools, a command, a job or a hook.
//!
//! | module | contents |
//! |---|---|
//! | `store` | the checkpoints of the directory; the first one is created in the background |
//! | `watcher` | the directories that changed since the last checkpoint |
//! | `recorder` | the spans of a turn in which its calls and jobs run, as pairs of checkpoints |
//! | `hook_work` | the spans in which hooks run, also outside of turns |
//! | `record` | the session entries that store these pairs and the undone turns |
//! | `turns` | the turns of a branch, read from the session |
//! | `restore` | plans, undo and redo |
//! | `report` | the text of a plan and of a result |

mod hook_work;
mod record;
mod recorder;
mod report;
mod restore;
mod store;
mod turns;
mod watcher;

pub(crate) use hook_work::RunningHook;
pub use record::{CUSTOM_TYPE, UndoRecord};
pub(crate) use recorder::UndoWarning;
pub use recorder::{RunningJobs, TurnRecorder, path_below, path_of};
pub use report::{plan_text, result_text};
pub use restore::{LineCounts, UndoPlan, UndoRequest, UndoResult, carry_out, plan_redo, plan_undo};
pub use store::{CheckpointStore, OFF, StoreOptions};
pub use turns::{History, Turn, history};
