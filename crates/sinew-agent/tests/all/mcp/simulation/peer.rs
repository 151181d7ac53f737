//! Simulated servers whose behaviour follows from a seed: correct, late, duplicate or missing answers, or no valid
//! protocol. The real client talks to them through in-memory pipes.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::{Value, json};
use sinew_agent::mcp::config::ServerConfig;
use sinew_agent::mcp::connect::{Connection, Connector};
use sinew_mcp::era::Era;
use sinew_mcp::{BoxFuture, Client, ClientHost, ClientOptions, Elicitation, ElicitationAnswer, McpError};
use sinew_tools::tool::Boxed;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::mcp::stage::tool;

/// The limits of a call: the time without progress, and the total time.
pub(super) const SILENCE: Duration = Duration::from_secs(10);
pub(super) const TOTAL: Duration = Duration::from_secs(60);
/// The time limit of a start.
pub(super) const START: Duration = Duration::from_secs(5);

/// A pseudorandom generator (splitmix64).
#[derive(Debug, Clone)]
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    pub(super) fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }

    pub(super) fn chance(&mut self, percent: u64) -> bool {
        self.roll(100) < percent
    }

    pub(super) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.roll(of.len() as u64)).unwrap()]
    }

    pub(super) fn time(&mut self, below_ms: u64) -> Duration {
        Duration::from_millis(self.roll(below_ms))
    }

    /// Returns an independent generator, so that the numbers of two users do not depend on their order.
    pub(super) fn split(&mut self) -> Dice {
        Dice(self.roll(u64::MAX))
    }
}

/// How a server answers a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerKind {
    Right,
    /// The answer is sent twice, with unrelated answers and invalid lines in between.
    Twice,
    /// The tool fails.
    Failed,
    /// A protocol error.
    Refused,
    /// The answer is sent after the client stopped waiting.
    Late,
    Never,
    /// The server exits instead.
    Crash,
    /// This number of progress reports, one every four seconds, and then the answer.
    Progress(u64),
    /// The tools of the server change.
    Changes,
    /// The server asks the user first.
    Asks,
    /// A result of an unknown type.
    Odd,
    /// The process answers nothing from now on.
    Mute,
}

/// A call that a server received.
#[derive(Debug, Clone)]
pub(super) struct ReceivedCall {
    pub(super) process: usize,
    pub(super) id: i64,
    pub(super) nonce: u64,
    pub(super) manner: AnswerKind,
}

/// The events of the servers.
#[derive(Default)]
pub(super) struct Log {
    /// The server, the requested era and the time of each start.
    pub(super) starts: Vec<(String, Option<Era>, Instant)>,
    /// The time spans in which the user added or restarted a server, which does not wait between starts.
    pub(super) acts: Vec<(String, Instant, Instant)>,
    starting: usize,
    pub(super) most_starting: usize,
    pub(super) calls: Vec<ReceivedCall>,
    pub(super) answered: HashSet<(usize, i64)>,
    pub(super) cancelled: HashSet<(usize, i64)>,
    /// Processes that have exited, and those that do not answer.
    pub(super) ended: HashSet<usize>,
    pub(super) mute: HashSet<usize>,
    processes: usize,
    versions: HashMap<String, u64>,
}

/// The servers of one simulation.
pub(super) struct World {
    dice: Mutex<Dice>,
    calm: AtomicBool,
    /// Whether one of the tools has a definition that is too large for a request.
    has_giant: bool,
    log: Mutex<Log>,
}

impl World {
    pub(super) fn new(mut dice: Dice) -> Arc<World> {
        let has_giant = dice.chance(10);
        Arc::new(World { dice: Mutex::new(dice), calm: AtomicBool::new(false), has_giant, log: Mutex::default() })
    }

