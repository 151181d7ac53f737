//! `bash`: runs commands in the session's shell, in a terminal, or as background jobs.

mod guard;
mod intercept;
pub(crate) mod outside;
mod user;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use sinew::shell::{RunOptions, execute_shell};

use super::spec::{Outcome, PLAIN, Run, Spec, always};
use super::{Host, HostOptions, arguments, paths};
use crate::semantics::{Effects, OutputView, Presentation, Semantics, Subject, ToolKind, text};
use crate::shell::command::{Command, End, Start, Work};
use crate::shell::output::Output;
use crate::shell::session::State;
use crate::shell::{environment, session, terminal};
use crate::shells::ShellOwner;
use crate::tool::cancelled;
use crate::tool::{Call, Concurrency, ToolError, ToolOutput};

pub(super) static SPEC: Spec = Spec {
    name: "bash",
    description: "Run a command in the session's bash: variables and directory carry over, stdin is empty. Shows the \
                  last 2,000 lines or 50 KB; all of it is kept as an artifact.",
    parameters,
    guidelines: &["Use bash for programs: builds, tests, git."],
    // Later calls depend on its writes, and earlier calls must not see them.
    concurrency: Concurrency::Exclusive,
    flags: PLAIN,
    semantics: Semantics {
        kind: ToolKind::Execute,
        effects: Effects { runs_programs: true, ..Effects::NONE },
        headline: "command",
        subjects,
        presentation: Presentation { verb: "Runs", output: OutputView::Terminal },
        foreign_names: &["Bash"],
        ..Semantics::UNKNOWN
    },
    offered: always,
    reject_early: None,
    preview: None,
    run: Run::Future(|host, call| Box::pin(run(host, call))),
};

/// The allowed time limits in seconds.
const RANGE: (f64, f64) = (1.0, 3_600.0);

fn subjects(arguments: &Value) -> Vec<Subject> {
    let env = arguments.get("env").and_then(Value::as_object).into_iter().flatten();
    let value = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_string);
    vec![Subject::Command {
        command: text(arguments, "command").unwrap_or_default().to_string(),
        cwd: text(arguments, "cwd").map(str::to_string),
        env: env.map(|(name, text)| (name.clone(), value(text))).collect(),
    }]
}

fn parameters(options: &HostOptions) -> Value {
    let timeout = format!("seconds, default: {}, at most 3600", options.settings.bash_timeout_seconds);
    let mut schema = json!({
        "type": "object",
        "properties": {
            "command": {"type": "string"},
            "timeout": {"type": "number", "description": timeout},
            "cwd": {"type": "string", "description": "for this command alone"},
            "env": {"type": "object", "additionalProperties": {"type": "string"}},
            "head": {"type": "integer", "minimum": 1, "description": "show the first lines only"},
            "tail": {"type": "integer", "minimum": 1, "description": "show the last lines only"},
            "pty": {"type": "boolean", "description": "on a terminal where the user can type, if there is one"},
        },
        "required": ["command"],
        "additionalProperties": false,
    });
    if options.settings.jobs {
        let text = "start a job (tool job) and return at once. It runs in a copy of the shell: it has its variables \
                    and directory, and changes none. No timeout but a given one; jobs end with the session";
        schema["properties"]["background"] = json!({"type": "boolean", "description": text});
    }
    schema
}

#[derive(Deserialize)]
struct Arguments {
    command: String,
    timeout: Option<f64>,
    cwd: Option<String>,
    #[serde(default)]
    env: Map<String, Value>,
    head: Option<usize>,
    tail: Option<usize>,
    #[serde(default)]
    pty: bool,
    #[serde(default)]
    background: bool,
}

