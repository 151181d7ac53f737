//! Shows the questions of the model and of permission rules to the user of the screen.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};
use sinew::base::Error;
use sinew_agent::mcp::semantics_of;
use sinew_control::actions::Control;
use sinew_control::config::is_missing;
use sinew_control::settings;
use sinew_llm::models::plain_json;
use sinew_session::files::read_text;
use sinew_tools::semantics::OutputView;
use sinew_tools::tool::Boxed;
use sinew_tools::{Approval, ApprovalRequest, Ask, Question, RuleScope};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::mailbox::{Mailbox, Message};

/// Asks the user of the screen. The panel of a question closes when its receiver is dropped.
pub(super) struct Asker {
    pub(super) mailbox: Mailbox,
    /// The file for rules that are always in force.
    pub(super) settings: PathBuf,
}

impl Ask for Asker {
    fn answer<'a>(&'a self, question: &'a Question) -> Boxed<'a, Option<String>> {
        Box::pin(async move {
            let (send, answer) = oneshot::channel();
            self.mailbox.send(Message::Question(question.clone(), send));
            answer.await.ok().flatten()
        })
    }

    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> Boxed<'a, Approval> {
        Box::pin(async move {
            let (send, answer) = oneshot::channel();
            self.mailbox.send(Message::Approval(Box::new(request.clone()), send));
            // If the screen has ended, the call is not permitted.
            let approval = answer.await.unwrap_or(Approval::No(None));
            if let Approval::Rule(rule, RuleScope::Always) = &approval {
                let (file, kept) = (self.settings.clone(), rule.clone());
                let written = tokio::task::spawn_blocking(move || keep(&file, &kept)).await;
                let text = match written {
                    Ok(Ok(())) => format!("{rule} is saved in {}", self.settings.display()),
                    Ok(Err(error)) => format!("{rule} applies until you quit: {}", error.message()),
                    Err(panic) => format!("{rule} applies until you quit: {panic}"),
                };
                self.mailbox.send(Message::Output(text));
            }
            approval
        })
    }
}

/// Computes the change that a call would make to files, on another thread, and sends it as a message. Returns the call
/// if it changes no files.
pub(super) fn preview(
    control: Arc<Control>,
    mailbox: Mailbox,
    runtime: &Handle,
    request: Box<ApprovalRequest>,
    send: oneshot::Sender<Approval>,
) -> Option<(Box<ApprovalRequest>, oneshot::Sender<Approval>)> {
    if semantics_of(&request.tool).presentation.output != OutputView::Diff {
        return Some((request, send));
    }
    runtime.spawn_blocking(move || {
        let changes = control.session().host.preview(&request.tool, &request.arguments);
        mailbox.send(Message::Previewed(request, changes, send));
    });
    None
}

/// Adds a rule to those that always allow.
fn keep(file: &Path, rule: &str) -> Result<(), Error> {
    let text = match read_text(file) {
        Ok(text) => text,
        Err(error) if is_missing(&error) => String::new(),
        Err(error) => return Err(Error::io(format!("failed to read {}", file.display()), &error)),
    };
    // If the file is not JSON, writing it fails later.
    let values: Map<String, Value> = serde_json::from_str(&plain_json(&text)).unwrap_or_default();
    let allow = values.get("permissions").and_then(|rules| rules.get("allow")).and_then(Value::as_array);
    let mut allow = allow.cloned().unwrap_or_default();
    if !allow.iter().any(|known| known == rule) {
        allow.push(rule.into());
    }
    settings::write(file, "permissions.allow", &Value::Array(allow))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_always_rule_is_saved_in_the_settings_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("settings.json");
        keep(&file, "bash(ls)").unwrap();
        keep(&file, "bash(ls)").unwrap();
        keep(&file, "write(a/**)").unwrap();
        let read = || serde_json::from_str::<Value>(&plain_json(&std::fs::read_to_string(&file).unwrap())).unwrap();
        assert_eq!(read()["permissions"]["allow"], serde_json::json!(["bash(ls)", "write(a/**)"]));
        let text = "{\n  // mine\n  \"permissions\": {\"ask\": [\"bash(*)\"]}\n}\n";
        std::fs::write(&file, text).unwrap();
        keep(&file, "bash(ls)").unwrap();
        let written = std::fs::read_to_string(&file).unwrap();
        assert!(
            written.contains("// mine") && written.contains("bash(*)") && written.contains("bash(ls)"),
            "{written}"
        );
        std::fs::write(&file, "no json").unwrap();
        assert!(keep(&file, "bash(ls)").is_err());
    }
}
