//! Fake servers with configurable behaviour, and a manager of them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};
use sinew::base::CancelToken;
use sinew_agent::mcp::cache::Cache;
use sinew_agent::mcp::config::{ConfigFile, Entries, Origin, ServerConfig, read};
use sinew_agent::mcp::connect::{Connection, Connector, Facts};
use sinew_agent::mcp::{Manager, ManagerParts, SessionParts, SessionServers, Variables};
use sinew_mcp::era::Era;
use sinew_mcp::{CallOptions, Changes, ClientHost, Definition, Listing, McpError, NoHost, ToolResult};
use sinew_session::artifacts::Artifacts;
use sinew_session::clock::Clock;
use sinew_tools::tool::{Boxed, Call, Tool, ToolError, ToolOutput, Updates};
use tokio::sync::watch;

/// The behaviour of the servers of a test, which may change while they run.
#[derive(Default)]
pub(crate) struct World {
    servers: Mutex<HashMap<String, Behaviour>>,
    pub(crate) starts: AtomicUsize,
    /// The time of each start.
    pub(crate) times: Mutex<Vec<tokio::time::Instant>>,
    /// The arguments of each call.
    pub(crate) calls: Mutex<Vec<(String, Map<String, Value>)>>,
    live: Mutex<Vec<Arc<Fake>>>,
}

/// The behaviour of one server.
#[derive(Debug, Clone)]
pub(crate) struct Behaviour {
    pub(crate) tools: Vec<Value>,
    pub(crate) instructions: Option<String>,
    pub(crate) start: StartAs,
    pub(crate) answer: AnswerAs,
    /// The faults of its list of tools.
    pub(crate) notes: Vec<String>,
    /// Replaces the default result, which is the name of the tool.
    pub(crate) result: Option<ToolResult>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum StartAs {
    Up,
    Fails,
    Never,
    /// It completes the handshake, and answers nothing else.
    Greets,
    After(Duration),
    NeedsAuth,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum AnswerAs {
    Name,
    NameAfter(Duration),
    Silent,
    Crash,
}

impl Behaviour {
    pub(crate) fn with(tools: &[&str]) -> Behaviour {
        let tools = tools.iter().map(|name| tool(name, &format!("Does {name}."))).collect();
        let (start, answer) = (StartAs::Up, AnswerAs::Name);
        Behaviour { tools, instructions: None, start, answer, notes: Vec::new(), result: None }
    }
}

pub(crate) fn tool(name: &str, description: &str) -> Value {
    json!({"name": name, "description": description, "inputSchema": {
        "type": "object", "properties": {"text": {"type": "string", "description": "zygote words"}},
    }})
}

impl World {
    pub(crate) fn new(servers: &[(&str, Behaviour)]) -> Arc<World> {
        let world = World::default();
        for (name, behaviour) in servers {
            world.set(name, behaviour.clone());
        }
        Arc::new(world)
    }

    pub(crate) fn set(&self, name: &str, behaviour: Behaviour) {
        self.servers.lock().unwrap().insert(name.to_string(), behaviour);
    }

    pub(crate) fn change(&self, name: &str, change: impl FnOnce(&mut Behaviour)) {
        change(self.servers.lock().unwrap().get_mut(name).unwrap());
    }

    fn of(&self, name: &str) -> Behaviour {
        self.servers.lock().unwrap()[name].clone()
    }

    pub(crate) fn starts(&self) -> usize {
        self.starts.load(Ordering::SeqCst)
    }

    /// Every running server reports that its list changed.
    pub(crate) fn tell_changes(&self) {
        for fake in &*self.live.lock().unwrap() {
            fake.changes.send_modify(|changes| changes.tools += 1);
        }
    }

    /// Every running server exits.
    pub(crate) fn crash_all(&self) {
        for fake in self.live.lock().unwrap().drain(..) {
            *fake.closed.lock().unwrap() = Some("the server closed its output".into());
        }
    }
}

struct Fake {
    name: String,
    world: Arc<World>,
    changes: watch::Sender<Changes>,
    closed: Mutex<Option<String>>,
}

struct FakeConnector(Arc<World>);

impl Connector for FakeConnector {
    fn connect(
        &self,
        config: Arc<ServerConfig>,
        _: Option<Era>,
        _: Arc<dyn ClientHost>,
    ) -> Boxed<'static, Result<Arc<dyn Connection>, McpError>> {
        let world = Arc::clone(&self.0);
        Box::pin(async move {
            world.starts.fetch_add(1, Ordering::SeqCst);
            world.times.lock().unwrap().push(tokio::time::Instant::now());
            match world.of(&config.name).start {
                StartAs::Up | StartAs::Greets => {}
                StartAs::Fails => return Err(McpError::Start("failed to start \"x\": No such file".into())),
                StartAs::Never => {
                    tokio::time::sleep(config.start_limit).await;
                    return Err(McpError::Start("the server did not start within 60 s.".into()));
                }
                StartAs::After(time) => tokio::time::sleep(time).await,
                StartAs::NeedsAuth => return Err(McpError::NeedsAuth(None)),
            }
            let fake = Arc::new(Fake {
                name: config.name.clone(),
                world: Arc::clone(&world),
                changes: watch::Sender::default(),
                closed: Mutex::default(),
            });
            world.live.lock().unwrap().push(Arc::clone(&fake));
            Ok(fake as Arc<dyn Connection>)
        })
    }
}

impl Connection for Fake {
    fn facts(&self) -> Facts {
        Facts {
            era: Era::Modern,
            era_certain: true,
            version: "2026-07-28".into(),
            instructions: self.world.of(&self.name).instructions,
            has_tools: true,
            has_prompts: false,
            has_resources: false,
        }
    }

