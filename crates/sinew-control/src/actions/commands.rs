//! The registry of built-in slash commands. Completion, `/help` and all modes use its rows.
//!
//! Commands that need no person run in every mode, with [`Command::run`]. The others only run in the interactive mode;
//! elsewhere they are refused with a hint.

use std::path::PathBuf;

use serde_json::Value;

use super::figures::{self, list};
use super::undo::{Direction, UndoArguments};
use super::{Control, ControlError, mcp};
use crate::failure::Failure;

/// The action of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "each variant is the command of its name")]
pub enum Verb {
    /// Runs in every mode.
    Shared(SharedCommand),
    Background,
    Branch,
    Cancel,
    Copy,
    Debug,
    Dump,
    Fork,
    Handoff,
    Hotkeys,
    Jobs,
    Label,
    Login,
    Logout,
    Model,
    Move,
    New,
    Plan,
    Raw,
    Record,
    Redraw,
    Reload,
    Resume,
    Settings,
    Share,
    Stash,
    Status,
    Stop,
    Theme,
    Thinking,
    Todo,
    Tools,
    Transcript,
    Trust,
    Tree,
    Vim,
}

/// A command that needs no person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "each variant is the command of its name")]
pub enum SharedCommand {
    Agents,
    Compact,
    Export,
    Help,
    Mcp,
    Name,
    Quit,
    Rules,
    Redo,
    Review,
    Session,
    Usage,
    Context,
    Skills,
    Steer,
    Tasks,
    Undo,
}

/// Where a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// In every mode.
    Everywhere,
    /// Only runs in the interactive mode. Contains the hint that is shown elsewhere.
    Person(&'static str),
    /// Only runs on the full screen. Contains the hint that is shown elsewhere.
    Screen(&'static str),
    /// Only runs in the linear mode. Elsewhere other commands can use the name.
    Words,
}

/// The two forms of the interactive mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InteractiveForm {
    /// The screen.
    Screen,
    /// Linear mode.
    Words,
}

/// The panel or list that a command without arguments opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "each variant is the panel of its name")]
pub enum Panel {
    Branch,
    Jobs,
    Login,
    Logout,
    Models,
    Sessions,
    Settings,
    Share,
    Tasks,
    Theme,
    Thinking,
    Tools,
    Tree,
}

/// A command of the registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The name without the slash.
    pub name: &'static str,
    /// The arguments as help shows them; empty if there are none.
    pub arguments: &'static str,
    /// A description in one line.
    pub help: &'static str,
    /// The action.
    pub verb: Verb,
    /// The modes in which the command runs.
    pub scope: Scope,
    /// The panel that the command opens without arguments, if there is one.
    pub panel: Option<Panel>,
    /// The action of `keybindings.json` with the same effect.
    pub action: Option<&'static str>,
}

const TERMINAL: Scope = Scope::Person("it needs the interactive mode");
const SCREEN: Scope = Scope::Screen("it needs the screen of the interactive mode");
const BEGINS: Scope = Scope::Person("without --continue each run is a new session");

const fn row(name: &'static str, arguments: &'static str, help: &'static str, verb: Verb, scope: Scope) -> Row {
    Row { name, arguments, help, verb, scope, panel: None, action: None }
}

const fn shared(name: &'static str, arguments: &'static str, help: &'static str, verb: SharedCommand) -> Row {
    row(name, arguments, help, Verb::Shared(verb), Scope::Everywhere)
}

impl Row {
    const fn opens(self, panel: Panel) -> Row {
        Row { panel: Some(panel), ..self }
    }

    const fn like(self, action: &'static str) -> Row {
        Row { action: Some(action), ..self }
    }

    /// Returns true if the command may change the current session.
    pub fn changes_session(&self) -> bool {
        matches!(self.verb, Verb::New | Verb::Fork | Verb::Resume | Verb::Handoff | Verb::Move)
    }
}

