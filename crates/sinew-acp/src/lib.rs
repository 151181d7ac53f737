//! Implements the Agent Client Protocol for an editor: JSON-RPC as lines on stdin and stdout, with several sessions at
//! once.
//!
//! | module | contents |
//! |---|---|
//! | `wire` | incoming and outgoing frames, requests to the editor |
//! | `request` | parameters and their errors |
//! | `sessions` | the open sessions, and those that can be opened |
//! | `session` | an open session: its agent and its turn |
//! | `pump` | sends the events of a session in order with other messages |
//! | `map`, `tool_call` | events and messages as updates of the protocol |
//! | `prompt` | a prompt and its end |
//! | `ask` | questions and permissions |
//! | `files` | the editor's files |
//! | `options` | mode, model, thinking level |
//!
//! Implements the stable part of version 1 of the protocol, with the types of the official schema. Each session has its
//! own [`App`](sinew_control::app::App), because its directory has its own settings, trust and resources.

mod ask;
mod files;
mod map;
mod options;
mod prompt;
mod pump;
mod request;
mod session;
mod sessions;
mod tool_call;
mod wire;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1 as acp;
use futures_util::FutureExt;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::value::RawValue;
use sinew_agent::agent::Delivery;
use sinew_control::client::{Writer, end_writer};
use sinew_control::config::Environment;
use sinew_control::ending::END;
use sinew_control::failure::Failure;
use sinew_control::output::{self, tell};
use sinew_control::startup::Startup;
use sinew_control::sys::signals;
use sinew_jsonrpc::{Event, Id, RpcError};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use request::{read, read_known};
use session::{ClientFacts, History, RunningTurn, Session};
use sessions::{EditorServers, Sessions};
use wire::{Line, Wire};

/// The key of an editor's MCP servers.
const SERVERS: &str = "mcpServers";
/// The error code if no key is configured.
const AUTH_REQUIRED: i64 = -32000;
/// The error code if a named object does not exist.
const RESOURCE_NOT_FOUND: i64 = -32002;
/// The id of the login method, which works in every editor.
const LOGIN: &str = "sinew-login";

/// The agent of the only editor that is connected to the process.
struct Agent {
    wire: Wire,
    sessions: Sessions,
    facts: Mutex<ClientFacts>,
    /// The requests that are being answered.
    work: tokio::sync::Mutex<JoinSet<()>>,
}

/// The serialized result of a request.
type Answer = Result<Box<RawValue>, RpcError>;

/// Serves an editor until it closes stdin, a signal arrives or nobody reads the output; returns the exit code.
/// `environment` is that of the process, before the files of a project were read.
///
/// # Errors
/// Never returns an error: errors of requests are sent to the editor.
pub async fn run(startup: Startup, environment: Environment, warnings: Vec<String>) -> Result<u8, Failure> {
    output::warn(&warnings);
    let (lost, mut gone) = oneshot::channel();
    let (wire, writer) = Wire::start(lost);
    let agent = Arc::new(Agent {
        wire: wire.clone(),
        sessions: Sessions::new(&startup, environment),
        facts: Mutex::default(),
        work: tokio::sync::Mutex::default(),
    });
    // Signals are handled from here on.
    let signalled = signals();
    let ended = CancellationToken::new();
    let code = tokio::select! {
        biased;
        code = signalled => code,
        Ok(()) = &mut gone => 0,
        () = agent.serve(ended.clone()) => 0,
        () = async { ended.cancelled().await; wire.taken().stuck().await } => 0,
    };
    Ok(agent.finish(code, writer).await)
}

