//! Questions to the user.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use crate::tool::Boxed;

/// Shows questions to the user and waits for the answers.
pub trait Ask: Send + Sync {
    /// The answer to one question. `None`: the user cancelled.
    fn answer<'a>(&'a self, question: &'a Question) -> Boxed<'a, Option<String>>;

    /// One answer per question, asked in their order. `None`: the user cancelled one, and no later one is asked.
    fn ask<'a>(&'a self, questions: &'a [Question]) -> Boxed<'a, Option<Vec<String>>> {
        Box::pin(async move {
            let mut answers = Vec::with_capacity(questions.len());
            for question in questions {
                answers.push(self.answer(question).await?);
            }
            Some(answers)
        })
    }

    /// Returns true if the user says yes. A question with two answers where nothing shows it better.
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

    /// Asks the user about a call that needs permission. By default a yes to [`Ask::confirm`] counts once.
    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> Boxed<'a, Approval> {
        Box::pin(async move {
            let ApprovalRequest { tool, arguments, rule, .. } = request;
            // All arguments: what changes the call must not be hidden.
            let title = format!("{tool} {arguments}");
            let unsure = request.unsure.as_ref().map(|reason| format!(" It cannot be read for sure: {reason}."));
            let message = format!("The rule {rule} asks.{} May it run?", unsure.unwrap_or_default());
            match self.confirm(&title, &message).await {
                true => Approval::Once,
                false => Approval::No(None),
            }
        })
    }
}

/// A call that needs permission.
#[derive(Clone)]
pub struct ApprovalRequest {
    /// The id of the call.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub arguments: Value,
    /// The folder of the session.
    pub cwd: PathBuf,
    /// The rule that asks.
    pub rule: String,
    /// The reason why the call cannot be read for sure, where that is why the rule asks.
    pub unsure: Option<String>,
    /// Rules that would let the call run, the narrowest first; none where one rule cannot say it.
    pub patterns: Vec<String>,
    /// Tells what is wrong with a rule that the user wrote.
    pub check: RuleCheck,
}

impl ApprovalRequest {
    /// Formats the command of the call and, below it, each other argument, so that nothing which changes what runs is left
    /// out: variables, folder, time limit, background. Returns `None` if the call has no command.
    #[must_use]
    pub fn command_text(&self) -> Option<String> {
        let mut text = self.arguments.get("command")?.as_str()?.to_string();
        for (name, value) in self.arguments.as_object().into_iter().flatten() {
            match value {
                _ if name == "command" => {}
                Value::Null | Value::Bool(false) => {}
                // A line for each, quoted: a value cannot look like another line.
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

/// Checks a rule for a call: `Err` says why it would not let the call run.
pub type RuleCheck = Arc<dyn Fn(&str, RuleScope) -> Result<(), String> + Send + Sync>;

/// The time for which a rule counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleScope {
    /// Until the session is left.
    Session,
    /// From now on, in every session: whoever answers keeps it in a file.
    Always,
}

/// The answer of the user about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Approval {
    /// It may run.
    Once,
    /// It may run, and in this session the same tool with the same arguments.
    Same,
    /// It may run, and so may every call that this rule fits.
    Rule(String, RuleScope),
    /// It may not run; a sentence for the model.
    No(Option<String>),
}

/// A question of the model.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// Names the answer; the number of the question where there is none.
    pub id: Option<String>,
    /// The question.
    pub question: String,
    /// Answers to choose from; the user may write another one.
    #[serde(default)]
    pub options: Vec<Choice>,
    /// True if more than one option may be chosen. Default: `false`.
    #[serde(default)]
    pub multi: bool,
    /// The index of the option that the model would take.
    pub recommended: Option<usize>,
}

/// An answer to choose.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub struct Choice {
    /// Its name.
    pub label: String,
    /// Its explanation.
    pub description: Option<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_text_of_a_command_shows_every_argument() {
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
            };
            let text = request.command_text().map(|text| sorted(&text));
            assert_eq!(text, expect.map(sorted), "{}", request.arguments);
        }
    }

    /// The lines below the command, in the order of the alphabet: that of the arguments is the model's.
    fn sorted(text: &str) -> Vec<String> {
        let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
        lines[1..].sort();
        lines
    }
}
