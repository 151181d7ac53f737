//! A session that an editor has open: its agent, its events, and the turn that runs.

use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol_schema::v1 as acp;
use parking_lot::{Mutex, MutexGuard};
use sinew_agent::agent::{IdlePolicy, Snapshots};
use sinew_jsonrpc::Id;
use sinew_llm::message::AgentMessage;
use sinew_session::Body;
use sinew_tools::semantics::ToolKind;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::ask::Asker;
use super::files::{ClientFiles, Lent};
use super::map::{CallIds, Changes, Mapper};
use super::pump::{self, PumpHandle};
use super::wire::Wire;
use super::{options, tool_call};
use crate::app::{App, OpenSession};
use crate::control::{Control, commands};
use crate::failure::Failure;
use crate::settings::ClientFs;
use crate::startup::Startup;

/// The time for which a closed session may be held by requests that are about to end.
const RELEASE: Duration = Duration::from_secs(2);

/// The abilities of the editor.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ClientFacts {
    pub(super) reads_files: bool,
    pub(super) writes_files: bool,
    pub(super) shows_forms: bool,
    pub(super) shows_notices: bool,
}

/// A session that is open.
pub(super) struct Session {
    pub(super) id: acp::SessionId,
    pub(super) control: Arc<Control>,
    pub(super) pump: PumpHandle,
    pub(super) wire: Wire,
    /// The prompt that is being answered.
    turn: Mutex<Option<Turn>>,
    /// Reports jobs of the session with the next prompt.
    attendant: tokio::sync::Mutex<JoinHandle<()>>,
    /// Titles are made once a turn is answered: nobody waits for them.
    pub(super) makes_titles: bool,
    /// Warnings of opening it.
    warnings: Mutex<Vec<acp::SessionUpdate>>,
    /// Cancelled once everything else of this is gone, the lock of the session's file among it: it is dropped last.
    gone: DropGuard,
}

/// A prompt that is being answered.
struct Turn {
    request: Id,
    cancel: CancellationToken,
}

/// The part of an earlier session that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum History {
    /// Its messages, before the request is answered.
    Replayed,
    /// Nothing.
    Left,
}

impl Session {
    /// Opens the session that `startup` asks for.
    ///
    /// # Errors
    /// There is no model, the session cannot be read, or a file that a flag names cannot be used.
    pub(super) async fn open(
        startup: Startup,
        mut warnings: Vec<String>,
        wire: &Wire,
        facts: ClientFacts,
        history: History,
    ) -> Result<Arc<Session>, Failure> {
        let cwd = startup.paths.cwd.clone();
        let lends = startup.settings.acp.client_fs == ClientFs::Auto;
        let ids = Arc::new(CallIds::default());
        let asker = Arc::new(Asker::new(wire.clone(), Arc::clone(&ids), facts.shows_forms));
        let (app, open) = App::start(startup, Some(Arc::clone(&asker) as _), &mut warnings).await?;
        let id = acp::SessionId::new(open.agent.session().id().to_string());
        let makes_titles = open.agent.settings().titles;
        open.agent.change_settings(|settings| settings.titles = false);
        let changes = Changes::default();
        let lent = Lent { reads: lends && facts.reads_files, writes: lends && facts.writes_files };
        let files = ClientFiles::new(wire.clone(), id.clone(), cwd.clone(), lent, Arc::clone(&changes));
        open.host.set_editor(Arc::new(files));
        let mut mapper = Mapper::new(cwd, ids, changes, facts.shows_notices);
        let warnings = warnings.iter().map(|text| mapper.warning(text)).collect();
        if history == History::Replayed {
            replay(&open, &mut mapper, wire, &id).await?;
        }
        let events = open.agent.subscribe(Snapshots::Unread);
        let pump = pump::start(wire.clone(), id.clone(), events, mapper);
        // Set once: the asker is this session's own.
        let _ = asker.session.set((id.clone(), pump.clone()));
        let control = Control::new(app, open, None);
        control.begin_mode().await.map_err(|error| Failure::failed(error.message))?;
        let attended = control.session();
        let attendant = tokio::sync::Mutex::new(tokio::spawn(async move {
            attended.agent.start().await;
            match attended.agent.forward_notices(&attended.host, IdlePolicy::Wait).await {}
        }));
        let (turn, warnings) = (Mutex::default(), Mutex::new(warnings));
        let (wire, gone) = (wire.clone(), CancellationToken::new().drop_guard());
        Ok(Arc::new(Session { id, control, pump, wire, turn, attendant, makes_titles, warnings, gone }))
    }

