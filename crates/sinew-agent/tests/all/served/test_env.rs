//! An agent with a session on disk, a tool that echoes, a tool that waits, and a server.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use sinew_agent::agent::{AgentParts, AgentSession, AgentSettings, ModelResolver, Outcome, ResolvedModel, Snapshots};
use sinew_agent::core::Toolset;
use sinew_agent::event::Event;
use sinew_agent::extension::Extension;
use sinew_llm::http::{HttpClient, HttpConfig};
use sinew_llm::message::{AgentMessage, Content, UserMessage};
use sinew_llm::model::{Model, ThinkingLevel};
use sinew_llm::provider::{Auth, Provider, Secret};
use sinew_llm::wire;
use sinew_session::clock::SystemClock;
use sinew_session::secrets::{HidingProvider, Secrets};
use sinew_session::{Session, SessionOptions, Sync};
use sinew_testkit::provider::{Reply, Server, order};
use sinew_tools::tool::{Boxed, Call, Tool, ToolError, ToolOutput};
use tokio::sync::Notify;

pub(crate) struct TestEnv {
    pub(crate) agent: Arc<AgentSession>,
    pub(crate) path: PathBuf,
    /// Notified when the waiting tool has started.
    pub(crate) begun: Arc<Notify>,
    events: Arc<Mutex<Vec<Arc<Event>>>>,
    reader: tokio::task::JoinHandle<()>,
    folder: tempfile::TempDir,
}

/// The inputs of an agent other than its session.
#[derive(Default)]
struct Setup {
    extensions: Vec<Arc<dyn Extension>>,
    thinking: ThinkingLevel,
    secrets: Option<Arc<Secrets>>,
}

struct Nobody;

impl ModelResolver for Nobody {
    fn resolve(&self, pattern: &str) -> sinew::base::Result<ResolvedModel> {
        Err(sinew::base::Error::invalid(format!("Model not found: {pattern}")))
    }
}

struct Echo;

impl Tool for Echo {
    fn name(&self) -> &str {
        "echo"
    }

    fn description(&self) -> &str {
        "says what it is told"
    }

    fn parameters(&self) -> Value {
        json!({"type": "object", "additionalProperties": false, "properties": {"say": {"type": "string"}}})
    }

    fn execute(&self, call: Call) -> Boxed<'_, Result<ToolOutput, ToolError>> {
        let said = call.arguments["say"].as_str().unwrap_or_default().len();
        Box::pin(async move { Ok(ToolOutput::text(format!("{said} bytes"))) })
    }
}

/// A tool that ends only when it is cancelled.
struct Waits(Arc<Notify>);

impl Tool for Waits {
    fn name(&self) -> &str {
        "waits"
    }

    fn description(&self) -> &str {
        "waits for ever"
    }

    fn parameters(&self) -> Value {
        json!({"type": "object", "additionalProperties": false})
    }

    fn execute(&self, call: Call) -> Boxed<'_, Result<ToolOutput, ToolError>> {
        let begun = Arc::clone(&self.0);
        Box::pin(async move {
            let ended = Arc::new(Notify::new());
            let bell = Arc::clone(&ended);
            let _hook = call.cancel.on_cancel(move || bell.notify_one());
            begun.notify_one();
            ended.notified().await;
            Err(ToolError::Aborted)
        })
    }
}

/// Starts a server that sends these replies to valid conversations, and status 400 to others.
pub(crate) fn strict(replies: Vec<Reply>) -> Server {
    let replies = Mutex::new(replies.into_iter());
    Server::start(move |request| {
        let reply = || replies.lock().unwrap().next().unwrap_or_else(|| Reply::text(501, "text/plain", "no more"));
        order::refusal(request).unwrap_or_else(reply)
    })
}

pub(crate) fn user(text: &str) -> AgentMessage {
    AgentMessage::from(UserMessage { content: Content::Text(text.into()), timestamp: 1 })
}

impl TestEnv {
    pub(crate) fn new(api: &str, server: &Server, change: impl FnOnce(&mut AgentSettings)) -> TestEnv {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        TestEnv::at(path, folder, api, server, change)
    }

    /// Creates an agent that continues a session file with these lines.
    pub(crate) fn with_file(lines: &str, api: &str, server: &Server) -> TestEnv {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        std::fs::write(&path, lines).unwrap();
        TestEnv::at(path, folder, api, server, |_| ())
    }

    /// Resumes the session from its file, as another process would.
    pub(crate) async fn resumed(self, api: &str, server: &Server) -> TestEnv {
        let TestEnv { agent, path, folder, reader, events, .. } = self;
        drop(agent);
        reader.await.unwrap();
        balanced(&events.lock().unwrap());
        TestEnv::at(path, folder, api, server, |_| ())
    }

    fn at(
        path: PathBuf,
        folder: tempfile::TempDir,
        api: &str,
        server: &Server,
        change: impl FnOnce(&mut AgentSettings),
    ) -> TestEnv {
        TestEnv::extended(path, folder, api, server, change, Setup::default())
    }

