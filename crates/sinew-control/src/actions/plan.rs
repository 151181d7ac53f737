//! The tools of plan mode: one submits a plan to the user, who decides what to do with it; the other enters plan mode.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use serde::Deserialize;
use serde_json::{Value, json};
use sinew_tools::semantics::{Effects, Semantics, ToolKind};
use sinew_tools::tool::{Boxed, Call, Concurrency, Tool, ToolError, ToolOutput};
use sinew_tools::{Choice, Phase, Question, Status, Task};

use super::mode::SessionMode;
use super::prompt::Message;
use super::{Control, ControlError};

const RUN: &str = "Run it";
const RUN_FRESH: &str = "Run it with a fresh context";
const CHANGE: &str = "Change it";
const LEAVE: &str = "Leave";
/// The maximum length of a title that is derived from a plan, in characters.
const TITLE: usize = 60;

struct SubmitPlan {
    control: Weak<Control>,
}

#[derive(Deserialize)]
struct Plan {
    plan: String,
    #[serde(default)]
    steps: Vec<String>,
}

const SEMANTICS: Semantics =
    Semantics { kind: ToolKind::Other, effects: Effects::NONE, headline: "plan", ..Semantics::UNKNOWN };

impl Tool for SubmitPlan {
    fn name(&self) -> &'static str {
        "submit_plan"
    }

    fn description(&self) -> &'static str {
        "Hand in the plan. The user decides whether it is carried out."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "plan": {"type": "string", "description": "Markdown, with the goal as its first line"},
                "steps": {"type": "array", "items": {"type": "string"}, "description": "one line each, in order"},
            },
            "required": ["plan", "steps"],
            "additionalProperties": false,
        })
    }

    fn concurrency(&self) -> Concurrency {
        Concurrency::Exclusive
    }

    fn semantics(&self) -> Semantics {
        SEMANTICS
    }

    fn execute(&self, call: Call) -> Boxed<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let plan: Plan = serde_json::from_value(call.arguments).map_err(failed)?;
            let control = self.control.upgrade().ok_or(ToolError::Aborted)?;
            control.decide_on(plan).await.map_err(|error| ToolError::Failed(error.message))
        })
    }
}

struct EnterPlan {
    control: Weak<Control>,
}

impl Tool for EnterPlan {
    fn name(&self) -> &'static str {
        "enter_plan"
    }

    fn description(&self) -> &'static str {
        "Change to plan mode, in which nothing can be changed, before work that needs a plan."
    }

    fn parameters(&self) -> Value {
        json!({"type": "object", "properties": {}, "additionalProperties": false})
    }

    fn concurrency(&self) -> Concurrency {
        Concurrency::Exclusive
    }

    fn semantics(&self) -> Semantics {
        Semantics { headline: "", ..SEMANTICS }
    }

    fn execute(&self, _: Call) -> Boxed<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let control = self.control.upgrade().ok_or(ToolError::Aborted)?;
            control.set_mode(SessionMode::Plan).await.map_err(|error| ToolError::Failed(error.message))?;
            Ok(ToolOutput::text("Plan mode is on. Only tools that change nothing are offered now."))
        })
    }
}

fn failed(error: impl std::fmt::Display) -> ToolError {
    ToolError::Failed(error.to_string())
}

impl Control {
    /// Returns the tools of plan mode for a mode. If nobody can be asked, the plan itself is the answer.
    pub(super) fn plan_tools(&self, mode: SessionMode) -> Vec<Arc<dyn Tool>> {
        let plans = mode == SessionMode::Plan;
        if plans && self.app.has_person() {
            return vec![Arc::new(SubmitPlan { control: Weak::clone(&self.me) })];
        }
        if !plans && self.app.startup.settings.plan.model_may_enter {
            return vec![Arc::new(EnterPlan { control: Weak::clone(&self.me) })];
        }
        Vec::new()
    }

    /// Returns the line of the system prompt that describes plan mode; `None` in other modes.
    pub(super) fn plan_instructions(&self, mode: SessionMode) -> Option<String> {
        if mode == SessionMode::Default {
            return None;
        }
        let end = match self.app.has_person() {
            true => "hand in the plan with submit_plan",
            false => "answer with the plan",
        };
        Some(format!(
            "Plan mode: nothing can be changed now. Read what you need. Then {end}: what to change, in which order, and how \
             to check it."
        ))
    }

