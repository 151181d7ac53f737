//! The agent of a session: its parts, and the methods that may be called at any time.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use sinew::base::Result;
use sinew_llm::message::LlmMessage;
use sinew_llm::model::ThinkingLevel;
use sinew_llm::provider::{Provider, Request};
use sinew_session::clock::Clock;
use sinew_session::{Body, Defaults, Session};
use sinew_tools::Requester;
use tokio_util::sync::CancellationToken;

use super::conversation::{ContextPermit, Conversation};
use super::event_bus::{EventBus, Snapshots, Subscriber};
use super::lifecycle::{Activity, State};
use super::models::{ModelResolver, ResolvedModel};
use super::once_flag::OnceFlag;
use super::outside_work::OutsideWork;
use super::recorded_turn::KeepRecord;
use super::settings::{AgentSettings, LiveSettings, TurnSettings};
use super::stats::CountedEntries;
use crate::core::{Queues, Sink, Toolset, tell_event};
use crate::event::Event;
use crate::extension::{Context, Extension};
use crate::resource::stream::StreamRules;
use crate::undo::TurnRecorder;

/// Returns the open items of a todo list.
pub type OpenItems = Arc<dyn Fn() -> Option<Value> + Send + Sync>;

/// The inputs for creating an agent.
pub struct AgentParts {
    /// The session; its messages become the context.
    pub session: Session,
    /// The initial model.
    pub resolved: ResolvedModel,
    /// Resolves other models.
    pub models: Arc<dyn ModelResolver>,
    /// The thinking level.
    pub thinking: ThinkingLevel,
    /// The system prompt, in parts.
    pub system: Vec<String>,
    /// The tools that the model may call.
    pub tools: Toolset,
    /// The extensions, in load order.
    pub extensions: Vec<Arc<dyn Extension>>,
    /// The settings of the user.
    pub settings: AgentSettings,
    /// The source of time and randomness.
    pub clock: Arc<dyn Clock>,
    /// The working directory.
    pub cwd: PathBuf,
    /// Whether a user can be asked.
    pub has_ui: bool,
    /// The open items of a todo list, for reminders.
    pub open_items: Option<OpenItems>,
    /// Records the changes of turns, so that they can be undone. `None` disables undo.
    pub undo: Option<Arc<TurnRecorder>>,
    /// Stores the records of `undo`. Default: in this session.
    pub keep_record: Option<KeepRecord>,
    /// The lane of a scripted model that answers; `None` for the main one.
    pub lane: Option<String>,
    /// The session whose id is the key to the server's cache, so that subagents share the prefix of their parent.
    /// Default: the session itself.
    pub cache_session: Option<String>,
    /// The subagent that the session belongs to; `None` for a session of the user.
    pub requester: Option<Arc<Requester>>,
}

/// An agent: one session, one run at a time, any number of subscribers. Every channel is bounded.
pub struct AgentSession {
    pub(super) conversation: Conversation,
    pub(super) live: LiveSettings,
    pub(super) queues: Queues,
    pub(super) event_bus: EventBus,
    pub(super) models: Arc<dyn ModelResolver>,
    pub(super) extensions: Vec<Arc<dyn Extension>>,
    pub(super) clock: Arc<dyn Clock>,
    /// The facts of the session that extensions receive.
    pub(super) context: Context,
    pub(super) open_items: Option<OpenItems>,
    pub(super) undo: Option<Arc<TurnRecorder>>,
    pub(super) keep_record: Option<KeepRecord>,
    pub(super) outside_work: OutsideWork,
    lane: Option<String>,
    cache_session: String,
    /// The counts of the entries that were read already.
    pub(super) counted: Mutex<CountedEntries>,
    /// Whether the extensions were informed of the start of the session.
    pub(super) started: OnceFlag,
    /// The reported reasons for the end of an answer that no protocol knows.
    pub(super) unknown_ends: Mutex<BTreeSet<String>>,
    /// Unreported states of servers.
    pub(super) statuses: tokio::sync::Mutex<Option<tokio::sync::broadcast::Receiver<crate::mcp::Status>>>,
}

