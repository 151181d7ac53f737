//! The work of a child, from its first request to its end.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt;
use serde_json::Value;
use sinew_agent::agent::{Amount, KeepRecord, Outcome, Stop};
use sinew_agent::event::Event;
use sinew_agent::subagent::{ChildGate, ChildResult, ChildState, Limit, Submission, SubmitResult};
use sinew_agent::undo::{TurnRecorder, UndoRecord};
use sinew_llm::message::{AgentMessage, Block, Content, LlmMessage, UserMessage};
use sinew_llm::model::ThinkingLevel;
use sinew_llm::provider::ToolChoice;
use sinew_session::{Body, Session};

use super::super::{Control, ControlError};
use super::batch::Brief;
use super::record::write_result;
use super::result::{End, result};
use super::view::ChildView;
use super::{Child, Figures};
use crate::app::OpenSession;
use crate::app::child::{ChildParts, OpenChild};
use crate::app::workplace::ChildWorkspace;

/// The number of reminders for a child that stops without a result.
const REMINDERS: u32 = 3;

impl Control {
    /// Opens the session of a child, which keeps its rights.
    fn open(
        &self,
        brief: &Brief,
        child: &Child,
        submission: &Arc<Submission>,
        workplace: Option<Arc<ChildWorkspace>>,
    ) -> Result<OpenChild, ControlError> {
        let mut session = {
            let root = brief.root.agent.session();
            match &brief.before {
                Some(_) => self.app.store.child_again(&root, child.id())?,
                None => self.app.store.child(&root, child.id())?,
            }
        };
        if brief.definition.is_fork() && brief.before.is_none() {
            copy_history(&brief.parent.agent.session(), &mut session, &brief.call)?;
        }
        let parts = ChildParts {
            session,
            rights: brief.rights(),
            choice: brief.choice.clone(),
            requester: Arc::clone(&child.requester),
            submission: Arc::clone(submission),
            models: self.child_models(child),
            budgets: self.budgets(brief, child),
            tree: brief.tree.clone(),
            undo: self.undo_of(brief, child, workplace.is_some()),
            workplace,
        };
        let opened = self.app.open_child(parts)?;
        let tools = opened.open.agent.tools().all().iter().map(|tool| tool.name().to_string()).collect();
        brief.record(child, tools).write(&mut opened.open.agent.session())?;
        *child.turns_before.lock() = opened.open.agent.stats()?.assistant_messages;
        Ok(opened)
    }

    /// Returns what records the changes of a child in the background, which are turns of their own. Those of any other
    /// child belong to its call until that moves to the background, and those in a copy of the project are recorded
    /// when they are merged.
    fn undo_of(&self, brief: &Brief, child: &Child, is_copy: bool) -> Option<(Arc<TurnRecorder>, KeepRecord)> {
        if is_copy {
            return None;
        }
        let recorder = brief.root.agent.subagent_recorder(!brief.is_background())?;
        *child.recorder.lock() = Some(Arc::clone(&recorder));
        let (root, name) = (Arc::downgrade(&brief.root), child.id().to_string());
        let turn = brief.root.agent.session().leaf().unwrap_or_default().to_string();
        let keep = move |record: UndoRecord| {
            if let Some(root) = root.upgrade() {
                root.agent.append_undo(&record.of_turn(&turn).by_subagent(&name));
            }
        };
        Some((recorder, Arc::new(keep)))
    }

    /// Waits for a permit. Returns false if the child was ended before.
    pub(super) async fn await_permit(&self, child: &Child) -> bool {
        tokio::select! {
            biased;
            () = child.cancel.cancelled() => false,
            () = child.permit.take() => true,
        }
    }

