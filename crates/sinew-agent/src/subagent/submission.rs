//! The result of a child, and the tool by which it hands it in.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use sinew_tools::schema::validate;
use sinew_tools::semantics::{Effects, Semantics, ToolKind};
use sinew_tools::tool::{Boxed, Call, Concurrency, Tool, ToolError, ToolOutput};

/// The number of results that are refused before the child ends.
const REFUSALS: u32 = 5;

/// The result of a child: open until one is accepted.
#[derive(Debug, Default)]
pub struct Submission {
    schema: Option<Value>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    accepted: Option<Value>,
    refusals: u32,
    last_refusal: Option<String>,
}

/// The answer to a result that was handed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The result of the child.
    Accepted,
    /// Refused, with the reason; the child may try again.
    Refused(String),
    /// Refused for the last time: the child ends.
    Ended(String),
}

impl Submission {
    /// Creates a submission that accepts results that match `schema`, or any result without one.
    #[must_use]
    pub fn new(schema: Option<Value>) -> Submission {
        Submission { schema, state: Mutex::default() }
    }

    /// Accepts or refuses a result. A text that contains the JSON which the schema describes is accepted as that.
    pub fn submit(&self, result: Value) -> Answer {
        let mut state = self.state.lock();
        if state.accepted.is_some() {
            return Answer::Refused("a result was already accepted".into());
        }
        match self.fitting(result) {
            Ok(result) => {
                state.accepted = Some(result);
                Answer::Accepted
            }
            Err(reason) => {
                state.refusals += 1;
                state.last_refusal = Some(reason.clone());
                match state.refusals < REFUSALS {
                    true => Answer::Refused(reason),
                    false => Answer::Ended(reason),
                }
            }
        }
    }

    /// Returns the accepted result.
    #[must_use]
    pub fn accepted(&self) -> Option<Value> {
        self.state.lock().accepted.clone()
    }

    /// Returns the reason of the last refusal.
    #[must_use]
    pub fn last_refusal(&self) -> Option<String> {
        self.state.lock().last_refusal.clone()
    }

    /// Returns true if nothing more can be handed in: a result was accepted, or too many were refused.
    #[must_use]
    pub fn is_over(&self) -> bool {
        let state = self.state.lock();
        state.accepted.is_some() || state.refusals >= REFUSALS
    }

    /// Returns the JSON Schema of the result.
    #[must_use]
    pub fn schema(&self) -> Option<&Value> {
        self.schema.as_ref()
    }

    fn fitting(&self, result: Value) -> Result<Value, String> {
        let is_empty = match &result {
            Value::Null => true,
            Value::String(text) => text.trim().is_empty(),
            _ => false,
        };
        if is_empty {
            return Err("the result is empty".into());
        }
        let Some(schema) = &self.schema else { return Ok(result) };
        let faults = validate(schema, &result);
        if faults.is_empty() {
            return Ok(result);
        }
        let written = result.as_str().and_then(|text| serde_json::from_str(text).ok());
        match written.filter(|written| validate(schema, written).is_empty()) {
            Some(written) => Ok(written),
            None => Err(format!("the result does not match the schema:\n{}", faults.join("\n"))),
        }
    }
}

/// The tool `submit_result`. Every session that can start children has it, so that the list of tools of a child that
/// continues a conversation equals that of its parent.
#[derive(Default)]
pub struct SubmitResult {
    /// The submission of the child; `None` in a session that is not a child.
    pub submission: Option<Arc<Submission>>,
}

impl SubmitResult {
    /// The name of the tool.
    pub const NAME: &'static str = "submit_result";
}

impl Tool for SubmitResult {
    fn name(&self) -> &'static str {
        SubmitResult::NAME
    }

    fn description(&self) -> &'static str {
        "For subagents: hand in the result of the assignment. It is all that the agent that assigned it reads."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {"result": {"description": "a text, or JSON that matches the schema of the assignment"}},
            "required": ["result"],
            "additionalProperties": false,
        })
    }

    fn concurrency(&self) -> Concurrency {
        Concurrency::Exclusive
    }

    fn semantics(&self) -> Semantics {
        Semantics { kind: ToolKind::Agent, effects: Effects::NONE, headline: "result", ..Semantics::UNKNOWN }
    }

    fn execute(&self, mut call: Call) -> Boxed<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let Some(submission) = &self.submission else {
                return Ok(ToolOutput::error("Refused: this session is not a subagent. Answer the user instead."));
            };
            let result = call.arguments.get_mut("result").map(Value::take).unwrap_or_default();
            Ok(match submission.submit(result) {
                Answer::Accepted => ToolOutput { ends_run: true, ..ToolOutput::text("The result was handed in.") },
                Answer::Refused(reason) => ToolOutput::error(format!("Refused: {reason}")),
                Answer::Ended(reason) => {
                    ToolOutput { ends_run: true, ..ToolOutput::error(format!("Refused for the last time: {reason}")) }
                }
            })
        })
    }
}
