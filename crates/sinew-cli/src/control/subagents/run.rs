//! The work of children, from the call that starts them to their results.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use parking_lot::Mutex;
use serde_json::{Value, json};
use sinew_agent::agent::{Outcome, ResolvedModel, Stop};
use sinew_agent::event::Event;
use sinew_agent::subagent::{AgentDefinition, ChildResult, ChildState, Limit, Submission, TaskRequest, report};
use sinew_llm::message::{AgentMessage, Block, Content, LlmMessage, UserMessage};
use sinew_tools::tool::{Boxed, Call, ToolError, ToolOutput};
use tokio_util::sync::CancellationToken;

use super::super::mode::SessionMode;
use super::super::{Control, ControlError};
use super::{Child, Figures};
use crate::app::OpenSession;
use crate::app::child::{ChildParts, ChildRights};
use crate::app::task::RunsTasks;
use crate::models::Choice;
use crate::schema::Schema;

/// The number of reminders for a child that stops without a result.
const REMINDERS: u32 = 3;
/// The maximum length of a result in the parent's conversation, in characters.
const OUTPUT: usize = 5_000;

/// The common properties of a call's children.
struct Brief {
    definition: AgentDefinition,
    parent: Arc<OpenSession>,
    call: String,
    choice: Choice,
    context: Option<String>,
    schema: Option<Value>,
    is_read_only: bool,
    cancel: CancellationToken,
}

impl Brief {
    fn rights(&self) -> ChildRights<'_> {
        let Brief { parent, definition, is_read_only, .. } = self;
        ChildRights { parent, definition, is_read_only: *is_read_only }
    }
}

/// How a child ended.
struct End {
    state: ChildState,
    limited: Option<Limit>,
    error: Option<String>,
    output: String,
}

impl End {
    fn without_work(state: ChildState, error: Option<String>) -> End {
        End { state, limited: None, error, output: String::new() }
    }
}

impl RunsTasks for Control {
    fn run_tasks(self: Arc<Self>, request: TaskRequest, call: Call) -> Boxed<'static, Result<ToolOutput, ToolError>> {
        Box::pin(async move { self.run(request, call).await.map_err(|error| ToolError::Failed(error.message)) })
    }
}

impl Control {
    /// Runs the children of a call and returns their results in the order of its tasks.
    ///
    /// # Errors
    /// Returns an error, before any child starts, if the call asks for something that cannot be had.
    async fn run(&self, request: TaskRequest, call: Call) -> Result<ToolOutput, ControlError> {
        request.check()?;
        let definition = self.app.agent_definitions().get(&request.agent)?.clone();
        let schema = request.schema.as_ref().or(definition.schema.as_ref()).map(Schema::new).transpose();
        let schema = schema.map_err(|reason| format!("task: schema: {reason}"))?;
        let parent = self.session();
        let choice = Choice {
            reached: self.child_model(&definition, &parent).await?,
            thinking: definition.thinking.unwrap_or_else(|| parent.agent.thinking()),
        };
        let cancel = CancellationToken::new();
        let stop = cancel.clone();
        let _hook = call.cancel.on_cancel(move || stop.cancel());
        let brief = Brief {
            is_read_only: definition.is_read_only || self.mode() == SessionMode::Plan,
            schema: schema.map(|schema| schema.value().clone()),
            context: request.context,
            call: call.id.clone(),
            definition,
            parent,
            choice,
            cancel,
        };
        self.app.check_child(brief.rights())?;
        let ids = self.subagents.reserve(&brief.parent, &request.tasks)?;
        let session = brief.parent.agent.session().id().to_string();
        let child = |(id, item)| {
            Arc::new(Child {
                id,
                item,
                agent: brief.definition.name.clone(),
                parent: session.clone(),
                state: ChildState::Queued.into(),
                started: Mutex::default(),
                open: Mutex::default(),
                end: Mutex::default(),
                cancel: brief.cancel.child_token(),
            })
        };
        let children: Vec<Arc<Child>> = ids.into_iter().zip(request.tasks).map(child).collect();
        self.subagents.children.lock().extend(children.iter().cloned());
        let changed = || call.updates.send(progress(&children));
        let (brief, changed) = (&brief, &changed);
        let work = children.iter().enumerate().map(|(index, child)| async move {
            let result = self.run_child(brief, child, index, changed).await;
            changed();
            result
        });
        let results = join_all(work).await;
        let is_error = results.iter().all(|result| result.state != ChildState::Completed);
        let details = json!({"results": results});
        Ok(ToolOutput { is_error, ..ToolOutput::text(report(&results)).with_details(details) })
    }