impl Agent {
    /// Processes the lines of the editor until they end.
    async fn serve(self: &Arc<Agent>, ended: CancellationToken) {
        let mut lines = wire::lines(ended);
        while let Some(line) = lines.recv().await {
            for event in self.wire.receive(&line) {
                match event {
                    Event::Request { id, method, params } => self.request(id, method, params).await,
                    Event::Notification { method, params } => self.notification(&method, params.as_deref()),
                    Event::Bad { reason, preview, fatal } => {
                        let is_large = matches!(line, Line::TooLarge(_));
                        let code = if is_large { RpcError::INVALID_REQUEST } else { RpcError::PARSE_ERROR };
                        self.wire.refuse(&RpcError::new(code, format!("Not a message: {reason}"))).await;
                        if fatal {
                            tell(&format!("Error: the editor sent invalid data: {preview}"));
                            return;
                        }
                    }
                    // Answers were delivered to the tasks that wait for them.
                    Event::Answer { .. } | Event::Unclaimed { .. } => {}
                }
            }
        }
    }

    fn notification(&self, method: &str, params: Option<&RawValue>) {
        match method {
            "session/cancel" => {
                let session = read::<acp::CancelNotification>(params).and_then(|it| self.sessions.find(&it.session_id));
                // A closed session has nothing to cancel.
                if let Ok(session) = session {
                    session.cancel();
                }
            }
            "$/cancel_request" => {
                let Ok(cancelled) = read::<acp::CancelRequestNotification>(params) else { return };
                let id = match cancelled.request_id {
                    acp::RequestId::Number(number) => Id::Number(number),
                    acp::RequestId::Str(text) => Id::Text(text.into()),
                    _ => return,
                };
                self.sessions.all().iter().for_each(|session| session.cancel_request(&id));
            }
            // Unknown notifications, such as those of newer editors, are ignored.
            _ => {}
        }
    }

    /// Starts to answer a request. A prompt reserves its turn before the next line is processed.
    async fn request(self: &Arc<Agent>, id: Id, method: String, params: Option<Box<RawValue>>) {
        let agent = Arc::clone(self);
        let turn = match &*method {
            "session/prompt" => Some(self.begin_prompt(&id, params.as_deref())),
            _ => None,
        };
        let mut work = self.work.lock().await;
        while work.try_join_next().is_some() {}
        work.spawn(async move {
            let answering = async {
                match turn {
                    Some(turn) => (prompted(turn).await, None),
                    None => agent.answer(&method, params.as_deref()).await,
                }
            };
            // A panic becomes an error response, so that the other sessions continue.
            let answered = AssertUnwindSafe(answering).catch_unwind().await;
            let (answer, opened) = answered.unwrap_or_else(|_| {
                let text = format!("{method} failed because of a bug in sinew; please report it");
                (Err(RpcError::new(RpcError::INTERNAL_ERROR, text)), None)
            });
            agent.wire.answer(&id, answer).await;
            if let Some(session) = opened {
                session.announce().await;
            }
        });
    }

    /// Finds the session of a prompt and reserves its turn.
    fn begin_prompt(&self, id: &Id, params: Option<&RawValue>) -> Result<ReservedPrompt, RpcError> {
        let (mut request, unknown) = read_known::<acp::PromptRequest, acp::ContentBlock>(params, "prompt")?;
        request.prompt.extend(unknown.iter().map(|_| prompt::unsupported()));
        let delivery = prompt::delivery(request.meta.as_ref())?;
        let session = self.sessions.find(&request.session_id)?;
        match (session.begin_turn(id), delivery) {
            (Some(turn), _) => Ok(ReservedPrompt::Turn(turn, request.prompt)),
            (None, Some(delivery)) => Ok(ReservedPrompt::Queued(session, request.prompt, delivery)),
            (None, None) => {
                let text = "A turn of this session is already running: cancel it, wait for its end, or send \
                            _meta.sinew.deliver \"steer\" or \"followUp\"";
                Err(RpcError::new(RpcError::INVALID_REQUEST, text))
            }
        }
    }

