//! Simulates the manager with sessions and servers that follow from a seed, under a paused clock.
//!
//! Sessions search, call, cancel and are opened again; a user reloads the files and restarts servers; servers are late,
//! exit, send invalid data and change. The invariants are checked at each step and at the end, when every server that
//! starts behaves correctly.
//!
//! `SINEW_SEEDS` sets the number of simulations, `SINEW_SEED` the first seed.

mod laws;
mod peer;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use sinew::base::{CancelHandle, CancelToken};
use sinew_agent::core::Catalogue;
use sinew_agent::mcp::cache::{Cache, KnownServer};
use sinew_agent::mcp::config::EntryStatus;
use sinew_agent::mcp::{Manager, ManagerParts, SessionServers};
use sinew_mcp::era::Era;
use sinew_tools::tool::{Call, Tool, ToolError, ToolOutput, Updates};
use tokio::time::{Instant, sleep, timeout};

use crate::mcp::front::front;
use crate::mcp::stage::{self, FixedClock, definitions, read_entries};
use peer::{Dice, PeerConnector, Person, SILENCE, START, TOTAL, World};

/// Two names differ only in characters that tool names cannot contain.
const SERVERS: [&str; 5] = ["s0", "s1", "s2", "a.b", "a_b"];
const QUERIES: [&str; 6] = ["t0", "zygote", "server:s1", "name:t1", "odd", "nothing of the kind"];

/// The result of a call.
#[derive(Debug, Clone, PartialEq)]
enum CallResult {
    Text(String),
    Aborted,
}

/// One simulation.
struct Play {
    seed: u64,
    world: Arc<World>,
    manager: Arc<Manager>,
    config: Value,
    /// Servers that are cached from the start and may be started only by a call or a search hit.
    lazy: HashSet<&'static str>,
    off: HashSet<&'static str>,
    touched: Mutex<HashSet<&'static str>>,
    names: Mutex<HashMap<(String, String), String>>,
    calls: Mutex<HashMap<u64, CallResult>>,
    nonce: AtomicU64,
}

/// A session, and the definitions that it must always send.
struct TestSession {
    servers: Arc<SessionServers>,
    front: String,
    record: Value,
}

impl TestSession {
    fn new(manager: &Arc<Manager>, recorded: Option<Value>) -> TestSession {
        let servers = stage::recorded_session(manager, recorded);
        let (front, record) = (front(&servers), servers.record());
        TestSession { servers, front, record }
    }
}

/// Returns the configuration of a simulation.
fn configuration(dice: &mut Dice) -> Value {
    let limits = json!({
        "command": "x",
        "timeout": u64::try_from(SILENCE.as_millis()).unwrap(),
        "maxTotalMs": u64::try_from(TOTAL.as_millis()).unwrap(),
        "startupTimeoutMs": u64::try_from(START.as_millis()).unwrap(),
    });
    let mut config = serde_json::Map::new();
    for name in SERVERS {
        let mut entry = limits.clone();
        entry["expose"] = dice.pick(&["auto", "auto", "deferred", "deferred", "direct", "off"]).into();
        if dice.chance(15) {
            entry["start"] = "eager".into();
        }
        if dice.chance(20) {
            entry["supportsParallel"] = false.into();
        }
        if dice.chance(25) {
            entry["tools"] = json!({"readOnly": ["t0"]});
        }
        config.insert(name.into(), entry);
    }
    // A required server starts regardless of its other settings.
    if dice.chance(15) && config[SERVERS[0]]["expose"] != "off" {
        config[SERVERS[0]]["required"] = true.into();
    }
    Value::Object(config)
}

impl Play {
    fn new(seed: u64, dice: &mut Dice) -> Play {
        let config = configuration(dice);
        let world = World::new(dice.split());
        let cache = Cache::in_memory();
        let (mut lazy, mut off) = (HashSet::new(), HashSet::new());
        for name in SERVERS {
            let is_known = dice.chance(60);
            if config[name]["expose"] == "off" {
                off.insert(name);
            } else if is_known && config[name]["start"] != "eager" && config[name]["required"] != true {
                lazy.insert(name);
            }
            if is_known {
                keep(&cache, &world, &config, name, dice.pick(&[Some(Era::Modern), Some(Era::Legacy), None]));
            }
        }
        let manager = manager(&world, cache, &config, dice.chance(50));
        let (touched, names, calls) = (Mutex::default(), Mutex::default(), Mutex::default());
        Play { seed, world, manager, config, lazy, off, touched, names, calls, nonce: AtomicU64::new(1) }
    }

    fn touch(&self, server: &'static str) {
        self.touched.lock().unwrap().insert(server);
    }

