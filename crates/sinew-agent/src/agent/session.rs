//! An agent at work on a session.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use sinew::base::{Error, ErrorCode, Result};
use sinew_llm::http::HttpConfig;
use sinew_llm::message::{AgentMessage, LlmMessage};
use sinew_llm::model::ThinkingLevel;
use sinew_llm::provider::{CacheRetention, PromptPart, Provider, Request, ToolChoice, ToolDef};
use sinew_session::clock::Clock;
use sinew_session::{Body, Defaults, Session};
use tokio_util::sync::CancellationToken;

use super::chain::{self, Outcome, Stop};
use super::compact::{self, Compacted};
use super::event_bus::{EventBus, Snapshots, Subscriber};
use super::keep::Keep;
use super::meter::Budget;
use super::models::{Models, Reached};
use super::navigate::BranchSummarySettings;
use super::phases::Phases;
use super::record::Recorded;
use super::retry::RetrySettings;
use crate::compaction::Limits;
use crate::core::{Cleared, Mode, Queues, RunSettings, Toolset, tell_event};
use crate::event::Event;
use crate::extension::{Context, Extension};
use crate::resource::stream::StreamRules;

/// What the user may set about compaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactionSettings {
    /// Default true.
    pub enabled: bool,
    /// What stays free, and what stays as it is.
    pub limits: Limits,
    /// Goes on by itself where the model had open work. Default true.
    pub auto_continue: bool,
    /// Who sums up: a pattern or a role; default the session's model.
    pub model: Option<String>,
    /// A server that sums up before any model is asked: it gets `{systemPrompt, prompt}` and answers `{summary}`.
    pub remote_endpoint: Option<String>,
}

impl Default for CompactionSettings {
    fn default() -> CompactionSettings {
        CompactionSettings {
            enabled: true,
            limits: Limits::default(),
            auto_continue: true,
            model: None,
            remote_endpoint: None,
        }
    }
}

/// What the user may set.
#[derive(Debug, Clone, Default)]
pub struct AgentSettings {
    /// Turns and tools.
    pub run: RunSettings,
    /// Attempts.
    pub retry: RetrySettings,
    /// Long contexts.
    pub compaction: CompactionSettings,
    /// A model with a larger window takes over on overflow. Default false: it costs more.
    pub promotion: bool,
    /// Reminds the model of open items, where there is a list. Default false; the setting `todo.reminders` is true
    /// where nobody sets it.
    pub todo_reminders: bool,
    /// How queued messages are taken.
    pub steering_mode: Mode,
    /// How queued messages are taken.
    pub follow_up_mode: Mode,
    /// How long servers remember the common start of requests.
    pub cache: CacheRetention,
    /// Tokens of thought by level.
    pub thinking_budgets: Vec<(ThinkingLevel, u64)>,
    /// Tokens of an answer at most.
    pub max_tokens: Option<u64>,
    /// Branches that are left.
    pub branch_summary: BranchSummarySettings,
    /// A session without title gets one after its first answer. Default false: a request more.
    pub titles: bool,
    /// How the agent itself connects; providers have their own.
    pub http: HttpConfig,
    /// What the requests may cost. Default none: whatever they do.
    pub budget: Option<Budget>,
    /// The model that answers once the session's one cannot: a pattern or a role. Default none.
    pub fallback: Option<String>,
}

/// What to do with a prompt while a run is active.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Streaming {
    /// After the tools of this turn.
    Steer,
    /// When the agent would stop.
    FollowUp,
}

/// What an agent is made of.
pub struct Parts {
    /// The session; its messages are the context.
    pub session: Session,
    /// Who answers first.
    pub reached: Reached,
    /// Who else may answer.
    pub models: Arc<dyn Models>,
    /// How much to think.
    pub thinking: ThinkingLevel,
    /// The system prompt, in parts.
    pub system: Vec<String>,
    /// What the model may call.
    pub tools: Toolset,
    /// Who may look and change.
    pub extensions: Vec<Arc<dyn Extension>>,
    /// What the user has set.
    pub settings: AgentSettings,
    /// Time and chance.
    pub clock: Arc<dyn Clock>,
    /// The folder in which it works.
    pub cwd: PathBuf,
    /// Whether somebody can be asked.
    pub has_ui: bool,
    /// Items of a list that are open, for reminders.
    pub open_items: Option<Arc<dyn Fn() -> Option<Value> + Send + Sync>>,
}

