//! The loop of runs that one prompt starts. After each run at most one step follows, and then the loop decides again:
//! retry, promotion, compaction, queued messages, a reminder.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use sinew_llm::error::{ErrorInfo, ErrorKind};
use sinew_llm::message::{AgentMessage, AssistantMessage, Content, CustomMessage, LlmMessage, StopReason};
use sinew_llm::model::ThinkingLevel;
use sinew_llm::provider::Request;
use sinew_tools::tool::Boxed;
use tokio_util::sync::CancellationToken;

use super::compact::{self, CompactionRequest, Reason};
use super::lifecycle::{IllegalMove, Move};
use super::meter::{Amount, Budget};
use super::models::wait_without_permit;
use super::outside_work::answers_note;
use super::oversize::oversize_text;
use super::recorded_turn::RecordedTurn;
use super::retry::{RetryDecision, decide};
use super::session::AgentSession;
use crate::compaction::{context_tokens, tokens};
use crate::core::{CUTS, PAUSES, Run, RunResult, Sink, StreamMonitor, TurnRequest};
use crate::event::Event;

/// The maximum number of reminders of open items between two prompts of the user.
const REMINDERS: u32 = 3;
const CONTINUE: &str = "Continue if you have next steps.";

/// The result of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Why it ended.
    pub stop: Stop,
    /// The last answer.
    pub answer: Option<AssistantMessage>,
    /// All messages that were added to the conversation, without failed answers.
    pub messages: Vec<AgentMessage>,
}

/// Why a prompt ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Stop {
    /// The model finished.
    Done,
    /// The limit of output tokens cut off the answer.
    OutputLimit,
    /// The output limit cut off the answer inside a tool call, and the retries too.
    CallCut,
    /// The limit of turns was reached; the value is the limit.
    TurnLimit(u32),
    /// A budget was spent.
    BudgetSpent {
        /// The flag or setting that limits it.
        name: &'static str,
        /// The use so far.
        spent: Amount,
        /// The limit.
        limit: Amount,
    },
    /// It was aborted.
    Aborted,
    /// The request failed.
    Failed(Box<ErrorInfo>),
    /// The prompt is queued.
    Queued,
}

impl Outcome {
    pub(super) fn queued() -> Outcome {
        Outcome { stop: Stop::Queued, answer: None, messages: Vec::new() }
    }
}

/// The state of a prompt and everything that follows from it.
struct RunLoop<'a> {
    agent: &'a AgentSession,
    cancel: &'a CancellationToken,
    /// The number of consecutive failures.
    attempt: u32,
    /// The number of those after which the credential was changed.
    switched: u32,
    /// The number of compactions after an overflow since the last good answer.
    overflows: u32,
    reminders: u32,
    turns: u32,
    /// The number of consecutive answers with calls cut off by the output limit.
    cuts: u32,
    /// The number of consecutive answers that the server paused.
    pauses: u32,
    /// Whether a compaction for lack of space failed; another one would fail as well.
    full: bool,
    /// Whether the request was repeated after an empty answer, and no good answer followed.
    asked_again: bool,
    /// The thinking level at the start of the last tool loop.
    thinking: Mutex<Option<ThinkingLevel>>,
    /// Records the changes of the turn.
    turn: Option<&'a RecordedTurn<'a>>,
}

/// Emits the events of a run that may follow failures: the first good answer ends the retry at once.
struct RunSink<'a> {
    agent: &'a AgentSession,
    cancel: &'a CancellationToken,
    turn: Option<&'a RecordedTurn<'a>>,
    failures: AtomicU32,
}