    /// Calls a tool by its plain name, with or without a search, and may cancel the call.
    async fn call(&self, sitting: &TestSession, server: &'static str, tool: &str, dice: &mut Dice) -> Option<u64> {
        let name = format!("mcp_{}_{tool}", server.replace('.', "_"));
        let near = sitting.servers.near(&name);
        assert!(near.len() <= 10, "seed {}: too many similar names: {near:?}", self.seed);
        let found = sitting.servers.find(&name)?;
        // The name may belong to the other server with a similar name.
        SERVERS
            .iter()
            .filter(|other| other.replace('.', "_") == server.replace('.', "_"))
            .for_each(|one| self.touch(one));
        let nonce = self.nonce.fetch_add(1, Ordering::SeqCst);
        let (handle, cancel) = CancelHandle::new();
        let abort = dice.chance(20).then(|| dice.time(15_000));
        let reports: Arc<Mutex<Vec<String>>> = Arc::default();
        let heard = Arc::clone(&reports);
        let updates = Updates::new(move |output| heard.lock().unwrap().push(stage::text(&output)));
        let begun = Instant::now();
        let ending = async {
            match abort {
                Some(after) => sleep(after).await,
                None => std::future::pending().await,
            }
            handle.cancel();
            std::future::pending::<()>().await;
        };
        let calling = execute(&*found, json!({"nonce": nonce}), cancel, updates);
        let outcome = timeout(Duration::from_secs(900), async {
            tokio::select! {
                outcome = calling => outcome,
                () = ending => unreachable!(),
            }
        });
        let outcome = outcome.await.unwrap_or_else(|_| panic!("seed {}: a call of {name} never ends", self.seed));
        let ended = match outcome {
            Ok(output) => CallResult::Text(stage::text(&output)),
            Err(ToolError::Aborted) => {
                let late = begun.elapsed() - abort.unwrap();
                assert!(late <= Duration::from_millis(100), "seed {}: the abort came late: {late:?}", self.seed);
                CallResult::Aborted
            }
            Err(ToolError::Failed(text)) => CallResult::Text(text),
        };
        for report in &*reports.lock().unwrap() {
            assert!(
                report.contains(&format!("/{nonce} (")),
                "seed {}: progress of another call: {nonce} got {report}",
                self.seed
            );
        }
        self.calls.lock().unwrap().insert(nonce, ended);
        Some(nonce)
    }

    /// Searches and checks the result.
    async fn search(&self, sitting: &TestSession, query: &str) -> Option<ToolOutput> {
        let tool = sitting.servers.tools().into_iter().find(|tool| tool.name() == "tool_search")?;
        let output = execute(&*tool, json!({"query": query}), CancelToken::never(), Updates::none()).await.unwrap();
        let text = stage::text(&output);
        assert!(text.len() / 4 <= 4_000 + 600, "seed {}: too long: {} bytes", self.seed, text.len());
        for name in output.details.iter().flat_map(|details| details["addedToolNames"].as_array().unwrap()) {
            let name = name.as_str().unwrap();
            let tool = sitting.servers.find(name);
            assert!(tool.is_some(), "seed {}: {name} was found and does not exist", self.seed);
            for server in SERVERS {
                if name.starts_with(&format!("mcp_{}_", server.replace('.', "_"))) {
                    self.touch(server);
                }
            }
        }
        Some(output)
    }

    /// Looks up the name of a tool, which must never change.
    async fn name(&self, server: &str, tool: &str) -> Option<String> {
        let name = self.manager.tool_name(server, tool).await.ok()?;
        let legal = name.len() <= 64 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        assert!(legal, "seed {}: not a legal name: {name}", self.seed);
        let mut names = self.names.lock().unwrap();
        let before = names.entry((server.into(), tool.into())).or_insert_with(|| name.clone());
        assert_eq!(*before, name, "seed {}: a name changed", self.seed);
        Some(name)
    }

    /// Runs one step of a session.
    async fn step(&self, sitting: &TestSession, dice: &mut Dice) {
        let server = dice.pick(&SERVERS);
        match dice.roll(20) {
            0..=9 => {
                let tool = dice.pick(&["t0", "t1", "t2", "odd_choice", "odd_circle", "odd_nothing", "none"]);
                self.call(sitting, server, tool, dice).await;
            }
            10..=12 => {
                self.search(sitting, dice.pick(&QUERIES)).await;
            }
            13 => self.look(sitting),
            14 => {
                let again = TestSession::new(&self.manager, Some(sitting.record.clone()));
                assert_eq!((&again.front, &again.record), (&sitting.front, &sitting.record), "seed {}", self.seed);
            }
            15 if !self.lazy.contains(server) && !self.off.contains(server) => {
                self.name(server, "t0").await;
            }
            16 => {
                // Two calls in parallel.
                let (mut one, mut other) = (dice.split(), dice.split());
                tokio::join!(self.call(sitting, server, "t0", &mut one), self.call(sitting, server, "t1", &mut other));
            }
            _ => sleep(dice.time(30_000)).await,
        }
        assert_eq!(front(&sitting.servers), sitting.front, "seed {}: the prefix changed", self.seed);
        assert_eq!(sitting.servers.record(), sitting.record, "seed {}: the record changed", self.seed);
    }