/// What may change between turns.
#[derive(Clone)]
pub(super) struct State {
    pub(super) reached: Reached,
    pub(super) thinking: ThinkingLevel,
    pub(super) system: Vec<String>,
    pub(super) tools: Toolset,
}

pub(super) type Seen<'a> = tokio::sync::MutexGuard<'a, Vec<AgentMessage>>;

/// An agent: one session, one run at a time, any number of listeners. Every channel is bounded.
pub struct AgentSession {
    pub(super) keep: Keep,
    /// What the model has seen; whoever holds it runs.
    pub(super) messages: tokio::sync::Mutex<Vec<AgentMessage>>,
    /// Held by whoever takes `messages` for a moment, and while it is tried: who only looks keeps nobody from running.
    gate: Mutex<()>,
    pub(super) state: Mutex<State>,
    pub(super) models: Arc<dyn Models>,
    pub(super) extensions: Vec<Arc<dyn Extension>>,
    pub(super) queues: Queues,
    pub(super) event_bus: EventBus,
    settings: Mutex<Arc<AgentSettings>>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) context: Context,
    pub(super) open_items: Option<Arc<dyn Fn() -> Option<Value> + Send + Sync>>,
    /// Rules that answers are held against.
    rules: Mutex<Option<Arc<StreamRules>>>,
    /// The token of what runs now.
    pub(super) cancel: Mutex<CancellationToken>,
    /// What extensions add to the system prompt of what runs now.
    pub(super) appended: Mutex<Vec<String>>,
    /// The extensions were told of the session's start, and of its end.
    pub(super) told: (AtomicBool, AtomicBool),
    /// What the user should know of pictures that are gone, and whether they know it.
    missing: (OnceLock<String>, AtomicBool),
    pub(super) phases: Phases,
    /// What was recorded while a run held the conversation.
    pub(super) recorded: Recorded,
}

/// A prompt that was taken: it runs, or waits in a queue, and nobody else may run before it has.
#[must_use = "nothing runs until somebody waits for it"]
pub struct Accepted<'a> {
    agent: &'a AgentSession,
    run: Option<(Seen<'a>, Vec<AgentMessage>, CancellationToken)>,
}

impl Accepted<'_> {
    /// Whether it begins a run; else it waits for the one that is active.
    #[must_use]
    pub fn runs(&self) -> bool {
        self.run.is_some()
    }

    /// Resolves when nothing else will happen; at once where the prompt waits in a queue.
    pub async fn run(self) -> Outcome {
        match self.run {
            Some((seen, messages, cancel)) => self.agent.work(seen, messages, cancel).await,
            None => Outcome::queued(),
        }
    }
}

impl AgentSession {
    /// An agent that goes on where the session stands.
    ///
    /// # Errors
    /// The session can no longer be read.
    pub fn new(parts: Parts) -> Result<AgentSession> {
        let before = parts.session.context(&Defaults::default())?;
        Ok(AgentSession::resume(parts, before))
    }

    /// An agent that goes on from `before`, which the session has just given: a long one is not read twice.
    #[must_use]
    pub fn resume(parts: Parts, before: sinew_session::Context) -> AgentSession {
        let Parts {
            session,
            reached,
            models,
            thinking,
            system,
            tools,
            extensions,
            settings,
            clock,
            cwd,
            has_ui,
            open_items,
        } = parts;
        let missing = before.warning().map_or_else(OnceLock::new, OnceLock::from);
        let messages = before.messages;
        let file = session.path().map(std::path::Path::to_path_buf);
        let context =
            Context { cwd, session: session.id().to_string(), file, has_ui, cancel: CancellationToken::new() };
        let queues = Queues::default();
        queues.set_modes(settings.steering_mode, settings.follow_up_mode);
        AgentSession {
            keep: Keep::new(session),
            messages: tokio::sync::Mutex::new(messages),
            gate: Mutex::default(),
            state: Mutex::new(State { reached, thinking, system, tools }),
            models,
            extensions,
            queues,
            event_bus: EventBus::default(),
            settings: Mutex::new(Arc::new(settings)),
            clock,
            context,
            open_items,
            rules: Mutex::default(),
            cancel: Mutex::new(CancellationToken::new()),
            appended: Mutex::default(),
            told: (AtomicBool::new(false), AtomicBool::new(false)),
            missing: (missing, AtomicBool::new(false)),
            phases: Phases::default(),
            recorded: Recorded::default(),
        }
    }