    pub(super) fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap()
    }

    /// Every server that starts from now on behaves correctly.
    pub(super) fn calm_down(&self) {
        self.calm.store(true, Ordering::SeqCst);
    }

    fn is_calm(&self) -> bool {
        self.calm.load(Ordering::SeqCst)
    }

    fn throw<T>(&self, throw: impl FnOnce(&mut Dice) -> T) -> T {
        throw(&mut self.dice.lock().unwrap())
    }

    /// Returns the current tools of a server. A provider would reject some of them.
    pub(super) fn tools(&self, server: &str) -> Vec<Value> {
        let version = self.log().versions.get(server).copied().unwrap_or_default();
        let mut tools: Vec<Value> =
            (0..3 + version % 3).map(|at| tool(&format!("t{at}"), &format!("Edition {version}."))).collect();
        let odd = [
            ("odd_reference", json!({"$ref": "https://elsewhere.example/schema.json"})),
            ("odd_choice", json!({"oneOf": [{"type": "object"}, {"type": "string"}]})),
            (
                "odd_circle",
                json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"$ref": "#/$defs/a"}}}),
            ),
            ("odd_text", json!("object")),
        ];
        tools.extend(odd.map(|(name, schema)| json!({"name": name, "inputSchema": schema})));
        tools.push(json!({"name": "odd_nothing"}));
        if self.has_giant {
            let schema = json!({"type": "object", "description": "x".repeat(70_000)});
            tools.push(json!({"name": "odd_giant", "inputSchema": schema}));
        }
        tools
    }
}

/// A user who answers a server's questions after two minutes, or no user.
pub(super) struct Person(pub(super) bool);

impl ClientHost for Person {
    fn can_ask(&self) -> bool {
        self.0
    }

    fn elicit(&self, _: Elicitation) -> BoxFuture<'static, ElicitationAnswer> {
        Box::pin(async {
            sleep(Duration::from_secs(120)).await;
            ElicitationAnswer::Accept(serde_json::Map::new())
        })
    }
}

pub(super) struct PeerConnector(pub(super) Arc<World>);

/// Counts as a starting server until it is dropped.
struct StartingGuard(Arc<World>);

impl Drop for StartingGuard {
    fn drop(&mut self) {
        self.0.log().starting -= 1;
    }
}

impl Connector for PeerConnector {
    fn connect(
        &self,
        config: Arc<ServerConfig>,
        era: Option<Era>,
        host: Arc<dyn ClientHost>,
    ) -> Boxed<'static, Result<Arc<dyn Connection>, McpError>> {
        let world = Arc::clone(&self.0);
        Box::pin(async move {
            let process = {
                let mut log = world.log();
                log.starts.push((config.name.clone(), era, Instant::now()));
                log.starting += 1;
                log.most_starting = log.most_starting.max(log.starting);
                log.processes += 1;
                log.processes
            };
            let _starting = StartingGuard(Arc::clone(&world));
            let mut dice = world.throw(Dice::split);
            sleep(dice.time(400)).await;
            if !world.is_calm() && dice.chance(20) {
                return Err(match dice.chance(20) {
                    true => McpError::NeedsAuth(None),
                    false => McpError::Start("failed to start \"x\": No such file".into()),
                });
            }
            let size = usize::try_from(64 + dice.roll(4096)).unwrap();
            let ((to, input), (output, from)) = (tokio::io::duplex(size), tokio::io::duplex(size));
            let peer = Peer::new(&world, &config.name, process, dice);
            tokio::spawn(peer.serve(from, to));
            let options = ClientOptions { host, era, start_limit: config.start_limit, ..ClientOptions::default() };
            // A program that exits during its start counts as a failed start.
            let client = Client::over(output, input, &options).await.map_err(|error| match error {
                McpError::Closed(reason) => McpError::Start(reason),
                other => other,
            });
            Ok(Arc::new(client?) as Arc<dyn Connection>)
        })
    }
}

