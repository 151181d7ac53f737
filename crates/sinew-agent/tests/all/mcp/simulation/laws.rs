//! The invariants of a whole simulation.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use sinew_agent::mcp::cache::Cache;
use tokio::time::{Instant, sleep};

use super::peer::{AnswerKind, Dice, ReceivedCall, SILENCE, START, TOTAL};
use super::{CallResult, Play, QUERIES, SERVERS, TestSession, keep, manager};
use crate::mcp::front::front;
use crate::mcp::stage;

/// The number of attempts after which a call must reach a correct server: three without an answer, which end the
/// server, and one more.
const TRIES: usize = 4;

impl Play {
    /// Checks that required servers start, or that the failure is reported within the limit of a start.
    pub(super) async fn require(&self) {
        let begun = Instant::now();
        let outcome = self.manager.start_required().await;
        // A server of the other era is started twice.
        assert!(begun.elapsed() <= 2 * START + Duration::from_secs(1), "seed {}: the start took too long", self.seed);
        if self.config[SERVERS[0]]["required"] != true {
            assert_eq!((outcome, begun.elapsed()), (Ok(()), Duration::ZERO), "seed {}: nothing is required", self.seed);
            return;
        }
        let state = self.manager.state(SERVERS[0]).unwrap().state;
        match outcome {
            Ok(()) => assert_eq!(state, "connected", "seed {}: the required server", self.seed),
            Err(reason) => assert!(
                reason.contains(SERVERS[0]) && state != "connected",
                "seed {}: the required server: {state}: {reason}",
                self.seed
            ),
        }
    }

    /// Waits until nothing happens, makes the servers behave correctly, and checks all invariants.
    pub(super) async fn check(&self, sittings: &[TestSession], dice: &mut Dice) {
        self.manager.reload(stage::read_entries(&self.config));
        sleep(Duration::from_secs(300)).await;
        self.check_calls();
        self.check_starts();
        self.check_rest().await;
        self.world.calm_down();
        self.check_recovery(sittings).await;
        self.check_search(&sittings[0]).await;
        self.check_names(dice).await;
        for sitting in sittings {
            assert_eq!(front(&sitting.servers), sitting.front, "seed {}: the prefix changed", self.seed);
        }
    }

    /// Checks that every call has its own answer or a matching error, and that every server learned about cancelled
    /// calls.
    fn check_calls(&self) {
        let log = self.world.log();
        let mut last: HashMap<u64, &ReceivedCall> = HashMap::new();
        for received in &log.calls {
            last.insert(received.nonce, received);
            let place = (received.process, received.id);
            let told = log.answered.contains(&place) || log.cancelled.contains(&place);
            assert!(
                told || log.ended.contains(&received.process),
                "seed {}: nobody told the server that {received:?} is given up",
                self.seed
            );
        }
        for (nonce, ended) in &*self.calls.lock().unwrap() {
            let CallResult::Text(text) = ended else { continue };
            let received = last.get(nonce);
            let is_own = |text: &str| text.ends_with(&format!("/{nonce}"));
            // While the user is asked, the timers of all calls on the connection are paused.
            let asks = |one: &ReceivedCall| {
                one.manner == AnswerKind::Asks && received.is_some_and(|of| of.process == one.process)
            };
            let may_take_longer = log.calls.iter().any(asks);
            let fits = match received.map(|received| received.manner) {
                // The call never reached a server.
                None => ["MCP server ", "Tool ", "There is no MCP server", "the server is gone", "MCP error"]
                    .iter()
                    .any(|begin| text.starts_with(begin)),
                Some(_) if text.starts_with("MCP error: Transport closed") => log.ended.contains(&last[nonce].process),
                // A call of a read-only tool is repeated once, which starts the server.
                Some(_) if text.starts_with("MCP server ") => log.ended.contains(&last[nonce].process),
                Some(_) if log.mute.contains(&last[nonce].process) && is_silence(text) => true,
                Some(AnswerKind::Right | AnswerKind::Twice | AnswerKind::Changes) => {
                    is_own(text) && !text.starts_with("Error")
                }
                Some(AnswerKind::Failed) => is_own(text) && text.starts_with("Error: "),
                Some(AnswerKind::Refused) => text == "MCP error -32602: no",
                Some(AnswerKind::Odd) => text.contains("\"hologram\""),
                Some(AnswerKind::Late) if may_take_longer && is_own(text) => true,
                Some(AnswerKind::Late | AnswerKind::Never | AnswerKind::Mute) => is_silence(text),
                Some(AnswerKind::Crash) => false,
                Some(AnswerKind::Progress(_)) if may_take_longer && is_own(text) => true,
                Some(AnswerKind::Progress(reports)) => match Duration::from_secs(4 * reports) {
                    time if time < TOTAL => is_own(text),
                    _ => {
                        *text
                            == format!(
                                "MCP error: no answer within {} s in all. The server may still be working on it.",
                                TOTAL.as_secs()
                            )
                    }
                },
                Some(AnswerKind::Asks) => {
                    is_own(text)
                        || text == "The server asked for input that nobody can give: Which?"
                        || text == "MCP error -32000: no"
                }
            };
            assert!(fits, "seed {}: the outcome of call {nonce} {received:?}: {text}", self.seed);
        }
    }

