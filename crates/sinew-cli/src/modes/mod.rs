//! The modes for programs: they translate between `sinew_control::actions` and a program.
//!
//! This file runs the modes that answer one prompt and exit: text (`print`), events (`json`), one object (`report`).
//! `rpc` serves another program until that ends. Editors (`sinew-acp`) and people (`sinew-interactive`) have crates of
//! their own.

mod json;
mod print;
pub(crate) mod report;
pub(crate) mod rpc;

use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use sinew_agent::agent::{AgentSession, IdlePolicy, Outcome, Snapshots, Stop};
use sinew_agent::event::Event;
use sinew_agent::resource::Prompt;
use sinew_control::actions::{Control, commands, prompt};
use sinew_control::app::{App, OpenSession};
use sinew_control::args::Mode;
use sinew_control::ending::{END, LAST_OUTPUT, close, turn_limit};
use sinew_control::failure::Failure;
use sinew_control::log::Timing;
use sinew_control::output::{self, tell};
use sinew_control::schema::Schema;
use sinew_control::startup::Startup;
use sinew_control::sys::signals;
use sinew_llm::error::ErrorKind;
use sinew_llm::message::{AssistantMessage, Content, Usage, UserMessage};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::prompt::{PromptInput, Prompts};

/// The minimum time for hooks at the end, however long the run took to end.
const HOOK_TIME: Duration = Duration::from_millis(300);

/// Options for the display of events.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventDisplay {
    /// The format of stdout.
    pub(crate) output: Stdout,
    /// Shows thoughts on stderr.
    pub(crate) verbose: bool,
    /// Writes the text of a message only when it is complete, because stdout is not a terminal.
    pub(crate) whole: bool,
    /// Each event contains the complete data.
    pub(crate) snapshots: bool,
    /// Shows a line for each tool call on stderr.
    pub(crate) tool_lines: bool,
    /// Uses colours and styles on stderr.
    pub(crate) colour: bool,
}

/// The format of stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stdout {
    /// The text of the answer.
    Text,
    /// Events as lines of JSON.
    Events,
    /// One object at the end.
    Object,
    /// The value that matches the schema, at the end.
    Value,
}

/// The result of a run, for the final output on stdout and stderr.
struct FinalResult {
    code: u8,
    /// A keyword for programs.
    reason: &'static str,
    error: Option<String>,
    /// The output of a command instead of an answer.
    text: Option<String>,
    /// The answer that matches the schema.
    value: Option<Value>,
    session: String,
    file: Option<PathBuf>,
    /// The model of the last answer, as `provider/id`.
    model: String,
    /// The use of the session itself, without its children.
    usage: Usage,
    /// The cost of the children in US dollars.
    children_cost: f64,
}

/// Renders events. Errors are those of stdout; they end the run.
trait Renderer: Send {
    fn begin(&mut self, header: &Value) -> io::Result<()>;
    fn event(&mut self, event: &Event) -> io::Result<()>;
    fn end(&mut self) -> io::Result<()>;
    /// Called once at the end.
    fn finish(&mut self, _ending: &FinalResult) -> io::Result<()> {
        Ok(())
    }
}

/// The input of a run.
struct Task {
    prompts: Prompts,
    /// The built-in command that the prompt contains.
    command: Option<commands::Command>,
    /// The schema of the last answer.
    schema: Option<Schema>,
}

/// The maximum number of times that the model is asked to correct an answer that does not match the schema.
const CORRECTIONS: usize = 2;

/// The result of a [`Task`].
struct Done {
    stop: Stop,
    /// The output of a command.
    text: Option<String>,
    /// The answer that matches the schema, or the reason why it does not match.
    value: Option<Result<Value, String>>,
}