    async fn child_model(
        &self,
        definition: &AgentDefinition,
        parent: &OpenSession,
    ) -> Result<ResolvedModel, ControlError> {
        let Some(pattern) = &definition.model else { return Ok(parent.agent.model()) };
        let found = self.app.models.matching(std::slice::from_ref(pattern));
        let Some(selection) = found.into_iter().next() else {
            return Err(format!("agent {}: model {pattern}: no such model with a key", definition.name).into());
        };
        Ok(self.app.models.connect(selection.model).await?)
    }

    /// Opens the session of a child.
    fn open(&self, brief: &Brief, id: &str, submission: &Arc<Submission>) -> Result<OpenSession, ControlError> {
        let session = self.app.store.child(&brief.parent.agent.session(), id)?;
        let parts = ChildParts {
            session,
            rights: brief.rights(),
            choice: brief.choice.clone(),
            lane: format!("{}#{id}", brief.definition.name),
            submission: Arc::clone(submission),
        };
        Ok(self.app.open_child(parts)?)
    }

    /// Waits for a place, does the work of a child, and emits its start and its end.
    async fn run_child(&self, brief: &Brief, child: &Child, index: usize, changed: &(dyn Fn() + Sync)) -> ChildResult {
        let place = tokio::select! {
            biased;
            () = child.cancel.cancelled() => None,
            place = self.subagents.places.acquire() => place.ok(),
        };
        let submission = Arc::new(Submission::new(brief.schema.clone()));
        let opened = place.is_some().then(|| self.open(brief, &child.id, &submission));
        let (open, end) = match opened {
            None => (None, End::without_work(ChildState::Skipped, None)),
            Some(Err(error)) => (None, End::without_work(ChildState::Failed, Some(error.message))),
            Some(Ok(open)) => {
                let open = Arc::new(open);
                *child.open.lock() = Arc::downgrade(&open);
                *child.state.lock() = ChildState::Running;
                *child.started.lock() = Some(Instant::now());
                changed();
                let (id, agent) = (child.id.clone(), brief.definition.name.clone());
                let description = child.item.description.clone();
                let parent_tool_call_id = brief.call.clone();
                let event = Event::SubagentStart { id, parent_tool_call_id, agent, description };
                brief.parent.agent.emit(event).await;
                let end = work(brief, child, &open, &submission).await;
                (Some(open), end)
            }
        };
        drop(place);
        *child.state.lock() = end.state;
        let result = result(brief, child, index, open.as_deref(), end);
        let ChildResult { turns, tokens, cost, .. } = result;
        *child.end.lock() = Figures { turns, tokens, cost };
        if let Some(open) = open {
            tokio::task::block_in_place(|| open.host.close());
        }
        let event = Event::SubagentEnd {
            id: result.id.clone(),
            parent_tool_call_id: brief.call.clone(),
            agent: result.agent.clone(),
            state: result.state.name(),
            turns: result.turns,
            tokens: result.tokens,
            cost: result.cost,
        };
        brief.parent.agent.emit(event).await;
        result
    }
}

/// Prompts a child until it has handed in a result, or cannot.
async fn work(brief: &Brief, child: &Child, open: &OpenSession, submission: &Submission) -> End {
    let mut message = assignment(brief, child, submission);
    let (mut reminders, mut limited) = (0, None);
    loop {
        let outcome = prompt(child, open, message).await;
        let end = |state, error: Option<String>| {
            let output = open.agent.last_text().ok().flatten().unwrap_or_default();
            End { state, limited: None, error, output }
        };
        if let Some(result) = submission.accepted() {
            return End { limited, output: text_of(&result), ..end(ChildState::Completed, None) };
        }
        let refused = submission.last_refusal().map(|reason| format!("; the last one was refused: {reason}"));
        let refused = refused.unwrap_or_default();
        match outcome.map(|outcome| outcome.stop) {
            Err(error) => return end(ChildState::Failed, Some(error.message)),
            Ok(Stop::Aborted | Stop::Queued) => return end(ChildState::Aborted, None),
            Ok(Stop::CostLimit { spent, limit }) => {
                return end(ChildState::OverBudget, Some(format!("${spent:.4} of ${limit} were spent")));
            }
            Ok(Stop::Failed(info)) => return end(ChildState::Failed, Some(format!("{}{refused}", info.message))),
            Ok(_) if submission.is_over() => {
                return end(
                    ChildState::Failed,
                    Some(format!("it handed in too many results that do not match{refused}")),
                );
            }
            Ok(Stop::TurnLimit(turns)) if limited.is_some() => {
                return end(ChildState::Failed, Some(format!("it handed in no result in {turns} turns{refused}")));
            }
            Ok(Stop::TurnLimit(_)) => {
                limited = Some(Limit::Turns);
                open.agent.change_settings(|settings| settings.run.max_turns = 1);
                message = text_message("You have no turns left. Call submit_result now with what you have.");
            }
            Ok(Stop::Done | Stop::OutputLimit | Stop::CallCut) if reminders < REMINDERS => {
                reminders += 1;
                message = text_message("Your result has not been handed in. Call submit_result when you are done.");
            }
            Ok(_) => return end(ChildState::Failed, Some(format!("it handed in no result{refused}"))),
        }
    }
}

