//! Built-in slash commands. Those that need no screen run in every mode; the others are refused by name, with the way
//! that leads there without a screen.

use std::path::PathBuf;

use sinew_agent::mcp::{ServerTokens, ServersTokens};

use super::state::Stats;
use super::{Control, ControlError, mcp};
use crate::failure::Failure;

/// The effect of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Compact,
    Export,
    Help,
    Mcp,
    Name,
    Quit,
    Rules,
    Session,
    Skills,
    /// It is refused: what to use instead.
    Refused(&'static str),
}

use Verb::{Compact, Export, Help, Mcp, Name, Quit, Refused, Rules, Session, Skills};

const INTERACTIVE: &str = "it needs the interactive mode";

/// All built-in commands.
pub(crate) static BUILT_IN: &[(&str, Verb)] = &[
    ("help", Help),
    ("compact", Compact),
    ("export", Export),
    ("name", Name),
    ("session", Session),
    ("usage", Session),
    ("context", Session),
    ("skills", Skills),
    ("rules", Rules),
    ("quit", Quit),
    ("exit", Quit),
    ("hotkeys", Refused(INTERACTIVE)),
    ("model", Refused("use --model PATTERN")),
    ("thinking", Refused("use --thinking LEVEL")),
    ("settings", Refused("use sinew config get and sinew config set")),
    ("tools", Refused("use --tools A,B and --exclude-tools A,B")),
    ("mcp", Mcp),
    ("login", Refused("use sinew login")),
    ("logout", Refused("use sinew logout")),
    ("agents", Refused("subagents are not available yet in this version")),
    ("jobs", Refused(INTERACTIVE)),
    ("cancel", Refused(INTERACTIVE)),
    ("theme", Refused(INTERACTIVE)),
    ("clear", Refused("without --continue each run is a new session")),
    ("new", Refused("without --continue each run is a new session")),
    ("tree", Refused(INTERACTIVE)),
    ("branch", Refused(INTERACTIVE)),
    ("fork", Refused("use --fork ID")),
    ("resume", Refused("use --resume ID")),
    ("move", Refused(INTERACTIVE)),
    ("label", Refused(INTERACTIVE)),
    ("handoff", Refused(INTERACTIVE)),
    ("dump", Refused("use /export, or read the session file")),
    ("copy", Refused(INTERACTIVE)),
    ("share", Refused("use /export")),
    ("todo", Refused(INTERACTIVE)),
    ("plan", Refused(INTERACTIVE)),
    ("background", Refused(INTERACTIVE)),
    ("bg", Refused(INTERACTIVE)),
    ("reload", Refused("each run reads everything anew")),
    ("debug", Refused("set SINEW_LOG=debug")),
];

/// A command that runs, and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Command {
    verb: Verb,
    arguments: String,
}

/// The built-in command that a prompt is; none: it is something else.
///
/// # Errors
/// It is one that does not run here.
pub(crate) fn find(prompt: &str) -> Result<Option<Command>, Failure> {
    let Some(rest) = prompt.trim_start().strip_prefix('/') else { return Ok(None) };
    let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    match BUILT_IN.iter().find(|(known, _)| *known == name) {
        None => Ok(None),
        Some((_, Refused(way))) => Err(Failure::usage(format!("/{name} does not run here: {way}"))),
        Some((_, verb)) => Ok(Some(Command { verb: *verb, arguments: arguments.trim().to_string() })),
    }
}

/// The commands that run in every mode, and what each does.
pub(crate) fn runnable() -> impl Iterator<Item = (&'static str, &'static str)> {
    BUILT_IN.iter().filter_map(|(name, verb)| Some((*name, verb.description()?)))
}

impl Verb {
    /// One line for lists; none for what does not run, or makes no sense in a list.
    fn description(self) -> Option<&'static str> {
        match self {
            Help => Some("List the commands"),
            Compact => Some("Sum up the conversation to make room"),
            Export => Some("Write the session as an HTML page"),
            Name => Some("Give the session a title"),
            Session => Some("Show counts, cost and fill of the window"),
            Skills => Some("List the skills"),
            Rules => Some("List the rules"),
            Mcp => Some("Show the servers of tools; enable, disable, reload, login, logout NAME"),
            Quit | Refused(_) => None,
        }
    }
}