/// Starts an agent, answers the prompt of the command line, and returns the exit code.
///
/// # Errors
/// Returns an error if there is no prompt, or if the agent cannot be started.
pub(crate) async fn run(mut startup: Startup, mut warnings: Vec<String>, timing: &mut Timing) -> Result<u8, Failure> {
    let input = PromptInput::read(&startup.args, &startup.environment)?;
    let text = input.text();
    let command = commands::find(&text)?;
    if let Some(name) = &startup.args.output.schema {
        startup.schema = Some(Schema::load(name, &startup.paths.cwd)?);
    }
    // Reminders about the todo list make the model answer again, so stdout would contain two answers.
    startup.prefer("todo.reminders", false);
    let (app, open) = App::start(startup, None, &mut warnings).await?;
    let look = EventDisplay::of(&app.startup);
    let prompts = Prompts::new(input, &app, &open, &mut warnings)?;
    let task = Task { prompts, command, schema: app.startup.schema.clone() };
    timing.mark("ready");
    let control = Control::new(app, open, None);
    control.begin_mode().await.map_err(|error| Failure::failed(error.message))?;
    control.check_spelling(&text).map_err(Failure::usage)?;
    Ok(answer(control, task, &warnings, look).await)
}

impl EventDisplay {
    fn of(startup: &Startup) -> EventDisplay {
        let Startup { args, environment, settings, schema, .. } = startup;
        let verbose = settings.verbose;
        EventDisplay {
            output: match (args.mode(), args.output.object, schema) {
                (Mode::Json, ..) => Stdout::Events,
                (_, true, _) => Stdout::Object,
                (_, _, Some(_)) => Stdout::Value,
                _ => Stdout::Text,
            },
            verbose,
            whole: !environment.stdout,
            snapshots: args.output.snapshots,
            tool_lines: environment.stdout || verbose,
            colour: environment.colour(environment.stderr),
        }
    }
}

/// Runs the task and returns the exit code.
async fn answer(control: Arc<Control>, mut task: Task, warnings: &[String], look: EventDisplay) -> u8 {
    output::warn(warnings);
    let open = control.session();
    let OpenSession { agent, host, .. } = &*open;
    let header = serde_json::to_value(agent.session().header()).unwrap_or_default();
    let snapshots = match look.output {
        Stdout::Events if look.snapshots => Snapshots::Each,
        _ => Snapshots::Unread,
    };
    let mut listener = agent.subscribe(snapshots);
    control.recover_children().await;
    let mut show: Box<dyn Renderer> = match look.output {
        Stdout::Text => Box::new(print::Text::new(look, output::stdout())),
        Stdout::Events => Box::new(json::Lines::new(look.snapshots)),
        Stdout::Object => Box::new(report::Report::new(look, true)),
        Stdout::Value => Box::new(report::Report::new(look, false)),
    };
    let (lost, mut gone) = oneshot::channel();
    // Runs on a separate thread, because a slow reader must not delay the handling of signals.
    let handle = tokio::runtime::Handle::current();
    let shown = tokio::task::spawn_blocking(move || {
        let mut write = || {
            show.begin(&header)?;
            while let Some(event) = handle.block_on(listener.recv()) {
                show.event(&event)?;
            }
            show.end()
        };
        let written = write();
        if written.is_err() {
            // The run may have ended already.
            let _ = lost.send(());
        }
        (written, show)
    });
    let stop = AtomicBool::new(false);
    // Signals are handled from here on, in parallel, because the work may run for a while before it first waits.
    let (cancel_handle, heard) = (task.prompts.cancel_handle(), signals());
    let signalled = tokio::spawn(async move {
        let code = heard.await;
        cancel_handle.cancel();
        code
    });
    let (done, signal, until) = {
        let mut work = std::pin::pin!(all(&control, &open, &mut task, &stop));
        tokio::select! {
            // The work is polled first, so that the prompt is in the session before anything can end the run.
            biased;
            done = &mut work => (Some(done), 0, Instant::now() + END),
            // Results of background jobs wait for the next prompt, and are dropped if there is none.
            never = agent.forward_notices(host, IdlePolicy::Wait) => match never {},
            Ok(code) = signalled => {
                let until = Instant::now() + END;
                halt(&control, &stop, work).await;
                (None, code, until.max(Instant::now() + HOOK_TIME))
            }
            Ok(()) = &mut gone => {
                halt(&control, &stop, work).await;
                (None, 0, Instant::now() + END)
            }
        }
    };
    agent.forward_statuses().await;
    if done.is_some() {
        control.app.mcp.written().await;
        for name in control.app.mcp.starting() {
            tell(&format!(
                "Warning: MCP server \"{name}\" was still starting when the run ended, so its tools are not known yet; sinew mcp reload {name} waits for it"
            ));
        }
    }
    // A hook that handles the end must not delay the exit after a signal.
    let _ = tokio::time::timeout_at(until, agent.shut_down()).await;
    if let Err(error) = agent.session().flush() {
        tell(&format!("Warning: {error}"));
    }
    let ending = ending(&control, agent, done, signal);
    let open_items = host.open_items();
    let host = Arc::clone(host);
    drop(open);
    // Dropping the last handle lets the listener read the remaining events and end.
    if let Some(open) = control.into_session() {
        open.agent.leave();
    }
    let code = ending.code;
    let limit = if code >= 128 { LAST_OUTPUT } else { Duration::MAX };
    let shown = tokio::time::timeout(limit, shown).await;
    // Printed after all other output.
    if let Some(text) = &ending.error {
        tell(text);
    }
    if let (0, Some(items)) = (code, open_items) {
        let items: Vec<&str> =
            items.as_array().into_iter().flatten().filter_map(|item| item["content"].as_str()).collect();
        tell(&format!("Warning: these items of the todo list are still open: {}", items.join("; ")));
    }
    let written = match shown {
        Ok(Ok((Ok(()), mut show))) => show.finish(&ending),
        Ok(Ok((Err(error), _))) => Err(error),
        Ok(Err(panic)) => Err(io::Error::other(panic)),
        // Nobody reads the output, so the rest is not waited for.
        Err(_) => Ok(()),
    };
    close(host, code).await;
    match written {
        Ok(()) => code,
        // Nobody reads the output; the session contains everything.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
        Err(error) => {
            tell(&format!("Error: failed to write to stdout: {error}"));
            1
        }
    }
}