/// The answer of a server to the first request.
#[derive(Clone, Copy, PartialEq)]
enum Greeting {
    Modern,
    /// The answer is sent after 1.5 seconds.
    Slow,
    Error(i64),
    Garbage,
    /// It answers only the handshake.
    Silent,
    /// It answers nothing.
    Mute,
    /// It completes the handshake, but never lists its tools.
    Listless,
    Dies,
}

/// A process of a server.
struct Peer {
    world: Arc<World>,
    server: String,
    process: usize,
    dice: Dice,
    greeting: Greeting,
    is_modern: bool,
    is_mute: bool,
    asked: u64,
    answers: HashMap<String, oneshot::Sender<Value>>,
    out: mpsc::UnboundedSender<Line>,
    lines: Option<mpsc::UnboundedReceiver<Line>>,
    work: JoinSet<()>,
}

/// A line that a server writes, or its exit.
enum Line {
    Text(String),
    Answer(i64, Value),
    Death,
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.world.log().ended.insert(self.process);
    }
}

impl Peer {
    fn new(world: &Arc<World>, server: &str, process: usize, mut dice: Dice) -> Peer {
        let greetings = [
            Greeting::Slow,
            Greeting::Error(-32601),
            Greeting::Error(-32602),
            Greeting::Error(-32000),
            Greeting::Garbage,
            Greeting::Silent,
            Greeting::Mute,
            Greeting::Listless,
            Greeting::Dies,
        ];
        let greeting = if world.is_calm() || dice.chance(50) { Greeting::Modern } else { dice.pick(&greetings) };
        let (out, lines) = mpsc::unbounded_channel();
        Peer {
            world: Arc::clone(world),
            server: server.to_string(),
            process,
            dice,
            greeting,
            is_modern: matches!(greeting, Greeting::Modern | Greeting::Slow | Greeting::Listless),
            is_mute: greeting == Greeting::Mute,
            asked: 0,
            answers: HashMap::new(),
            out,
            lines: Some(lines),
            work: JoinSet::new(),
        }
    }

    /// Runs until its input ends or it exits.
    async fn serve(mut self, from: DuplexStream, mut to: DuplexStream) {
        let (world, process) = (Arc::clone(&self.world), self.process);
        let mut lines = self.lines.take().unwrap();
        let write = async move {
            while let Some(line) = lines.recv().await {
                let text = match line {
                    Line::Death => return,
                    Line::Text(text) => text,
                    Line::Answer(id, message) => {
                        world.log().answered.insert((process, id));
                        message.to_string()
                    }
                };
                if to.write_all(format!("{text}\n").as_bytes()).await.is_err() {
                    return;
                }
            }
        };
        let read = async move {
            let mut input = BufReader::new(from).lines();
            while let Ok(Some(line)) = input.next_line().await {
                match serde_json::from_str(&line) {
                    Ok(message) => self.take(message),
                    // A client may exit in the middle of a line.
                    Err(error) => assert!(matches!(input.next_line().await, Ok(None)), "{error}: {line}"),
                }
            }
            self
        };
        // Unwritten lines are lost.
        tokio::select! {
            () = write => {}
            _peer = read => {}
        }
    }

    fn say(&self, message: Value) {
        let _ = self.out.send(Line::Text(message.to_string()));
    }

    /// Answers a request after a delay.
    fn answer(&mut self, id: i64, outcome: Result<Value, i64>, after: Duration) {
        let message = answer(id, outcome);
        let out = self.out.clone();
        self.work.spawn(async move {
            sleep(after).await;
            let _ = out.send(Line::Answer(id, message));
        });
    }