impl Command {
    /// Runs the command, and gives the text to show.
    ///
    /// # Errors
    /// The command failed.
    pub(crate) async fn run(&self, control: &Control) -> Result<String, ControlError> {
        match self.verb {
            Help => Ok(help(control)),
            Quit => Ok(String::new()),
            Compact => {
                let instructions = Some(self.arguments.as_str()).filter(|text| !text.is_empty());
                let compacted = control.compact(&control.session(), instructions).await?;
                Ok(format!("Compacted a context of about {} tokens.", compacted.tokens_before))
            }
            Mcp if matches!(self.arguments.as_str(), "" | "list") => {
                Ok(list(mcp::rows(&control.app).into_iter(), "No MCP servers. sinew mcp add NAME -- COMMAND adds one."))
            }
            // A session with somebody who can be asked goes on behind the command.
            Mcp => mcp::run(control, &self.arguments, control.app.has_person()).await,
            Name if self.arguments.is_empty() => Err("/name needs a name: /name TITLE".into()),
            Name => control.set_title(&self.arguments).map(|()| String::new()),
            Export => {
                let to =
                    Some(sinew_export::unquoted(&self.arguments)).filter(|text| !text.is_empty()).map(PathBuf::from);
                Ok(format!("Exported to: {}", control.export(to, false).await?.display()))
            }
            Session => Ok(session(&control.stats()?)),
            Skills => {
                let loaded = control.app.resources();
                let skills = loaded.resources.skills.iter();
                Ok(list(skills.map(|skill| (skill.name.clone(), skill.description.clone())), "No skills."))
            }
            Rules => {
                let loaded = control.app.resources();
                let rules = loaded.resources.rules.iter();
                Ok(list(rules.map(|rule| (rule.name.clone(), rule.description.clone())), "No rules."))
            }
            // Those are refused before an agent begins.
            Refused(way) => Err(way.into()),
        }
    }
}

fn help(control: &Control) -> String {
    let own = BUILT_IN.iter().filter(|(_, verb)| !matches!(verb, Refused(_)));
    let own = own.map(|(name, _)| (format!("/{name}"), "built in".to_string()));
    let listed = control.listed_commands().into_iter();
    list(own.chain(listed.map(|command| (format!("/{}", command.name), command.description))), "")
}

fn session(stats: &Stats) -> String {
    let Stats { session, title, model, counts, context, servers } = stats;
    let tokens = counts.tokens;
    let file = session.file.as_ref().map(|path| path.display().to_string());
    let mut rows = vec![
        ("session", session.id.clone()),
        ("file", file.unwrap_or_else(|| "none: it is kept in memory".into())),
        ("title", title.clone().unwrap_or_default()),
        ("model", model.clone()),
        ("messages", counts.total_messages.to_string()),
        ("tokens", format!("{} in, {} out, {} read from the cache", tokens.input, tokens.output, tokens.cache_read)),
        ("cost", format!("${:.4}", counts.cost)),
    ];
    if let Some(usage) = context {
        rows.push(("context", format!("about {} of {} tokens", usage.tokens, usage.context_window)));
    }
    if let Some(ServersTokens { search, servers }) = servers {
        rows.push(("servers", format!("about {search} tokens in front for the search of tools")));
        rows.extend(servers.iter().map(|ServerTokens { server, front, loaded, saved }| {
            ("", format!("{server}: about {front} in front, {loaded} loaded, {saved} saved"))
        }));
    }
    list(rows.into_iter().map(|(name, value)| (name.to_string(), value)), "")
}

fn list(rows: impl Iterator<Item = (String, String)>, none: &str) -> String {
    let lines: Vec<String> = rows.map(|(name, text)| format!("{name:14} {text}").trim_end().to_string()).collect();
    if lines.is_empty() { none.into() } else { lines.join("\n") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_stands_once_and_other_slashes_are_no_commands() {
        for (at, (name, _)) in BUILT_IN.iter().enumerate() {
            assert!(BUILT_IN[..at].iter().all(|(other, _)| other != name), "{name}");
        }
        for text in ["/compactor", "/etc/hosts is broken", "compact", "a /compact", "/", "/skill:compact", "/fix it"] {
            assert_eq!(find(text), Ok(None), "{text}");
        }
        let compact = find(" /compact\tthe  rest ").unwrap().unwrap();
        assert_eq!((compact.verb, compact.arguments.as_str()), (Compact, "the  rest"));
        assert_eq!(find("/model x").unwrap_err(), Failure::usage("/model does not run here: use --model PATTERN"));
    }
}
