//! Delivery of queued messages, retries and compaction.

use sinew_agent::agent::{AgentSettings, CompactionResult};
use sinew_agent::core::{Interrupt, QueueMode};

use super::{Control, ControlError};
use crate::app::OpenSession;

impl Control {
    fn change(&self, change: impl FnOnce(&mut AgentSettings)) {
        self.session().agent.change_settings(change);
    }

    /// Says how many steering messages are delivered at a time.
    pub(crate) fn set_steering_mode(&self, mode: QueueMode) {
        self.change(|settings| settings.steering_mode = mode);
    }

    /// Says how many follow-up messages are delivered at a time.
    pub(crate) fn set_follow_up_mode(&self, mode: QueueMode) {
        self.change(|settings| settings.follow_up_mode = mode);
    }

    /// Says whether steering ends the tools that run.
    pub(crate) fn set_interrupt_mode(&self, interrupt: Interrupt) {
        self.change(|settings| settings.run.interrupt = interrupt);
    }

    /// Switches compaction at a full window.
    pub(crate) fn set_auto_compaction(&self, enabled: bool) {
        self.change(|settings| settings.compaction.enabled = enabled);
    }

    /// Switches retries of failed requests.
    pub(crate) fn set_auto_retry(&self, enabled: bool) {
        self.change(|settings| settings.retry.enabled = enabled);
    }

    /// Takes settings that were changed while the program runs, as far as an agent reads them before each decision. What
    /// flags have set stays.
    #[cfg(unix)]
    pub(crate) fn take_settings(&self, settings: &crate::settings::Settings) {
        self.change(|now| {
            *now = AgentSettings {
                max_tokens: now.max_tokens,
                http: now.http.clone(),
                budget: now.budget.clone(),
                fallback: now.fallback.clone(),
                titles: now.titles,
                ..settings.agent()
            };
        });
    }

    /// Compacts the context. Messages that came meanwhile wait for [`take_up`](sinew_agent::agent::AgentSession::take_up).
    ///
    /// # Errors
    /// There is nothing to compact, a run is active, or the model gave no summary.
    pub(crate) async fn compact(
        &self,
        open: &OpenSession,
        instructions: Option<&str>,
    ) -> Result<CompactionResult, ControlError> {
        Ok(open.agent.compact(instructions).await?)
    }

    /// Ends a compaction; the context stays as it is. No error where there is none.
    pub(crate) fn abort_compaction(&self) {
        self.session().agent.abort_compaction();
    }

    /// Ends the wait for another attempt. No error where nothing waits.
    pub(crate) fn abort_retry(&self) {
        self.session().agent.abort_retry();
    }
}