/// All built-in commands, in the order of `/help`.
// One command per row, even if the line is long.
#[rustfmt::skip]
pub(crate) static COMMANDS: &[Row] = &[
    shared("help", "", "list the commands", SharedCommand::Help),
    row("hotkeys", "", "list the keys", Verb::Hotkeys, TERMINAL),
    row("model", "[NAME]", "choose the model that answers", Verb::Model, Scope::Person("use --model PATTERN")).opens(Panel::Models),
    row("thinking", "[LEVEL]", "choose how much the model thinks", Verb::Thinking, Scope::Person("use --thinking LEVEL")).opens(Panel::Thinking),
    row("login", "[PROVIDER]", "sign in, store an API key, or choose a local model", Verb::Login, Scope::Person("use sinew login")).opens(Panel::Login),
    row("logout", "[PROVIDER]", "remove a stored key or login", Verb::Logout, Scope::Person("use sinew logout")).opens(Panel::Logout),
    row("settings", "[user|project|session]", "show settings, and change them there", Verb::Settings, Scope::Person("use sinew config get and sinew config set")).opens(Panel::Settings),
    row("theme", "[NAME]", "choose a color theme", Verb::Theme, TERMINAL).opens(Panel::Theme),
    row("tools", "[--now]", "enable or disable tools from the next session on, or now", Verb::Tools, Scope::Person("use --tools A,B and --exclude-tools A,B")).opens(Panel::Tools),
    row("new", "", "start a new session", Verb::New, BEGINS),
    row("clear", "", "start a new session", Verb::New, BEGINS),
    row("resume", "[ID]", "continue another session", Verb::Resume, Scope::Person("use --resume ID")).opens(Panel::Sessions),
    row("tree", "", "go to another point in this session", Verb::Tree, TERMINAL).opens(Panel::Tree),
    row("branch", "", "start a new session before one of your messages", Verb::Branch, TERMINAL).opens(Panel::Branch),
    row("fork", "", "continue in a copy of this session", Verb::Fork, Scope::Person("use --fork ID")),
    shared("name", "TITLE", "give this session a title", SharedCommand::Name),
    row("label", "[TEXT]", "label this point in the session; without TEXT, remove the label", Verb::Label, TERMINAL),
    shared("compact", "[TEXT]", "summarize the conversation; TEXT says what matters", SharedCommand::Compact),
    row("copy", "[N|code|all]", "copy the last answer, its N-th code block, all of them, or the conversation", Verb::Copy, TERMINAL),
    shared("export", "[FILE]", "write the session as a web page", SharedCommand::Export),
    shared("session", "", "show the session: id, file, title, model", SharedCommand::Session),
    shared("usage", "", "show the tokens and the cost of the session", SharedCommand::Usage),
    shared("context", "", "show what fills the context window, and the sandbox", SharedCommand::Context),
    row("todo", "[edit|clear|copy]", "show the todo list; edit it in your own editor, clear it or copy it", Verb::Todo, TERMINAL),
    row("jobs", "[ID]", "list background commands; with ID, show the end of its output", Verb::Jobs, TERMINAL).opens(Panel::Jobs),
    row("cancel", "ID", "stop a background command", Verb::Cancel, TERMINAL),
    row("stash", "", "restore a stashed draft", Verb::Stash, TERMINAL).like("app.editor.stash"),
    shared("undo", "[N] [PATH…]", "undo the file changes of the last N turns; shows them and asks first", SharedCommand::Undo),
    shared("redo", "", "redo the changes of the last /undo", SharedCommand::Redo),
    shared("skills", "", "list the skills", SharedCommand::Skills),
    shared("rules", "", "list the rules", SharedCommand::Rules),
    shared("agents", "", "list the agents that can be started as subagents", SharedCommand::Agents),
    shared("tasks", "[ID]", "show the subagents of this session and what they do; stop or background ID", SharedCommand::Tasks).opens(Panel::Tasks),
    shared("review", "[BRANCH|A..B|FILE]", "look for faults in the uncommitted changes, since a branch, in a range or a patch file", SharedCommand::Review),
    shared("steer", "ID TEXT", "send a message to a running subagent", SharedCommand::Steer),
    shared("mcp", "[VERB NAME]", "show the MCP servers; enable, disable, reload, login, logout NAME", SharedCommand::Mcp),
    row("reload", "", "reload skills, commands, rules and keybindings.json", Verb::Reload, Scope::Person("each run reads these files again")),
    row("redraw", "[all]", "repaint the screen; with all, also clear the terminal's scrollback", Verb::Redraw, SCREEN),
    row("record", "[FILE]", "record the terminal for asciinema; /record again stops", Verb::Record, SCREEN),
    shared("quit", "", "leave", SharedCommand::Quit),
    shared("exit", "", "leave", SharedCommand::Quit),
    row("trust", "[yes|no]", "decide whether hooks, servers and settings of this project are used", Verb::Trust, Scope::Person("use --trust or --no-trust")),
    row("move", "FOLDER", "continue this session in another folder", Verb::Move, TERMINAL),
    row("handoff", "[TEXT]", "continue in a new session with a summary of this one; TEXT says what matters", Verb::Handoff, TERMINAL),
    row("dump", "", "copy the conversation as text, with all output", Verb::Dump, Scope::Person("use /export, or read the session file")),
    row("transcript", "", "show the conversation with all output", Verb::Transcript, TERMINAL).like("app.transcript.open"),
    row("raw", "", "show the source of prompts and answers", Verb::Raw, TERMINAL).like("app.raw"),
    row("plan", "[GOAL]", "plan without changing anything, until /plan again", Verb::Plan, Scope::Person("use --plan")),
    row("debug", "", "write a report about this program, without secrets", Verb::Debug, Scope::Person("set SINEW_LOG=debug")),
    row("share", "", "publish the session with gh or share.command, after asking you", Verb::Share, Scope::Person("use /export")).opens(Panel::Share),
    row("background", "", "continue the run without the terminal", Verb::Background, TERMINAL),
    row("bg", "", "continue the run without the terminal", Verb::Background, TERMINAL),
    row("vim", "", "turn vi keys on or off; set tui.editor to keep them", Verb::Vim, SCREEN),
    row("status", "", "say what is running", Verb::Status, Scope::Words),
    row("stop", "", "interrupt what is running", Verb::Stop, Scope::Words),
];

