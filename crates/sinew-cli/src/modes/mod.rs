//! Runs prompts one after another and shows their events, until they are done, a signal comes or nobody reads.

mod json;
mod print;
pub(crate) mod report;
pub(crate) mod rpc;
pub(crate) mod slash;

use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use sinew_agent::agent::{AgentSession, Idle, Outcome, Stop};
use sinew_agent::event::Event;
use sinew_agent::tools::Host;
use sinew_llm::error::ErrorKind;
use sinew_llm::message::{AgentMessage, AssistantMessage, Content, Usage, UserMessage};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::assemble::{Assembly, Open};
use crate::output::{self, tell};
use crate::prompt::Prompts;
use crate::schema::Schema;

/// How long a run may take to end after a signal, and its last words to be written.
const END: Duration = Duration::from_millis(2_000);
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How long the shells of a session have to end after a signal.
const CLOSE: Duration = Duration::from_millis(150);
/// What programs that are told of the end have in any case, however long the run took to end.
const TOLD: Duration = Duration::from_millis(300);

/// What is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    /// What stands on stdout.
    pub(crate) output: Stdout,
    /// Thoughts on stderr.
    pub(crate) verbose: bool,
    /// Text of an answer only once its message is whole: stdout is no terminal.
    pub(crate) whole: bool,
    /// A snapshot of the message stands in each of its updates.
    pub(crate) partials: bool,
    /// A line for each tool on stderr.
    pub(crate) tool_lines: bool,
    /// Styles on stderr.
    pub(crate) colour: bool,
}

/// What stands on stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stdout {
    /// The text of the answer.
    Text,
    /// Events as lines of JSON.
    Events,
    /// One object at the end.
    Object,
    /// The value that a schema asks for, at the end.
    Value,
}

/// How everything ended.
struct Ending {
    code: u8,
    /// One word for programs.
    reason: &'static str,
    error: Option<String>,
    /// What a command has said, in place of an answer.
    text: Option<String>,
    /// The answer, as a schema asks for it.
    value: Option<Value>,
    session: String,
    file: Option<PathBuf>,
    /// `provider/id` of who answered last.
    model: String,
    usage: Usage,
}

/// Shows events. An error is one of stdout; it ends the run.
trait Show: Send {
    fn begin(&mut self, header: &Value) -> io::Result<()>;
    fn event(&mut self, event: &Event) -> io::Result<()>;
    fn end(&mut self) -> io::Result<()>;
    /// Everything is over.
    fn finish(&mut self, _ending: &Ending) -> io::Result<()> {
        Ok(())
    }
}

/// What is to be done.
pub(crate) struct Task {
    pub(crate) prompts: Prompts,
    /// The built-in command that the prompt is.
    pub(crate) command: Option<slash::Command>,
    /// What the last answer must be.
    pub(crate) schema: Option<Schema>,
}

/// Corrections that a model is asked for where its answer does not fit a schema.
const CORRECTIONS: usize = 2;

/// How the work of a [`Task`] ended.
struct Done {
    stop: Stop,
    /// What a command has said.
    text: Option<String>,
    /// The answer as the schema asks for it, or why it does not fit.
    value: Option<Result<Value, String>>,
}