    fn take(&mut self, message: Value) {
        let (method, id) = (message["method"].as_str().unwrap_or_default(), message["id"].as_i64());
        if method == "notifications/cancelled" {
            let id = message["params"]["requestId"].as_i64().unwrap();
            self.world.log().cancelled.insert((self.process, id));
        }
        if let (true, Some(question)) = (method.is_empty(), message["id"].as_str()) {
            if let Some(asked) = self.answers.remove(question) {
                let _ = asked.send(message);
            }
            return;
        }
        let Some(id) = id else { return };
        if method == "tools/call" {
            return self.call(id, &message["params"]);
        }
        if self.is_mute {
            return;
        }
        let pause = self.dice.time(50);
        let tools = json!({"tools": {"listChanged": true}});
        match (method, self.greeting) {
            (_, Greeting::Dies) => drop(self.out.send(Line::Death)),
            ("server/discover", Greeting::Error(code)) => self.answer(id, Err(code), pause),
            ("server/discover", Greeting::Garbage) => self.answer(id, Ok(json!({"hello": 1})), pause),
            ("server/discover", Greeting::Silent) => {}
            ("server/discover", greeting) => {
                let slow = if greeting == Greeting::Slow { Duration::from_millis(1500) } else { pause };
                let found =
                    json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": tools});
                self.answer(id, Ok(found), slow);
            }
            ("initialize", _) if self.is_modern => self.answer(id, Err(-32601), pause),
            ("initialize", _) => {
                let version = message["params"]["protocolVersion"].clone();
                self.answer(id, Ok(json!({"protocolVersion": version, "capabilities": tools})), pause);
            }
            ("tools/list", Greeting::Listless) => {}
            ("tools/list", _) => self.list(id, &message["params"], pause),
            ("subscriptions/listen", _) => self.tell_changes_sometimes(),
            ("ping", _) => self.answer(id, Ok(json!({})), pause),
            _ => self.answer(id, Err(-32601), pause),
        }
    }

    /// Lists its tools on one page, on several pages, on endless pages, or stops in the middle.
    fn list(&mut self, id: i64, params: &Value, pause: Duration) {
        let tools = self.world.tools(&self.server);
        let is_first = params["cursor"].is_null();
        let way = if self.world.is_calm() { 0 } else { self.dice.roll(6) };
        let page = |tools: &[Value], next: Option<&str>| {
            let mut page = json!({"resultType": "complete", "tools": tools});
            page["nextCursor"] = json!(next);
            if next.is_none() {
                page.as_object_mut().unwrap().remove("nextCursor");
            }
            Ok(page)
        };
        let outcome = match (way, is_first) {
            (3, true) => page(&tools[..2], Some("more")),
            (4, _) => page(&tools, Some("again")),
            (5, true) => page(&tools[..2], Some("lost")),
            (5, false) => Err(-32602),
            (_, false) => page(&tools[2..], None),
            _ => page(&tools, None),
        };
        self.answer(id, outcome, pause);
        if self.is_modern {
            return;
        }
        self.tell_changes_sometimes();
    }

    fn tell_changes_sometimes(&mut self) {
        if self.world.is_calm() || !self.dice.chance(30) {
            return;
        }
        let (times, pause) = (1 + self.dice.roll(5), self.dice.time(3_000));
        let (out, world, server) = (self.out.clone(), Arc::clone(&self.world), self.server.clone());
        self.work.spawn(async move {
            for _ in 0..times {
                sleep(pause).await;
                *world.log().versions.entry(server.clone()).or_default() += 1;
                let _ = out.send(Line::Text(notification("notifications/tools/list_changed", json!({}))));
            }
        });
    }