    fn closed(&self) -> Option<String> {
        self.closed.lock().unwrap().clone()
    }

    fn changes(&self) -> watch::Receiver<Changes> {
        self.changes.subscribe()
    }

    fn list_tools(&self) -> Boxed<'_, Result<Listing, McpError>> {
        let Behaviour { tools, start, notes, .. } = self.world.of(&self.name);
        Box::pin(async move {
            if start == StartAs::Greets {
                std::future::pending::<()>().await;
            }
            Ok(Listing { items: definitions(&tools), notes })
        })
    }

    fn list_prompts(&self) -> Boxed<'_, Result<Listing, McpError>> {
        Box::pin(async { Ok(Listing::default()) })
    }

    fn call<'a>(
        &'a self,
        tool: &'a str,
        arguments: Map<String, Value>,
        options: &'a CallOptions,
    ) -> Boxed<'a, Result<ToolResult, McpError>> {
        Box::pin(async move {
            self.world.calls.lock().unwrap().push((format!("{}/{tool}", self.name), arguments));
            let answer = self.world.of(&self.name).answer;
            if let AnswerAs::NameAfter(time) = answer {
                tokio::time::sleep(time).await;
            }
            match answer {
                AnswerAs::Name | AnswerAs::NameAfter(_) => {
                    Ok(self.world.of(&self.name).result.unwrap_or_else(|| ToolResult {
                        content: vec![sinew_mcp::Content::Text(format!("{}/{tool}", self.name))],
                        ..ToolResult::default()
                    }))
                }
                AnswerAs::Silent => {
                    tokio::time::sleep(options.times.silence).await;
                    Err(McpError::Silence(options.times.silence))
                }
                AnswerAs::Crash => {
                    *self.closed.lock().unwrap() = Some("the server closed its output".into());
                    Err(McpError::Closed("the server closed its output".into()))
                }
            }
        })
    }

    fn list_resources(&self) -> Boxed<'_, Result<Listing, McpError>> {
        Box::pin(async { Ok(Listing::default()) })
    }

    fn read_resource<'a>(
        &'a self,
        uri: &'a str,
        _: &'a CallOptions,
    ) -> Boxed<'a, Result<Vec<sinew_mcp::model::Resource>, McpError>> {
        Box::pin(async move { Err(McpError::Protocol(format!("there is no {uri}"))) })
    }

    fn get_prompt<'a>(
        &'a self,
        name: &'a str,
        _: Map<String, Value>,
        _: &'a CallOptions,
    ) -> Boxed<'a, Result<Vec<sinew_mcp::model::PromptMessage>, McpError>> {
        Box::pin(async move { Err(McpError::Protocol(format!("there is no {name}"))) })
    }

    fn probe(&self, _: Duration) -> Boxed<'_, Result<(), McpError>> {
        let silent = self.world.of(&self.name).answer == AnswerAs::Silent;
        Box::pin(async move { if silent { Err(McpError::Silence(Duration::ZERO)) } else { Ok(()) } })
    }
}

