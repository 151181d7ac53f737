//! `bash`: commands in the session's own shell.

mod environment;
mod guard;
mod intercept;
mod output;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Map, Value, json};
use sinew::shell::{RunOptions, RunResult, Shell, ShellOptions};

use super::spec::{Outcome, PLAIN, Run, Spec, always};
use super::{Host, arguments, paths};
use crate::tool::{Call, Concurrency, ToolError, ToolOutput};
use output::Output;

pub(super) static SPEC: Spec = Spec {
    name: "bash",
    description: "Run a command in the session's bash: variables and directory carry over, stdin is empty. Output is \
                  cut to its end; the rest is kept as an artifact.",
    parameters,
    guidelines: &["Use bash for programs: builds, tests, git."],
    concurrency: Concurrency::Shared,
    flags: PLAIN,
    intent: "command",
    offered: always,
    run: Run::Blocking(run),
};

/// The range of the seconds that a command may take.
const RANGE: (f64, f64) = (1.0, 3_600.0);
/// Output up to this size is reported at once, more of it at most this often.
const SMALL: u64 = 4 * 1024;
const UPDATE_EVERY: Duration = Duration::from_millis(100);

fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "command": {"type": "string"},
            "timeout": {"type": "number", "description": "seconds"},
            "cwd": {"type": "string", "description": "for this command alone"},
            "env": {"type": "object", "additionalProperties": {"type": "string"}},
            "head": {"type": "integer", "minimum": 1, "description": "show the first lines only"},
            "tail": {"type": "integer", "minimum": 1, "description": "show the last lines only"},
        },
        "required": ["command"],
        "additionalProperties": false,
    })
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
}

fn run(host: &Host, call: &Call) -> Outcome {
    let arguments: Arguments = arguments::parse(call)?;
    let settings = &host.options.settings;
    let env = variables(&arguments.env)?;
    let (mut command, mut cwd) = (arguments.command.as_str(), None);
    if let Some(given) = &arguments.cwd {
        cwd = Some(paths::resolve(host, call, given));
    } else if let Some((folder, rest)) = leading_cd(command) {
        // The shell may be elsewhere than the session.
        let from = host.shell_folder().unwrap_or_else(|| call.cwd.clone());
        let call = Call { cwd: from, ..shallow(call) };
        (cwd, command) = (Some(paths::resolve(host, &call, folder)), rest);
    }
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
    if let Some(cwd) = &cwd {
        check_folder(cwd)?;
    }
    let asked = arguments
        .timeout
        .filter(|seconds| seconds.is_finite())
        .unwrap_or_else(|| f64::from(u32::try_from(settings.bash_timeout_seconds).unwrap_or(u32::MAX)));
    let seconds = asked.clamp(RANGE.0, RANGE.1);
    if (seconds - asked).abs() > f64::EPSILON {
        notes.push(format!("The timeout of {asked} s was set to {seconds} s"));
    }
    let command = match &settings.shell_command_prefix {
        Some(prefix) => format!("{prefix} {command}"),
        None => command.to_string(),
    };
    let started = Instant::now();
    let cancel = call.cancel.clone().with_timeout(Duration::from_secs_f64(seconds));
    let mut output = Output::new(&host.options.artifacts, SPEC.name);
    let mut reported: Option<Instant> = None;
    let run = RunOptions { command, cwd: cwd.clone(), env, stdin: None };
    let result = host.shell().run(&run, &cancel, &mut |chunk| {
        output.push(&chunk);
        if output.total() < SMALL || reported.is_none_or(|last| last.elapsed() >= UPDATE_EVERY) {
            reported = Some(Instant::now());
            call.updates.send(ToolOutput::text(output.glance()));
        }
        ControlFlow::Continue(())
    });
    if !environment::only_reads(&run.command) {
        let here = [Some(call.cwd.clone()), cwd, host.shell_folder()];
        for folder in here.into_iter().flatten() {
            host.options.sinew.cache.invalidate(&folder);
        }
    }
    let result = result.map_err(ToolError::from)?;
    if result.state_lost.is_some() {
        host.set_shell_folder(None);
    } else if run.cwd.is_none() {
        // A folder for one command does not move the shell.
        host.set_shell_folder(result.working_dir.clone());
    }
    if let Some(why) = result.state_lost {
        notes.push(format!("A new shell begins with the next command, without variables and directory: {why}"));
    }
    let shown = output.finish(arguments.head, arguments.tail);
    let mut details = json!({
        "cancelled": result.cancelled,
        "timedOut": result.timed_out,
        "durationMs": u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
    });
    if let Some(code) = result.exit_code {
        details["exitCode"] = json!(code);
    }
    if let Some(truncation) = shown.meta {
        details["meta"] = json!({"truncation": truncation});
    }
    let ending = ending(&result, seconds);
    let mut text = shown.text;
    if text.trim().is_empty() && ending.is_none() {
        text = "(no output)".into();
    }
    for line in ending.iter().cloned().chain(notes.iter().map(|note| format!("[{note}]"))) {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&line);
    }
    Ok(ToolOutput { is_error: ending.is_some(), ..ToolOutput::text(text).with_details(details) })
}

