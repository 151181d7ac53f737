//! Implements commands that need no agent.

mod config;
mod doctor;
mod export;
mod index;
pub(crate) mod login;
mod models;
mod sessions;
mod undo;

use sinew_control::actions::commands::near;
use sinew_control::args::{Args, COMMANDS};
use sinew_control::failure::Failure;
use sinew_control::startup::Startup;

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
    check_spelling(&words)?;
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
        ["help", ref command @ ..] => sinew_control::output::print(&help_of(command.first().copied())).map(Some),
        ["version"] => sinew_control::output::print(crate::VERSION).map(Some),
        ["man"] => sinew_control::output::print(&sinew_control::args::man()).map(Some),
        ["plugin", "new", ..] => Err(unavailable("plugin")),
        _ => Ok(None),
    }
}

/// Refuses words that are probably a misspelt command, so that they are not sent to a model.
///
/// # Errors
/// Returns an error that names the command that is probably meant.
fn check_spelling(words: &[&str]) -> Result<(), Failure> {
    misspelt(words).map_or(Ok(()), |near| {
        let typed = words.join(" ");
        let text = format!("sinew {typed}: unknown command; did you mean sinew {near}? Use -p to send a message");
        Err(Failure::usage(text))
    })
}

/// Subcommands as users of other programs type them.
const OTHER_NAMES: [(&str, &str); 9] = [
    ("remove", "rm"),
    ("delete", "rm"),
    ("del", "rm"),
    ("show", "get"),
    ("rm", "unset"),
    ("remove", "unset"),
    ("delete", "unset"),
    ("reset", "unset"),
    ("ls", "list"),
];
/// Commands of other programs, with the flag or command that does the same here.
const OTHER_COMMANDS: [(&str, &str); 7] = [
    ("models", "--list-models"),
    ("model", "--list-models"),
    ("export", "--export FILE"),
    ("resume", "--resume"),
    ("continue", "--continue"),
    ("redo", "undo redo"),
    ("trust", "--trust"),
];

/// Returns the command that a misspelt one probably means. Returns `None` for a sentence.
fn misspelt(words: &[&str]) -> Option<String> {
    let (first, rest) = words.split_first().filter(|(first, _)| !first.starts_with('/'))?;
    let commands: Vec<&str> = COMMANDS.iter().map(|(name, _)| *name).collect();
    if let Some((command, follows)) = COMMANDS.iter().find(|(name, _)| name == first) {
        let (second, rest) = rest.split_first()?;
        let other = OTHER_NAMES.iter().find(|(other, name)| other == second && follows.contains(name));
        let near = other.map(|(_, name)| *name).or_else(|| near(second, follows));
        return near.filter(|_| rest.len() <= 2 && !follows.contains(second)).map(|near| format!("{command} {near}"));
    }
    if let [] | ["list" | "ls"] = rest {
        let names: Vec<&str> = OTHER_COMMANDS.iter().map(|(name, _)| *name).collect();
        let name = names.iter().find(|name| *name == first).copied();
        let is_close = |name: &&str| first.starts_with(&name[..1]) && near(first, &commands).is_none();
        let name = name.or_else(|| near(first, &names).filter(is_close));
        if let Some((_, way)) = OTHER_COMMANDS.iter().find(|(other, _)| Some(*other) == name) {
            return Some(way.to_string());
        }
    }
    let near = near(first, &commands).filter(|_| first.len() > 2)?;
    let follows = COMMANDS.iter().find(|(name, _)| *name == near).map_or(&[][..], |(_, follows)| follows);
    let is_command = match (rest, near) {
        ([], _) | ([_], "login" | "logout") => true,
        ([second, ..], _) => follows.contains(second),
    };
    is_command.then(|| near.to_string())
}

fn completions(shell: &str) -> Result<u8, Failure> {
    let script = sinew_control::args::completions(shell);
    let script = script.ok_or_else(|| {
        Failure::usage(format!("sinew completions {shell}: use bash, zsh or fish. Use -p to send a message"))
    })?;
    sinew_control::output::print(&script)
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
        _ => sinew_control::args::help(),
    }
}