    fn turn(&self) -> MutexGuard<'_, Option<Turn>> {
        self.turn.lock()
    }

    /// Takes the right to answer a prompt. None: another one is being answered.
    pub(super) fn begin_turn(self: &Arc<Session>, request: &Id) -> Option<RunningTurn> {
        let mut turn = self.turn();
        if turn.is_some() {
            return None;
        }
        let cancel = CancellationToken::new();
        *turn = Some(Turn { request: request.clone(), cancel: cancel.clone() });
        Some(RunningTurn { session: Arc::clone(self), cancel })
    }

    /// Ends the turn; nothing where none runs.
    pub(super) fn cancel(&self) {
        if let Some(turn) = &*self.turn() {
            turn.cancel.cancel();
        }
    }

    /// Ends the turn that answers `request`.
    pub(super) fn cancel_request(&self, request: &Id) {
        if let Some(turn) = self.turn().as_ref().filter(|turn| turn.request == *request) {
            turn.cancel.cancel();
        }
    }

    /// The values of everything that may be set.
    pub(super) fn options(&self) -> (acp::SessionModeState, Vec<acp::SessionConfigOption>) {
        (options::modes(&self.control), options::all(&self.control))
    }

    /// Tells what the editor may show beside the conversation, once it knows of the session.
    pub(super) async fn announce(&self) {
        let warnings = std::mem::take(&mut *self.warnings.lock());
        for warning in warnings {
            self.wire.update(&self.id, warning).await;
        }
        let built_in = commands::runnable().map(|(name, text)| acp::AvailableCommand::new(name, text));
        let listed = self.control.listed_commands().into_iter().map(|command| {
            let hint = command
                .hint
                .map(|hint| acp::AvailableCommandInput::Unstructured(acp::UnstructuredCommandInput::new(hint)));
            acp::AvailableCommand::new(command.name, command.description).input(hint)
        });
        let update = acp::AvailableCommandsUpdate::new(built_in.chain(listed).collect());
        self.wire.update(&self.id, acp::SessionUpdate::AvailableCommandsUpdate(update)).await;
    }

    /// Resolves once the file of the session is free for others; not for ever where somebody holds on to it.
    pub(super) async fn released(self: Arc<Session>) {
        let gone = self.gone.token().clone();
        drop(self);
        let _ = tokio::time::timeout(RELEASE, gone.cancelled()).await;
    }

    /// Ends all work, keeps the session and ends its shells.
    pub(super) async fn close(&self, code: u8) {
        self.cancel();
        {
            let mut attendant = self.attendant.lock().await;
            attendant.abort();
            // It was ended this very moment, or was before.
            if !attendant.is_finished() {
                let _ = (&mut *attendant).await;
            }
        }
        let open = self.control.session();
        self.control.quiet(&open).await;
        open.agent.shut_down().await;
        let flushed = open.agent.session().flush();
        if let Err(error) = flushed {
            crate::output::tell(&format!("Warning: {error}"));
        }
        super::super::close(Arc::clone(&open.host), code).await;
    }
}

/// The right to answer a prompt. Dropping it lets the next prompt come.
pub(super) struct RunningTurn {
    pub(super) session: Arc<Session>,
    pub(super) cancel: CancellationToken,
}

impl Drop for RunningTurn {
    fn drop(&mut self) {
        *self.session.turn() = None;
    }
}

/// Shows the messages of the branch in their order, and the list of tasks.
async fn replay(open: &OpenSession, mapper: &mut Mapper, wire: &Wire, id: &acp::SessionId) -> Result<(), Failure> {
    let (messages, todo) = read(open).map_err(|error| Failure::failed(error.message()))?;
    for message in &messages {
        for update in mapper.message(message) {
            wire.update(id, update).await;
        }
    }
    for update in mapper.close() {
        wire.update(id, update).await;
    }
    if let Some(todo) = todo {
        let plan = tool_call::plan(&todo["phases"]);
        wire.update(id, acp::SessionUpdate::Plan(plan)).await;
    }
    Ok(())
}

type Read = (Vec<AgentMessage>, Option<serde_json::Value>);

fn read(open: &OpenSession) -> Result<Read, sinew::base::Error> {
    let session = open.agent.session();
    let mut messages = Vec::new();
    for id in session.path_ids() {
        if let Body::Message { mut message } = session.entry(id)?.body {
            // A picture that is gone stands there as a text that says so.
            let _ = session.restore_images(&mut message);
            messages.push(message);
        }
    }
    Ok((messages, session.todo(&sinew_tools::names_of(ToolKind::Plan).collect::<Vec<_>>())?))
}
