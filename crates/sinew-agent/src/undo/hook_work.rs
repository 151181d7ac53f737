//! The changes of hooks: programs that run at any time, also outside of a turn.

use std::collections::HashSet;
use std::sync::Arc;

use super::record::UndoRecord;
use super::recorder::{TurnRecorder, UndoWarning};

/// The work of hooks that is not in the session yet.
#[derive(Debug, Default)]
pub(super) struct HookWork {
    count: u64,
    records: Vec<UndoRecord>,
    warnings: Vec<String>,
    /// The warnings so far. Hooks run often, so each warning is shown once.
    told: HashSet<String>,
}

/// A running hook. Its changes count until it is ended or dropped.
pub(crate) struct RunningHook {
    id: String,
    /// `None` after the end.
    recorder: Option<Arc<TurnRecorder>>,
}

impl RunningHook {
    /// Opens a span before a hook runs, unless one is open.
    pub(crate) async fn begin(recorder: &Arc<TurnRecorder>) -> RunningHook {
        let id = {
            let mut hooks = recorder.hooks.lock();
            hooks.count += 1;
            // The ids of calls contain no blank.
            format!("hook {}", hooks.count)
        };
        let hook = RunningHook { id, recorder: Some(Arc::clone(recorder)) };
        if let Some(warning) = recorder.hook_started(&hook.id).await {
            recorder.hooks.lock().add_warning(warning);
        }
        hook
    }

    /// Closes the span, unless other hooks or calls are running.
    pub(crate) async fn end(mut self) {
        if let Some(recorder) = self.recorder.clone() {
            finish(&recorder, &self.id).await;
            self.recorder = None;
        }
    }
}

impl Drop for RunningHook {
    /// Closes the span of a hook that was cancelled.
    fn drop(&mut self) {
        let Some(recorder) = self.recorder.take() else { return };
        let id = std::mem::take(&mut self.id);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { finish(&recorder, &id).await });
        }
    }
}

async fn finish(recorder: &TurnRecorder, id: &str) {
    let ended = recorder.hook_ended(id).await;
    let mut hooks = recorder.hooks.lock();
    match ended {
        Ok(record) => hooks.records.extend(record),
        Err(warning) => hooks.add_text(warning),
    }
}

impl HookWork {
    fn add_warning(&mut self, warning: UndoWarning) {
        match warning {
            UndoWarning::Off(text) => self.add_text(text),
            UndoWarning::Uncovered(reason) => {
                self.add_text(format!("undo does not cover this hook: {reason}"));
                let record = UndoRecord::Uncovered { turn: String::new(), reason };
                if !self.records.contains(&record) {
                    self.records.push(record);
                }
            }
        }
    }

    fn add_text(&mut self, text: String) {
        if self.told.insert(text.clone()) {
            self.warnings.push(text);
        }
    }
}

impl TurnRecorder {
    /// Removes and returns the records of hooks, without a turn, and the warnings for the user.
    pub(crate) fn take_hook_work(&self) -> (Vec<UndoRecord>, Vec<String>) {
        let mut hooks = self.hooks.lock();
        (std::mem::take(&mut hooks.records), std::mem::take(&mut hooks.warnings))
    }
}