/// Does the task and gives the exit code.
pub(crate) async fn run(assembly: &Assembly, open: Open, mut task: Task, warnings: Vec<String>, look: Look) -> u8 {
    let Open { agent, host } = open;
    for warning in warnings {
        tell(&format!("Warning: {warning}"));
    }
    let header = serde_json::to_value(agent.session().header()).unwrap_or_default();
    let mut listener = agent.subscribe();
    let mut show: Box<dyn Show> = match look.output {
        Stdout::Text => Box::new(print::Text::new(look, output::stdout())),
        Stdout::Events => Box::new(json::Lines::new(look.partials)),
        Stdout::Object => Box::new(report::Report::new(look, true)),
        Stdout::Value => Box::new(report::Report::new(look, false)),
    };
    let (lost, mut gone) = oneshot::channel();
    // On a thread of its own: a reader that is slow must not keep signals from being heard.
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
            // The run may be over already.
            let _ = lost.send(());
        }
        (written, show)
    });
    let stop = AtomicBool::new(false);
    // Heard from here on, beside the work: it may take a while before it first waits.
    let (canceller, heard) = (task.prompts.canceller(), signals());
    let signalled = tokio::spawn(async move {
        let code = heard.await;
        canceller.cancel();
        code
    });
    let (done, signal, until) = {
        let mut work = std::pin::pin!(all(assembly, &agent, &mut task, &stop));
        tokio::select! {
            // The work first: what was said is in the session before anything can end it.
            biased;
            done = &mut work => (Some(done), 0, Instant::now() + END),
            // What a job has to say waits for the next prompt, or is left when there is none.
            never = agent.attend(&host, Idle::Wait) => match never {},
            Ok(code) = signalled => {
                let until = Instant::now() + END;
                halt(&agent, &stop, work).await;
                (None, code, until.max(Instant::now() + TOLD))
            }
            Ok(()) = &mut gone => {
                halt(&agent, &stop, work).await;
                (None, 0, Instant::now() + END)
            }
        }
    };
    // A program that is told of the end must not keep the signal waiting.
    let _ = tokio::time::timeout_at(until, agent.shut_down()).await;
    if let Err(error) = agent.session().flush() {
        tell(&format!("Warning: {error}"));
    }
    let ending = ending(assembly, &agent, done, signal);
    let open_items = host.open_items();
    // The last handle: the listener reads what is left, and ends.
    agent.leave();
    let code = ending.code;
    let limit = if code >= 128 { LAST_WORDS } else { Duration::MAX };
    let shown = tokio::time::timeout(limit, shown).await;
    // Behind all that led to it.
    if let Some(text) = &ending.error {
        tell(text);
    }
    if let (0, Some(items)) = (code, open_items) {
        let items: Vec<&str> =
            items.as_array().into_iter().flatten().filter_map(|item| item["content"].as_str()).collect();
        tell(&format!("Warning: these items of the list are still open: {}", items.join("; ")));
    }
    let written = match shown {
        Ok(Ok((Ok(()), mut show))) => show.finish(&ending),
        Ok(Ok((Err(error), _))) => Err(error),
        Ok(Err(panic)) => Err(io::Error::other(panic)),
        // Nobody has read what came before it: nobody waits for the rest.
        Err(_) => Ok(()),
    };
    close(host, code).await;
    match written {
        Ok(()) => code,
        // Nobody reads any more: what was to be kept is in the session.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
        Err(error) => {
            tell(&format!("Error: write to stdout: {error}"));
            1
        }
    }
}

/// What there is to say at the end. `done` is none where `signal` or a reader that is gone ended the work.
fn ending(assembly: &Assembly, agent: &AgentSession, done: Option<Result<Done, String>>, signal: u8) -> Ending {
    let (session, file) = {
        let session = agent.session();
        (session.id().to_string(), session.path().map(Path::to_path_buf))
    };
    let usage = assembly.chooser.meter().map(|meter| meter.usage()).unwrap_or_default();
    let (code, reason, error) = match &done {
        Some(done) => last_word(done),
        None => (signal, "aborted", None),
    };
    let (text, value) = match done {
        Some(Ok(Done { text, value, .. })) => (text, value.and_then(Result::ok)),
        _ => (None, None),
    };
    Ending { code, reason, error, text, value, session, file, model: agent.model().model.key(), usage }
}

/// Ends the shells and jobs of a session. `code` is the exit code that follows.
async fn close(host: Arc<Host>, code: u8) {
    let closed = tokio::task::spawn_blocking(move || host.close());
    // Whoever sent a signal does not wait for a command that ignores it: its keeper ends it.
    let limit = if code >= 128 { CLOSE } else { Duration::MAX };
    let _ = tokio::time::timeout(limit, closed).await;
}

/// The prompt, or the command that it is, and the corrections of an answer that does not fit.
async fn all(assembly: &Assembly, agent: &AgentSession, task: &mut Task, stop: &AtomicBool) -> Result<Done, String> {
    let mut done = Done { stop: Stop::Done, text: None, value: None };
    if let Some(command) = &task.command {
        done.text = Some(command.run(assembly, agent).await?);
        return Ok(done);
    }
    while let Some(prompt) = task.prompts.next().await {
        if stop.load(Ordering::Relaxed) {
            return Ok(Done { stop: Stop::Aborted, ..done });
        }
        for warning in &prompt.warnings {
            tell(&format!("Warning: {warning}"));
        }
        if let Some(info) = &prompt.info {
            tell(info);
        }
        if prompt.quit {
            break;
        }
        if prompt.messages.is_empty() {
            continue;
        }
        let before = agent.borrow_model(prompt.model.as_deref(), prompt.thinking.as_deref()).await;
        let outcome = said(agent, prompt.messages).await;
        let outcome = match &task.schema {
            Some(schema) => fitted(assembly, agent, schema, outcome, &mut done).await,
            None => outcome,
        };
        agent.give_back_model(before);
        done.stop = outcome?.stop;
        if !matches!(done.stop, Stop::Done | Stop::OutputLimit | Stop::Queued) {
            break;
        }
    }
    Ok(done)
}