/// Collects the data of the final output. `done` is `None` if `signal` or the loss of the reader ended the work.
fn ending(control: &Control, agent: &AgentSession, done: Option<Result<Done, String>>, signal: u8) -> FinalResult {
    let (session, file) = {
        let session = agent.session();
        (session.id().to_string(), session.path().map(Path::to_path_buf))
    };
    // The meter of the program counts the requests of children too.
    let all = control.app.models.meter().map(|meter| meter.usage()).unwrap_or_default();
    let of_children = control.children_usage();
    let usage = without(&all, &of_children);
    let (code, reason, error) = match &done {
        Some(done) => last_word(done),
        None => (signal, "aborted", None),
    };
    let (text, value) = match done {
        Some(Ok(Done { text, value, .. })) => (text, value.and_then(Result::ok)),
        _ => (None, None),
    };
    FinalResult {
        code,
        reason,
        error,
        text,
        value,
        session,
        file,
        model: agent.model().model.key(),
        usage,
        children_cost: of_children.cost.total,
    }
}

/// Returns the use that remains without a part of it.
fn without(all: &Usage, part: &Usage) -> Usage {
    let mut rest = *all;
    rest.input = all.input.saturating_sub(part.input);
    rest.output = all.output.saturating_sub(part.output);
    rest.cache_read = all.cache_read.saturating_sub(part.cache_read);
    rest.cache_write = all.cache_write.saturating_sub(part.cache_write);
    rest.total_tokens = all.total_tokens.saturating_sub(part.total_tokens);
    rest.cost.total = (all.cost.total - part.cost.total).max(0.0);
    rest
}

/// Runs the prompt or its command, and asks for corrections of an answer that does not match the schema.
async fn all(control: &Control, open: &OpenSession, task: &mut Task, stop: &AtomicBool) -> Result<Done, String> {
    let mut done = Done { stop: Stop::Done, text: None, value: None };
    if let Some(command) = &task.command {
        let (text, data) = command.run_with_data(control).await.map_err(|error| error.message)?;
        return Ok(Done { text: Some(text), value: data.map(Ok), ..done });
    }
    while let Some(prompt) = task.prompts.next().await {
        if stop.load(Ordering::Relaxed) {
            return Ok(Done { stop: Stop::Aborted, ..done });
        }
        output::warn(&prompt.warnings);
        if let Some(info) = &prompt.info {
            tell(info);
        }
        if prompt.quit {
            break;
        }
        let Some(outcome) = ask(open, prompt).await? else { continue };
        let outcome = match &task.schema {
            Some(schema) => fitted(control, open, schema, outcome, &mut done).await?,
            None => outcome,
        };
        done.stop = outcome.stop;
        if let Some(stop) = control.children_ended().await {
            done.stop = stop;
        }
        if !matches!(done.stop, Stop::Done | Stop::OutputLimit | Stop::Queued) {
            break;
        }
    }
    Ok(done)
}

