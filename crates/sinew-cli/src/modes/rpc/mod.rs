//! Serves another program: commands as lines of JSON on stdin, responses and events on stdout. The commands are the
//! actions of `control` in JSON.
//!
//! | module | contents |
//! |---|---|
//! | `frames` | incoming and outgoing lines, and their order |
//! | `client` | the state that commands use, and the fields that they read |
//! | `command` | the table of commands |
//! | `reply` | the response to a command |
//! | `prompt` | prompts, steering, follow-ups, abort |
//! | `state` | queries |
//! | `model` | models and thinking levels |
//! | `switches` | modes of queues, retries, compaction |
//! | `shell` | commands of the user |
//! | `tools` | selection of tools, the todo list, reloading of files |
//! | `host_tools` | tools that the client runs |
//! | `mcp` | MCP servers |
//! | `session` | other sessions, and positions in the tree |
//! | `undo` | undo and redo of files |
//! | `ui` | questions to the user of the client |
//! | `waiting` | calls to the client that it has not answered yet |
//!
//! Commands begin in the order in which they arrive. Long ones continue in the background and are answered when they
//! have finished.

mod client;
mod command;
mod frames;
mod host_tools;
mod mcp;
mod model;
mod prompt;
mod reply;
mod session;
mod shell;
mod state;
mod subagents;
mod switches;
mod tools;
mod ui;
mod undo;
mod waiting;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use serde_json::{Map, Value, json};
use sinew::base::replace_lone_surrogates;
use sinew_agent::agent::{Snapshots, Subscriber};
use sinew_agent::event::Event;
use sinew_control::actions::tasks::MOST;
use sinew_control::actions::{Control, View};
use sinew_control::app::App;
use sinew_control::client::{Writer, end_writer};
use sinew_control::ending::{END, close};
use sinew_control::failure::Failure;
use sinew_control::log::Timing;
use sinew_control::startup::Startup;
use sinew_control::sys::signals;
use sinew_tools::Ask;
use sinew_tools::tool::Boxed;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use client::Rpc;
use command::{Command, Run};
use frames::{FrameSender, Line};
use reply::Reply;

/// Settings that start runs without a prompt. They are reset, because clients rely on the flow of the protocol.
const OVERRIDDEN_SETTINGS: [&str; 3] = ["todo.reminders", "async.enabled", "bash.autoBackground.thresholdMs"];

/// Writes the events of the current session to stdout.
struct EventLines {
    out: FrameSender,
    snapshots: Snapshots,
}

impl View for EventLines {
    fn follow(&self, events: Subscriber) -> Boxed<'_, ()> {
        Box::pin(self.out.listen(events))
    }

    fn snapshots(&self) -> Snapshots {
        self.snapshots
    }
}

/// Serves a client until it closes stdin, a signal arrives or nobody reads the output; returns the exit code.
///
/// # Errors
/// Returns an error if the agent cannot be started.
pub(crate) async fn run(mut startup: Startup, mut warnings: Vec<String>, timing: &mut Timing) -> Result<u8, Failure> {
    startup.reset(&OVERRIDDEN_SETTINGS);
    let Startup { environment, settings, args, .. } = &startup;
    let snapshots = args.output.snapshots;
    let titles =
        environment.is_on("SINEW_RPC_EMIT_TITLE") && !environment.is_on("SINEW_NO_TITLE") && !startup.is_offline();
    let timeout = settings.ask.timeout_seconds;
    let (lost, mut gone) = oneshot::channel();
    let (out, writer) = FrameSender::start(snapshots, lost);
    let ui = Arc::new(ui::Ui::new(out.clone(), timeout));
    let (app, open) = App::start(startup, Some(Arc::clone(&ui) as Arc<dyn Ask>), &mut warnings).await?;
    open.agent.change_settings(|settings| settings.titles = titles);
    timing.mark("ready");
    let rpc = Arc::new(Rpc {
        control: Control::new(
            app,
            open,
            Some(Arc::new(EventLines {
                out: out.clone(),
                snapshots: if snapshots { Snapshots::Each } else { Snapshots::Unread },
            })),
        ),
        calls: Arc::new(host_tools::Calls::new(out.clone())),
        out,
        ui,
        quit: CancellationToken::new(),
    });
    // Signals are handled from here on.
    let signalled = signals();
    let ended = CancellationToken::new();
    let code = tokio::select! {
        biased;
        code = signalled => code,
        Ok(()) = &mut gone => 0,
        () = rpc.serve(warnings, ended.clone()) => 0,
        () = rpc.quit.cancelled() => 0,
        () = async { ended.cancelled().await; rpc.out.taken().stuck().await } => 0,
    };
    Ok(rpc.finish(code, writer).await)
}

impl Rpc {
    /// Reports that it is ready, and processes the lines of the client until they end.
    async fn serve(self: &Arc<Rpc>, warnings: Vec<String>, ended: CancellationToken) {
        self.out.send(&json!({"type": "ready"})).await;
        for message in warnings {
            self.out.send(&Event::Warning { message }).await;
        }
        self.control.enter(self.control.session()).await;
        let mut lines = frames::lines(ended);
        while let Some(line) = lines.recv().await {
            let line = match line {
                Line::Whole(line) => serde_json::from_slice(&replace_lone_surrogates(&line))
                    .map_err(|error| format!("invalid JSON: {error}")),
                Line::TooLong => Err(format!("the line is longer than {} MB", frames::LONGEST >> 20)),
            };
            match line {
                Ok(Value::Object(fields)) => self.take(fields).await,
                Ok(_) => self.refuse("expected an object".into()).await,
                Err(reason) => self.refuse(reason).await,
            }
        }
    }

    /// Responds to a line that is not a command.
    async fn refuse(&self, reason: String) {
        let reason = format!("Failed to parse command: {reason}");
        Reply::new(self.out.clone(), None, "parse").send(Err(reason.into())).await;
    }

    /// Processes a frame, until the next one may be processed.
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
            Run::Beside(_) | Run::Own(_) if self.control.tasks.is_full().await => {
                let reason = format!("{MOST} commands are already running: wait until some are done, or abort them");
                return reply.send(Err(reason.into())).await;
            }
            Run::Beside(run) => (Box::pin(async move { reply.send(run(rpc, fields).await).await }), true),
            Run::Own(run) => (run(rpc, fields, reply), true),
        };
        // A panic only ends its command; dropping the reply sends an error.
        let work = AssertUnwindSafe(work).catch_unwind().map(drop);
        match beside {
            // Started before the next command.
            true => self.control.tasks.begin(work).await,
            false => work.await,
        }
    }

    /// Stops all work, saves the session, and lets the writer finish.
    async fn finish(&self, code: u8, writer: Writer) -> u8 {
        self.calls.close();
        self.ui.close();
        let open = self.control.session();
        // Work that takes longer is dropped.
        let quiet = async {
            self.control.quiet(&open).await;
            open.agent.shut_down().await;
        };
        let _ = tokio::time::timeout(END, quiet).await;
        let flushed = open.agent.session().flush();
        if let Err(error) = flushed {
            open.agent.warn(error.to_string()).await;
        }
        // Terminates the shell and its jobs, even if nobody reads the remaining output.
        close(Arc::clone(&open.host), code).await;
        end_writer(code, self.out.taken(), self.out.end(), writer).await
    }
}
