//! Calls of extensions at the points that [`hook_points`](crate::hook_points) lists.

use std::ops::ControlFlow;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use sinew_llm::message::{AgentMessage, BashExecution, Content, CustomMessage};

use super::session::AgentSession;
use crate::extension::Point;
use crate::hook_points::{asked, says, text_of};

/// The decision of the extensions whether a session may be left.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CancelDecision {
    /// Whether an extension cancelled it.
    pub cancelled: bool,
    /// The reason, if the extension supplied one.
    pub reason: Option<String>,
    /// The new session is created, but without the conversation of the old one.
    pub skip_restore: bool,
}

/// A message that an extension adds before a run.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AddedMessage {
    custom_type: String,
    content: Content,
    #[serde(default)]
    display: bool,
    details: Option<Value>,
}

impl AgentSession {
    /// Asks the extensions at a point, and reports failures.
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

    /// Informs the extensions that the session starts; only the first call has an effect. The first prompt calls it
    /// too.
    pub async fn start(&self) {
        if self.started.is_first() {
            self.tell_point("session_start", json!({})).await;
        }
    }

    /// Closes the session and informs the extensions once. Nothing can start any more.
    pub async fn shut_down(&self) {
        if self.conversation.context.close().is_ok() {
            // A cancellation of the last run must not cancel these hooks.
            drop(self.new_token());
            self.tell_point("session_shutdown", json!({})).await;
            self.keep_hook_work().await;
        }
    }

    /// Asks whether the session may be left for the one in `target`. `reason` is for example `new`, `resume` or `fork`.
    /// The caller performs the switch and then calls [`AgentSession::switched`] on the new session.
    pub async fn may_switch(&self, reason: &str, target: Option<&Path>) -> CancelDecision {
        self.leaving("session_before_switch", json!({"reason": reason, "targetSessionFile": target})).await
    }

    /// Informs the extensions that this session replaces another one.
    pub async fn switched(&self, reason: &str, previous: Option<&Path>) {
        self.tell_point("session_switch", json!({"reason": reason, "previousSessionFile": previous})).await;
    }

    /// Asks whether a branch may be created at `entry`. [`AgentSession::branch`] creates it; the caller then calls
    /// [`AgentSession::branched`] on the new session.
    pub async fn may_branch(&self, entry: &str) -> CancelDecision {
        self.leaving("session_before_branch", json!({"entryId": entry})).await
    }

    /// Informs the extensions that this session is a branch of another one.
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

    /// Asks whether an extension runs a command of the user instead of the shell. Returns its result if one does.
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

    /// Lets the extensions add to `prompts` and to the system prompt of the runs that follow.
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
            match serde_json::from_value::<AddedMessage>(message) {
                Ok(AddedMessage { custom_type, content, display, details }) => {
                    let (attribution, timestamp) = (None, self.clock.now());
                    let message = CustomMessage { custom_type, content, display, details, attribution, timestamp };
                    prompts.push(AgentMessage::Custom(message));
                }
                Err(error) => self.warn(format!("before_agent_start: a message is ignored: {error}")).await,
            }
        }
    }
}

/// Records a refusal. The first one ends the loop.
pub(super) fn refused(answer: &Map<String, Value>, leaving: &mut CancelDecision) -> ControlFlow<()> {
    if !says(answer, "cancel") {
        return ControlFlow::Continue(());
    }
    leaving.cancelled = true;
    leaving.reason = text_of(answer, "reason");
    ControlFlow::Break(())
}