impl Sink for RunSink<'_> {
    fn emit(&self, event: Event) -> Boxed<'_, ()> {
        Box::pin(async move {
            if let Some(turn) = &self.turn {
                turn.observe(&event).await;
            }
            let good = matches!(&event, Event::MessageEnd { message: AgentMessage::Assistant(answer) }
                if !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted));
            let unknown = unknown_end(&event);
            self.agent.event_bus.until(self.cancel).emit(event).await;
            if let Some((provider, reason)) = unknown
                && self.agent.unknown_ends.lock().insert(reason.clone())
            {
                let reason = format!("{provider} ended an answer for the unknown reason \"{reason}\"");
                self.agent.warn(format!("{reason}; the answer may be incomplete.")).await;
            }
            let attempt = if good { self.failures.swap(0, Ordering::Relaxed) } else { 0 };
            if attempt > 0 {
                self.agent.emit(Event::AutoRetryEnd { success: true, attempt, final_error: None }).await;
            }
        })
    }

    fn wants_snapshots(&self) -> bool {
        self.agent.event_bus.until(self.cancel).wants_snapshots()
    }
}

/// The next step of the loop.
enum NextStep {
    /// Starts another run that begins with these messages.
    Run(Vec<AgentMessage>),
    Stop(Stop),
}

/// Runs `prompts` and everything that follows from them, and ends the turn.
pub(super) async fn follow(
    agent: &AgentSession,
    seen: &mut Vec<AgentMessage>,
    prompts: Vec<AgentMessage>,
    cancel: &CancellationToken,
    turn: Option<RecordedTurn<'_>>,
) -> Outcome {
    let outcome = follow_recorded(agent, seen, prompts, cancel, turn.as_ref()).await;
    if let Some(turn) = turn {
        turn.end().await;
    }
    outcome
}

async fn follow_recorded(
    agent: &AgentSession,
    seen: &mut Vec<AgentMessage>,
    prompts: Vec<AgentMessage>,
    cancel: &CancellationToken,
    turn: Option<&RecordedTurn<'_>>,
) -> Outcome {
    let mut run_loop = RunLoop {
        turn,
        agent,
        cancel,
        attempt: 0,
        switched: 0,
        overflows: 0,
        reminders: 0,
        turns: 0,
        cuts: 0,
        pauses: 0,
        full: false,
        asked_again: false,
        thinking: Mutex::default(),
    };
    if run_loop.too_large(seen, &prompts) {
        run_loop.compact(seen).await;
    }
    let mut added = Vec::new();
    let mut prompts = prompts;
    loop {
        let ended = run_loop.run(seen, std::mem::take(&mut prompts)).await;
        added.extend(ended.messages.iter().cloned());
        let answer = ended.answer.clone();
        match run_loop.decide(seen, ended).await {
            NextStep::Run(next) => prompts = next,
            NextStep::Stop(stop) => return Outcome { stop, answer, messages: added },
        }
    }
}

