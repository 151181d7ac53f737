//! Undo of everything that a turn did to the session's directory, whoever did it: the edit tools, a command, a job, a hook.
//!
//! | module | contents |
//! |---|---|
//! | `store` | the checkpoints of the directory, with their first one in the background |
//! | `watcher` | the directories that changed since the last checkpoint |
//! | `recorder` | the stretches of a turn in which its calls and jobs run, as pairs of checkpoints |
//! | `record` | the entries of the session that name these pairs, and what was undone |
//! | `turns` | the turns of a branch, read from the session |
//! | `restore` | plans, undo and redo |
//! | `report` | the text of a plan and of a result |

mod record;
mod recorder;
mod report;
mod restore;
mod store;
mod turns;
mod watcher;

pub use record::{CUSTOM_TYPE, UndoRecord};
pub use recorder::{RunningJobs, TurnRecorder, path_below};
pub use report::{entry_text, plan_text, result_text};
pub use restore::{UndoPlan, UndoRequest, UndoResult, carry_out, plan_redo, plan_undo};
pub use store::{CheckpointStore, OFF, StoreOptions};
pub use turns::{History, Turn, history};