pub(crate) fn definitions(tools: &[Value]) -> Vec<Definition> {
    tools.iter().map(|tool| Definition::new(&to_raw_value(tool).unwrap(), "name").unwrap()).collect()
}

/// A clock that does not advance.
pub(crate) struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> i64 {
        1_000_000
    }

    fn random(&self) -> u64 {
        7
    }
}

/// The variables of a test: some are set, some look like secrets.
pub(crate) fn variables() -> Variables<'static> {
    Variables {
        get: &|name| match name {
            "PLAIN" => Some("plain".into()),
            "GITHUB_TOKEN" => Some("tok".into()),
            "OPENAI_API_KEY" => Some("key".into()),
            _ => None,
        },
        hides: &|name| name.ends_with("_TOKEN") || name.ends_with("_KEY"),
        is_key: &|name| name == "OPENAI_API_KEY",
        timeout: None,
    }
}

/// Reads the servers of `json` as a file of the user.
pub(crate) fn read_entries(json: &Value) -> Entries {
    let text = json!({ "mcpServers": json }).to_string();
    let file = ConfigFile { path: "mcp.json".into(), origin: Origin::User, trusted: true, text };
    read(&[file], &variables())
}

/// Creates a manager of the servers of `json`, as a file of the user.
pub(crate) fn manager(world: &Arc<World>, cache: Cache, json: &Value) -> Arc<Manager> {
    Manager::new(ManagerParts {
        entries: read_entries(json),
        cache,
        connector: Arc::new(FakeConnector(Arc::clone(world))),
        host: Box::new(|_| Arc::new(NoHost)),
        clock: Arc::new(FixedClock),
        reserved: vec!["read".into(), "tool_search".into()],
    })
}

/// Returns entries with only a command.
pub(crate) fn entries(names: &[&str]) -> Value {
    let entries = names.iter().map(|name| ((*name).to_string(), json!({"command": "x"})));
    Value::Object(entries.collect())
}

/// Creates a session with `manager`.
pub(crate) fn session(manager: &Arc<Manager>) -> Arc<SessionServers> {
    recorded_session(manager, None)
}

/// Creates a session with `manager` that continues with what an earlier one has recorded.
pub(crate) fn recorded_session(manager: &Arc<Manager>, recorded: Option<Value>) -> Arc<SessionServers> {
    SessionServers::new(SessionParts {
        manager: Arc::clone(manager),
        artifacts: Arc::new(Artifacts::temporary()),
        secrets: None,
        resize: true,
        excluded: Vec::new(),
        only: None,
        recorded,
    })
}

/// Runs a tool that is part of the session's requests.
pub(crate) async fn run_front(session: &SessionServers, name: &str, arguments: Value) -> (String, bool) {
    let tool = session.tools().into_iter().find(|tool| tool.name() == name).unwrap();
    run(&*tool, arguments, CancelToken::never()).await.unwrap()
}

/// Runs a tool and returns its text.
pub(crate) async fn run(tool: &dyn Tool, arguments: Value, cancel: CancelToken) -> Result<(String, bool), ToolError> {
    let call =
        Call { id: "1".into(), arguments, cwd: "/".into(), session: "s".into(), cancel, updates: Updates::none() };
    tool.execute(call).await.map(|output| (text(&output), output.is_error))
}

pub(crate) fn text(output: &ToolOutput) -> String {
    let texts = output.content.iter().filter_map(|block| match block {
        sinew_llm::message::Block::Text(text) => Some(text.text.clone()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
