//! Sends questions and permission requests to the user of the editor.

use std::collections::BTreeMap;
use std::sync::Arc;

use agent_client_protocol_schema::v1 as acp;
use sinew_tools::tool::Boxed;
use sinew_tools::{Approval, ApprovalRequest, Ask, Question};

use super::map::CallIds;
use super::pump::PumpHandle;
use super::tool_call;
use super::wire::Wire;

const ALLOW: &str = "allow";
const ALLOW_SESSION: &str = "allow_session";
const REJECT: &str = "reject";
/// The name of the only field in a form.
const ANSWER: &str = "answer";

/// Asks the user of the editor. There is no time limit: a question ends with the turn that asks it.
pub(super) struct Asker {
    wire: Wire,
    ids: Arc<CallIds>,
    /// The session, set when it is open; questions before that are not asked.
    pub(super) session: std::sync::OnceLock<(acp::SessionId, PumpHandle)>,
    /// True if the editor supports forms.
    forms: bool,
}

impl Asker {
    pub(super) fn new(wire: Wire, ids: Arc<CallIds>, forms: bool) -> Asker {
        Asker { wire, ids, session: std::sync::OnceLock::new(), forms }
    }

    /// Shows the options to the user; returns `None` if the user selects none, or nobody answers.
    async fn choose(&self, call: acp::ToolCallUpdate, options: Vec<acp::PermissionOption>) -> Option<String> {
        let (session, pump) = self.session.get()?;
        // Shows what led to the question before the question.
        pump.caught_up().await;
        let request = acp::RequestPermissionRequest::new(session.clone(), call, options);
        let answer: acp::RequestPermissionResponse =
            self.wire.request("session/request_permission", &request).await.ok()?;
        match answer.outcome {
            acp::RequestPermissionOutcome::Selected(chosen) => Some(chosen.option_id.0.to_string()),
            _ => None,
        }
    }

    /// Asks one question; returns `None` if the user declines to answer.
    async fn one(&self, question: &Question) -> Option<String> {
        match self.forms {
            true => self.form(question).await,
            // Without forms, only questions with options can be asked.
            false if question.options.is_empty() => Some(question.unanswered()),
            false => {
                let id = self.ids.current("question");
                let fields = acp::ToolCallUpdateFields::new().title(question.question.clone());
                let call = acp::ToolCallUpdate::new(id, fields.kind(acp::ToolKind::Other));
                let options = (0..).zip(&question.options).map(|(at, option)| {
                    let name = match &option.description {
                        Some(description) => format!("{}: {description}", option.label),
                        None => option.label.clone(),
                    };
                    acp::PermissionOption::new(format!("{at}"), name, acp::PermissionOptionKind::AllowOnce)
                });
                let chosen = self.choose(call, options.collect()).await?;
                let option = chosen.parse().ok().and_then(|at: usize| question.options.get(at))?;
                Some(option.label.clone())
            }
        }
    }

    async fn form(&self, question: &Question) -> Option<String> {
        let (session, pump) = self.session.get()?;
        pump.caught_up().await;
        let choices: Vec<acp::EnumOption> = question
            .options
            .iter()
            .map(|option| acp::EnumOption::new(&option.label, &option.label).description(option.description.clone()))
            .collect();
        let property = match (choices.is_empty(), question.multi) {
            (true, _) => acp::ElicitationPropertySchema::String(acp::StringPropertySchema::new()),
            (false, true) => acp::ElicitationPropertySchema::Array(acp::MultiSelectPropertySchema::titled(choices)),
            (false, false) => acp::ElicitationPropertySchema::String(acp::StringPropertySchema::new().one_of(choices)),
        };
        let schema = acp::ElicitationSchema::new().property(ANSWER, property, true);
        let scope = acp::ElicitationSessionScope::new(session.clone());
        let mode = acp::ElicitationFormMode::new(scope, schema);
        let request = acp::CreateElicitationRequest::new(mode, question.question.clone());
        let answer: acp::CreateElicitationResponse = self.wire.request("elicitation/create", &request).await.ok()?;
        let acp::ElicitationAction::Accept(accepted) = answer.action else { return None };
        let mut content: BTreeMap<String, acp::ElicitationContentValue> = accepted.content.unwrap_or_default();
        Some(match content.remove(ANSWER)? {
            acp::ElicitationContentValue::String(text) => text,
            acp::ElicitationContentValue::StringArray(list) => list.join(", "),
            acp::ElicitationContentValue::Integer(number) => number.to_string(),
            acp::ElicitationContentValue::Number(number) => number.to_string(),
            acp::ElicitationContentValue::Boolean(value) => value.to_string(),
            // A type of answer that was not requested.
            _ => return None,
        })
    }
}

