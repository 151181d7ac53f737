//! Switches a session between plan mode and normal work.

use serde_json::{Value, json};
use sinew_llm::model::ThinkingLevel;
use sinew_session::Body;

use super::{Control, ControlError};
use crate::app::tools::{enforces_writes, may_plan};

/// The mode of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionMode {
    /// The model may change files, as far as rules and sandbox permit.
    Default,
    /// Offers only tools that change nothing, and runs programs in the sandbox mode `read-only`.
    Plan,
}

impl SessionMode {
    /// Returns the name of the mode in session files.
    fn as_str(self) -> &'static str {
        match self {
            SessionMode::Default => "none",
            SessionMode::Plan => "plan",
        }
    }
}

impl Control {
    /// Returns the mode of the current session.
    pub fn mode(&self) -> SessionMode {
        // A session file that cannot be read is reported by the next write.
        match self.session().agent.session().mode().as_deref() {
            Ok("plan") => SessionMode::Plan,
            _ => SessionMode::Default,
        }
    }

    /// Changes the mode from the next request on, and records it in the session. In plan mode the model of the role
    /// `plan` answers; afterwards the previous model is restored.
    ///
    /// # Errors
    /// Returns an error if a file of the system prompt cannot be read, a model is not available, or the session cannot
    /// be written.
    pub async fn set_mode(&self, mode: SessionMode) -> Result<(), ControlError> {
        if self.mode() == mode {
            return self.apply_mode();
        }
        let open = self.session();
        let before = open.agent.session().mode_data()?;
        let (model, thinking) = (open.agent.model().model.key(), open.agent.thinking());
        let planner = self.app.startup.settings.model_roles.get("plan").cloned();
        let data = match mode {
            SessionMode::Plan if planner.is_some() => Some(json!({"model": model, "thinking": thinking.as_str()})),
            _ => None,
        };
        open.agent.session().append(Body::ModeChange { mode: mode.as_str().into(), data })?;
        self.apply_mode()?;
        match (mode, planner, before) {
            (SessionMode::Plan, Some(pattern), _) => self.change_model(&pattern).await,
            (SessionMode::Default, _, Some(before)) => self.restore_model(&before).await,
            _ => Ok(()),
        }
    }

    /// Applies the mode that the current session or the flag `--plan` requires.
    ///
    /// # Errors
    /// Returns the errors of [`Control::set_mode`].
    pub async fn begin_mode(&self) -> Result<(), ControlError> {
        match (self.mode(), self.app.startup.args.run.plan) {
            (SessionMode::Default, true) => self.set_mode(SessionMode::Plan).await,
            (SessionMode::Default, false) if self.plan_tools(SessionMode::Default).is_empty() => Ok(()),
            (SessionMode::Default, false) => self.offer(&self.session(), &mut Vec::new()),
            (SessionMode::Plan, _) => self.apply_mode(),
        }
    }

    /// Enables the tools and the sandbox of the mode of the current session.
    ///
    /// # Errors
    /// Returns an error if a file of the system prompt cannot be read.
    pub fn apply_mode(&self) -> Result<(), ControlError> {
        let open = self.session();
        let names = match self.mode() {
            SessionMode::Default => {
                open.host.leave_confinement();
                None
            }
            SessionMode::Plan => {
                let confinement = self.app.limits.of_plan();
                let is_enforced = enforces_writes(&confinement);
                if is_enforced {
                    open.host.enter_confinement(confinement);
                }
                let offered = self.app.toolset(&open.host, open.servers().as_ref())?;
                let allowed = offered.all().iter().filter(|tool| may_plan(&***tool, is_enforced));
                Some(allowed.map(|tool| tool.name().to_string()).collect())
            }
        };
        self.selection.lock().allow(names);
        self.offer(&open, &mut Vec::new())
    }

    /// Returns the reason why programs cannot run in plan mode; `None` if the kernel prevents them from writing.
    pub fn plan_gap(&self) -> Option<&'static str> {
        let is_enforced = enforces_writes(&self.app.limits.of_plan());
        (!is_enforced).then_some("the system cannot keep programs from writing, so no command runs in plan mode")
    }

    async fn change_model(&self, pattern: &str) -> Result<(), ControlError> {
        let found = self.app.models.matching(&[pattern.to_string()]);
        let Some(selection) = found.into_iter().next() else {
            return Err(format!("modelRoles.plan: {pattern}: no such model with a key").into());
        };
        let reached = self.app.models.connect(selection.model).await?;
        self.session().agent.set_model(reached, None);
        if let Some(level) = selection.level {
            self.session().agent.set_thinking(level);
        }
        Ok(())
    }

    async fn restore_model(&self, before: &Value) -> Result<(), ControlError> {
        let text = |key: &str| before.get(key).and_then(Value::as_str);
        let agent = &self.session().agent;
        if let Some(key) = text("model").filter(|key| *key != agent.model().model.key()) {
            let reached = self.app.models.again(key).await;
            agent.set_model(reached.map_err(|reason| format!("{key}: {reason}"))?, None);
        }
        if let Some(level) = text("thinking").and_then(ThinkingLevel::parse) {
            agent.set_thinking(level);
        }
        Ok(())
    }
}