impl RunLoop<'_> {
    async fn run(&mut self, seen: &mut Vec<AgentMessage>, prompts: Vec<AgentMessage>) -> RunResult {
        let agent = self.agent;
        let ask = |question: TurnRequest, observer, cancel| {
            if let Some(recorder) = &agent.undo {
                recorder.request_sent();
            }
            let (provider, mut request) = agent.request(question.messages);
            self.keep_thinking(&mut request);
            // The user's own limit always applies.
            if question.cut_at.is_some_and(|tokens| tokens < request.model.max_tokens) {
                request.max_tokens = request.max_tokens.or(Some(request.model.max_tokens));
            }
            provider.stream(Request { observer, ..request }, cancel)
        };
        let pause = |messages: &[AgentMessage]| self.too_large(messages, &[]);
        let over_budget = || agent.settings().budgets.iter().any(Budget::is_spent);
        let rules = agent.live.rules();
        let now = || agent.clock.now();
        let watcher = rules.as_ref().map(|rules| rules.watch(&now));
        let told = RunSink { agent, cancel: self.cancel, turn: self.turn, failures: AtomicU32::new(self.attempt) };
        let run = Run {
            ask: &ask,
            tools: &|| agent.tools(),
            extensions: &agent.extensions,
            queues: &agent.queues,
            journal: &agent.conversation.recorder,
            sink: &told,
            clock: &*agent.clock,
            context: &agent.context,
            settings: &|| agent.settings().run,
            pause: &pause,
            over_budget: &over_budget,
            monitor: watcher.as_ref().map(|watcher| watcher as &dyn StreamMonitor),
            cancel: self.cancel.child_token(),
            turns: self.turns,
            cuts: self.cuts,
            pauses: self.pauses,
        };
        let ended = run.run(seen, prompts).await;
        self.turns = ended.turns;
        self.cuts = ended.cuts;
        self.pauses = ended.pauses;
        if ended.messages.iter().any(is_good) {
            self.asked_again = false;
            self.overflows = 0;
        }
        self.attempt = told.failures.into_inner();
        self.switched = self.switched.min(self.attempt);
        ended
    }

    /// Anthropic's API treats a tool loop as one turn with a fixed thinking level, so a new level applies from the next
    /// loop on.
    fn keep_thinking(&self, request: &mut Request) {
        let mut began = self.thinking.lock();
        let last = request.conversation().rev().find(|message| !matches!(message, LlmMessage::User(_)));
        match *began {
            Some(level)
                if matches!(last, Some(LlmMessage::ToolResult(_))) && request.model.api == "anthropic-messages" =>
            {
                request.thinking = request.model.clamp_level(level);
            }
            _ => *began = Some(self.agent.live.turn().thinking),
        }
    }

    async fn decide(&mut self, seen: &mut Vec<AgentMessage>, ended: RunResult) -> NextStep {
        if ended.limited {
            return NextStep::Stop(Stop::TurnLimit(self.agent.settings().run.max_turns));
        }
        if ended.cuts > CUTS {
            return NextStep::Stop(Stop::CallCut);
        }
        if ended.pauses > PAUSES {
            return NextStep::Stop(Stop::Failed(Box::new(always_paused())));
        }
        if let Some(budget) = self.agent.settings().budgets.iter().find(|budget| ended.over_budget && budget.is_spent())
        {
            let Budget { name, limit, .. } = *budget;
            return NextStep::Stop(Stop::BudgetSpent { name, spent: budget.spent(), limit });
        }
        let Some(answer) = &ended.answer else { return NextStep::Stop(Stop::Done) };
        match answer.stop_reason {
            StopReason::Aborted => NextStep::Stop(Stop::Aborted),
            StopReason::Error => {
                let unknown = || ErrorInfo::new(ErrorKind::Server, answer.error_message.clone().unwrap_or_default());
                let error = answer.error.clone().unwrap_or_else(unknown);
                self.failed(seen, error).await
            }
            _ if self.cancel.is_cancelled() => NextStep::Stop(Stop::Aborted),
            _ => self.succeeded(seen, &ended).await,
        }
    }

    async fn failed(&mut self, seen: &mut Vec<AgentMessage>, error: ErrorInfo) -> NextStep {
        if error.kind == ErrorKind::ContextOverflow {
            return self.overflow(seen, error).await;
        }
        let settings = self.agent.settings().retry;
        self.attempt += 1;
        let delay_ms = match decide(&settings, &error, self.attempt - self.switched, self.agent.clock.random()) {
            RetryDecision::No => return self.fall_back(seen, error, None).await,
            RetryDecision::GiveUp(text) => return self.fall_back(seen, error, Some(text)).await,
            RetryDecision::After { delay_ms } => delay_ms,
            RetryDecision::OtherCredential => {
                let current = self.agent.model();
                let until = error.retry_after_ms.map(|ms| self.agent.clock.now().saturating_add_unsigned(ms));
                let (provider, reason) = (current.model.provider.clone(), error.kind.as_str().to_string());
                let other = self.agent.models.other_credential(&current, &error);
                self.agent.emit(Event::CredentialDisabled { provider, reason, until }).await;
                let Some(other) = other else { return self.fall_back(seen, error, None).await };
                self.agent.live.turn().resolved = other;
                self.switched += 1;
                0
            }
        };
        // The step starts before its first event and ends before its last one: a listener can cancel it on the first,
        // and finds it over on the last.
        let pause = match self.agent.conversation.context.step(Move::WaitForRetry, self.cancel) {
            Ok(pause) => pause,
            Err(illegal) => return NextStep::Stop(Stop::Failed(Box::new(internal(&illegal)))),
        };
        self.agent
            .emit(Event::AutoRetryStart {
                attempt: self.attempt,
                max_attempts: settings.max_retries + self.switched,
                delay_ms,
                error_message: error.message.clone(),
            })
            .await;
        self.take_back(seen).await;
        let permit = self.agent.models.permit();
        let end = tokio::time::Instant::now() + Duration::from_millis(delay_ms);
        wait_without_permit(permit.as_deref(), end, &pause).await;
        if !pause.is_cancelled() {
            return NextStep::Run(Vec::new());
        }
        drop(pause);
        let (attempt, final_error) = (self.attempt, Some("Retry cancelled".to_string()));
        self.agent.emit(Event::AutoRetryEnd { success: false, attempt, final_error }).await;
        NextStep::Stop(Stop::Aborted)
    }

    /// Switches to the configured fallback model; without one the loop stops with the error.
    async fn fall_back(&mut self, seen: &mut Vec<AgentMessage>, error: ErrorInfo, text: Option<String>) -> NextStep {
        let agent = self.agent;
        let from = agent.model().model.key();
        let pattern = agent.settings().fallback.clone().filter(|_| is_of_model(error.kind));
        let other = pattern.and_then(|pattern| agent.models.resolve(&pattern).ok());
        let Some(other) = other.filter(|other| other.model.key() != from) else {
            return self.give_up(error, text).await;
        };
        if self.attempt > 1 {
            let (attempt, final_error) = (self.attempt - 1, Some(error.message.clone()));
            agent.emit(Event::AutoRetryEnd { success: false, attempt, final_error }).await;
        }
        (self.attempt, self.switched) = (0, 0);
        self.take_back(seen).await;
        let to = other.model.key();
        agent.set_model(other, Some("temporary"));
        agent.emit(Event::ModelFallback { from, to, reason: error.message }).await;
        NextStep::Run(Vec::new())
    }

    async fn give_up(&mut self, mut error: ErrorInfo, text: Option<String>) -> NextStep {
        if let Some(text) = text {
            error.message = text;
        }
        if self.attempt > 1 {
            let (attempt, final_error) = (self.attempt - 1, Some(error.message.clone()));
            self.agent.emit(Event::AutoRetryEnd { success: false, attempt, final_error }).await;
        }
        NextStep::Stop(Stop::Failed(Box::new(error)))
    }

    /// Removes the failed answer and the results of its calls from the context, and does not count its turn. They stay
    /// in the file, on a separate branch.
    async fn take_back(&mut self, seen: &mut Vec<AgentMessage>) {
        let Some(at) = seen.iter().rposition(|message| matches!(message, AgentMessage::Assistant(_))) else { return };
        seen.truncate(at);
        self.turns = self.turns.saturating_sub(1);
        if let Err(error) = self.agent.conversation.recorder.take_back() {
            self.agent.warn(format!("Failed to remove a failed answer from the session: {error}")).await;
        }
    }

    async fn overflow(&mut self, seen: &mut Vec<AgentMessage>, error: ErrorInfo) -> NextStep {
        let agent = self.agent;
        if agent.settings().promotion
            && let Some(larger) = agent.models.larger(&agent.model())
        {
            let (from, to) = (agent.model().model.key(), larger.model.key());
            self.take_back(seen).await;
            agent.set_model(larger, Some("temporary"));
            agent.emit(Event::ModelPromoted { from, to }).await;
            return NextStep::Run(Vec::new());
        }
        let reason = match self.overflows {
            0 => Some(Reason::Overflow),
            // The entries that a summary keeps may be too large by themselves.
            1 => Some(Reason::OverflowAgain).filter(|again| compact::large_results(agent, seen, *again).is_some()),
            _ => None,
        };
        let Some(reason) = reason.filter(|_| agent.settings().compaction.enabled) else {
            let why = if self.overflows > 0 {
                "the context is still too large after a compaction"
            } else {
                "compaction is off"
            };
            return self.overflow_failed(seen, why, error);
        };
        self.overflows += 1;
        self.take_back(seen).await;
        match compact::compact(agent, seen, reason, CompactionRequest::default(), self.cancel).await {
            Ok(_) => NextStep::Run(Vec::new()),
            Err(_) if self.cancel.is_cancelled() => NextStep::Stop(Stop::Aborted),
            Err(cause) => self.overflow_failed(seen, &compact::reason_text(&cause), error),
        }
    }

    /// Stops with the reason `why` and the part of the request that is too large.
    fn overflow_failed(&self, seen: &[AgentMessage], why: &str, error: ErrorInfo) -> NextStep {
        let size = oversize_text(self.agent, seen);
        let message = format!("Context overflow recovery failed: {why}. {size} {}", error.message);
        NextStep::Stop(Stop::Failed(Box::new(ErrorInfo { message, ..error })))
    }

    async fn succeeded(&mut self, seen: &mut Vec<AgentMessage>, ended: &RunResult) -> NextStep {
        let agent = self.agent;
        let length = ended.answer.as_ref().is_some_and(|answer| answer.stop_reason == StopReason::Length);
        let large = self.too_large(seen, &[]);
        let empty = ended.answer.as_ref().is_some_and(is_empty);
        // Compaction makes room for an answer that the full context cut off.
        if empty && !(length && large) {
            return self.empty(seen, length).await;
        }
        let compacted = large && self.compact(seen).await;
        if self.cancel.is_cancelled() {
            return NextStep::Stop(Stop::Aborted);
        }
        if ended.paused {
            let steering = agent.queues.take_steering();
            if !steering.is_empty() {
                agent.queue_changed().await;
            }
            return NextStep::Run(steering);
        }
        if large {
            let open = length || agent.open_items.as_ref().is_some_and(|items| items().is_some());
            if compacted && agent.settings().compaction.auto_continue && open {
                return NextStep::Run(vec![hidden(CONTINUE, "continue", agent.clock.now())]);
            }
        }
        let queued = agent.queues.take_next();
        if !queued.is_empty() {
            self.reminders = 0;
            agent.queue_changed().await;
            return NextStep::Run(queued);
        }
        if length {
            return match empty {
                // The answer may not be the last one any more, so it is not removed.
                true if compacted => NextStep::Stop(Stop::Failed(Box::new(self.no_answer(length)))),
                true => self.empty(seen, length).await,
                false => NextStep::Stop(Stop::OutputLimit),
            };
        }
        match agent.open_items.as_ref().and_then(|items| items()) {
            Some(todos) if agent.settings().todo_reminders && self.reminders < REMINDERS => {
                self.reminders += 1;
                let text = format!(
                    "These items of your list are still open:\n{todos}\nFinish them, or update the list if they are done or no longer needed."
                );
                agent.emit(Event::TodoReminder { todos, attempt: self.reminders }).await;
                NextStep::Run(vec![hidden(&text, "todo-reminder", agent.clock.now())])
            }
            _ => NextStep::Stop(Stop::Done),
        }
    }

    /// Repeats the request once after an answer without text and calls; a second such answer in a row is a failure.
    /// After a message that needs no answer, an empty one is accepted. `length` is true if the output limit ended the
    /// answer.
    async fn empty(&mut self, seen: &mut Vec<AgentMessage>, length: bool) -> NextStep {
        if self.agent.settings().allows_empty || answers_note(seen) {
            self.take_back(seen).await;
            return NextStep::Stop(Stop::Done);
        }
        if self.asked_again {
            return self.fall_back(seen, self.no_answer(length), None).await;
        }
        self.asked_again = true;
        self.take_back(seen).await;
        self.agent.warn("The model's answer was empty. Asking once more.".into()).await;
        NextStep::Run(Vec::new())
    }

    /// Returns the error for empty answers. `length` is true if the last one reached the output limit.
    fn no_answer(&self, length: bool) -> ErrorInfo {
        let limit = self.agent.settings().max_tokens.unwrap_or(self.agent.model().model.max_tokens);
        let text = match length {
            true => format!(
                "the model's answer was empty, because it reached the output limit of {limit} tokens; raise it with \
                 --max-tokens or the model's maxTokens, or lower the thinking level"
            ),
            false => "the model's answer was empty twice in a row; rephrase the prompt, or choose another model".into(),
        };
        ErrorInfo { retryable: false, ..ErrorInfo::new(ErrorKind::Malformed, text) }
    }

    /// Returns whether the context with `more` leaves too little of the window free.
    fn too_large(&self, seen: &[AgentMessage], more: &[AgentMessage]) -> bool {
        let settings = &self.agent.settings().compaction;
        let window = self.agent.model().model.context_window;
        let size = context_tokens(seen) + more.iter().map(tokens).sum::<u64>();
        settings.enabled && !self.full && settings.limits.exceeded(size, window)
    }

    async fn compact(&mut self, seen: &mut Vec<AgentMessage>) -> bool {
        let compacted =
            compact::compact(self.agent, seen, Reason::Threshold, CompactionRequest::default(), self.cancel)
                .await
                .is_ok();
        self.full = !compacted;
        compacted
    }
}