/// Runs a prompt until it ends; returns `None` if nothing was sent to the model.
async fn ask(open: &OpenSession, prompt: Prompt) -> Result<Option<Outcome>, String> {
    let submission = prompt::submit(open, prompt, None).await.map_err(|error| error.message)?;
    Ok(submission.run().await.outcome)
}

/// Checks the last answer against a schema, and asks for another one if it does not match.
async fn fitted(
    control: &Control,
    open: &OpenSession,
    schema: &Schema,
    mut outcome: Outcome,
    done: &mut Done,
) -> Result<Outcome, String> {
    for round in 0..=CORRECTIONS {
        if outcome.stop != Stop::Done {
            break;
        }
        let answer = outcome.answer.as_ref().map(AssistantMessage::text).unwrap_or_default();
        let checked = schema.check(&answer);
        let faults = checked.as_ref().err().cloned();
        done.value = Some(checked);
        let Some(faults) = faults.filter(|_| round < CORRECTIONS) else { break };
        let text = format!(
            "Your last message does not match the required JSON Schema:\n{faults}\nAnswer with the whole JSON value \
             and nothing else."
        );
        let message = UserMessage { content: Content::Text(text), timestamp: control.app.clock.now() };
        let prompt = Prompt { messages: vec![message.into()], ..Prompt::default() };
        match ask(open, prompt).await? {
            Some(next) => outcome = next,
            None => break,
        }
    }
    Ok(outcome)
}

/// Aborts the run and the children in the background, and waits for their end for a limited time.
async fn halt(control: &Control, stop: &AtomicBool, work: Pin<&mut impl Future>) {
    stop.store(true, Ordering::Relaxed);
    control.stop_children();
    control.session().agent.abort();
    // Work that takes longer is dropped.
    let _ = tokio::time::timeout(END, work).await;
}

/// Returns the exit code of a run, a keyword for programs, and the error message if there is one.
fn last_word(done: &Result<Done, String>) -> (u8, &'static str, Option<String>) {
    let (code, reason, text) = match done.as_ref().map(|done| (&done.stop, &done.value)) {
        Ok((Stop::Done | Stop::Queued, Some(Err(faults)))) => {
            (1, "schema_mismatch", format!("Error: the answer does not match --output-schema:\n{faults}"))
        }
        Ok((Stop::Done | Stop::Queued, _)) => return (0, "done", None),
        Ok((Stop::OutputLimit, _)) => {
            (0, "output_limit", "Warning: Output limit reached (raise it with --max-tokens)".into())
        }
        Ok((Stop::CallCut, _)) => {
            let text = "Error: Output limit reached: a tool call was cut off, and so were the model's further attempts. \
                        Ask for smaller steps, or raise --max-tokens or the model's maxTokens.";
            (1, "output_limit", text.into())
        }
        Ok((Stop::TurnLimit(turns), _)) => (4, "turn_limit", format!("Error: {}", turn_limit(*turns))),
        Ok((Stop::BudgetSpent { name, spent, limit }, _)) => {
            let text =
                format!("Error: Stopped: {spent} was spent, and {name} allows {limit}. Use --continue to continue.");
            (4, "cost_limit", text)
        }
        Ok((Stop::Aborted, _)) => (1, "aborted", "Error: aborted".into()),
        Ok((Stop::Failed(error), _)) => {
            (if error.kind == ErrorKind::Config { 3 } else { 1 }, "error", format!("Error: {}", error.message))
        }
        Err(reason) => (1, "error", format!("Error: {reason}")),
    };
    (code, reason, Some(text))
}
