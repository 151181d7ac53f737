//! Questions to the user.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::tool::Boxed;

/// Shows questions to the user and waits for the answers.
pub trait Ask: Send + Sync {
    /// Returns the answer to one question; `None` if the user cancelled.
    fn answer<'a>(&'a self, question: &'a Question) -> Boxed<'a, Option<String>>;

    /// Asks questions in order and returns one answer for each; `None` if the user cancelled one, in which case later
    /// ones are not asked.
    fn ask<'a>(&'a self, questions: &'a [Question]) -> Boxed<'a, Option<Vec<String>>> {
        Box::pin(async move {
            let mut answers = Vec::with_capacity(questions.len());
            for question in questions {
                answers.push(self.answer(question).await?);
            }
            Some(answers)
        })
    }

    /// Returns true if the user confirms. By default this is a question with two options.
    fn confirm<'a>(&'a self, title: &'a str, message: &'a str) -> Boxed<'a, bool> {
        const YES: &str = "Yes";
        Box::pin(async move {
            let choice = |label: &str| Choice { label: label.into(), description: None };
            let question = Question {
                id: None,
                question: format!("{title}\n{message}"),
                options: vec![choice(YES), choice("No")],
                multi: false,
                recommended: None,
            };
            self.answer(&question).await.as_deref() == Some(YES)
        })
    }

    /// Asks the user about a call that needs permission. By default, a yes to [`Ask::confirm`] allows the call once.
    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> Boxed<'a, Approval> {
        Box::pin(async move {
            let (title, message) = request.confirmation();
            match self.confirm(&title, &message).await {
                true => Approval::Once,
                false => Approval::No(None),
            }
        })
    }
}

/// The subagent that asks. It is shown with the question, because several subagents can ask at the same time.
#[derive(Debug)]
pub struct Requester {
    /// The id of the subagent.
    pub id: String,
    /// The name of its agent.
    pub agent: String,
    /// A short description of its task; `None` if there is none.
    pub description: Option<String>,
    /// The number of its unanswered questions.
    open: AtomicUsize,
}

impl Requester {
    /// Creates a requester without open questions.
    #[must_use]
    pub fn new(id: String, agent: String, description: Option<String>) -> Requester {
        Requester { id, agent, description, open: AtomicUsize::new(0) }
    }

    /// Counts a question as open until the returned guard is dropped.
    pub fn begin_question(&self) -> OpenQuestion<'_> {
        self.open.fetch_add(1, Ordering::Relaxed);
        OpenQuestion(self)
    }

    /// Returns `id`, `agent` and `description` as JSON.
    #[must_use]
    pub fn facts(&self) -> Value {
        json!({"id": self.id, "agent": self.agent, "description": self.description})
    }

    /// Returns true while one of its questions is open.
    #[must_use]
    pub fn is_asking(&self) -> bool {
        self.open.load(Ordering::Relaxed) > 0
    }
}

/// `One (explore: find the parser)`.
impl fmt::Display for Requester {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Requester { id, agent, description, .. } = self;
        match description {
            Some(description) => write!(f, "{id} ({agent}: {description})"),
            None => write!(f, "{id} ({agent})"),
        }
    }
}

/// An unanswered question of a [`Requester`].
#[must_use = "the question counts as answered when this is dropped"]
pub struct OpenQuestion<'a>(&'a Requester);

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A call that needs permission.
#[derive(Clone)]
pub struct ApprovalRequest {
    /// The id of the call.
    pub call: String,
    /// The name of the tool.
    pub tool: String,
    /// The arguments.
    pub arguments: Value,
    /// The working directory of the session.
    pub cwd: PathBuf,
    /// The rule that requires the question.
    pub rule: String,
    /// The reason why the call could not be parsed reliably, if that caused the question; `None` otherwise.
    pub unsure: Option<String>,
    /// Rules that would allow the call, the narrowest first; empty if no single rule can.
    pub patterns: Vec<String>,
    /// Validates a rule that the user wrote.
    pub check: RuleCheck,
    /// The subagent that makes the call; `None` for a call of the session itself.
    pub requester: Option<Arc<Requester>>,
}

