//! Runs prompts one after another and shows their events, until they are done, a signal comes or nobody reads.

mod json;
mod print;
pub(crate) mod rpc;

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use sinew_agent::agent::{AgentSession, Idle, Outcome, Stop};
use sinew_agent::event::Event;
use sinew_agent::tools::Host;
use sinew_llm::error::ErrorKind;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::output::{self, tell};
use crate::prompt::Prompts;

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
    /// Events as lines of JSON, in place of the answer's text.
    pub(crate) json: bool,
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

/// Shows events. An error is one of stdout; it ends the run.
trait Show: Send {
    fn begin(&mut self, header: &Value) -> io::Result<()>;
    fn event(&mut self, event: &Event) -> io::Result<()>;
    fn end(&mut self) -> io::Result<()>;
}

/// Runs the prompts and gives the exit code.
pub(crate) async fn run(
    agent: AgentSession,
    host: &Host,
    mut prompts: Prompts,
    warnings: Vec<String>,
    look: Look,
) -> u8 {
    for warning in warnings {
        tell(&format!("Warning: {warning}"));
    }
    let header = serde_json::to_value(agent.session().header()).unwrap_or_default();
    let mut listener = agent.subscribe();
    let mut show: Box<dyn Show> = if look.json {
        Box::new(json::Lines::new(look.partials))
    } else {
        Box::new(print::Text::new(look, output::stdout()))
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
        written
    });
    let stop = AtomicBool::new(false);
    // Heard from here on, beside the work: it may take a while before it first waits.
    let (canceller, heard) = (prompts.canceller(), signals());
    let signalled = tokio::spawn(async move {
        let code = heard.await;
        canceller.cancel();
        code
    });
    let (code, last, until) = {
        let mut work = std::pin::pin!(all(&agent, &mut prompts, &stop));
        tokio::select! {
            // The work first: what was said is in the session before anything can end it.
            biased;
            ended = &mut work => {
                let (code, last) = last_word(&ended);
                (code, last, Instant::now() + END)
            }
            // What a job has to say waits for the next prompt, or is left when there is none.
            never = agent.attend(host, Idle::Wait) => match never {},
            Ok(code) = signalled => {
                let until = Instant::now() + END;
                halt(&agent, &stop, work).await;
                (code, None, until.max(Instant::now() + TOLD))
            }
            Ok(()) = &mut gone => {
                halt(&agent, &stop, work).await;
                (0, None, Instant::now() + END)
            }
        }
    };
    // A program that is told of the end must not keep the signal waiting.
    let _ = tokio::time::timeout_at(until, agent.shut_down()).await;
    if let Err(error) = agent.session().flush() {
        tell(&format!("Warning: {error}"));
    }
    // The last handle: the listener reads what is left, and ends.
    agent.leave();
    let limit = if code >= 128 { LAST_WORDS } else { Duration::MAX };
    let shown = tokio::time::timeout(limit, shown).await;
    // Behind all that led to it.
    if let Some(text) = last {
        tell(&text);
    }
    if let (0, Some(items)) = (code, host.open_items()) {
        let items: Vec<&str> =
            items.as_array().into_iter().flatten().filter_map(|item| item["content"].as_str()).collect();
        tell(&format!("Warning: these items of the list are still open: {}", items.join("; ")));
    }
    match shown {
        Ok(Ok(Err(error))) if error.kind() != io::ErrorKind::BrokenPipe => {
            tell(&format!("Error: write to stdout: {error}"));
            1
        }
        // Nobody reads any more: what was to be kept is in the session.
        Ok(Ok(Err(_))) => 0,
        Ok(Err(panic)) => {
            tell(&format!("Error: {panic}"));
            1
        }
        Ok(Ok(Ok(()))) | Err(_) => code,
    }
}

/// Ends the shells and jobs of a session. `code` is the exit code that follows.
pub(crate) async fn close(host: Arc<Host>, code: u8) {
    let closed = tokio::task::spawn_blocking(move || host.close());
    // Whoever sent a signal does not wait for a command that ignores it: its keeper ends it.
    let limit = if code >= 128 { CLOSE } else { Duration::MAX };
    let _ = tokio::time::timeout(limit, closed).await;
}

/// All prompts; the first one that does not end well is the last.
async fn all(agent: &AgentSession, prompts: &mut Prompts, stop: &AtomicBool) -> Result<Stop, String> {
    let mut last = Stop::Done;
    while let Some(prompt) = prompts.next().await {
        if stop.load(Ordering::Relaxed) {
            return Ok(Stop::Aborted);
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
        let outcome = agent.prompt(prompt.messages, None).await;
        agent.give_back_model(before);
        let outcome: Outcome = outcome.map_err(|error| error.message().to_string())?;
        last = outcome.stop;
        if !matches!(last, Stop::Done | Stop::OutputLimit | Stop::Queued) {
            break;
        }
    }
    Ok(last)
}

/// Ends the run and waits for that, but not long.
async fn halt(agent: &AgentSession, stop: &AtomicBool, work: Pin<&mut impl Future<Output = Result<Stop, String>>>) {
    stop.store(true, Ordering::Relaxed);
    agent.abort();
    // What is not over by then is dropped.
    let _ = tokio::time::timeout(END, work).await;
}

/// The exit code of a run, and why it ended where that is worth a word.
fn last_word(outcome: &Result<Stop, String>) -> (u8, Option<String>) {
    let (code, text) = match outcome {
        Ok(Stop::Done | Stop::Queued) => return (0, None),
        Ok(Stop::OutputLimit) => (0, "Warning: Output limit reached (--max-tokens allows more)".into()),
        Ok(Stop::CallCut) => {
            let text = "Error: Output limit reached: the call of a tool was cut off, and so were those with which the \
                        model tried again. Ask for smaller steps, or raise --max-tokens or the model's maxTokens.";
            (1, text.into())
        }
        Ok(Stop::TurnLimit(turns)) => (4, format!("Error: Stopped after {turns} turns. Send \"continue\" to go on.")),
        Ok(Stop::Aborted) => (1, "Error: aborted".into()),
        Ok(Stop::Failed(error)) => {
            (if error.kind == ErrorKind::Config { 3 } else { 1 }, format!("Error: {}", error.message))
        }
        Err(reason) => (1, format!("Error: {reason}")),
    };
    (code, Some(text))
}

/// Listens at once; gives the exit code of the first signal that asks for the end.
fn signals() -> impl Future<Output = u8> {
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
