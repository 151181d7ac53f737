//! The agent of a session: its parts, and what may be asked and changed at any time.

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
use tokio_util::sync::CancellationToken;

use super::conversation::{ContextPermit, Conversation};
use super::event_bus::{EventBus, Snapshots, Subscriber};
use super::lifecycle::{Activity, State};
use super::models::{ModelResolver, ResolvedModel};
use super::once::OnceFlag;
use super::settings::{AgentSettings, LiveSettings, TurnSettings};
use super::stats::CountedEntries;
use crate::core::{Queues, Toolset, tell_event};
use crate::event::Event;
use crate::extension::{Context, Extension};
use crate::resource::stream::StreamRules;
use crate::undo::TurnRecorder;

/// Gives the items of a list that are open.
pub type OpenItems = Arc<dyn Fn() -> Option<Value> + Send + Sync>;

/// The parts of an agent.
pub struct AgentParts {
    /// The session; its messages are the context.
    pub session: Session,
    /// The model that answers first.
    pub resolved: ResolvedModel,
    /// The other models.
    pub models: Arc<dyn ModelResolver>,
    /// The level of thinking.
    pub thinking: ThinkingLevel,
    /// The system prompt, in parts.
    pub system: Vec<String>,
    /// The tools that the model may call.
    pub tools: Toolset,
    /// The extensions, in load order.
    pub extensions: Vec<Arc<dyn Extension>>,
    /// The settings of the user.
    pub settings: AgentSettings,
    /// Time and chance.
    pub clock: Arc<dyn Clock>,
    /// The folder in which it works.
    pub cwd: PathBuf,
    /// Somebody can be asked.
    pub has_ui: bool,
    /// The open items of a list, for reminders.
    pub open_items: Option<OpenItems>,
    /// Records what turns change, so that it can be undone. `None`: nothing can.
    pub undo: Option<Arc<TurnRecorder>>,
    /// The lane of a scripted model that answers; `None` for the main one.
    pub lane: Option<String>,
}

/// An agent: one session, one run at a time, any number of listeners. Every channel is bounded.
pub struct AgentSession {
    pub(super) conversation: Conversation,
    pub(super) live: LiveSettings,
    pub(super) queues: Queues,
    pub(super) event_bus: EventBus,
    pub(super) models: Arc<dyn ModelResolver>,
    pub(super) extensions: Vec<Arc<dyn Extension>>,
    pub(super) clock: Arc<dyn Clock>,
    /// The facts of the session that extensions get.
    pub(super) context: Context,
    pub(super) open_items: Option<OpenItems>,
    pub(super) undo: Option<Arc<TurnRecorder>>,
    lane: Option<String>,
    /// The entries that were counted already.
    pub(super) counted: Mutex<CountedEntries>,
    /// The extensions were told that the session begins.
    pub(super) started: OnceFlag,
    /// States of servers that nobody was told of yet.
    pub(super) statuses: tokio::sync::Mutex<Option<tokio::sync::broadcast::Receiver<crate::mcp::Status>>>,
}

impl AgentSession {
    /// Makes an agent that goes on from the leaf of the session.
    ///
    /// # Errors
    /// The session can no longer be read.
    pub fn new(parts: AgentParts) -> Result<AgentSession> {
        let before = parts.session.context(&Defaults::default())?;
        Ok(AgentSession::resume(parts, before))
    }

