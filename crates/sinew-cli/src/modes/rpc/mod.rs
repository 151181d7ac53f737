//! A program drives the agent: commands as lines of JSON on stdin, responses and events on stdout.
//!
//! | module | knows |
//! |---|---|
//! | `frames` | lines in, lines out, and their order |
//! | `command` | all commands, as data |
//! | `reply` | the one response to a command |
//! | `say` | prompts, steering, follow-ups, abort |
//! | `state` | what a client may want to know |
//! | `model` | models and thinking levels |
//! | `switches` | modes of queues, retries, compaction |
//! | `shell` | commands of the user |
//! | `tools` | which tools there are, the list of tasks, reading files anew |
//! | `host_tools` | tools that the client runs |
//! | `session` | other sessions, and places in the tree |
//! | `ui` | questions to the person behind the client |
//!
//! Commands begin in the order in which they come. Those that take long go on beside the others, and are answered when
//! they are done.

mod command;
mod frames;
mod host_tools;
mod model;
mod reply;
mod say;
mod session;
mod shell;
mod state;
mod switches;
mod tools;
mod ui;

use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::{Map, Value, json};
use sinew_agent::agent::Idle;
use sinew_agent::event::Event;
use sinew_agent::tool::Boxed;
use sinew_agent::tools::Ask;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use super::{END, LAST_WORDS, signals};
use crate::assemble::{Assembly, Open, Start};
use crate::failure::Failure;
use crate::log::Timing;
use crate::output::tell;
use command::{Command, Run};
use frames::{Line, Out};
use reply::Reply;

/// Commands that may be at work side by side.
const AT_ONCE: usize = 100;
/// Settings that make runs of their own. They are as if nobody had set them: a client counts on the flow that it knows.
const FLOW: [&str; 3] = ["todo.reminders", "async.enabled", "bash.autoBackground.thresholdMs"];
/// How often what does not end is told to.
const AGAIN: Duration = Duration::from_millis(50);
/// How long a client that has closed stdin may read nothing.
const PATIENCE: Duration = Duration::from_secs(10);

/// What commands work on.
pub(super) struct Rpc {
    pub(super) assembly: Assembly,
    current: Mutex<Arc<Open>>,
    out: Out,
    ui: Arc<ui::Ui>,
    calls: Arc<host_tools::Calls>,
    chosen: Mutex<tools::Chosen>,
    bash: shell::Commands,
    /// What goes on beside the reading of commands.
    tasks: tokio::sync::Mutex<JoinSet<()>>,
    /// Tells of jobs and lists between the runs of the current session.
    attendant: Mutex<Option<JoinHandle<()>>>,
    /// Somebody asked to leave.
    quit: CancellationToken,
}

/// Serves a client until it closes stdin, a signal comes or nobody reads; gives the exit code.
pub(crate) async fn run(mut start: Start, warnings: Vec<String>, timing: &mut Timing) -> Result<u8, Failure> {
    for key in FLOW {
        // Null is what the table says.
        start.settings.set(key, Value::Null);
    }
    let partials = start.environment.get("SINEW_PARTIALS") != Some("0");
    let is_on = |name: &str| start.environment.is_on(name);
    let titles = is_on("SINEW_RPC_EMIT_TITLE") && !is_on("SINEW_NO_TITLE") && !is_on("SINEW_OFFLINE");
    let titles = titles && !start.args.has("offline");
    let timeout = start.settings.number("ask.timeoutSeconds");
    let (lost, mut gone) = oneshot::channel();
    let (out, writer) = Out::start(partials, lost);
    let ui = Arc::new(ui::Ui::new(out.clone(), timeout));
    let begun = Assembly::begin(start, warnings, Some(Arc::clone(&ui) as Arc<dyn Ask>)).await;
    let (assembly, open, warnings) = begun?;
    open.agent.change_settings(|settings| settings.titles = titles);
    timing.mark("ready");
    let rpc = Arc::new(Rpc {
        assembly,
        current: Mutex::new(Arc::new(open)),
        calls: Arc::new(host_tools::Calls::new(out.clone())),
        out: out.clone(),
        ui,
        chosen: Mutex::default(),
        bash: shell::Commands::default(),
        tasks: tokio::sync::Mutex::default(),
        attendant: Mutex::default(),
        quit: CancellationToken::new(),
    });
    // Heard from here on.
    let signalled = signals();
    let ended = CancellationToken::new();
    let code = tokio::select! {
        biased;
        code = signalled => code,
        Ok(()) = &mut gone => 0,
        () = rpc.serve(warnings, ended.clone()) => 0,
        () = rpc.quit.cancelled() => 0,
        () = async { ended.cancelled().await; out.stuck(PATIENCE).await } => 0,
    };
    Ok(rpc.finish(code, writer).await)
}