    /// Creates an agent whose model thinks, optionally with hidden values.
    pub(crate) fn thinking(server: &Server, secrets: Option<Arc<Secrets>>) -> TestEnv {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        let setup = Setup { thinking: ThinkingLevel::Low, secrets, ..Setup::default() };
        TestEnv::extended(path, folder, "anthropic-messages", server, |_| (), setup)
    }

    /// Resumes the same agent, as another process would.
    pub(crate) async fn thinking_again(self, server: &Server, secrets: Option<Arc<Secrets>>) -> TestEnv {
        let TestEnv { agent, path, folder, reader, .. } = self;
        drop(agent);
        reader.await.unwrap();
        let setup = Setup { thinking: ThinkingLevel::Low, secrets, ..Setup::default() };
        TestEnv::extended(path, folder, "anthropic-messages", server, |_| (), setup)
    }

    /// Creates an agent with extensions.
    pub(crate) fn with_extensions(api: &str, server: &Server, extensions: Vec<Arc<dyn Extension>>) -> TestEnv {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        TestEnv::extended(path, folder, api, server, |_| (), Setup { extensions, ..Setup::default() })
    }

    fn extended(
        path: PathBuf,
        folder: tempfile::TempDir,
        api: &str,
        server: &Server,
        change: impl FnOnce(&mut AgentSettings),
        setup: Setup,
    ) -> TestEnv {
        let clock = Arc::new(SystemClock);
        let options = SessionOptions {
            cwd: folder.path().into(),
            blobs: None,
            sync: Sync::Never,
            clock: Arc::clone(&clock) as _,
            mask: setup.secrets.as_ref().map(|secrets| secrets.mask()),
        };
        let model = Model {
            id: "m".into(),
            provider: "acme".into(),
            api: api.into(),
            base_url: server.url(),
            context_window: 10_000_000,
            max_tokens: 64_000,
            reasoning: setup.thinking != ThinkingLevel::Off,
            ..Model::default()
        };
        let mut provider: Arc<dyn Provider> =
            wire::provider(api, HttpClient::new(HttpConfig::default())).unwrap().into();
        if let Some(secrets) = setup.secrets {
            provider = Arc::new(HidingProvider::new(provider, secrets));
        }
        let mut settings = AgentSettings::default();
        settings.retry.base_delay_ms = 1;
        change(&mut settings);
        let begun = Arc::new(Notify::new());
        let tools: [Arc<dyn Tool>; 2] = [Arc::new(Echo), Arc::new(Waits(Arc::clone(&begun)))];
        let agent = AgentSession::new(AgentParts {
            session: Session::open(&path, options).unwrap().session,
            resolved: ResolvedModel { provider, model, auth: Auth::ApiKey(Secret::new("k")) },
            models: Arc::new(Nobody),
            thinking: setup.thinking,
            system: vec!["Be brief.".into()],
            tools: Toolset::new(tools).0,
            extensions: setup.extensions,
            settings,
            clock,
            cwd: folder.path().into(),
            has_ui: false,
            open_items: None,
            undo: None,
            lane: None,
            keep_record: None,
            cache_session: None,
            requester: None,
        });
        let agent = Arc::new(agent.unwrap());
        let events = Arc::<Mutex<Vec<Arc<Event>>>>::default();
        let mut listener = agent.subscribe(Snapshots::Each);
        let kept = Arc::clone(&events);
        let reader = tokio::spawn(async move {
            while let Some(event) = listener.recv().await {
                kept.lock().unwrap().push(event);
            }
        });
        TestEnv { agent, path, begun, events, reader, folder }
    }

    pub(crate) async fn prompt(&self, text: &str) -> Outcome {
        let outcome = self.agent.prompt(vec![user(text)], None).await.unwrap();
        self.laws();
        outcome
    }

    /// Checks the invariants after a prompt, however it ended.
    #[track_caller]
    pub(crate) fn laws(&self) {
        let lines = std::fs::read_to_string(&self.path).unwrap();
        for line in lines.lines() {
            serde_json::from_str::<Value>(line).unwrap();
        }
        assert!(lines.ends_with('\n'), "the last line is whole");
    }

    /// Returns the texts of the tool results in the file.
    pub(crate) fn results(&self) -> Vec<String> {
        let lines = std::fs::read_to_string(&self.path).unwrap();
        let entries = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let results = entries.filter(|entry| entry["message"]["role"] == "toolResult");
        results.map(|entry| entry["message"]["content"][0]["text"].as_str().unwrap().to_string()).collect()
    }
}

/// Checks that all runs, turns and messages that start also end, each kind in order.
#[track_caller]
fn balanced(events: &[Arc<Event>]) {
    let mut open: Vec<&str> = Vec::new();
    for event in events {
        let (begins, ends) = match &**event {
            Event::AgentStart => (Some("run"), None),
            Event::TurnStart => (Some("turn"), None),
            Event::MessageStart { .. } => (Some("message"), None),
            Event::AgentEnd { .. } => (None, Some("run")),
            Event::TurnEnd { .. } => (None, Some("turn")),
            Event::MessageEnd { .. } => (None, Some("message")),
            _ => (None, None),
        };
        open.extend(begins);
        assert!(ends.is_none_or(|ends| open.pop() == Some(ends)), "{ends:?} in {open:?}");
    }
    assert_eq!(open, Vec::<&str>::new());
}