/// Returns whether an answer ended normally or at the output limit, without text and without calls.
fn is_empty(answer: &AssistantMessage) -> bool {
    matches!(answer.stop_reason, StopReason::Stop | StopReason::Length)
        && answer.tool_calls().next().is_none()
        && answer.text().trim().is_empty()
}

/// Returns the provider and its reason if an answer ended for an unknown reason.
fn unknown_end(event: &Event) -> Option<(String, String)> {
    let Event::MessageEnd { message: AgentMessage::Assistant(answer) } = event else { return None };
    Some((answer.provider.clone(), answer.unknown_end.clone()?))
}

/// Returns whether a message is an answer with text or calls.
fn is_good(message: &AgentMessage) -> bool {
    matches!(message, AgentMessage::Assistant(answer)
        if !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted) && !is_empty(answer))
}

/// Returns the error for an answer that the server pauses without end.
fn always_paused() -> ErrorInfo {
    let text = format!(
        "the server paused its answer {} times in a row (pause_turn); send the prompt again, or choose another model",
        PAUSES + 1
    );
    ErrorInfo { retryable: false, ..ErrorInfo::new(ErrorKind::Malformed, text) }
}

/// Returns the error for a bug in this program.
fn internal(illegal: &IllegalMove) -> ErrorInfo {
    ErrorInfo { retryable: false, ..ErrorInfo::new(ErrorKind::Config, illegal.to_string()) }
}

/// Returns whether another model may succeed after this kind of failure.
fn is_of_model(kind: ErrorKind) -> bool {
    use ErrorKind::{
        Auth, Malformed, Network, NotFound, Overloaded, Permission, RateLimit, Server, Timeout, UsageLimit,
    };
    matches!(
        kind,
        Auth | Malformed | Network | NotFound | Overloaded | Permission | RateLimit | Server | Timeout | UsageLimit
    )
}

/// Returns a message that the model reads and the user does not see.
pub(super) fn hidden(text: &str, kind: &str, timestamp: i64) -> AgentMessage {
    AgentMessage::Custom(CustomMessage {
        custom_type: kind.into(),
        content: Content::Text(text.into()),
        display: false,
        details: None,
        attribution: None,
        timestamp,
    })
}