impl ApprovalRequest {
    /// Returns the call as a title with all arguments, because every one of them can change its effect, and the sentence
    /// that says why the user is asked.
    #[must_use]
    pub fn confirmation(&self) -> (String, String) {
        let ApprovalRequest { tool, arguments, rule, .. } = self;
        let unsure = self.unsure.as_ref().map(|reason| format!(" The command cannot be analyzed reliably: {reason}."));
        let message = format!("The rule {rule} requires your approval.{} Allow this call?", unsure.unwrap_or_default());
        (self.attributed(format!("{tool} {arguments}")), message)
    }

    /// Prefixes `title` with the subagent that makes the call, if there is one.
    #[must_use]
    pub fn attributed(&self, title: String) -> String {
        match &self.requester {
            Some(requester) => format!("{requester}: {title}"),
            None => title,
        }
    }

    /// Formats the command of the call followed by every other argument that affects it: variables, directory, time
    /// limit, background. Returns `None` if the call has no command.
    #[must_use]
    pub fn command_text(&self) -> Option<String> {
        let mut text = self.arguments.get("command")?.as_str()?.to_string();
        for (name, value) in self.arguments.as_object().into_iter().flatten() {
            match value {
                _ if name == "command" => {}
                Value::Null | Value::Bool(false) => {}
                // One quoted line per variable, so that a value cannot look like another line.
                Value::Object(variables) => {
                    for (variable, value) in variables {
                        text.push_str(&format!("\n{name}: {variable}={value}"));
                    }
                }
                value => text.push_str(&format!("\n{name}: {value}")),
            }
        }
        Some(text)
    }
}

/// Checks whether a rule would allow the call: `Err` contains the reason if it would not.
pub type RuleCheck = Arc<dyn Fn(&str, RuleScope) -> Result<(), String> + Send + Sync>;

/// The lifetime of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleScope {
    /// Until the end of the session.
    Session,
    /// In every session from now on: the user interface saves it in a file.
    Always,
}

/// The answer of the user about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Approval {
    /// Allows the call.
    Once,
    /// Allows the call and, in this session, every call of the same tool with the same arguments.
    Same,
    /// Allows the call and every call that this rule matches.
    Rule(String, RuleScope),
    /// Refuses the call, with an optional sentence for the model.
    No(Option<String>),
}

/// A question of the model.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// Identifies the answer; `None` uses the number of the question.
    pub id: Option<String>,
    /// The question.
    pub question: String,
    /// The options; the user may also write a different answer.
    #[serde(default)]
    pub options: Vec<Choice>,
    /// True if several options may be chosen. Default: `false`.
    #[serde(default)]
    pub multi: bool,
    /// The index of the option that the model recommends; `None` if it recommends none.
    pub recommended: Option<usize>,
}

/// An option of a question.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub struct Choice {
    /// The label.
    pub label: String,
    /// An explanation, if there is one.
    pub description: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_question_shows_every_argument_of_a_command() {
        for (arguments, expect) in [
            (json!({"command": "ls"}), Some("ls")),
            (json!({"command": "ls", "background": false, "cwd": null}), Some("ls")),
            (
                json!({"command": "git diff", "env": {"A": "b\nrm: x", "C": "d"}, "cwd": "/x", "timeout": 5, "background": true}),
                Some("git diff\nbackground: true\ncwd: \"/x\"\nenv: A=\"b\\nrm: x\"\nenv: C=\"d\"\ntimeout: 5"),
            ),
            (json!({"path": "a"}), None),
        ] {
            let request = ApprovalRequest {
                call: "1".into(),
                tool: "bash".into(),
                arguments,
                cwd: "/w".into(),
                rule: "bash".into(),
                unsure: None,
                patterns: Vec::new(),
                check: Arc::new(|_, _| Ok(())),
                requester: None,
            };
            let text = request.command_text().map(|text| sorted(&text));
            assert_eq!(text, expect.map(sorted), "{}", request.arguments);
        }
    }

    /// Sorts the lines after the command, because the model chooses the order of arguments.
    fn sorted(text: &str) -> Vec<String> {
        let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
        lines[1..].sort();
        lines
    }
}
