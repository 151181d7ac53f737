//! Starts servers behind the first request.

use std::borrow::Cow;
use std::sync::Arc;

use sinew_llm::message::AgentMessage;
use sinew_tools::tool::Boxed;

use super::manager::Manager;
use crate::event::Event;
use crate::extension::{Context, Extension};

/// Starts the servers that are to run without being called, once the first piece of an answer is there. The request has
/// arrived by then: programs that start beside it would take the processors from it.
pub struct StartBehind(pub Arc<Manager>);

impl Extension for StartBehind {
    fn name(&self) -> Cow<'static, str> {
        "mcp".into()
    }

    fn on_event<'a>(&'a self, event: &'a Event, _context: &'a Context) -> Boxed<'a, Result<(), String>> {
        // A message starts when its request is made, and may end without a piece.
        if let Event::MessageUpdate { .. } | Event::MessageEnd { message: AgentMessage::Assistant(_) } = event {
            self.0.start_eager();
        }
        Box::pin(async { Ok(()) })
    }
}
