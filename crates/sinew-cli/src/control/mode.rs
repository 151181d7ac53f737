//! The mode of a session: whether tools may change anything.

use sinew_agent::mcp::tools::SEARCH_TOOL;
use sinew_session::Body;

use super::{Control, ControlError};

/// The mode of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionMode {
    Default,
    /// Only tools that change nothing are offered.
    Plan,
}

impl SessionMode {
    /// As session files write it.
    fn as_str(self) -> &'static str {
        match self {
            SessionMode::Default => "none",
            SessionMode::Plan => "plan",
        }
    }
}

impl Control {
    /// The mode of the current session.
    pub(crate) fn mode(&self) -> SessionMode {
        // A file that can no longer be read is reported by the next write.
        match self.session().agent.session().mode().as_deref() {
            Ok("plan") => SessionMode::Plan,
            _ => SessionMode::Default,
        }
    }

    /// Changes the mode, from the next turn on, and keeps it in the session.
    ///
    /// # Errors
    /// A file of the system prompt cannot be read, or the session cannot be written.
    pub(crate) fn set_mode(&self, mode: SessionMode) -> Result<(), ControlError> {
        if self.mode() != mode {
            let entry = Body::ModeChange { mode: mode.as_str().into(), data: None };
            self.session().agent.session().append(entry)?;
        }
        self.apply_mode()
    }

    /// Offers the tools that the mode of the current session allows.
    ///
    /// # Errors
    /// A file of the system prompt cannot be read.
    pub(crate) fn apply_mode(&self) -> Result<(), ControlError> {
        let open = self.session();
        let names = match self.mode() {
            SessionMode::Default => None,
            SessionMode::Plan => {
                let offered = self.app.toolset(&open.host, open.servers().as_ref())?;
                // Nobody knows what a tool of a server changes, whatever the server says: none of them is found.
                let is_foreign = |name: &str| name == SEARCH_TOOL || name.starts_with("mcp_");
                let reading = offered
                    .all()
                    .iter()
                    .filter(|tool| tool.semantics().effects.changes_nothing() && !is_foreign(tool.name()));
                Some(reading.map(|tool| tool.name().to_string()).collect())
            }
        };
        self.selection.lock().allow(names);
        self.offer(&open, &mut Vec::new())
    }
}