    /// Answers a request other than a prompt; also returns the session that it opened.
    async fn answer(&self, method: &str, params: Option<&RawValue>) -> (Answer, Option<Arc<Session>>) {
        let facts = *self.facts.lock();
        let opened = match method {
            "session/new" => self.create(params, facts).await,
            "session/load" => self.load(params, facts).await,
            "session/resume" => self.resume(params, facts).await,
            _ => return (self.other(method, params).await, None),
        };
        match opened {
            Ok((answer, session)) => (Ok(answer), Some(session)),
            Err(error) => (Err(error), None),
        }
    }

    async fn create(
        &self,
        params: Option<&RawValue>,
        facts: ClientFacts,
    ) -> Result<(Box<RawValue>, Arc<Session>), RpcError> {
        let (asked, unknown) = read_known::<acp::NewSessionRequest, acp::McpServer>(params, SERVERS)?;
        let servers = EditorServers { known: &asked.mcp_servers, unknown: &unknown };
        let session = self.sessions.create(&asked.cwd, &servers, &self.wire, facts).await?;
        let (modes, options) = session.options();
        let answer = acp::NewSessionResponse::new(session.id.clone()).modes(modes).config_options(options);
        Ok((written(&answer)?, session))
    }

    async fn load(
        &self,
        params: Option<&RawValue>,
        facts: ClientFacts,
    ) -> Result<(Box<RawValue>, Arc<Session>), RpcError> {
        let (asked, unknown) = read_known::<acp::LoadSessionRequest, acp::McpServer>(params, SERVERS)?;
        let (id, servers) = (&asked.session_id, EditorServers { known: &asked.mcp_servers, unknown: &unknown });
        let session = self.sessions.load(id, &asked.cwd, &servers, &self.wire, facts, History::Replayed).await?;
        let (modes, options) = session.options();
        Ok((written(&acp::LoadSessionResponse::new().modes(modes).config_options(options))?, session))
    }

    async fn resume(
        &self,
        params: Option<&RawValue>,
        facts: ClientFacts,
    ) -> Result<(Box<RawValue>, Arc<Session>), RpcError> {
        let (asked, unknown) = read_known::<acp::ResumeSessionRequest, acp::McpServer>(params, SERVERS)?;
        let (id, servers) = (&asked.session_id, EditorServers { known: &asked.mcp_servers, unknown: &unknown });
        let session = self.sessions.load(id, &asked.cwd, &servers, &self.wire, facts, History::Left).await?;
        let (modes, options) = session.options();
        Ok((written(&acp::ResumeSessionResponse::new().modes(modes).config_options(options))?, session))
    }

    async fn other(&self, method: &str, params: Option<&RawValue>) -> Answer {
        match method {
            "initialize" => written(&self.initialize(&read(params)?)),
            "authenticate" => {
                let asked: acp::AuthenticateRequest = read(params)?;
                match &*asked.method_id.0 {
                    // The login itself runs in a terminal; the next session finds the key.
                    LOGIN => written(&acp::AuthenticateResponse::new()),
                    other => Err(RpcError::invalid_params(format!("/methodId: unknown method {other:?}; use {LOGIN}"))),
                }
            }
            "session/list" => written(&self.sessions.list(&read(params)?)?),
            "session/close" => {
                let asked: acp::CloseSessionRequest = read(params)?;
                self.sessions.close(&asked.session_id).await?;
                written(&acp::CloseSessionResponse::new())
            }
            "session/delete" => {
                let asked: acp::DeleteSessionRequest = read(params)?;
                self.sessions.delete(&asked.session_id).await?;
                written(&acp::DeleteSessionResponse::new())
            }
            "session/set_mode" => {
                let asked: acp::SetSessionModeRequest = read(params)?;
                let session = self.sessions.find(&asked.session_id)?;
                options::set_mode(&session.control, &asked.mode_id.0).await?;
                let options = acp::ConfigOptionUpdate::new(options::all(&session.control));
                self.wire.update(&session.id, acp::SessionUpdate::ConfigOptionUpdate(options)).await;
                written(&acp::SetSessionModeResponse::new())
            }
            "session/set_config_option" => {
                let asked: acp::SetSessionConfigOptionRequest = read(params)?;
                let session = self.sessions.find(&asked.session_id)?;
                let Some(value) = asked.value.as_value_id() else {
                    return Err(RpcError::invalid_params("/value: expected the value of an option, a string"));
                };
                let before = session.control.mode();
                options::set(&session.control, &asked.config_id.0, &value.0).await?;
                let mode = options::modes(&session.control).current_mode_id;
                if session.control.mode() != before {
                    let update = acp::CurrentModeUpdate::new(mode);
                    self.wire.update(&session.id, acp::SessionUpdate::CurrentModeUpdate(update)).await;
                }
                written(&acp::SetSessionConfigOptionResponse::new(options::all(&session.control)))
            }
            _ => Err(RpcError::method_not_found(method)),
        }
    }

