//! Starts servers after the first request.

use std::borrow::Cow;
use std::sync::Arc;

use sinew_llm::message::AgentMessage;
use sinew_tools::tool::Boxed;

use super::manager::Manager;
use crate::event::Event;
use crate::extension::{Context, Extension};

/// Starts eager servers once the first delta of an answer arrives. By then the request has been sent, so the starting
/// programs do not compete with it for the processor.
pub struct StartBehind(pub Arc<Manager>);

impl Extension for StartBehind {
    fn name(&self) -> Cow<'static, str> {
        "mcp".into()
    }

    fn on_event<'a>(&'a self, event: &'a Event, _context: &'a Context) -> Boxed<'a, Result<(), String>> {
        // A message starts before its request is sent, and may end without an update.
        if let Event::MessageUpdate { .. } | Event::MessageEnd { message: AgentMessage::Assistant(_) } = event {
            self.0.start_eager();
        }
        Box::pin(async { Ok(()) })
    }
}
