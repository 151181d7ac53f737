//! Implements commands that need no agent.

mod config;
mod doctor;
mod export;
mod index;
pub(crate) mod login;
mod models;
mod sessions;
mod undo;

use crate::args::Args;
use crate::failure::Failure;
use crate::startup::Startup;

/// Runs the command that the flags or words name, and returns its exit code; `None` if the words are a prompt. Commands
/// that depend on the settings print `warnings` of the start.
///
/// # Errors
/// Returns an error if the command is invalid, or if it fails.
pub(crate) fn run(startup: &Startup, warnings: &[String]) -> Result<Option<u8>, Failure> {
    let words: Vec<&str> = startup.args.words.iter().map(String::as_str).collect();
    let args = &startup.args;
    if let Some(filter) = &args.output.list_models {
        return models::list(startup, warnings, filter).map(Some);
    }
    if let Some(source) = &args.output.export {
        return export::run(startup, warnings, source).map(Some);
    }
    if args.output.print {
        return Ok(None);
    }
    match words[..] {
        ["sessions", ref rest @ ..] => sessions::run(startup, rest),
        ["index", ref rest @ ..] => index::run(startup, rest),
        ["doctor"] => doctor::run(startup, warnings).map(Some),
        ["undo", ref rest @ ..] => undo::run(startup, warnings, rest),
        ["config", ref rest @ ..] => config::run(startup, warnings, rest),
        [command @ ("login" | "logout"), ref rest @ ..] => login::run(startup, warnings, command, rest).map(Some),
        ["mcp", ref rest @ ..] => crate::mcp::run(startup, warnings, rest).map(Some),
        ["completions"] => Err(Failure::usage("sinew completions needs a shell: bash, zsh or fish")),
        ["completions", shell] => completions(shell).map(Some),
        ["help", ref command @ ..] => crate::output::print(&help_of(command.first().copied())).map(Some),
        ["version"] => crate::output::print(crate::VERSION).map(Some),
        ["man"] => crate::output::print(&crate::args::man()).map(Some),
        ["plugin", "new", ..] => Err(unavailable("plugin")),
        _ => misspelt(&words).map_or(Ok(None), |near| {
            let typed = words.join(" ");
            Err(Failure::usage(format!(
                "sinew {typed}: unknown command; did you mean sinew {near}? Use -p to send a message"
            )))
        }),
    }
}

/// Returns the command that a misspelt one probably means: a single word that is similar to a command, or one that is
/// followed by a subcommand of it. Returns `None` for a sentence.
fn misspelt(words: &[&str]) -> Option<&'static str> {
    let (first, rest) = words.split_first()?;
    if first.starts_with('/') {
        return None;
    }
    let edits = |name: &str| strsim::osa_distance(&first.to_lowercase(), name);
    let (near, follows) = crate::args::COMMANDS.iter().min_by_key(|(name, _)| edits(name))?;
    let is_near = edits(near) <= near.len() / 3 && first.chars().count() > 2;
    let is_command = rest.is_empty() || rest.first().is_some_and(|word| follows.contains(word));
    (is_near && is_command).then_some(near)
}

fn completions(shell: &str) -> Result<u8, Failure> {
    let script = crate::args::completions(shell);
    let script = script.ok_or_else(|| {
        Failure::usage(format!("sinew completions {shell}: use bash, zsh or fish. Use -p to send a message"))
    })?;
    crate::output::print(&script)
}

fn unavailable(command: &str) -> Failure {
    Failure::usage(format!("`sinew {command}` is not available yet in this version"))
}

/// Returns the text of `--help`: that of a command if one is named.
pub(crate) fn help(args: &Args) -> String {
    help_of(args.words.first().map(String::as_str))
}

fn help_of(command: Option<&str>) -> String {
    match command {
        Some("sessions") => sessions::HELP.to_string(),
        Some("index") => index::HELP.to_string(),
        Some("undo") => undo::HELP.to_string(),
        Some("config") => config::HELP.to_string(),
        Some("doctor") => doctor::HELP.to_string(),
        Some("mcp") => crate::mcp::HELP.to_string(),
        Some("login" | "logout") => login::HELP.to_string(),
        _ => crate::args::help(),
    }
}
