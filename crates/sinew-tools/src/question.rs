//! Questions to the user.

use crate::tool::Boxed;

/// Shows questions to the user and waits for the answers.
pub trait Ask: Send + Sync {
    /// One answer per question, in their order. `None`: the user cancelled.
    fn ask<'a>(&'a self, questions: &'a [Question]) -> Boxed<'a, Option<Vec<String>>>;

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
            matches!(self.ask(&[question]).await.as_deref(), Some([answer]) if answer == YES)
        })
    }

    /// Whether a call may run that a rule asks about. By default a yes to [`Ask::confirm`] counts once.
    fn permit<'a>(&'a self, permit: Permit<'a>) -> Boxed<'a, Permission> {
        Box::pin(async move {
            let Permit { tool, arguments, rule, .. } = permit;
            let title = format!("{tool} {arguments}");
            match self.confirm(&title, &format!("The rule {rule} asks. May it run?")).await {
                true => Permission::Once,
                false => Permission::No,
            }
        })
    }
}

/// A call that needs the user's word.
#[derive(Debug, Clone, Copy)]
pub struct Permit<'a> {
    /// The id of the call.
    pub call: &'a str,
    /// The tool.
    pub tool: &'a str,
    /// The arguments, whole.
    pub arguments: &'a serde_json::Value,
    /// The rule that asks, as the user wrote it.
    pub rule: &'a str,
}

/// The user's word on a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// This call may run.
    Once,
    /// This call may run, and in this session the same tool with the same arguments.
    Session,
    /// It must not.
    No,
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
