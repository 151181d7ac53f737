//! `ask`: asks the user questions, if there is a user interface.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::spec::{Outcome, PLAIN, Run, Spec};
use super::{Host, HostOptions, Question, arguments};
use crate::semantics::{Effects, Semantics, ToolKind};
use crate::tool::cancelled;
use crate::tool::{Call, Concurrency, ToolError, ToolOutput};

/// Why a question cannot be asked, for a model.
pub(crate) const NO_USER: &str =
    "no user can answer here; decide yourself and say what you assumed, or end your turn with the question";

pub(super) static SPEC: Spec = Spec {
    name: "ask",
    description: "Ask the user. Options are offered for choice; the user may also write an answer.",
    parameters,
    guidelines: &["Ask only what you cannot find out and what changes the work."],
    concurrency: Concurrency::Exclusive,
    flags: PLAIN,
    semantics: Semantics {
        kind: ToolKind::Ask,
        effects: Effects::NONE,
        foreign_names: &["AskUserQuestion"],
        ..Semantics::UNKNOWN
    },
    offered: |options| options.ask.is_some() && options.requester.is_none(),
    reject_early: None,
    preview: None,
    run: Run::Future(|host, call| Box::pin(run(host, call))),
};

fn parameters(_: &HostOptions) -> Value {
    let text = json!({"type": "string"});
    json!({
        "type": "object",
        "properties": {"questions": {"type": "array", "minItems": 1, "maxItems": 4, "items": {
            "type": "object",
            "properties": {
                "id": text,
                "question": text,
                "options": {"type": "array", "items": {
                    "type": "object",
                    "properties": {"label": text, "description": text},
                    "required": ["label"],
                    "additionalProperties": false,
                }},
                "multi": {"type": "boolean"},
                "recommended": {"type": "integer", "minimum": 0, "description": "index of an option"},
            },
            "required": ["question"],
            "additionalProperties": false,
        }}},
        "required": ["questions"],
        "additionalProperties": false,
    })
}

#[derive(Deserialize)]
struct Arguments {
    questions: Vec<Question>,
}

async fn run(host: Arc<Host>, call: Call) -> Outcome {
    let Arguments { questions } = arguments::parse(&call)?;
    let Some(ask) = &host.options.ask else {
        return Err(ToolError::Failed(format!("The question was not asked: {NO_USER}.")));
    };
    let limit = host.options.settings.ask_timeout_seconds;
    let limit = async {
        match limit {
            0 => std::future::pending().await,
            seconds => tokio::time::sleep(Duration::from_secs(seconds)).await,
        }
    };
    let answers = tokio::select! {
        answers = ask.ask(&questions) => answers.ok_or_else(|| ToolError::Failed("User cancelled".into()))?,
        () = limit => questions.iter().map(Question::unanswered).collect(),
        () = cancelled(&call.cancel) => return Err(ToolError::Aborted),
    };
    let mut lines = Vec::new();
    let mut details = Vec::new();
    for (index, question) in questions.iter().enumerate() {
        let answer = answers.get(index).map_or("No answer", String::as_str);
        let id = question.id.clone().unwrap_or_else(|| (index + 1).to_string());
        lines.push(format!("{}: {answer}", question.question));
        details.push(json!({"id": id, "question": question.question, "answer": answer}));
    }
    Ok(ToolOutput::text(lines.join("\n")).with_details(json!({"answers": details})))
}

impl Question {
    /// Returns the text used when a question times out: the recommended option, if there is one.
    #[must_use]
    pub fn unanswered(&self) -> String {
        let recommended = self.recommended.and_then(|index| self.options.get(index));
        recommended.map_or_else(|| "No answer (timed out)".to_string(), |option| option.label.clone())
    }
}