async fn said(agent: &AgentSession, messages: Vec<AgentMessage>) -> Result<Outcome, String> {
    agent.prompt(messages, None).await.map_err(|error| error.message().to_string())
}

/// Holds the last answer to a schema, and asks for another one where it does not fit.
async fn fitted(
    assembly: &Assembly,
    agent: &AgentSession,
    schema: &Schema,
    mut outcome: Result<Outcome, String>,
    done: &mut Done,
) -> Result<Outcome, String> {
    for round in 0..=CORRECTIONS {
        let ended = outcome?;
        if ended.stop != Stop::Done {
            return Ok(ended);
        }
        let answer = ended.answer.as_ref().map(AssistantMessage::text).unwrap_or_default();
        let checked = schema.check(&answer);
        let faults = checked.as_ref().err().cloned();
        done.value = Some(checked);
        let Some(faults) = faults.filter(|_| round < CORRECTIONS) else { return Ok(ended) };
        let text = format!(
            "Your last message does not fit the JSON Schema that it must fit:\n{faults}\nAnswer with the whole JSON value \
             and nothing else."
        );
        let now = assembly.clock.now();
        outcome = said(agent, vec![UserMessage { content: Content::Text(text), timestamp: now }.into()]).await;
    }
    outcome
}

/// Ends the run and waits for that, but not long.
async fn halt(agent: &AgentSession, stop: &AtomicBool, work: Pin<&mut impl Future>) {
    stop.store(true, Ordering::Relaxed);
    agent.abort();
    // What is not over by then is dropped.
    let _ = tokio::time::timeout(END, work).await;
}

/// The exit code of a run, a word for programs, and why it ended where that is worth a line.
fn last_word(done: &Result<Done, String>) -> (u8, &'static str, Option<String>) {
    let (code, reason, text) = match done.as_ref().map(|done| (&done.stop, &done.value)) {
        Ok((Stop::Done | Stop::Queued, Some(Err(faults)))) => {
            (1, "schema_mismatch", format!("Error: the answer does not fit --output-schema:\n{faults}"))
        }
        Ok((Stop::Done | Stop::Queued, _)) => return (0, "done", None),
        Ok((Stop::OutputLimit, _)) => {
            (0, "output_limit", "Warning: Output limit reached (--max-tokens allows more)".into())
        }
        Ok((Stop::CallCut, _)) => {
            let text = "Error: Output limit reached: the call of a tool was cut off, and so were those with which the \
                        model tried again. Ask for smaller steps, or raise --max-tokens or the model's maxTokens.";
            (1, "output_limit", text.into())
        }
        Ok((Stop::TurnLimit(turns), _)) => {
            (4, "turn_limit", format!("Error: Stopped after {turns} turns. Send \"continue\" to go on."))
        }
        Ok((Stop::CostLimit { spent, limit }, _)) => {
            let text =
                format!("Error: Stopped: ${spent:.4} was spent, and --max-cost allows ${limit}. --continue goes on.");
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

/// Listens at once; gives the exit code of the first signal that asks for the end.
pub(crate) fn signals() -> impl Future<Output = u8> {
    use tokio::signal::unix::{SignalKind, signal};
    let wait = |kind: SignalKind| {
        let stream = signal(kind);
        async move {
            match stream {
                Ok(mut stream) => stream.recv().await,
                // Without a handler the signal ends the process at once.
                Err(_) => std::future::pending().await,
            }
        }
    };
    let (interrupt, terminate, hangup) =
        (wait(SignalKind::interrupt()), wait(SignalKind::terminate()), wait(SignalKind::hangup()));
    async move {
        tokio::select! {
            _ = interrupt => 130,
            _ = terminate => 143,
            _ = hangup => 143,
        }
    }
}
