//! Handoff: the model writes a summary for a successor without context, and a new session starts with it.

use std::path::PathBuf;

use sinew::base::{Error, ErrorCode, Result};
use sinew_llm::message::{LlmMessage, StopReason};
use sinew_llm::provider::{Request, ToolChoice};
use sinew_session::{Body, Target};

use super::session::AgentSession;
use crate::compaction::SECTIONS;
use crate::core::changed;

/// The result of a handoff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandoffResult {
    /// The summary that the model wrote.
    pub text: String,
    /// The file of the new session; `None` if this one has no file.
    pub path: Option<PathBuf>,
}

impl AgentSession {
    /// Asks the model for everything that a successor needs and creates a new session that starts with the answer. The
    /// request reuses the system prompt, tools and history of the last turn, so that the provider's cache applies. This
    /// session is unchanged. The caller opens the new one.
    ///
    /// # Errors
    /// Returns an error if a run is active, if the conversation is empty (`Nothing to hand off (no messages yet)`), if
    /// it was aborted (`Handoff cancelled`), or if the request failed or its answer is empty (`Handoff failed: <why>`).
    pub async fn handoff(&self, focus: Option<&str>) -> Result<HandoffResult> {
        let context = self.begin_maintenance()?;
        if context.len() < 2 {
            return Err(Error::new(ErrorCode::InvalidState, "Nothing to hand off (no messages yet)"));
        }
        let cancel = self.new_token();
        let failed = |cause: &str| Error::new(ErrorCode::Io, format!("Handoff failed: {cause}"));
        let (changed, faults) = changed(&self.extensions, &context, &self.extension_context(cancel.clone())).await;
        for fault in faults {
            self.emit(fault).await;
        }
        let mut messages = crate::core::repair(changed.as_deref().unwrap_or(&context));
        messages.push(LlmMessage::user(wish(focus)).into());
        let (provider, request) = self.request(messages);
        let request = Request { tool_choice: ToolChoice::None, lane: Some("handoff".into()), ..request };
        let answer = tokio::select! {
            answer = provider.stream(request, cancel.child_token()).result() => answer,
            () = cancel.cancelled() => return Err(Error::new(ErrorCode::Aborted, "Handoff cancelled")),
        };
        if matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted) {
            return Err(failed(answer.error_message.as_deref().unwrap_or("the request failed")));
        }
        let text = answer.text().trim().to_string();
        if text.is_empty() {
            return Err(failed("the answer was empty"));
        }
        let (model, level) = {
            let turn = self.live.turn();
            (turn.resolved.model.key(), turn.thinking.as_str().to_string())
        };
        let session = self.session();
        let path = match session.path().filter(|path| path.is_file()).and_then(|path| path.parent()) {
            Some(folder) => Some(session.successor(
                Target { folder, cwd: &self.context.cwd },
                vec![
                    Body::ModelChange { model, role: None, provider: None, model_id: None },
                    Body::ThinkingLevelChange { thinking_level: level },
                    Body::CustomMessage {
                        custom_type: "handoff".into(),
                        content: framed(&text).into(),
                        display: true,
                        details: None,
                        attribution: None,
                    },
                ],
            )?),
            None => None,
        };
        Ok(HandoffResult { text, path })
    }
}

fn wish(focus: Option<&str>) -> String {
    let mut text = format!(
        "Another agent takes over this task in a new session and knows nothing of this one. Write down everything that \
it needs. Do not go on with the task and call no tool. {SECTIONS}"
    );
    if let Some(focus) = focus {
        text.push_str(&format!("\n\nAdditional focus: {focus}"));
    }
    text
}

fn framed(text: &str) -> String {
    format!("<handoff-context>\n{text}\n</handoff-context>\n\nThis comes from an earlier session. Go on from it.")
}