impl Rpc {
    /// The session that commands mean.
    fn open(&self) -> Arc<Open> {
        Arc::clone(&self.current.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Says that it is ready, and does what the lines of the client ask for, until they end.
    async fn serve(self: &Arc<Rpc>, warnings: Vec<String>, ended: CancellationToken) {
        self.out.send(&json!({"type": "ready"})).await;
        for message in warnings {
            self.out.send(&Event::Warning { message }).await;
        }
        self.enter(self.open()).await;
        let mut lines = frames::lines(ended);
        while let Some(line) = lines.recv().await {
            let line = match line {
                Line::Whole(line) => serde_json::from_slice(&line).map_err(|error| format!("no JSON: {error}")),
                Line::TooLong => Err(format!("the line is longer than {} MB", frames::LONGEST >> 20)),
            };
            match line {
                Ok(Value::Object(fields)) => self.take(fields).await,
                Ok(_) => self.refuse("expected an object".into()).await,
                Err(reason) => self.refuse(reason).await,
            }
        }
    }

    /// Answers a line that is no command.
    async fn refuse(&self, reason: String) {
        let reason = format!("Failed to parse command: {reason}");
        Reply::new(self.out.clone(), None, "parse").send(Err(reason.into())).await;
    }

    /// Does what one frame asks for, as far as the next one must wait for it.
    async fn take(self: &Arc<Rpc>, mut fields: Map<String, Value>) {
        let kind = fields.shift_remove("type");
        match kind.as_ref().and_then(Value::as_str) {
            Some("extension_ui_response") => return self.ui.answer(fields),
            Some("host_tool_update") => return self.calls.update(fields),
            Some("host_tool_result") => return self.calls.result(fields),
            _ => {}
        }
        let id = fields.shift_remove("id");
        let name = match kind {
            Some(Value::String(name)) => name,
            Some(other) => other.to_string(),
            None => {
                let reply = Reply::new(self.out.clone(), id, "parse");
                return reply.send(Err("Failed to parse command: it has no \"type\"".into())).await;
            }
        };
        let reply = Reply::new(self.out.clone(), id, name.clone());
        let Some(Command { run, .. }) = command::find(&name) else {
            return reply.send(Err(format!("Unknown command: {name}").into())).await;
        };
        let rpc = Arc::clone(self);
        let (work, beside): (Boxed<'static, ()>, bool) = match *run {
            Run::Now(run) => (Box::pin(async move { reply.send(run(rpc, fields).await).await }), false),
            Run::Beside(_) | Run::Own(_) if self.is_full().await => {
                let reason = format!("{AT_ONCE} commands are at work already: wait until some are done, or abort them");
                return reply.send(Err(reason.into())).await;
            }
            Run::Beside(run) => (Box::pin(async move { reply.send(run(rpc, fields).await).await }), true),
            Run::Own(run) => (run(rpc, fields, reply), true),
        };
        // A command that panics ends alone; the reply that is dropped says so.
        let mut work = Box::pin(AssertUnwindSafe(work).catch_unwind().map(drop));
        if !beside {
            return work.await;
        }
        // It has its place before the next command when it was polled once.
        let begun = std::future::poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await;
        if begun.is_pending() {
            self.tasks.lock().await.spawn(work);
        }
    }

    /// Whether as many commands are at work as may be.
    async fn is_full(&self) -> bool {
        let mut tasks = self.tasks.lock().await;
        while tasks.try_join_next().is_some() {}
        tasks.len() >= AT_ONCE
    }

    /// Goes on with a session: its events are the ones that are told from now on.
    async fn enter(self: &Arc<Rpc>, open: Arc<Open>) {
        let before = self.attendant.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(before) = before {
            before.abort();
            // It was ended this very moment.
            let _ = before.await;
        }
        self.out.listen(open.agent.subscribe()).await;
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&open);
        let attendant = tokio::spawn(async move {
            open.agent.start().await;
            match open.agent.attend(&open.host, Idle::Wake).await {}
        });
        *self.attendant.lock().unwrap_or_else(PoisonError::into_inner) = Some(attendant);
    }

    /// Ends everything that works on a session, and waits for that.
    async fn quiet(&self, open: &Open) {
        let mut tasks = self.tasks.lock().await;
        loop {
            // Each time: a command that waited for the end of one run begins another.
            open.agent.abort();
            self.bash.abort();
            if let Ok(None) = tokio::time::timeout(AGAIN, tasks.join_next()).await {
                break;
            }
        }
        open.agent.idled().await;
    }

    /// Ends everything, keeps the session, and lets the writer come to its end.
    async fn finish(&self, code: u8, writer: frames::Writer) -> u8 {
        self.calls.close();
        self.ui.close();
        let open = self.open();
        // What is not over by then is dropped.
        let quiet = async {
            self.quiet(&open).await;
            open.agent.shut_down().await;
        };
        let _ = tokio::time::timeout(END, quiet).await;
        let flushed = open.agent.session().flush();
        if let Err(error) = flushed {
            open.agent.warn(error.to_string()).await;
        }
        // Its shell and jobs end with it, whether somebody reads the last words or not.
        super::close(Arc::clone(&open.host), code).await;
        let last = async {
            self.out.end().await;
            writer.await
        };
        let limit = if code >= 128 { LAST_WORDS } else { Duration::MAX };
        let ended = tokio::select! {
            ended = tokio::time::timeout(limit, last) => ended.ok(),
            () = self.out.stuck(PATIENCE) => None,
        };
        match ended {
            Some(Ok(Err(error))) if error.kind() != io::ErrorKind::BrokenPipe => {
                tell(&format!("Error: write to stdout: {error}"));
                1
            }
            Some(Err(panic)) => {
                tell(&format!("Error: {panic}"));
                1
            }
            _ => code,
        }
    }
}