async fn run(host: Arc<Host>, call: Call) -> Outcome {
    let arguments: Arguments = arguments::parse(&call)?;
    let options = &host.options;
    let settings = &options.settings;
    let env = variables(&arguments.env)?;
    let verdict = guard::check(&settings.bash_guard, &arguments.command);
    if let Some(rule) = verdict.rule {
        let command = &arguments.command;
        return Err(ToolError::Failed(format!(
            "Blocked by the command guard ({rule}): {command}. Ask the user to run it, or to allow it in settings."
        )));
    }
    let active = |tool: &str| match &settings.active {
        Some(active) => active.iter().any(|name| name == tool),
        None => super::names().any(|name| name == tool),
    };
    let (better, warnings) = intercept::better(&settings.bash_interceptor, &arguments.command, active);
    if let Some(tool) = better {
        let text = format!("Blocked: use the {tool} tool instead.\nOriginal command: {}", arguments.command);
        return Ok(ToolOutput::error(text).with_details(json!({"suggestedTool": tool})));
    }
    let mut notes: Vec<String> = verdict.warnings.into_iter().chain(warnings).collect();
    // The calls of one answer arrive here in order.
    let turn = tokio::select! {
        biased;
        () = cancelled(&call.cancel) => return Err(ToolError::Aborted),
        turn = host.shell.turn() => turn,
    };
    let cwd = arguments.cwd.as_deref().map(|given| paths::resolve(&host, &call, given)).transpose()?;
    if let Some(cwd) = &cwd {
        check_folder(cwd)?;
    }
    let command = match &settings.shell_command_prefix {
        Some(prefix) => format!("{prefix} {}", arguments.command),
        None => arguments.command.clone(),
    };
    let run = RunOptions { command, cwd: cwd.clone(), env, stdin: None };
    compile_sandbox(&host).await?;
    let background = arguments.background && settings.jobs;
    let seconds = seconds(arguments.timeout, settings.bash_timeout_seconds, background, &mut notes);
    let console = options.console.clone().filter(|_| arguments.pty && !background);
    let threshold = (settings.jobs && settings.auto_background_ms > 0 && console.is_none() && !background)
        .then(|| Duration::from_millis(settings.auto_background_ms));
    if background {
        host.jobs.admits()?;
    }
    let state = match background || threshold.is_some() || console.is_some() {
        true => saved(&host).await?,
        false => None,
    };
    let in_session = !background && console.is_none();
    let work = if let Some(console) = console {
        let confinement = host.shell.confinement();
        terminal::work(options, console, run.clone(), host.shell.folder(), state.clone(), confinement.as_deref())?
    } else if background {
        of_its_own(&host, run.clone(), state.clone())?
    } else {
        in_shell(&host, run.clone())?
    };
    let running = Command::start(Start {
        command: arguments.command.clone(),
        seconds,
        head: arguments.head,
        tail: arguments.tail,
        output: Output::new(Arc::clone(&options.artifacts), SPEC.name),
        updates: call.updates.clone(),
        after: invalidation(&host, &run),
        work,
    })?;
    if background {
        let id = host.jobs.add(&running)?;
        let text = std::iter::once(format!("Started job {id}.")).chain(notes.iter().map(|note| format!("[{note}]")));
        let text: Vec<String> = text.collect();
        return Ok(ToolOutput::text(text.join("\n")).with_details(json!({"jobId": id})));
    }
    let cancel_handle = running.cancel_handle();
    let hook = call.cancel.on_cancel(move || cancel_handle.cancel());
    if let Some(threshold) = threshold
        && tokio::time::timeout(threshold, running.ended()).await.is_err()
        && let Ok(id) = host.jobs.add(&running)
    {
        // From here on, the end of the agent's run does not terminate the command.
        drop(hook);
        host.shell.give_away(state);
        let seconds = threshold.as_secs_f64();
        let text = format!(
            "[Still running after {seconds} s: it continues as job {id}. The next command runs in a new shell.]"
        );
        return Ok(ToolOutput::text(joined(running.glance(), &[text])).with_details(json!({"jobId": id})));
    }
    let end = running.ended().await;
    if in_session && let Some(why) = settle(&host, end, &run) {
        notes.push(format!(
            "The next command runs in a new shell, without the variables and the directory of this one: {why}"
        ));
    }
    drop((turn, hook));
    let refused = host.shell.confinement().and_then(|confinement| outside::find(&confinement, end));
    if let Some(refused) = refused {
        if refused.may_run_outside(&host, &call).await {
            let start = Start {
                command: arguments.command,
                seconds,
                head: arguments.head,
                tail: arguments.tail,
                output: Output::new(Arc::clone(&options.artifacts), SPEC.name),
                updates: call.updates.clone(),
                after: invalidation(&host, &run),
                work: outside::work(&host, run)?,
            };
            return run_outside(start, &call, &refused.note).await;
        }
        notes.push(refused.advice());
    }
    report(&running, end, &notes)
}

/// Compiles the sandbox of the session, away from the threads that serve other calls.
async fn compile_sandbox(host: &Host) -> Result<(), ToolError> {
    let Some(confinement) = host.shell.confinement() else { return Ok(()) };
    let compiled = tokio::task::spawn_blocking(move || confinement.of_program().map(drop)).await;
    compiled.map_err(|panic| ToolError::Failed(format!("Failed to create the sandbox: {panic}")))?
}

/// Runs a command again that its sandbox refused.
async fn run_outside(start: Start, call: &Call, refused: &str) -> Outcome {
    let running = Command::start(start)?;
    let cancel_handle = running.cancel_handle();
    let _hook = call.cancel.on_cancel(move || cancel_handle.cancel());
    let end = running.ended().await;
    report(&running, end, &[format!("{refused}. The user allowed the command to run again outside the sandbox")])
}