    /// Reads all state, which must not start a server.
    fn look(&self, sitting: &TestSession) {
        let before = self.world.log().starts.len();
        for name in SERVERS {
            let _ = (self.manager.state(name), self.manager.config(name));
        }
        let _ = (self.manager.names(), self.manager.starting(), sitting.servers.tokens(&[]));
        TestSession::new(&self.manager, None);
        assert_eq!(self.world.log().starts.len(), before, "seed {}: looking started a server", self.seed);
    }

    /// The user edits the files: removes a server, adds it again, restarts one.
    async fn reign(&self, dice: &mut Dice) {
        sleep(dice.time(5_000)).await;
        // The first request was sent.
        self.manager.start_eager();
        for _ in 0..dice.roll(6) {
            sleep(dice.time(20_000)).await;
            let server = dice.pick(&SERVERS);
            if dice.chance(50) {
                let mut fewer = self.config.clone();
                fewer.as_object_mut().unwrap().remove(server);
                self.manager.reload(read_entries(&fewer));
                sleep(dice.time(10_000)).await;
                let now = Instant::now();
                self.world.log().acts.push((server.into(), now, now));
                self.manager.reload(read_entries(&self.config));
            } else if !self.off.contains(server) {
                self.touch(server);
                let asked = Instant::now();
                let _ = self.manager.restart(server).await;
                self.world.log().acts.push((server.into(), asked, Instant::now()));
            }
        }
    }

    async fn play(&self, mut dice: Dice) {
        let begun = Instant::now();
        let sittings = [TestSession::new(&self.manager, None), TestSession::new(&self.manager, None)];
        assert_eq!(sittings[0].front, sittings[1].front, "seed {}: two sessions differ", self.seed);
        assert_eq!(
            (begun.elapsed(), self.world.log().starts.len()),
            (Duration::ZERO, 0),
            "seed {}: opening a session started a server or waited",
            self.seed
        );
        self.require().await;
        let mut person = dice.split();
        let sit = |sitting: &'_ TestSession, mut dice: Dice| {
            let sitting = TestSession {
                servers: Arc::clone(&sitting.servers),
                front: sitting.front.clone(),
                record: sitting.record.clone(),
            };
            async move {
                for _ in 0..6 + dice.roll(8) {
                    self.step(&sitting, &mut dice).await;
                }
            }
        };
        tokio::join!(
            self.reign(&mut person),
            sit(&sittings[0], dice.split()),
            sit(&sittings[1], dice.split()),
            sit(&sittings[0], dice.split()),
        );
        self.check(&sittings, &mut dice).await;
    }
}

/// Runs a tool and returns its output.
async fn execute(
    tool: &dyn Tool,
    arguments: Value,
    cancel: CancelToken,
    updates: Updates,
) -> Result<ToolOutput, ToolError> {
    tool.execute(Call { id: "1".into(), arguments, cwd: "/".into(), session: "s".into(), cancel, updates }).await
}

fn manager(world: &Arc<World>, cache: Cache, config: &Value, has_person: bool) -> Arc<Manager> {
    Manager::new(ManagerParts {
        entries: read_entries(config),
        cache,
        connector: Arc::new(PeerConnector(Arc::clone(world))),
        host: Box::new(move |_| Arc::new(Person(has_person))),
        clock: Arc::new(FixedClock),
        reserved: vec!["read".into(), "tool_search".into()],
    })
}

/// Stores the facts of a server in a cache.
fn keep(cache: &Cache, world: &World, config: &Value, name: &str, era: Option<Era>) {
    let entries = read_entries(config);
    let entry = entries.list.iter().find(|entry| entry.name == name).unwrap();
    let EntryStatus::Ready(entry) = &entry.standing else { panic!("{entry:?}") };
    let tools = definitions(&world.tools(name));
    cache.keep(&entry.hash, Arc::new(KnownServer { era, tools, ..KnownServer::default() }), 1_000_000).unwrap();
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap())
}

#[test]
fn invariants_hold_in_every_simulation_of_sessions_and_servers() {
    let first = number("SINEW_SEED", 1);
    let mut counts = laws::PlayCounts::default();
    for seed in first..first + number("SINEW_SEEDS", 100) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let mut dice = Dice::new(seed);
        let play = Play::new(seed, &mut dice);
        runtime.block_on(play.play(dice));
        counts.count(&play);
    }
    counts.show();
}