impl Ask for Asker {
    fn answer<'a>(&'a self, question: &'a Question) -> Boxed<'a, Option<String>> {
        Box::pin(self.one(question))
    }

    fn confirm<'a>(&'a self, title: &'a str, message: &'a str) -> Boxed<'a, bool> {
        Box::pin(async move {
            let title = format!("{title}\n{message}");
            let call = acp::ToolCallUpdate::new(
                self.ids.current("confirm"),
                acp::ToolCallUpdateFields::new().title(title).kind(acp::ToolKind::Other),
            );
            let options = vec![option(ALLOW, "Yes", AllowOnce), option(REJECT, "No", RejectOnce)];
            self.choose(call, options).await.as_deref() == Some(ALLOW)
        })
    }

    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> Boxed<'a, Approval> {
        Box::pin(async move {
            let ApprovalRequest { call, tool, arguments, rule, .. } = request;
            // The whole command with its variables and directory, so that the user sees everything that is being
            // approved.
            let title = request.command_text().unwrap_or_else(|| tool_call::title(tool, arguments, None));
            let title = request.attributed(title);
            let mut meta = acp::Meta::new();
            let mut facts = serde_json::json!({"tool": tool, "rule": rule});
            if let Some(requester) = &request.requester {
                facts["subagent"] = requester.facts();
            }
            meta.insert("sinew".into(), facts);
            let fields = acp::ToolCallUpdateFields::new()
                .title(title)
                .kind(tool_call::kind(tool))
                .status(acp::ToolCallStatus::Pending)
                .raw_input(arguments.clone());
            let call = acp::ToolCallUpdate::new(self.ids.current(call), fields).meta(meta);
            let options = vec![
                option(ALLOW, "Allow once", AllowOnce),
                option(ALLOW_SESSION, "Allow this call for the session", AllowAlways),
                option(REJECT, "Reject", RejectOnce),
            ];
            match self.choose(call, options).await.as_deref() {
                Some(ALLOW) => Approval::Once,
                Some(ALLOW_SESSION) => Approval::Same,
                _ => Approval::No(None),
            }
        })
    }
}

use acp::PermissionOptionKind::{AllowAlways, AllowOnce, RejectOnce};

fn option(id: &'static str, name: &str, kind: acp::PermissionOptionKind) -> acp::PermissionOption {
    acp::PermissionOption::new(id, name, kind)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};
    use sinew_agent::agent::{EventBus, Snapshots};

    use super::*;
    use crate::map::{Changes, Mapper};
    use crate::pump;
    use crate::wire::Line;

    const HOUR: Duration = Duration::from_secs(3_600);

    #[tokio::test(start_paused = true)]
    async fn questions_have_no_time_limit() {
        let (wire, mut frames) = Wire::queued();
        let (ids, events) = (Arc::<CallIds>::default(), EventBus::default());
        let mapper = Mapper::new("/w".into(), Arc::clone(&ids), Changes::default(), false);
        let session = acp::SessionId::new("s");
        let pump = pump::start(wire.clone(), session.clone(), events.subscribe(Snapshots::Unread), mapper);
        let asker = Arc::new(Asker::new(wire.clone(), ids, false));
        assert!(asker.session.set((session, pump)).is_ok());
        let asked = Arc::clone(&asker);
        let answer = tokio::spawn(async move {
            let request = ApprovalRequest {
                call: "1".into(),
                tool: "bash".into(),
                arguments: json!({"command": "rm -r build", "cwd": "/x", "env": {"A": "b"}}),
                cwd: "/w".into(),
                rule: "bash(rm *)".into(),
                unsure: None,
                patterns: Vec::new(),
                check: Arc::new(|_, _| Ok(())),
                requester: None,
            };
            asked.approve(&request).await
        });
        let frame: Value = serde_json::from_slice(&frames.recv().await.unwrap()).unwrap();
        assert_eq!(frame["method"], "session/request_permission");
        let title = frame["params"]["toolCall"]["title"].as_str().unwrap();
        assert!(["rm -r build\n", "cwd: \"/x\"", "env: A=\"b\""].iter().all(|part| title.contains(part)), "{title}");
        // The paused clock advances when nothing else can run.
        tokio::time::sleep(HOUR).await;
        assert!(!answer.is_finished());
        assert!(frames.try_recv().is_err(), "the question is still open");
        let reply = json!({"jsonrpc": "2.0", "id": frame["id"],
            "result": {"outcome": {"outcome": "selected", "optionId": ALLOW}}});
        assert!(wire.receive(&Line::Message(reply.to_string().into_bytes())).is_empty());
        assert!(matches!(answer.await.unwrap(), Approval::Once));
    }
}