/// How a command ended, unless it ended well.
fn ending(result: &RunResult, seconds: f64) -> Option<String> {
    if result.timed_out {
        return Some(format!("Command timed out after {seconds} seconds"));
    }
    if result.cancelled {
        return Some("Command aborted".into());
    }
    match (result.exit_code, result.signal) {
        (Some(0), _) => None,
        (Some(code), _) => Some(format!("Command exited with code {code}")),
        (None, Some(signal)) => Some(format!("Command killed by signal {}", number(signal))),
        (None, None) => Some("Command ended without an exit status".into()),
    }
}

/// The number of a signal and its name.
fn number(signal: &str) -> String {
    const SIGNALS: [(&str, u8); 12] = [
        ("SIGHUP", 1),
        ("SIGINT", 2),
        ("SIGQUIT", 3),
        ("SIGILL", 4),
        ("SIGABRT", 6),
        ("SIGBUS", 7),
        ("SIGFPE", 8),
        ("SIGKILL", 9),
        ("SIGSEGV", 11),
        ("SIGPIPE", 13),
        ("SIGALRM", 14),
        ("SIGTERM", 15),
    ];
    let known = SIGNALS.iter().find(|(name, _)| *name == signal);
    known.map_or_else(|| signal.to_string(), |(name, number)| format!("{number} ({name})"))
}

fn variables(env: &Map<String, Value>) -> Result<Vec<(String, String)>, ToolError> {
    let pairs = env.iter().map(|(name, value)| {
        let mut bytes = name.bytes();
        let first = bytes.next().is_some_and(|byte| byte == b'_' || byte.is_ascii_alphabetic());
        if !first || !bytes.all(|byte| byte == b'_' || byte.is_ascii_alphanumeric()) {
            return Err(ToolError::Failed(format!("Invalid environment variable name: {name}")));
        }
        Ok((name.clone(), value.as_str().map_or_else(|| value.to_string(), String::from)))
    });
    pairs.collect()
}

/// `cd <plain word> && <rest>`
fn leading_cd(command: &str) -> Option<(&str, &str)> {
    let (folder, rest) = command.trim_start().strip_prefix("cd ")?.split_once("&&")?;
    let (folder, rest) = (folder.trim(), rest.trim_start());
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_./~+@-".contains(&byte);
    (!folder.is_empty() && !folder.starts_with('-') && folder.bytes().all(plain) && !rest.is_empty())
        .then_some((folder, rest))
}

fn check_folder(folder: &Path) -> Result<(), ToolError> {
    match std::fs::metadata(folder) {
        Ok(facts) if facts.is_dir() => Ok(()),
        Ok(_) => Err(ToolError::Failed(format!("Working directory is not a directory: {}", folder.display()))),
        Err(_) => Err(ToolError::Failed(format!("Working directory does not exist: {}", folder.display()))),
    }
}

/// What of a call says where it is.
fn shallow(call: &Call) -> Call {
    Call {
        id: call.id.clone(),
        arguments: Value::Null,
        cwd: call.cwd.clone(),
        session: call.session.clone(),
        cancel: call.cancel.clone(),
        updates: call.updates.clone(),
    }
}

impl Host {
    /// The shell of the session; nothing is started before its first command.
    fn shell(&self) -> &Shell {
        self.shell.get_or_init(|| {
            let options = &self.options;
            Shell::new(
                options.companion.clone(),
                ShellOptions {
                    env: environment::of_commands(options),
                    cwd: Some(options.cwd.clone()),
                    snapshot: options.settings.shell_snapshot.clone(),
                    engine: options.settings.engine,
                },
            )
        })
    }

    /// Where the shell was when its last command ended.
    fn shell_folder(&self) -> Option<PathBuf> {
        self.shell_folder.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    fn set_shell_folder(&self, folder: Option<PathBuf>) {
        *self.shell_folder.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = folder;
    }
}