/// The result of a command that has ended, with notes below its output.
fn report(running: &Command, end: &End, notes: &[String]) -> Outcome {
    if let Err(error) = &end.result {
        return Err(error.clone());
    }
    let ending = running.ending();
    let mut text = end.shown.text.clone();
    if text.trim().is_empty() && ending.is_none() {
        text = "(no output)".into();
    }
    let lines: Vec<String> = ending.iter().cloned().chain(notes.iter().map(|note| format!("[{note}]"))).collect();
    let output = ToolOutput::text(joined(text, &lines)).with_details(running.details());
    Ok(ToolOutput { is_error: ending.is_some(), ..output })
}

/// Runs a command in the shell of the session. The caller has the turn.
fn in_shell(host: &Host, run: RunOptions) -> Result<Work, ToolError> {
    host.options.shells.used(&owner(host));
    let shell = host.shell.open()?;
    Ok(Box::new(move |running, cancel| Ok(shell.run(&run, cancel, &mut |chunk| running.push(&chunk))?)))
}

/// Records the state of the session's shell after a command. Returns the reason if its state was lost.
fn settle(host: &Host, end: &End, run: &RunOptions) -> Option<&'static str> {
    host.options.shells.used(&owner(host));
    let result = end.result.as_ref().ok()?;
    // A working directory for one command does not change that of the shell.
    host.shell.ended(result, run.cwd.is_none());
    if let Some(folder) = result.working_dir.as_deref().filter(|_| !environment::only_reads(&run.command)) {
        // The command may have changed its directory before it wrote.
        host.options.searches.sinew().cache.invalidate(folder);
    }
    result.state_lost
}

fn owner(host: &Host) -> Arc<dyn ShellOwner> {
    Arc::clone(&host.shell) as Arc<dyn ShellOwner>
}

/// Joins a text and the lines after it.
fn joined(mut text: String, lines: &[String]) -> String {
    for line in lines {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(line);
    }
    text
}

/// Returns the time limit of a command, and a note if it differs from the requested one.
fn seconds(asked: Option<f64>, default: u64, background: bool, notes: &mut Vec<String>) -> Option<f64> {
    let asked = asked.filter(|seconds| seconds.is_finite());
    if background && asked.is_none() {
        return None;
    }
    let asked = asked.unwrap_or_else(|| f64::from(u32::try_from(default).unwrap_or(u32::MAX)));
    let seconds = asked.clamp(RANGE.0, RANGE.1);
    if (seconds - asked).abs() > f64::EPSILON {
        notes.push(format!("The timeout of {asked} s was out of range and was changed to {seconds} s"));
    }
    Some(seconds)
}

/// Saves the state of the shell, so that another process can restore it.
async fn saved(host: &Arc<Host>) -> Result<Option<State>, ToolError> {
    let host = Arc::clone(host);
    let saved = tokio::task::spawn_blocking(move || host.shell.save()).await;
    saved.map_err(|lost| ToolError::Failed(format!("Failed to save the state of the shell: {lost}")))
}

/// Runs a command in a separate shell; all its processes are terminated with it.
fn of_its_own(host: &Host, mut run: RunOptions, state: Option<State>) -> Result<Work, ToolError> {
    run.command = session::carried(state.as_ref(), &run.env, &run.command);
    let confinement = host.shell.confinement();
    let set = session::setup(&host.options, host.shell.folder().as_deref(), None, confinement.as_deref())?;
    let supervisor = host.options.supervisor.clone();
    Ok(Box::new(move |running, cancel| {
        // Keeps the file until it was read.
        let _state = state;
        Ok(execute_shell(&supervisor, &set, &run, cancel, &mut |chunk| running.push(&chunk))?)
    }))
}

/// Invalidates the scans of directories that a command may have changed.
fn invalidation(host: &Host, run: &RunOptions) -> Box<dyn FnOnce() + Send> {
    if environment::only_reads(&run.command) {
        return Box::new(|| {});
    }
    let (sinew, shell) = (Arc::clone(host.options.searches.sinew()), Arc::clone(&host.shell));
    let folders = [Some(host.options.cwd.clone()), run.cwd.clone()];
    Box::new(move || {
        for folder in folders.into_iter().chain([shell.folder()]).flatten() {
            sinew.cache.invalidate(&folder);
        }
    })
}

fn variables(env: &Map<String, Value>) -> Result<Vec<(String, String)>, ToolError> {
    let pairs = env.iter().map(|(name, value)| match environment::is_variable(name) {
        true => Ok((name.clone(), value.as_str().map_or_else(|| value.to_string(), String::from))),
        false => Err(ToolError::Failed(format!("Invalid environment variable name: {name}"))),
    });
    pairs.collect()
}

fn check_folder(folder: &Path) -> Result<(), ToolError> {
    match std::fs::metadata(folder) {
        Ok(facts) if facts.is_dir() => Ok(()),
        Ok(_) => Err(ToolError::Failed(format!("Working directory is not a directory: {}", folder.display()))),
        Err(_) => Err(ToolError::Failed(format!("Working directory does not exist: {}", folder.display()))),
    }
}