/// Prompts a child; the end of the call, or a person, aborts it.
async fn prompt(child: &Child, open: &OpenSession, message: AgentMessage) -> Result<Outcome, ControlError> {
    let prompted = open.agent.prompt(vec![message], None);
    tokio::pin!(prompted);
    let outcome = tokio::select! {
        outcome = &mut prompted => outcome,
        () = child.cancel.cancelled() => {
            open.agent.abort();
            prompted.await
        }
    };
    Ok(outcome?)
}

/// The first message of a child. What all children of the call share is a block of its own, in front.
fn assignment(brief: &Brief, child: &Child, submission: &Submission) -> AgentMessage {
    let mut shared = brief.context.clone().unwrap_or_default();
    if let Some(schema) = submission.schema() {
        let schema = format!("The result must match this JSON Schema:\n{schema}");
        shared = [shared, schema].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
    }
    let own = child.item.assignment.clone();
    match shared.is_empty() {
        true => text_message(&own),
        false => {
            let content = Content::Blocks(vec![Block::text(shared), Block::text(own)]);
            LlmMessage::from(UserMessage { content, timestamp: 0 }).into()
        }
    }
}

fn text_message(text: &str) -> AgentMessage {
    LlmMessage::user(text).into()
}

fn text_of(result: &Value) -> String {
    match result {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    }
}

fn result(brief: &Brief, child: &Child, index: usize, open: Option<&OpenSession>, end: End) -> ChildResult {
    // A session that can no longer be read has warned of that; its numbers are missing.
    let stats = open.and_then(|open| open.agent.stats().ok()).unwrap_or_default();
    let cut = end.output.char_indices().nth(OUTPUT).map(|(at, _)| at);
    let output_path = cut.and_then(|_| keep(brief, &end.output));
    let duration = child.started.lock().map_or(Duration::ZERO, |started| started.elapsed());
    ChildResult {
        index,
        id: child.id.clone(),
        agent: brief.definition.name.clone(),
        agent_source: brief.definition.source,
        description: child.item.description.clone(),
        state: end.state,
        limited: end.limited,
        error: end.error,
        truncated: cut.is_some(),
        output: cut.map_or(end.output.clone(), |at| end.output[..at].to_string()),
        output_path,
        duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
        turns: stats.assistant_messages,
        tokens: stats.tokens.total,
        usage: stats.tokens,
        cost: stats.cost,
    }
}

/// Keeps a long output as an artifact of the parent's session. Returns its address; `None` if it cannot be written.
fn keep(brief: &Brief, output: &str) -> Option<String> {
    let (id, mut file) = brief.parent.host.artifacts().begin("task").ok()?;
    file.push(output.as_bytes()).ok()?;
    file.finish().ok()?;
    Some(format!("artifact://{id}"))
}

/// The states of a call's children, for the person who watches.
fn progress(children: &[Arc<Child>]) -> ToolOutput {
    let line = |child: &Arc<Child>| match &child.item.description {
        Some(description) => format!("{} ({description}): {}", child.id, child.state().as_str()),
        None => format!("{}: {}", child.id, child.state().as_str()),
    };
    let lines: Vec<String> = children.iter().map(line).collect();
    let states = children.iter().map(|child| json!({"id": child.id, "state": child.state()}));
    ToolOutput::text(lines.join("\n")).with_details(json!({"children": states.collect::<Vec<_>>()}))
}