    /// Records the capabilities of the editor, and returns ours.
    fn initialize(&self, asked: &acp::InitializeRequest) -> acp::InitializeResponse {
        let client = &asked.client_capabilities;
        *self.facts.lock() = ClientFacts {
            reads_files: client.fs.read_text_file,
            writes_files: client.fs.write_text_file,
            shows_forms: client.elicitation.as_ref().is_some_and(|offered| offered.form.is_some()),
            shows_notices: client.session.as_ref().is_some_and(|offered| offered.notices.is_some()),
        };
        let sessions = acp::SessionCapabilities::new()
            .list(acp::SessionListCapabilities::new())
            .delete(acp::SessionDeleteCapabilities::new())
            .resume(acp::SessionResumeCapabilities::new())
            .close(acp::SessionCloseCapabilities::new());
        let capabilities = acp::AgentCapabilities::new()
            .load_session(true)
            .mcp_capabilities(acp::McpCapabilities::new().http(true))
            .prompt_capabilities(acp::PromptCapabilities::new().image(true).embedded_context(true))
            .session_capabilities(sessions);
        let login = acp::AuthMethodAgent::new(LOGIN, "Log in with sinew")
            .description("Run `sinew login` in a terminal, or set the key of a provider in the environment");
        acp::InitializeResponse::new(ProtocolVersion::V1)
            .agent_capabilities(capabilities)
            .auth_methods(vec![acp::AuthMethod::Agent(login)])
            .agent_info(acp::Implementation::new("sinew", env!("CARGO_PKG_VERSION")).title("Sinew"))
    }

    /// Stops all work, saves the sessions, and lets the writer finish.
    async fn finish(&self, code: u8, writer: Writer) -> u8 {
        self.wire.close();
        let quiet = async {
            futures_util::future::join_all(self.sessions.all().iter().map(|session| session.close(code))).await;
            // Sessions that are being opened are dropped.
            self.work.lock().await.shutdown().await;
        };
        // Work that takes longer is dropped.
        let _ = tokio::time::timeout(END, quiet).await;
        end_writer(code, self.wire.taken(), self.wire.end(), writer).await
    }
}

/// A prompt whose turn is reserved.
enum ReservedPrompt {
    Turn(RunningTurn, Vec<acp::ContentBlock>),
    Queued(Arc<Session>, Vec<acp::ContentBlock>, Delivery),
}

async fn prompted(prompt: Result<ReservedPrompt, RpcError>) -> Answer {
    let response = match prompt? {
        ReservedPrompt::Turn(turn, blocks) => prompt::answer(turn, blocks).await?,
        ReservedPrompt::Queued(session, blocks, delivery) => prompt::queue(&session, blocks, delivery).await?,
    };
    written(&response)
}

fn written(value: &impl Serialize) -> Answer {
    let wrong = |error: serde_json::Error| RpcError::new(RpcError::INTERNAL_ERROR, error.to_string());
    serde_json::value::to_raw_value(value).map_err(wrong)
}