    /// Checks the starts: none without a reason, a limited number in parallel, and a minimum time in between.
    fn check_starts(&self) {
        let log = self.world.log();
        assert!(log.most_starting <= 4, "seed {}: {} starts at once", self.seed, log.most_starting);
        let touched = self.touched.lock().unwrap();
        for server in SERVERS {
            let times: Vec<_> = log.starts.iter().filter(|(name, ..)| name == server).collect();
            let may_start = !self.off.contains(server) && (touched.contains(server) || !self.lazy.contains(server));
            assert!(may_start || times.is_empty(), "seed {}: {server} was started", self.seed);
            for pair in times.windows(2) {
                // One attempt may be two starts: with the known era and with any.
                let is_second_half = pair[0].1.is_some() && pair[1].1.is_none();
                let (begun, again) = (pair[0].2, pair[1].2);
                // A restart by the user waits for a running start, and then starts at once.
                let is_wanted = log.acts.iter().any(|(of, from, to)| of == server && *from <= again && begun <= *to);
                let pause = again - begun;
                assert!(
                    is_second_half || is_wanted || pause >= Duration::from_secs(1),
                    "seed {}: {server} started again after {pause:?}",
                    self.seed
                );
            }
        }
    }

    /// Checks that no server starts without a call, because no server has a timer.
    async fn check_rest(&self) {
        let before = self.world.log().starts.len();
        sleep(Duration::from_secs(24 * 3600)).await;
        assert_eq!(self.world.log().starts.len(), before, "seed {}: an idle server was started", self.seed);
    }

    /// Checks that every server answers again after at most three calls without an answer.
    async fn check_recovery(&self, sittings: &[TestSession]) {
        for server in SERVERS.iter().filter(|server| !self.off.contains(**server)) {
            let mut ends = Vec::new();
            let is_back = loop {
                let answered = self.call_honestly(&sittings[0], server, ends.len()).await;
                if answered.is_ok() {
                    break true;
                }
                ends.push(answered);
                if ends.len() == TRIES {
                    break false;
                }
                sleep(Duration::from_secs(5)).await;
            };
            assert!(is_back, "seed {}: {server} does not come back: {ends:?}", self.seed);
        }
    }

    async fn call_honestly(&self, sitting: &TestSession, server: &'static str, round: usize) -> Result<(), String> {
        use sinew_agent::core::Catalogue;

        let name = self.manager.tool_name(server, "t0").await?;
        let tool = sitting.servers.find(&name).ok_or("it is not found by its name")?;
        let nonce = 1_000_000 + round;
        let arguments = serde_json::json!({"nonce": nonce});
        let never = sinew::base::CancelToken::never();
        let output = super::execute(&*tool, arguments, never, sinew_tools::tool::Updates::none()).await;
        match output.map(|output| stage::text(&output)) {
            Ok(text) if text == format!("{server}/t0/{nonce}") => Ok(()),
            other => Err(format!("{other:?}")),
        }
    }