    /// Ends an agent whose process ends too: the session is closed, and the memory of the conversation is left to the
    /// system, which takes it back at once where freeing each text would take long.
    pub fn leave(mut self) {
        std::mem::forget(std::mem::take(self.messages.get_mut()));
    }

    /// What holds now.
    #[must_use]
    pub fn settings(&self) -> Arc<AgentSettings> {
        Arc::clone(&self.settings.lock())
    }

    /// Changes what holds, for what is decided from now on; the session does not remember it.
    pub fn change_settings(&self, change: impl FnOnce(&mut AgentSettings)) {
        let mut settings = self.settings.lock();
        let settings = Arc::make_mut(&mut settings);
        change(settings);
        self.queues.set_modes(settings.steering_mode, settings.follow_up_mode);
    }

    /// Events from now on.
    #[must_use]
    pub fn subscribe(&self, snapshots: Snapshots) -> Subscriber {
        self.event_bus.subscribe(snapshots)
    }

    /// Says something to the model and resolves when nothing else will happen: after all retries, compactions and
    /// queued messages. While a run is active, `streaming` says where the prompt waits.
    ///
    /// # Errors
    /// A run is active and `streaming` is none, or the queue is full.
    pub async fn prompt(&self, messages: Vec<AgentMessage>, streaming: Option<Streaming>) -> Result<Outcome> {
        Ok(self.accept(messages, streaming).await?.run().await)
    }