    /// Makes an agent that goes on from `before`, which the session has just given: a long one is not read twice.
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
            lane,
        } = parts;
        let file = session.path().map(Path::to_path_buf);
        let context =
            Context { cwd, session: session.id().to_string(), file, has_ui, cancel: CancellationToken::new() };
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
            lane,
            counted: Mutex::default(),
            started: OnceFlag::default(),
            statuses: tokio::sync::Mutex::default(),
        }
    }

    /// Ends an agent whose process ends too: the session is closed, and the memory of the conversation is left to the
    /// system, which takes it back at once where freeing each text would take long.
    pub fn leave(self) {
        std::mem::forget(self.conversation.into_context());
    }

    /// The settings of the user as they are now.
    #[must_use]
    pub fn settings(&self) -> Arc<AgentSettings> {
        self.live.user()
    }

    /// Changes the settings of the user, for what is decided from now on; the session does not remember it.
    pub fn change_settings(&self, change: impl FnOnce(&mut AgentSettings)) {
        let settings = self.live.change_user(change);
        self.queues.set_modes(settings.steering_mode, settings.follow_up_mode);
    }

    /// Subscribes to the events from now on.
    #[must_use]
    pub fn subscribe(&self, snapshots: Snapshots) -> Subscriber {
        self.event_bus.subscribe(snapshots)
    }

    /// Ends what runs: a pause before a retry, a compaction, a run. Returns at once; the prompt resolves soon.
    pub fn abort(&self) {
        self.conversation.context.cancel();
    }

    /// Ends a compaction and nothing else; false where there is none. The context stays as it is.
    pub fn abort_compaction(&self) -> bool {
        self.conversation.context.cancel_compaction()
    }

    /// Ends the wait for another attempt: the run is over then. False where nothing waits.
    pub fn abort_retry(&self) -> bool {
        self.conversation.context.cancel_retry()
    }

    /// Resolves when no run is active.
    pub async fn idled(&self) {
        self.conversation.context.idle().await;
    }

    /// Returns whether a run is active, or something that stands in its place: a compaction, a summary, a handoff.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.conversation.context.is_busy()
    }

    /// Returns whether the context is being made smaller.
    #[must_use]
    pub fn is_compacting(&self) -> bool {
        matches!(self.conversation.context.state(), State::Compacting(_))
    }

    /// Returns whether a request waits to be sent again.
    #[must_use]
    pub fn is_retrying(&self) -> bool {
        self.conversation.context.state() == State::Retrying
    }

    /// Begins work on the session that the user asked for, while no run is active.
    pub(super) fn begin_maintenance(&self) -> Result<ContextPermit<'_>> {
        Ok(self.conversation.context.begin(Activity::Maintenance)?)
    }

    /// The token of what runs now, or ran last.
    pub(super) fn token(&self) -> CancellationToken {
        self.conversation.context.token()
    }

    /// The token of something that begins to run; [`AgentSession::abort`] ends it.
    pub(super) fn new_token(&self) -> CancellationToken {
        self.conversation.context.renew_token()
    }

    /// The model in use.
    #[must_use]
    pub fn model(&self) -> ResolvedModel {
        self.live.turn().resolved.clone()
    }

    /// The level of thinking that was set, as far as the model knows it.
    #[must_use]
    pub fn thinking(&self) -> ThinkingLevel {
        let turn = self.live.turn();
        turn.resolved.model.clamp_level(turn.thinking)
    }

    /// The parts of the system prompt.
    #[must_use]
    pub fn system(&self) -> Vec<String> {
        self.live.turn().system.clone()
    }

    /// The tools that the model may call.
    #[must_use]
    pub fn tools(&self) -> Toolset {
        self.live.turn().tools.clone()
    }

    /// The texts of the messages in the queues: steering, then follow-ups.
    #[must_use]
    pub fn queued(&self) -> (Vec<String>, Vec<String>) {
        self.queues.texts()
    }

    /// Uses another model from the next request on, and writes so into the session; a `role` that is not `default` is
    /// for a while.
    pub fn set_model(&self, resolved: ResolvedModel, role: Option<&str>) {
        let model = resolved.model.key();
        self.live.turn().resolved = resolved;
        let role = role.map(str::to_string);
        self.conversation.append(Body::ModelChange { model, role, provider: None, model_id: None });
    }

    /// Uses another level of thinking from the next request on, and writes so into the session.
    pub fn set_thinking(&self, level: ThinkingLevel) {
        self.live.turn().thinking = level;
        self.conversation.append(Body::ThinkingLevelChange { thinking_level: level.as_str().into() });
    }

    /// Offers other tools, with the prompt that speaks of them, from the next request on.
    pub fn set_tools(&self, tools: Toolset, system: Vec<String>) {
        let mut turn = self.live.turn();
        turn.tools = tools;
        turn.system = system;
    }

    /// Holds answers against these rules from the next run on. Those that the session has told the model already count
    /// as told.
    pub fn set_stream_rules(&self, rules: Option<StreamRules>) {
        let before = self.live.replace_rules(rules.map(Arc::new));
        self.restore_told(before.as_deref());
    }

    /// Lets the rules count from what the session's branch has told the model. Where that can no longer be read, what
    /// `before` has told counts.
    pub(super) fn restore_told(&self, before: Option<&StreamRules>) {
        let Some(rules) = self.live.rules() else { return };
        let told = self.session().told_rules(rules.gap());
        rules.restore(told.unwrap_or_else(|_| before.unwrap_or(&rules).told_names()));
    }

    /// The session, for reading and for entries of one's own.
    pub fn session(&self) -> MutexGuard<'_, Session> {
        self.conversation.session()
    }

    /// Warns the user.
    pub async fn warn(&self, message: String) {
        self.emit(Event::Warning { message }).await;
    }

    /// The facts of the session for extensions that `cancel` ends.
    pub(super) fn extension_context(&self, cancel: CancellationToken) -> Context {
        Context { cancel, ..self.context.clone() }
    }

    /// Emits an event to the extensions and all subscribers.
    pub async fn emit(&self, event: Event) {
        let cancel = self.token();
        let context = self.extension_context(cancel.clone());
        tell_event(&self.extensions, event, &context, &self.event_bus.until(&cancel)).await;
    }

    pub(super) async fn queue_changed(&self) {
        let (steering, follow_up) = self.queues.texts();
        self.emit(Event::QueueUpdate { steering, follow_up }).await;
    }

    /// The provider that answers now, and the request with `messages`. Equal inputs give equal requests, byte for byte
    /// on the wire.
    pub(super) fn request(&self, messages: Vec<Arc<LlmMessage>>) -> (Arc<dyn Provider>, Request) {
        let (provider, request) = self.live.request(messages);
        let session_id = Some(self.context.session.clone());
        (provider, Request { session_id, timestamp: self.clock.now(), lane: self.lane.clone(), ..request })
    }
}
