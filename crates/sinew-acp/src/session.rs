//! A session that is open in an editor: its agent, its events, and the running turn.

use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol_schema::v1 as acp;
use parking_lot::{Mutex, MutexGuard};
use sinew_agent::agent::{IdlePolicy, Snapshots};
use sinew_control::actions::{Control, commands};
use sinew_control::app::{App, OpenSession};
use sinew_control::failure::Failure;
use sinew_control::settings::ClientFs;
use sinew_control::startup::Startup;
use sinew_jsonrpc::Id;
use sinew_llm::message::AgentMessage;
use sinew_session::Body;
use sinew_tools::semantics::ToolKind;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::ask::Asker;
use super::files::{ClientFileSupport, ClientFiles};
use super::map::{CallIds, Changes, Mapper};
use super::pump::{self, PumpHandle};
use super::wire::Wire;
use super::{options, tool_call};

/// The time that requests may keep a closed session in use while they end.
const RELEASE: Duration = Duration::from_secs(2);

/// The capabilities of the editor.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ClientFacts {
    pub(super) reads_files: bool,
    pub(super) writes_files: bool,
    pub(super) shows_forms: bool,
    pub(super) shows_notices: bool,
}

/// An open session.
pub(super) struct Session {
    pub(super) id: acp::SessionId,
    pub(super) control: Arc<Control>,
    pub(super) pump: PumpHandle,
    pub(super) wire: Wire,
    /// The prompt that is being answered.
    turn: Mutex<Option<Turn>>,
    /// Reports the session's background jobs with the next prompt.
    attendant: tokio::sync::Mutex<JoinHandle<()>>,
    /// True to generate titles in the background after a turn.
    pub(super) makes_titles: bool,
    /// The warnings from opening it.
    warnings: Mutex<Vec<acp::SessionUpdate>>,
    /// Dropped last, which cancels its token: everything else of the session, such as the lock of its file, is released
    /// then.
    gone: DropGuard,
}

/// A prompt that is being answered.
struct Turn {
    request: Id,
    cancel: CancellationToken,
}

/// How much of an earlier session is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum History {
    /// All messages, before the request is answered.
    Replayed,
    /// Nothing.
    Left,
}

impl Session {
    /// Opens the session that `startup` selects.
    ///
    /// # Errors
    /// Returns an error if there is no model, the session cannot be read, or a file named by a flag cannot be used.
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
        let lent = ClientFileSupport { reads: lends && facts.reads_files, writes: lends && facts.writes_files };
        let files = ClientFiles::new(wire.clone(), id.clone(), cwd.clone(), lent, Arc::clone(&changes));
        open.host.set_editor(Arc::new(files));
        let mut mapper = Mapper::new(cwd, ids, changes, facts.shows_notices);
        let warnings = warnings.iter().map(|text| mapper.warning(text)).collect();
        if history == History::Replayed {
            replay(&open, &mut mapper, wire, &id).await?;
        }
        let events = open.agent.subscribe(Snapshots::Unread);
        let pump = pump::start(wire.clone(), id.clone(), events, mapper);
        // Cannot fail, because the asker belongs to this session only.
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

    /// Reserves the turn for a prompt; returns `None` if another prompt is being answered.
    pub(super) fn begin_turn(self: &Arc<Session>, request: &Id) -> Option<RunningTurn> {
        let mut turn = self.turn();
        if turn.is_some() {
            return None;
        }
        let cancel = CancellationToken::new();
        *turn = Some(Turn { request: request.clone(), cancel: cancel.clone() });
        Some(RunningTurn { session: Arc::clone(self), cancel })
    }

    /// Cancels the turn, if one is running.
    pub(super) fn cancel(&self) {
        if let Some(turn) = &*self.turn() {
            turn.cancel.cancel();
        }
    }

    /// Cancels the turn that answers `request`.
    pub(super) fn cancel_request(&self, request: &Id) {
        if let Some(turn) = self.turn().as_ref().filter(|turn| turn.request == *request) {
            turn.cancel.cancel();
        }
    }

    /// Returns the values of all options.
    pub(super) fn options(&self) -> (acp::SessionModeState, Vec<acp::SessionConfigOption>) {
        (options::modes(&self.control), options::all(&self.control))
    }

    /// Sends what the editor may show next to the conversation, once it knows the session.
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

    /// Resolves when other processes can use the session file, or after a time limit.
    pub(super) async fn released(self: Arc<Session>) {
        let gone = self.gone.token().clone();
        drop(self);
        let _ = tokio::time::timeout(RELEASE, gone.cancelled()).await;
    }

    /// Stops all work, saves the session and terminates its shells.
    pub(super) async fn close(&self, code: u8) {
        self.cancel();
        {
            let mut attendant = self.attendant.lock().await;
            attendant.abort();
            // The task may have been cancelled just now, or earlier.
            if !attendant.is_finished() {
                let _ = (&mut *attendant).await;
            }
        }
        let open = self.control.session();
        self.control.quiet(&open).await;
        open.agent.shut_down().await;
        let flushed = open.agent.session().flush();
        if let Err(error) = flushed {
            sinew_control::output::tell(&format!("Warning: {error}"));
        }
        sinew_control::ending::close(Arc::clone(&open.host), code).await;
    }
}

/// The turn of a prompt. Dropping it lets the next prompt begin.
pub(super) struct RunningTurn {
    pub(super) session: Arc<Session>,
    pub(super) cancel: CancellationToken,
}

impl Drop for RunningTurn {
    fn drop(&mut self) {
        *self.session.turn() = None;
    }
}

/// Shows the messages of the branch in order, and the todo list.
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
            // A missing image is replaced by a text that says so.
            let _ = session.restore_images(&mut message);
            messages.push(message);
        }
    }
    Ok((messages, session.todo(&sinew_tools::names_of(ToolKind::Plan).collect::<Vec<_>>())?))
}