    /// Does the work of a child if it `may_begin`, and emits its start and its end.
    pub(super) async fn run_child(
        &self,
        brief: &Brief,
        child: &Arc<Child>,
        index: usize,
        may_begin: bool,
        changed: &(dyn Fn() + Sync),
    ) -> ChildResult {
        let submission = Arc::new(Submission::new(brief.schema.clone()));
        let mut view = None;
        let opened = may_begin.then(|| {
            if let Some(mode) = brief.isolation {
                let opened = self.open_view(mode, child.id(), &brief.parent, &child.cancel);
                view = Some(opened.map_err(|error| ControlError::from(format!("isolated: {}", error.message())))?);
            }
            let workplace = match &view {
                Some(ChildView { workplace, .. }) => Some(Arc::clone(workplace)),
                None => brief.parent.workplace.clone(),
            };
            self.open(brief, child, &submission, workplace)
        });
        let introduction = view.as_ref().map(|view| view.introduction(brief.before.is_some()));
        let (open, mut end) = match opened {
            None => (None, End::without_work(ChildState::Skipped, None)),
            Some(Err(error)) => (None, End::without_work(ChildState::Failed, Some(error.message))),
            Some(Ok(OpenChild { open, gate })) => {
                let open = Arc::new(open);
                *child.open.lock() = Arc::downgrade(&open);
                *child.state.lock() = ChildState::Running;
                *child.started.lock() = Some(Instant::now());
                changed();
                brief.root.agent.emit(start_event(child)).await;
                self.forward_events(child, &open, &brief.root);
                brief.await_cache(child, &open).await;
                let work = Work { brief, child, open: &open, submission: &submission, gate: &gate, introduction };
                // A panic in one child must not end the others.
                let end = AssertUnwindSafe(work.run()).catch_unwind().await;
                let end =
                    end.unwrap_or_else(|_| End::of(&open, ChildState::Failed, Some("internal error (panic)".into())));
                (Some(open), end)
            }
        };
        // The other children must not wait for a child that received no answer.
        child.meter.set_answered();
        let figures = child.figures();
        *child.turns.lock() = figures.turns;
        *child.state.lock() = end.state;
        if let Some(open) = &open {
            // Its programs must end before its changes are merged.
            tokio::task::block_in_place(|| open.host.close());
        }
        let is_completed = end.state == ChildState::Completed;
        end.changes = match view {
            Some(view) if brief.is_background() && is_completed => {
                Some(brief.root.agent.record_work(child.id(), || view.close(true)).await)
            }
            view => view.map(|view| tokio::task::block_in_place(|| view.close(is_completed))),
        };
        let result = result(brief, child, index, end);
        // A child that never began has no session, so the parent's session stores its end until the model is informed.
        let keeper = open.as_deref().unwrap_or(&brief.root);
        let written = {
            let mut session = keeper.agent.session();
            write_result(&mut session, &result).and_then(|()| session.flush())
        };
        if let Err(error) = written {
            brief.root.agent.warn(format!("subagent {}: {error}", child.id())).await;
        }
        // Its session must be closed when the end is known.
        drop(open);
        child.end_forwarding().await;
        brief.root.agent.emit(end_event(child, &result)).await;
        // After the event, so that no list shows more children at work than permits.
        child.permit.release();
        result
    }
}

fn start_event(child: &Child) -> Event {
    Event::SubagentStart {
        id: child.id().to_string(),
        parent_tool_call_id: child.call.clone(),
        agent: child.requester.agent.clone(),
        description: child.requester.description.clone(),
    }
}

fn end_event(child: &Child, result: &ChildResult) -> Event {
    let &ChildResult { state, turns, tokens, cost, .. } = result;
    Event::SubagentEnd(child.status(state, Figures { turns, tokens, cost }))
}

/// Copies the path of a conversation up to the answer that makes the call `call`, without that answer.
fn copy_history(parent: &Session, child: &mut Session, call: &str) -> sinew::base::Result<()> {
    for id in parent.path_ids() {
        let body = parent.entry(id)?.body;
        if let Body::Message { message: AgentMessage::Assistant(answer) } = &body
            && answer.tool_calls().any(|made| made.id == call)
        {
            break;
        }
        child.append(body)?;
    }
    Ok(())
}

/// A child at work.
struct Work<'a> {
    brief: &'a Brief,
    child: &'a Child,
    open: &'a OpenSession,
    submission: &'a Submission,
    gate: &'a ChildGate,
    /// The text about its copy of the project; `None` if it works in the project itself.
    introduction: Option<String>,
}