    fn call(&mut self, id: i64, params: &Value) {
        let nonce = params["arguments"]["nonce"].as_u64().unwrap();
        let manner = match self.dice.roll(24) {
            _ if self.world.is_calm() || !params["inputResponses"].is_null() => AnswerKind::Right,
            0 | 1 => AnswerKind::Twice,
            2 => AnswerKind::Failed,
            3 => AnswerKind::Refused,
            4 => AnswerKind::Late,
            5 => AnswerKind::Never,
            6 => AnswerKind::Crash,
            7 | 8 => AnswerKind::Progress(1 + self.dice.roll(20)),
            9 => AnswerKind::Changes,
            10 | 11 => AnswerKind::Asks,
            12 => AnswerKind::Odd,
            13 => AnswerKind::Mute,
            _ => AnswerKind::Right,
        };
        self.world.log().calls.push(ReceivedCall { process: self.process, id, nonce, manner });
        if manner == AnswerKind::Mute {
            self.is_mute = true;
            self.world.log().mute.insert(self.process);
        }
        if self.is_mute {
            return;
        }
        let words = format!("{}/{}/{nonce}", self.server, params["name"].as_str().unwrap());
        let result = text(&words);
        let pause = self.dice.time(2_000);
        match manner {
            AnswerKind::Right => self.answer(id, Ok(result), pause),
            AnswerKind::Failed => {
                let mut failed = result;
                failed["isError"] = true.into();
                self.answer(id, Ok(failed), pause);
            }
            AnswerKind::Refused => self.answer(id, Err(-32602), pause),
            AnswerKind::Odd => self.answer(id, Ok(json!({"resultType": "hologram"})), pause),
            AnswerKind::Late => self.answer(id, Ok(result), SILENCE * 2),
            AnswerKind::Never | AnswerKind::Mute => {}
            AnswerKind::Twice => {
                self.say(answer(4_711_000, Ok(text("for nobody"))));
                self.say(json!({"jsonrpc": "2.0", "id": format!("id-{id}"), "result": text("for a text")}));
                let _ = self.out.send(Line::Text("Listening on stdio".into()));
                self.answer(id, Ok(result), pause);
                self.answer(id, Ok(text("the second answer")), pause + Duration::from_millis(1));
            }
            AnswerKind::Crash => {
                let out = self.out.clone();
                self.work.spawn(async move {
                    sleep(pause).await;
                    let _ = out.send(Line::Death);
                });
            }
            AnswerKind::Changes => {
                *self.world.log().versions.entry(self.server.clone()).or_default() += 1;
                let _ = self.out.send(Line::Text(notification("notifications/tools/list_changed", json!({}))));
                self.answer(id, Ok(result), pause);
            }
            AnswerKind::Progress(reports) => {
                let (out, token) = (self.out.clone(), params["_meta"]["progressToken"].clone());
                self.work.spawn(async move {
                    for report in 1..=reports {
                        sleep(Duration::from_secs(4)).await;
                        let report = json!({"progressToken": token, "progress": report, "message": words});
                        let _ = out.send(Line::Text(notification("notifications/progress", report)));
                    }
                    let _ = out.send(Line::Answer(id, answer(id, Ok(result))));
                });
            }
            AnswerKind::Asks => self.ask(id, result),
        }
    }

    /// Asks the user in the way of its era, and then answers.
    fn ask(&mut self, id: i64, result: Value) {
        let form = json!({"message": "Which?", "requestedSchema": {"type": "object", "properties": {}}});
        if self.is_modern {
            let question = json!({"method": "elicitation/create", "params": form});
            let asks = json!({"resultType": "input_required", "inputRequests": {"q": question}, "requestState": "s"});
            return self.answer(id, Ok(asks), Duration::ZERO);
        }
        self.asked += 1;
        let name = format!("question-{}", self.asked);
        self.say(json!({"jsonrpc": "2.0", "id": name, "method": "elicitation/create", "params": form}));
        let (send, answered) = oneshot::channel();
        self.answers.insert(name, send);
        let out = self.out.clone();
        self.work.spawn(async move {
            let Ok(given) = answered.await else { return };
            let outcome = if given["error"].is_null() { Ok(result) } else { Err(-32000) };
            let _ = out.send(Line::Answer(id, answer(id, outcome)));
        });
    }
}

fn answer(id: i64, outcome: Result<Value, i64>) -> Value {
    match outcome {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(code) => json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": "no"}}),
    }
}

fn notification(method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
}

fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}