    /// Checks that equal queries have equal results.
    async fn check_search(&self, sitting: &TestSession) {
        // A search starts the servers that it finds, which list their tools again.
        for query in QUERIES {
            self.search(sitting, query).await;
        }
        sleep(Duration::from_secs(300)).await;
        for query in QUERIES {
            let first = self.search(sitting, query).await;
            assert_eq!(first, self.search(sitting, query).await, "seed {}: the search differs: {query}", self.seed);
        }
    }

    /// Checks that names are unique, and equal in a new program in which the servers connect in another order.
    async fn check_names(&self, dice: &mut Dice) {
        let tools = ["t0", "t1", "odd_choice", "odd_reference"];
        let used = || SERVERS.iter().filter(|server| !self.off.contains(**server));
        for server in used() {
            for tool in tools {
                let name = self.name(server, tool).await;
                // A server that stopped in the middle of its list has reported fewer tools.
                assert!(name.is_some() || tool != "t0", "seed {}: {server} has lost its tool", self.seed);
            }
        }
        let names: Vec<String> = self.names.lock().unwrap().values().cloned().collect();
        let distinct: HashSet<&String> = names.iter().collect();
        assert_eq!(distinct.len(), names.len(), "seed {}: names are not unique: {names:?}", self.seed);

        let mut orders = Vec::new();
        for _ in 0..2 {
            let cache = Cache::in_memory();
            for server in SERVERS {
                keep(&cache, &self.world, &self.config, server, None);
            }
            let again = manager(&self.world, cache, &self.config, false);
            let mut order: Vec<&str> = used().copied().collect();
            for at in (1..order.len()).rev() {
                order.swap(at, usize::try_from(dice.roll(at as u64 + 1)).unwrap());
            }
            for server in order {
                again.connect(server).await.unwrap();
            }
            let mut named = Vec::new();
            for server in used() {
                for tool in tools {
                    named.push(again.tool_name(server, tool).await.unwrap());
                }
            }
            orders.push((named, TestSession::new(&again, None).front));
            again.written().await;
            drop(Arc::clone(&again));
        }
        assert_eq!(orders[0], orders[1], "seed {}: the order differs", self.seed);
    }
}

fn is_silence(text: &str) -> bool {
    text == format!("MCP error: no answer for {} s. The server may still be working on it.", SILENCE.as_secs())
}

/// The numbers of events of all simulations, shown as evidence that they ran.
#[derive(Default)]
pub(super) struct PlayCounts {
    plays: usize,
    starts: usize,
    calls: usize,
    aborted: usize,
    cancelled: usize,
    manners: HashMap<String, usize>,
}

impl PlayCounts {
    pub(super) fn count(&mut self, play: &Play) {
        let log = play.world.log();
        self.plays += 1;
        self.starts += log.starts.len();
        self.cancelled += log.cancelled.len();
        let calls = play.calls.lock().unwrap();
        self.calls += calls.len();
        self.aborted += calls.values().filter(|ended| **ended == CallResult::Aborted).count();
        for received in &log.calls {
            let name = format!("{:?}", received.manner);
            let name = name.split('(').next().unwrap_or_default().to_string();
            *self.manners.entry(name).or_default() += 1;
        }
    }

    /// Checks that every behaviour occurred if there were enough simulations.
    pub(super) fn show(&self) {
        let PlayCounts { plays, starts, calls, aborted, cancelled, manners } = self;
        let mut manners: Vec<_> = manners.iter().collect();
        manners.sort();
        let line = format!(
            "{plays} plays: {starts} starts, {calls} calls, {aborted} given up, {cancelled} told; {manners:?}\n"
        );
        std::io::Write::write_all(&mut std::io::stdout(), line.as_bytes()).unwrap();
        assert!(*plays < 100 || manners.len() == 12, "{manners:?}");
    }
}