impl Work<'_> {
    /// Prompts the child until it has handed in a result, or cannot do so.
    async fn run(&self) -> End {
        let Work { child, open, submission, .. } = self;
        let mut message = self.assignment();
        let (mut reminders, mut limited) = (0, None);
        let max_turns = open.agent.settings().run.max_turns;
        let end = |state, error| End::of(open, state, error);
        loop {
            let outcome = self.prompt(message).await;
            if let Some(result) = submission.accepted() {
                let output = text_of(&result);
                *child.submitted.lock() = Some(result);
                return End { limited, output, ..end(ChildState::Completed, None) };
            }
            let refused = submission.last_refusal().map(|reason| format!("; the last one was refused: {reason}"));
            let refused = refused.unwrap_or_default();
            if child.cancel.is_cancelled() {
                return end(ChildState::Aborted, None);
            }
            match outcome.map(|outcome| outcome.stop) {
                Err(error) => return end(ChildState::Failed, Some(error.message)),
                Ok(Stop::Aborted | Stop::Queued) => return end(ChildState::Aborted, None),
                Ok(Stop::BudgetSpent { name, spent, limit }) if limited.is_some() => {
                    return end(ChildState::OverBudget, Some(format!("{name}: {spent} of {limit} are spent{refused}")));
                }
                Ok(Stop::BudgetSpent { name, spent, limit }) if child.figures().turns == 0 => {
                    return end(ChildState::OverBudget, Some(format!("{name}: {spent} of {limit} are spent")));
                }
                Ok(Stop::BudgetSpent { limit, .. }) => {
                    limited = Some(if matches!(limit, Amount::Cost(_)) { Limit::Cost } else { Limit::Tokens });
                    message = self.begin_last_turn("Your budget is spent.");
                }
                Ok(Stop::Failed(info)) => return end(ChildState::Failed, Some(format!("{}{refused}", info.message))),
                Ok(_) if submission.is_over() => {
                    let error = format!("it handed in too many results that do not match{refused}");
                    return end(ChildState::Failed, Some(error));
                }
                Ok(_) if limited.is_some() => {
                    let error = format!("it handed in no result in its last turn{refused}");
                    return end(ChildState::Failed, Some(error));
                }
                Ok(Stop::TurnLimit(_)) => {
                    limited = Some(Limit::Turns);
                    message = self.begin_last_turn("You have no turns left.");
                }
                Ok(Stop::Done | Stop::OutputLimit | Stop::CallCut) if reminders < REMINDERS => {
                    // The limit counts the answers to reminders too.
                    let used = u32::try_from(child.figures().turns).unwrap_or(u32::MAX);
                    if max_turns > 0 && used >= max_turns {
                        limited = Some(Limit::Turns);
                        message = self.begin_last_turn("You have no turns left.");
                        continue;
                    }
                    reminders += 1;
                    open.agent.change_settings(|settings| settings.run.max_turns = max_turns.saturating_sub(used));
                    message = self.remind(reminders);
                }
                Ok(_) => return end(ChildState::Failed, Some(format!("it handed in no result{refused}"))),
            }
        }
    }

    /// Prompts the child. The end of the call or the user can abort it.
    async fn prompt(&self, message: AgentMessage) -> Result<Outcome, ControlError> {
        let Work { child, open, .. } = self;
        // An abort has an effect as soon as the prompt is accepted, also before its run is polled.
        let run = open.agent.accept(vec![message], None).await?.run();
        tokio::pin!(run);
        Ok(tokio::select! {
            outcome = &mut run => outcome,
            () = child.cancel.cancelled() => {
                open.agent.abort();
                run.await
            }
        })
    }

    /// Allows one more request, for the result only. The limits of the whole session still hold. Returns the message
    /// about it.
    fn begin_last_turn(&self, why: &str) -> AgentMessage {
        self.gate.begin_last_turn();
        self.open.agent.change_settings(|settings| {
            settings.run.max_turns = 1;
            settings.budgets.retain(|budget| !Arc::ptr_eq(&budget.meter, &self.child.meter));
        });
        text_message(&format!("{why} Call {} now with what you have.", SubmitResult::NAME))
    }

    /// Returns the message that reminds the child of its result. The last one forces the call, except for a model that
    /// thinks: servers refuse that.
    fn remind(&self, count: u32) -> AgentMessage {
        if count == REMINDERS && self.open.agent.thinking() == ThinkingLevel::Off {
            let forced = ToolChoice::Tool(SubmitResult::NAME.into());
            self.open.agent.change_settings(|settings| settings.tool_choice = forced);
        }
        let name = SubmitResult::NAME;
        text_message(&match count {
            REMINDERS => format!("Your result has not been handed in. This is the last reminder: call {name} now."),
            _ => format!("Your result has not been handed in. Call {name} when you are done."),
        })
    }

    /// Returns the first message of the child. It begins with a separate block that all children of the call share, and
    /// ends with messages that arrived meanwhile.
    fn assignment(&self) -> AgentMessage {
        let Work { brief, child, submission, .. } = self;
        let mut shared = brief.context.clone().unwrap_or_default();
        if let Some(schema) = submission.schema() {
            let schema = format!("The result must match this JSON Schema:\n{schema}");
            shared = [shared, schema].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
        }
        let mut own = child.assignment.clone();
        if brief.definition.is_fork() && brief.before.is_none() {
            own = format!(
                "You are now a subagent of this conversation, which goes on without you. Work on this assignment only, and hand \
                 in the result with {}:\n\n{own}",
                SubmitResult::NAME
            );
        }
        if let Some(text) = &self.introduction {
            own = format!("{own}\n\n{text}");
        }
        for text in std::mem::take(&mut *child.mail.lock()) {
            own.push_str("\n\n");
            own.push_str(&text);
        }
        match shared.is_empty() {
            true => text_message(&own),
            false => {
                let content = Content::Blocks(vec![Block::text(shared), Block::text(own)]);
                LlmMessage::from(UserMessage { content, timestamp: 0 }).into()
            }
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