/// Returns the commands of a form of the interactive mode. The linear mode includes those of the screen, to refuse them
/// with a hint.
#[cfg(unix)]
pub fn of_face(face: InteractiveForm) -> impl Iterator<Item = &'static Row> {
    COMMANDS.iter().filter(move |row| face == InteractiveForm::Words || row.scope != Scope::Words)
}

/// Returns the command with this name, if this form of the interactive mode has it.
#[cfg(unix)]
pub fn named(name: &str, face: InteractiveForm) -> Option<&'static Row> {
    of_face(face).find(|row| row.name == name)
}

/// A command that runs in every mode, and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    verb: SharedCommand,
    arguments: String,
}

/// Returns the built-in command that a prompt contains; `None` if it is another prompt.
///
/// # Errors
/// Returns an error if the command does not run in this mode.
pub fn find(prompt: &str) -> Result<Option<Command>, Failure> {
    let Some(rest) = prompt.trim_start().strip_prefix('/') else { return Ok(None) };
    let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    match COMMANDS.iter().find(|row| row.name == name) {
        Some(Row { verb: Verb::Shared(verb), .. }) => Ok(Some(Command::new(*verb, arguments))),
        Some(Row { scope: Scope::Person(way) | Scope::Screen(way), .. }) => Err(Failure::usage(refusal(name, way))),
        Some(_) | None => Ok(None),
    }
}

impl Control {
    /// Checks that a text is not a misspelt command: a name that does not exist, but is similar to one that does.
    ///
    /// # Errors
    /// Returns an error that suggests the similar command.
    pub fn check_spelling(&self, text: &str) -> Result<(), String> {
        let Some(rest) = text.trim_start().strip_prefix('/') else { return Ok(()) };
        let name = rest.split(char::is_whitespace).next().unwrap_or_default();
        // A path, or a word that is too short to decide.
        if name.len() < 3 || !name.bytes().all(|byte| byte.is_ascii_alphabetic() || b"-_:".contains(&byte)) {
            return Ok(());
        }
        let listed = self.listed_commands();
        let built_in = COMMANDS.iter().map(|row| row.name);
        let known: Vec<&str> = built_in.chain(listed.iter().map(|command| command.name.as_str())).collect();
        match near(name, &known) {
            Some(near) => Err(format!("/{name}: unknown command; did you mean /{near}?")),
            None => Ok(()),
        }
    }
}

/// Returns the name of `known` that `name` is probably a misspelling of: at most two edits away, and at most a third of
/// its length. Returns `None` if `known` contains `name`.
pub fn near<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let edits = |known: &&str| strsim::osa_distance(&name.to_lowercase(), &known.to_lowercase());
    let nearest = known.iter().copied().min_by_key(|known| edits(known))?;
    let allowed = (name.len() / 3).min(2);
    (!known.contains(&name) && edits(&nearest) <= allowed).then_some(nearest)
}

/// Returns the message that refuses a command.
pub fn refusal(name: &str, way: &str) -> String {
    format!("/{name} does not run here: {way}")
}

/// Returns the name and description of the commands that run in every mode, for lists that programs read. `/quit` is
/// omitted, because such programs end a session differently.
pub fn runnable() -> impl Iterator<Item = (&'static str, &'static str)> {
    let runs = |row: &&Row| row.scope == Scope::Everywhere && row.verb != Verb::Shared(SharedCommand::Quit);
    COMMANDS.iter().filter(runs).map(|row| (row.name, row.help))
}

impl Command {
    /// Creates a command with the text after its name.
    pub fn new(verb: SharedCommand, arguments: &str) -> Command {
        Command { verb, arguments: arguments.trim().to_string() }
    }

    /// Runs the command, and returns the text to show.
    ///
    /// # Errors
    /// Returns an error if the command fails.
    pub async fn run(&self, control: &Control) -> Result<String, ControlError> {
        Ok(self.run_with_data(control).await?.0)
    }

