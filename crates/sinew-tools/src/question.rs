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
            let title = format!("{tool} {arguments}");
            match self.confirm(&title, &format!("The rule {rule} asks. May it run?")).await {
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