impl AgentSession {
    /// Creates an agent that continues from the leaf of the session.
    ///
    /// # Errors
    /// Returns an error if the session can no longer be read.
    pub fn new(parts: AgentParts) -> Result<AgentSession> {
        let before = parts.session.context(&Defaults::default())?;
        Ok(AgentSession::resume(parts, before))
    }

    /// Creates an agent that continues from the context `before` of the session, so that a long one is not read twice.
    #[must_use]
    pub fn resume(parts: AgentParts, before: sinew_session::Context) -> AgentSession {
        let AgentParts {
            session,
            resolved,
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
            undo,
            keep_record,
            lane,
            cache_session,
            requester,
        } = parts;
        let file = session.path().map(Path::to_path_buf);
        let id = session.id().to_string();
        let cache_session = cache_session.unwrap_or_else(|| id.clone());
        let cancel = CancellationToken::new();
        let context = Context { cwd, session: id, file, has_ui, requester, recorder: undo.clone(), cancel };
        let queues = Queues::default();
        queues.set_modes(settings.steering_mode, settings.follow_up_mode);
        AgentSession {
            conversation: Conversation::new(session, before),
            live: LiveSettings::new(settings, TurnSettings { resolved, thinking, system, tools }),
            queues,
            event_bus: EventBus::default(),
            models,
            extensions,
            clock,
            context,
            open_items,
            undo,
            keep_record,
            outside_work: OutsideWork::default(),
            lane,
            cache_session,
            counted: Mutex::default(),
            started: OnceFlag::default(),
            unknown_ends: Mutex::default(),
            statuses: tokio::sync::Mutex::default(),
        }
    }

    /// Drops an agent whose process is about to exit. The session is closed, but the memory of the conversation is
    /// leaked on purpose: the system reclaims it when the process exits, whereas freeing each text is slow.
    pub fn leave(self) {
        std::mem::forget(self.conversation.into_context());
    }

    /// Returns the current settings of the user.
    #[must_use]
    pub fn settings(&self) -> Arc<AgentSettings> {
        self.live.user()
    }

    /// Changes the settings of the user for later decisions; they are not saved in the session.
    pub fn change_settings(&self, change: impl FnOnce(&mut AgentSettings)) {
        let settings = self.live.change_user(change);
        self.queues.set_modes(settings.steering_mode, settings.follow_up_mode);
    }

    /// Subscribes to the events from now on.
    #[must_use]
    pub fn subscribe(&self, snapshots: Snapshots) -> Subscriber {
        self.event_bus.subscribe(snapshots)
    }

    /// Aborts the current activity: a delay before a retry, a compaction, a run. Returns at once; the prompt resolves
    /// soon.
    pub fn abort(&self) {
        self.conversation.context.cancel();
    }

    /// Aborts only the compaction; returns false if there is none. The context stays unchanged.
    pub fn abort_compaction(&self) -> bool {
        self.conversation.context.cancel_compaction()
    }

    /// Aborts the wait before a retry, which ends the run. Returns false if nothing waits.
    pub fn abort_retry(&self) -> bool {
        self.conversation.context.cancel_retry()
    }

    /// Resolves when no activity is running.
    pub async fn idled(&self) {
        self.conversation.context.idle().await;
    }