    /// Takes a prompt as [`AgentSession::prompt`] does, and leaves it to the caller when its run begins. Where no run
    /// is active it waits for nothing, and from then on [`AgentSession::abort`] ends the run that is to come.
    ///
    /// # Errors
    /// As for [`AgentSession::prompt`].
    pub async fn accept(&self, messages: Vec<AgentMessage>, streaming: Option<Streaming>) -> Result<Accepted<'_>> {
        if let Some(seen) = self.free() {
            let run = Some((seen, messages, self.begin()));
            return Ok(Accepted { agent: self, run });
        }
        let Some(streaming) = streaming else {
            let text = "Agent is already processing. Use streamingBehavior \"steer\" or \"followUp\".";
            return Err(Error::new(ErrorCode::InvalidState, text));
        };
        self.queue_prompt(messages, streaming).await?;
        // The run may have ended between the look and the queue: then nobody else would take the message up.
        let run = self.waiting().map(|(seen, queued)| (seen, queued, self.begin()));
        Ok(Accepted { agent: self, run })
    }

    /// What is queued while nothing runs, and the right to run it.
    fn waiting(&self) -> Option<(Seen<'_>, Vec<AgentMessage>)> {
        let _gate = self.gate.lock();
        let seen = self.messages.try_lock().ok()?;
        let queued = self.queues.take_next();
        (!queued.is_empty()).then_some((seen, queued))
    }

    /// Works until nothing else will happen, and says so.
    ///
    /// `cancel` is one for all that follows: an abort between two runs ends the second.
    async fn work(&self, mut seen: Seen<'_>, mut prompts: Vec<AgentMessage>, cancel: CancellationToken) -> Outcome {
        let mut messages = Vec::new();
        if let Some(missing) = self.missing.0.get()
            && !self.missing.1.swap(true, Ordering::Relaxed)
        {
            self.warn(missing.clone()).await;
        }
        self.start().await;
        let outcome = loop {
            self.keep_recorded(&mut seen);
            self.before_start(&mut prompts).await;
            let outcome = chain::follow(self, &mut seen, prompts, &cancel).await;
            messages.extend(outcome.messages.iter().cloned());
            if let Some(error) = self.keep.untold() {
                self.warn(format!("The session is no longer saved: {error}")).await;
            }
            self.keep_recorded(&mut seen);
            drop(seen);
            self.keep_recorded_if_idle();
            // What was queued after the last look, before others could see that the run is over.
            let done = matches!(outcome.stop, Stop::Done | Stop::OutputLimit) && !cancel.is_cancelled();
            let Some(next) = done.then(|| self.waiting()).flatten() else { break outcome };
            (seen, prompts) = next;
            self.queue_changed().await;
        };
        self.emit(Event::AgentSettled {}).await;
        if self.settings().titles && matches!(outcome.stop, Stop::Done | Stop::OutputLimit) {
            // The next prompt may come meanwhile. A session without title is none the worse, and the next answer
            // asks again.
            let _ = self.give_title().await;
        }
        Outcome { messages, ..outcome }
    }

    /// Puts a message where `streaming` says, whether a run is active or not.
    ///
    /// # Errors
    /// The queue holds as many prompts as it may.
    pub async fn queue(&self, message: AgentMessage, streaming: Streaming) -> Result<()> {
        self.queue_prompt(vec![message], streaming).await
    }

    /// All of a prompt, or nothing of it.
    async fn queue_prompt(&self, messages: Vec<AgentMessage>, streaming: Streaming) -> Result<()> {
        let taken = match streaming {
            Streaming::Steer => self.queues.steer(messages),
            Streaming::FollowUp => self.queues.follow_up(messages),
        };
        taken.map_err(|_| {
            let limit = crate::core::QUEUE_LIMIT;
            let text = format!("the queue holds {limit} messages: wait until the agent has taken some");
            Error::new(ErrorCode::LimitExceeded, text)
        })?;
        self.queue_changed().await;
        Ok(())
    }

    /// Takes back what is queued.
    pub async fn clear_queues(&self) -> Cleared {
        let cleared = self.queues.clear();
        self.queue_changed().await;
        cleared
    }

    /// Ends what runs: a pause before a retry, a compaction, a run. Returns at once; the prompt resolves soon.
    pub fn abort(&self) {
        self.cancel.lock().cancel();
    }

    /// Sums up now. Ends a run first.
    ///
    /// # Errors
    /// There is nothing to sum up, or nobody could.
    pub async fn compact(&self, instructions: Option<&str>) -> Result<Compacted> {
        self.abort();
        let mut seen = self.messages.lock().await;
        let cancel = self.begin();
        let compacted = compact::compact(self, &mut seen, compact::Reason::Manual, instructions, &cancel).await;
        drop(seen);
        self.keep_recorded_if_idle();
        compacted
    }

    /// The right to change what the model has seen, while no run is active.
    pub(super) fn idle(&self) -> Result<Seen<'_>> {
        self.free().ok_or_else(|| {
            Error::new(ErrorCode::InvalidState, "Agent is already processing: wait until it is done, or abort it")
        })
    }

    /// The right to run, where nobody has it.
    fn free(&self) -> Option<Seen<'_>> {
        let _gate = self.gate.lock();
        self.messages.try_lock().ok()
    }

    /// Does something for a moment, unless a run is active.
    pub(super) fn briefly<T>(&self, work: impl FnOnce(&mut Seen<'_>) -> T) -> Option<T> {
        let _gate = self.gate.lock();
        let mut seen = self.messages.try_lock().ok()?;
        Some(work(&mut seen))
    }

    /// Runs what waits in the queues, as the end of a run would have done; at once where a run is active, nothing waits
    /// or [`AgentSession::abort`] has ended what was in the way. For the end of what stands in the place of a run.
    pub async fn take_up(&self) {
        if self.cancel.lock().is_cancelled() {
            return;
        }
        if let Some((seen, queued)) = self.waiting() {
            let cancel = self.begin();
            self.queue_changed().await;
            self.work(seen, queued, cancel).await;
        }
    }

    /// The messages of the session's leaf, once the session stands elsewhere. What is missing of them is told once.
    pub(super) fn reread(&self) -> Result<Vec<AgentMessage>> {
        let context = self.session().context(&Defaults::default())?;
        if let Some(warning) = context.warning() {
            // The first one stands for all.
            let _ = self.missing.0.set(warning);
        }
        Ok(context.messages)
    }

    /// The token of something that runs in place of a prompt; [`AgentSession::abort`] ends it.
    pub(super) fn begin(&self) -> CancellationToken {
        let cancel = CancellationToken::new();
        *self.cancel.lock() = cancel.clone();
        cancel
    }

    /// A token of something that runs beside prompts: it ends with the last one.
    pub(super) fn begin_beside(&self) -> CancellationToken {
        self.cancel.lock().child_token()
    }

    /// Resolves when no run is active.
    pub async fn idled(&self) {
        drop(self.messages.lock().await);
    }

    /// Whether a run is active, or something that stands in its place: a compaction, a summary, a handoff.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.briefly(|_| ()).is_none()
    }

    /// The model in use.
    #[must_use]
    pub fn model(&self) -> Reached {
        self.state().reached.clone()
    }

    /// How much the model is asked to think: what was set, as far as the model knows it.
    #[must_use]
    pub fn thinking(&self) -> ThinkingLevel {
        let state = self.state();
        state.reached.model.clamp_level(state.thinking)
    }

    /// The parts of the system prompt.
    #[must_use]
    pub fn system(&self) -> Vec<String> {
        self.state().system.clone()
    }

    /// What the model may call.
    #[must_use]
    pub fn tools(&self) -> Toolset {
        self.state().tools.clone()
    }

    /// The texts of what waits to be said: steering, then follow-ups.
    #[must_use]
    pub fn queued(&self) -> (Vec<String>, Vec<String>) {
        self.queues.texts()
    }

    /// Uses another model from the next request on, and says so in the session; a `role` that is not `default` is for
    /// a while.
    pub fn set_model(&self, reached: Reached, role: Option<&str>) {
        let model = reached.model.key();
        self.state().reached = reached;
        self.keep.append(Body::ModelChange { model, role: role.map(str::to_string), provider: None, model_id: None });
    }

    /// Thinks as much as `level` says from the next request on, and says so in the session.
    pub fn set_thinking(&self, level: ThinkingLevel) {
        self.state().thinking = level;
        self.keep.append(Body::ThinkingLevelChange { thinking_level: level.as_str().into() });
    }

    /// Offers other tools, with the prompt that speaks of them, from the next request on.
    pub fn set_tools(&self, tools: Toolset, system: Vec<String>) {
        let mut state = self.state();
        state.tools = tools;
        state.system = system;
    }

    /// Holds answers against these rules from the next run on. Those that the session has told the model already count
    /// as told.
    pub fn set_stream_rules(&self, rules: Option<StreamRules>) {
        let rules = rules.map(Arc::new);
        let before = std::mem::replace(&mut *self.rules.lock(), rules);
        self.restore_told(before.as_deref());
    }

    /// Lets the rules count from what the session's branch has told the model. Where that can no longer be read, what
    /// `before` has told counts.
    pub(super) fn restore_told(&self, before: Option<&StreamRules>) {
        let Some(rules) = self.stream_rules() else { return };
        let told = self.session().told_rules(rules.gap());
        rules.restore(told.unwrap_or_else(|_| before.unwrap_or(&rules).told_names()));
    }

    pub(super) fn stream_rules(&self) -> Option<Arc<StreamRules>> {
        self.rules.lock().clone()
    }

    /// The session, for reading and for entries of one's own.
    pub fn session(&self) -> MutexGuard<'_, Session> {
        self.keep.session()
    }

    /// Tells the user something.
    pub async fn warn(&self, message: String) {
        self.emit(Event::Warning { message }).await;
    }

    pub(super) async fn emit(&self, event: Event) {
        let cancel = self.cancel.lock().clone();
        let context = Context { cancel: cancel.clone(), ..self.context.clone() };
        tell_event(&self.extensions, event, &context, &self.event_bus.until(&cancel)).await;
    }

    pub(super) async fn queue_changed(&self) {
        let (steering, follow_up) = self.queues.texts();
        self.emit(Event::QueueUpdate { steering, follow_up }).await;
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// The request for `messages` as things stand. Equal inputs give equal requests, byte for byte on the wire.
    pub(super) fn request(&self, messages: Vec<Arc<LlmMessage>>) -> Request {
        self.asked(messages).1
    }

    /// Who answers now, and the request for it.
    pub(super) fn asked(&self, messages: Vec<Arc<LlmMessage>>) -> (Arc<dyn Provider>, Request) {
        let settings = self.settings();
        let State { reached, thinking, system, tools } = self.state().clone();
        let appended = self.appended.lock().clone();
        let tools = tools.all().iter().filter(|tool| !tool.flags().hidden).map(|tool| ToolDef {
            name: tool.name().to_string(),
            description: tool.description().to_string(),
            parameters: tool.parameters(),
        });
        let request = Request {
            thinking: reached.model.clamp_level(thinking),
            model: reached.model,
            auth: reached.auth,
            system: system.into_iter().chain(appended).map(PromptPart::from).collect(),
            messages,
            tools: tools.collect(),
            tool_choice: ToolChoice::Auto,
            thinking_budgets: settings.thinking_budgets.clone(),
            max_tokens: settings.max_tokens,
            session_id: Some(self.context.session.clone()),
            cache: settings.cache,
            timestamp: self.clock.now(),
            ..Request::default()
        };
        (reached.provider, request)
    }
}