    /// Shows a plan to the user, and carries out the decision. Returns the result for the model.
    async fn decide_on(self: &Arc<Control>, plan: Plan) -> Result<ToolOutput, ControlError> {
        let file = self.write_plan(&plan)?;
        let answer = self.app.answer(&question(&plan, file.as_deref())).await;
        let mut ends_run = false;
        let details = json!({"plan": plan.plan, "steps": plan.steps, "decision": answer});
        let text = match answer.as_deref() {
            Some(RUN) => {
                self.begin_work(&plan).await?;
                "The user accepted the plan. Plan mode is off: carry the plan out.".to_string()
            }
            Some(RUN_FRESH) => {
                self.set_mode(SessionMode::Default).await?;
                let control = Arc::clone(self);
                ends_run = true;
                // This call is part of the run that has to end first.
                tokio::spawn(async move {
                    let open = control.session();
                    open.agent.idled().await;
                    if let Err(error) = control.run_fresh(plan).await {
                        open.agent.warn(error.message).await;
                    }
                });
                "The user accepted the plan. It is carried out in a new session: stop here.".to_string()
            }
            // Closing the question does not allow the model to change files.
            None => {
                ends_run = true;
                "The user did not decide on the plan. Plan mode stays on.".to_string()
            }
            Some(LEAVE) => {
                self.set_mode(SessionMode::Default).await?;
                ends_run = true;
                "The user left plan mode and did not accept the plan.".to_string()
            }
            Some(CHANGE) => {
                ends_run = true;
                "The user wants changes, and writes which.".to_string()
            }
            Some(text) => format!("The user wants changes: {text}\nHand in the plan again."),
        };
        Ok(ToolOutput { ends_run, ..ToolOutput::text(text).with_details(details) })
    }

    /// Leaves plan mode: the steps become todo items, and a session without a title is named after the plan.
    async fn begin_work(&self, plan: &Plan) -> Result<(), ControlError> {
        self.set_mode(SessionMode::Default).await?;
        if !plan.steps.is_empty() {
            let tasks = plan.steps.iter().map(|step| Task {
                content: step.clone(),
                status: Status::Pending,
                notes: Vec::new(),
            });
            self.set_todo(vec![Phase { name: "Plan".into(), tasks: tasks.collect() }])?;
        }
        if self.session().agent.session().title().is_none()
            && let Some(title) = title(&plan.plan)
        {
            self.set_title(&title)?;
        }
        Ok(())
    }

    /// Runs a plan in a new session that only contains the plan.
    async fn run_fresh(&self, plan: Plan) -> Result<(), ControlError> {
        let parent = self.session().agent.session().id().to_string();
        if self.new_session(Some(&parent)).await? {
            return Err("an extension refused the new session; the plan was not carried out".into());
        }
        self.begin_work(&plan).await?;
        let open = self.session();
        let message =
            Message { text: format!("Carry out this plan.\n\n{}", plan.plan), images: Vec::new(), delivery: None };
        self.submit(&open, message).await?.run().await;
        Ok(())
    }

    /// Writes the plan next to the session's artifacts. Returns `None` for a session in memory.
    fn write_plan(&self, plan: &Plan) -> Result<Option<PathBuf>, ControlError> {
        let open = self.session();
        let Some(folder) = open.agent.session().artifacts() else { return Ok(None) };
        let file = folder.join("plan.md");
        let wrong = |error: std::io::Error| format!("{}: {error}", file.display());
        std::fs::create_dir_all(&folder).map_err(wrong)?;
        sinew_session::files::write_private(&file, &text_of(plan)).map_err(wrong)?;
        Ok(Some(file))
    }
}

fn question(plan: &Plan, file: Option<&std::path::Path>) -> Question {
    let choice = |label: &str, text: &str| Choice { label: label.into(), description: Some(text.into()) };
    let place = file.map(|file| format!("\n\nThe plan is in {}.", file.display())).unwrap_or_default();
    Question {
        id: Some("plan".into()),
        question: format!("{}{place}", text_of(plan)),
        options: vec![
            choice(RUN, "leave plan mode and carry it out"),
            choice(RUN_FRESH, "in a new session that knows only the plan"),
            choice(CHANGE, "stay in plan mode; write what to change instead"),
            choice(LEAVE, "leave plan mode and do nothing"),
        ],
        multi: false,
        recommended: None,
    }
}

/// Formats the plan and its steps as Markdown.
fn text_of(plan: &Plan) -> String {
    let mut text = plan.plan.trim_end().to_string();
    for (at, step) in plan.steps.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = write!(text, "{}{}. {step}", if at == 0 { "\n\n" } else { "\n" }, at + 1);
    }
    text
}

/// Derives a title from the first line of a plan that contains words.
fn title(plan: &str) -> Option<String> {
    let line = plan.lines().map(|line| line.trim_start_matches(['#', ' ']).trim()).find(|line| !line.is_empty())?;
    Some(line.chars().take(TITLE).collect())
}