    /// Returns whether a run is active, or an activity that excludes runs: a compaction, a summary, a handoff.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.conversation.context.is_busy()
    }

    /// Returns whether the context is being compacted.
    #[must_use]
    pub fn is_compacting(&self) -> bool {
        matches!(self.conversation.context.state(), State::Compacting(_))
    }

    /// Returns whether a request waits for its retry.
    #[must_use]
    pub fn is_retrying(&self) -> bool {
        self.conversation.context.state() == State::Retrying
    }

    /// Starts work on the session at the user's request, if no run is active.
    pub(super) fn begin_maintenance(&self) -> Result<ContextPermit<'_>> {
        Ok(self.conversation.context.begin(Activity::Maintenance)?)
    }

    /// Returns the token of the current activity, or of the last one.
    pub(super) fn token(&self) -> CancellationToken {
        self.conversation.context.token()
    }

    /// Returns a new token for an activity that starts; [`AgentSession::abort`] cancels it.
    pub(super) fn new_token(&self) -> CancellationToken {
        self.conversation.context.renew_token()
    }

    /// Returns the current model.
    #[must_use]
    pub fn model(&self) -> ResolvedModel {
        self.live.turn().resolved.clone()
    }

    /// Returns the thinking level, limited to those that the model supports.
    #[must_use]
    pub fn thinking(&self) -> ThinkingLevel {
        let turn = self.live.turn();
        turn.resolved.model.clamp_level(turn.thinking)
    }

    /// Returns the parts of the system prompt.
    #[must_use]
    pub fn system(&self) -> Vec<String> {
        self.live.turn().system.clone()
    }

    /// Returns the tools that the model may call.
    #[must_use]
    pub fn tools(&self) -> Toolset {
        self.live.turn().tools.clone()
    }

    /// Returns the texts of the queued messages: steering and follow-ups.
    #[must_use]
    pub fn queued(&self) -> (Vec<String>, Vec<String>) {
        self.queues.texts()
    }

    /// Uses another model from the next request on, and records it in the session. A `role` other than `default` is
    /// temporary.
    pub fn set_model(&self, resolved: ResolvedModel, role: Option<&str>) {
        let model = resolved.model.key();
        self.live.turn().resolved = resolved;
        let role = role.map(str::to_string);
        self.conversation.append(Body::ModelChange { model, role, provider: None, model_id: None });
    }

    /// Uses another thinking level from the next request on, and records it in the session.
    pub fn set_thinking(&self, level: ThinkingLevel) {
        self.live.turn().thinking = level;
        self.conversation.append(Body::ThinkingLevelChange { thinking_level: level.as_str().into() });
    }

    /// Offers other tools, with the system prompt that describes them, from the next request on.
    pub fn set_tools(&self, tools: Toolset, system: Vec<String>) {
        let mut turn = self.live.turn();
        turn.tools = tools;
        turn.system = system;
    }

    /// Checks answers against these rules from the next run on. Rules that the session has already injected are not
    /// injected again.
    pub fn set_stream_rules(&self, rules: Option<StreamRules>) {
        let before = self.live.replace_rules(rules.map(Arc::new));
        self.restore_told(before.as_deref());
    }

    /// Restores which rules the session's branch has already injected. If the session can no longer be read, the state
    /// of `before` is used.
    pub(super) fn restore_told(&self, before: Option<&StreamRules>) {
        let Some(rules) = self.live.rules() else { return };
        let told = self.session().told_rules(rules.gap());
        rules.restore(told.unwrap_or_else(|_| before.unwrap_or(&rules).told_names()));
    }

    /// Returns the session, for reading and for custom entries.
    pub fn session(&self) -> MutexGuard<'_, Session> {
        self.conversation.session()
    }

    /// Emits a warning for the user.
    pub async fn warn(&self, message: String) {
        self.emit(Event::Warning { message }).await;
    }

    /// Returns the facts of the session for extensions, with the token `cancel`.
    pub(super) fn extension_context(&self, cancel: CancellationToken) -> Context {
        Context { cancel, ..self.context.clone() }
    }

    /// Sends an event to all subscribers, but not to the extensions.
    pub async fn publish(&self, event: Event) {
        let cancel = self.token();
        self.event_bus.until(&cancel).emit(event).await;
    }

    /// Sends an event to the extensions and all subscribers.
    pub async fn emit(&self, event: Event) {
        let cancel = self.token();
        let context = self.extension_context(cancel.clone());
        tell_event(&self.extensions, event, &context, &self.event_bus.until(&cancel)).await;
    }

    pub(super) async fn queue_changed(&self) {
        let (steering, follow_up) = self.queues.texts();
        self.emit(Event::QueueUpdate { steering, follow_up }).await;
    }

    /// Returns the key to the server's cache.
    #[must_use]
    pub fn cache_session(&self) -> &str {
        &self.cache_session
    }

    /// Returns the current provider and the request with `messages`. Equal inputs produce requests that are equal byte
    /// for byte when serialized.
    pub(super) fn request(&self, messages: Vec<Arc<LlmMessage>>) -> (Arc<dyn Provider>, Request) {
        let (provider, request) = self.live.request(messages);
        let session_id = Some(self.cache_session.clone());
        (provider, Request { session_id, timestamp: self.clock.now(), lane: self.lane.clone(), ..request })
    }
}
