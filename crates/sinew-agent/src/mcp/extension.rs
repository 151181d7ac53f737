//! Starts servers behind the first request.

use std::borrow::Cow;
use std::sync::Arc;

use sinew_llm::message::AgentMessage;
use sinew_tools::tool::Boxed;

use super::manager::Manager;
use crate::event::Event;
use crate::extension::{Context, Extension};

/// Starts the servers that are to run without being called, once the first answer begins: the first request has left
/// without waiting for any of them.
pub struct StartBehind(pub Arc<Manager>);

impl Extension for StartBehind {
    fn name(&self) -> Cow<'static, str> {
        "mcp".into()
    }

    fn on_event<'a>(&'a self, event: &'a Event, _context: &'a Context) -> Boxed<'a, Result<(), String>> {
        if let Event::MessageStart { message: AgentMessage::Assistant(_) } = event {
            self.0.start_eager();
        }
        Box::pin(async { Ok(()) })
    }
}
