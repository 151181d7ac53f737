//! The points at which an agent asks its extensions; see [`hook_points`](crate::hook_points).

use std::ops::ControlFlow;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use sinew_llm::message::{AgentMessage, BashExecution, Content, CustomMessage};

use super::session::AgentSession;
use crate::extension::Point;
use crate::hook_points::{asked, says, text_of};

/// The decision of extensions whether a session may be left.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CancelDecision {
    /// An extension says no.
    pub cancelled: bool,
    /// The reason, where it gives one.
    pub reason: Option<String>,
    /// The new session is made, but the conversation stays in the old one.
    pub skip_restore: bool,
}

/// A message that an extension adds in front of a run.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Added {
    custom_type: String,
    content: Content,
    #[serde(default)]
    display: bool,
    details: Option<Value>,
}

impl AgentSession {
    /// Asks the extensions at a point, and tells the faults of those that failed.
    pub(super) async fn ask(
        &self,
        point: &'static str,
        fields: Value,
        take: impl FnMut(&mut Point, Map<String, Value>) -> ControlFlow<()>,
    ) {
        let context = self.extension_context(self.token());
        for fault in asked(&self.extensions, Point::new(point, fields), &context, take).await {
            self.emit(fault).await;
        }
    }

    async fn tell_point(&self, point: &'static str, fields: Value) {
        self.ask(point, fields, |_, _| ControlFlow::Continue(())).await;
    }

    /// Tells the extensions once that the session begins. The first prompt does so where the host has not.
    pub async fn start(&self) {
        if self.started.is_first() {
            self.tell_point("session_start", json!({})).await;
        }
    }

    /// Closes the session and tells the extensions so once: nothing begins any more.
    pub async fn shut_down(&self) {
        if self.conversation.context.close().is_ok() {
            // What ended the last run must not end this.
            drop(self.new_token());
            self.tell_point("session_shutdown", json!({})).await;
        }
    }

    /// Asks whether the session may be left for the one in `target`; `reason`: `new`, `resume`, `fork` and so on. The
    /// switch itself, and [`AgentSession::switched`] at the new session, are the caller's.
    pub async fn may_switch(&self, reason: &str, target: Option<&Path>) -> CancelDecision {
        self.leaving("session_before_switch", json!({"reason": reason, "targetSessionFile": target})).await
    }

    /// Tells the extensions that this session goes on in place of another one.
    pub async fn switched(&self, reason: &str, previous: Option<&Path>) {
        self.tell_point("session_switch", json!({"reason": reason, "previousSessionFile": previous})).await;
    }

    /// Asks whether a branch may be made at `entry`; [`AgentSession::branch`] makes it, and
    /// [`AgentSession::branched`] at the new session is the caller's.
    pub async fn may_branch(&self, entry: &str) -> CancelDecision {
        self.leaving("session_before_branch", json!({"entryId": entry})).await
    }

    /// Tells the extensions that this session is a branch of another one.
    pub async fn branched(&self, previous: Option<&Path>) {
        self.tell_point("session_branch", json!({"previousSessionFile": previous})).await;
    }

    async fn leaving(&self, point: &'static str, fields: Value) -> CancelDecision {
        let mut leaving = CancelDecision::default();
        self.ask(point, fields, |_, answer| {
            leaving.skip_restore |= says(&answer, "skipConversationRestore");
            refused(&answer, &mut leaving)
        })
        .await;
        leaving
    }

    /// Asks whether an extension runs a command of the user in place of the shell; gives what it made of it.
    pub async fn asked_user_bash(&self, command: &str, exclude_from_context: bool) -> Option<BashExecution> {
        let fields = json!({"command": command, "excludeFromContext": exclude_from_context});
        let mut result = None;
        self.ask("user_bash", fields, |_, mut answer| {
            let given = answer.remove("result").filter(Value::is_object);
            let Some(mut given) = given else { return ControlFlow::Continue(()) };
            given["command"] = command.into();
            result = serde_json::from_value(given).ok();
            ControlFlow::Break(())
        })
        .await;
        result
    }

    /// Lets the extensions add to `prompts` and to the system prompt of what follows from them.
    pub(super) async fn before_start(&self, prompts: &mut Vec<AgentMessage>) {
        let said = prompts.iter().filter_map(|message| match message {
            AgentMessage::User(user) => Some(user.content.text()),
            _ => None,
        });
        let said: Vec<String> = said.collect();
        let system = self.live.turn().system.join("\n\n");
        let (mut added, mut appended) = (Vec::new(), Vec::new());
        let fields = json!({"prompt": said.join("\n\n"), "systemPrompt": system});
        self.ask("before_agent_start", fields, |_, mut answer| {
            added.extend(answer.remove("message"));
            appended.extend(text_of(&answer, "systemPromptAppend"));
            ControlFlow::Continue(())
        })
        .await;
        self.live.append_to_system(appended);
        for message in added {
            match serde_json::from_value::<Added>(message) {
                Ok(Added { custom_type, content, display, details }) => {
                    let (attribution, timestamp) = (None, self.clock.now());
                    let message = CustomMessage { custom_type, content, display, details, attribution, timestamp };
                    prompts.push(AgentMessage::Custom(message));
                }
                Err(error) => self.warn(format!("before_agent_start: a message is not used: {error}")).await,
            }
        }
    }
}

/// Returns whether an answer refuses; the first that does ends the asking.
pub(super) fn refused(answer: &Map<String, Value>, leaving: &mut CancelDecision) -> ControlFlow<()> {
    if !says(answer, "cancel") {
        return ControlFlow::Continue(());
    }
    leaving.cancelled = true;
    leaving.reason = text_of(answer, "reason");
    ControlFlow::Break(())
}