    /// Runs the command, and returns the text to show and the same as data, if the command has data.
    ///
    /// # Errors
    /// Returns an error if the command fails.
    pub async fn run_with_data(&self, control: &Control) -> Result<(String, Option<Value>), ControlError> {
        let text = match self.verb {
            SharedCommand::Review => {
                let review = control.review(&self.arguments).await?;
                let data = serde_json::to_value(&review).map_err(|error| error.to_string())?;
                return Ok((review.text(), Some(data)));
            }
            SharedCommand::Help => Ok(help(control)),
            SharedCommand::Quit => Ok(String::new()),
            SharedCommand::Compact => {
                let instructions = Some(self.arguments.as_str()).filter(|text| !text.is_empty());
                let compacted = control.compact(&control.session(), instructions).await?;
                Ok(format!("Compacted a context of about {} tokens.", compacted.tokens_before))
            }
            SharedCommand::Mcp if matches!(self.arguments.as_str(), "" | "list") => {
                Ok(list(mcp::rows(&control.app).into_iter(), "No MCP servers. sinew mcp add NAME -- COMMAND adds one."))
            }
            // If a person can be asked, the session continues after the command.
            SharedCommand::Mcp => mcp::run(control, &self.arguments, control.app.has_person()).await,
            SharedCommand::Name if self.arguments.is_empty() => Err("/name needs a name: /name TITLE".into()),
            SharedCommand::Name => control.set_title(&self.arguments).map(|()| String::new()),
            SharedCommand::Export => {
                let to =
                    Some(sinew_export::unquoted(&self.arguments)).filter(|text| !text.is_empty()).map(PathBuf::from);
                Ok(format!("Exported to: {}", control.export(to, false).await?.display()))
            }
            SharedCommand::Session => Ok(figures::session(&control.stats()?, control.mode())),
            SharedCommand::Usage => Ok(figures::usage(&control.stats()?)),
            SharedCommand::Context => figures::context(control),
            SharedCommand::Undo => control.undo(Direction::Undo, &UndoArguments::parse(&self.arguments)?).await,
            SharedCommand::Redo => control.undo(Direction::Redo, &UndoArguments::parse(&self.arguments)?).await,
            SharedCommand::Agents => Ok(control.agents_text()),
            SharedCommand::Tasks => control.tasks_command(&self.arguments).await,
            SharedCommand::Steer => control.steer_command(&self.arguments).await,
            SharedCommand::Skills => {
                let loaded = control.app.resources();
                let skills = loaded.resources.skills.iter();
                Ok(list(skills.map(|skill| (skill.name.clone(), skill.description.clone())), "No skills."))
            }
            SharedCommand::Rules => {
                let loaded = control.app.resources();
                let rules = loaded.resources.rules.iter();
                Ok(list(rules.map(|rule| (rule.name.clone(), rule.description.clone())), "No rules."))
            }
        };
        Ok((text?, None))
    }
}

fn help(control: &Control) -> String {
    let own = COMMANDS.iter().filter(|row| row.scope == Scope::Everywhere);
    let own = own.map(|row| (format!("/{}", row.name), row.help.to_string()));
    let listed = control.listed_commands().into_iter();
    list(own.chain(listed.map(|command| (format!("/{}", command.name), command.description))), "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_has_a_nearest_one() {
        let known = ["compact", "model", "exit", "skill:review"];
        for (name, expect) in [
            ("comapct", Some("compact")),
            ("Compact", Some("compact")),
            ("modle", Some("model")),
            ("skill:reveiw", Some("skill:review")),
            ("compact", None),
            ("fix", None),
            ("explain", None),
        ] {
            assert_eq!(near(name, &known), expect, "{name}");
        }
    }

    #[test]
    fn names_are_unique_and_other_slashes_are_not_commands() {
        for (at, row) in COMMANDS.iter().enumerate() {
            assert!(COMMANDS[..at].iter().all(|other| other.name != row.name) && !row.help.is_empty(), "{}", row.name);
            assert_eq!(matches!(row.verb, Verb::Shared(_)), row.scope == Scope::Everywhere, "{}", row.name);
        }
        for text in ["/compactor", "/etc/hosts is broken", "compact", "a /compact", "/", "/skill:compact", "/fix it"] {
            assert_eq!(find(text), Ok(None), "{text}");
        }
        let compact = find(" /compact\tthe  rest ").unwrap().unwrap();
        assert_eq!((compact.verb, compact.arguments.as_str()), (SharedCommand::Compact, "the  rest"));
        assert_eq!(find("/model x").unwrap_err(), Failure::usage("/model does not run here: use --model PATTERN"));
    }
}
