//! Configures the delivery of queued messages, retries and compaction.

use sinew_agent::agent::{AgentSettings, CompactionResult};
use sinew_agent::core::{Interrupt, QueueMode};

use super::{Control, ControlError};
use crate::app::OpenSession;

impl Control {
    fn change(&self, change: impl FnOnce(&mut AgentSettings)) {
        self.session().agent.change_settings(change);
    }

    /// Sets how many steering messages are delivered at a time.
    pub fn set_steering_mode(&self, mode: QueueMode) {
        self.change(|settings| settings.steering_mode = mode);
    }

    /// Sets how many follow-up messages are delivered at a time.
    pub fn set_follow_up_mode(&self, mode: QueueMode) {
        self.change(|settings| settings.follow_up_mode = mode);
    }

    /// Sets whether steering interrupts running tools.
    pub fn set_interrupt_mode(&self, interrupt: Interrupt) {
        self.change(|settings| settings.run.interrupt = interrupt);
    }

    /// Enables or disables automatic compaction when the context window is full.
    pub fn set_auto_compaction(&self, enabled: bool) {
        self.change(|settings| settings.compaction.enabled = enabled);
    }

    /// Enables or disables retries of failed requests.
    pub fn set_auto_retry(&self, enabled: bool) {
        self.change(|settings| settings.retry.enabled = enabled);
    }

    /// Applies settings that were changed while the program runs, if the agent reads them before each decision. Flags
    /// still override them.
    #[cfg(unix)]
    pub fn take_settings(&self, settings: &crate::settings::Settings) {
        self.change(|now| {
            *now = AgentSettings {
                max_tokens: now.max_tokens,
                http: now.http.clone(),
                budgets: now.budgets.clone(),
                allows_empty: now.allows_empty,
                tool_choice: now.tool_choice.clone(),
                fallback: now.fallback.clone(),
                titles: now.titles,
                ..settings.agent()
            };
        });
    }

    /// Compacts the context. Messages that arrive meanwhile wait for
    /// [`take_up`](sinew_agent::agent::AgentSession::take_up).
    ///
    /// # Errors
    /// Returns an error if there is nothing to compact, a run is active, or the model returned no summary.
    pub async fn compact(
        &self,
        open: &OpenSession,
        instructions: Option<&str>,
    ) -> Result<CompactionResult, ControlError> {
        Ok(open.agent.compact(instructions).await?)
    }

    /// Cancels a running compaction; the context stays unchanged.
    pub fn abort_compaction(&self) {
        self.session().agent.abort_compaction();
    }

    /// Cancels the wait for a retry, if there is one.
    pub fn abort_retry(&self) {
        self.session().agent.abort_retry();
    }
}
