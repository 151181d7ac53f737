//! What is answered without an agent.

use sinew_agent::clock::iso;
use sinew_agent::session::{self, Blobs, Scope};

use crate::args::Args;
use crate::config::{self, Config, Environment, Paths};
use crate::failure::Failure;
use crate::models::Chooser;
use crate::output;
use crate::secrets;
use crate::sessions::Places;

/// Writes to stdout what a terminal may show: names of folders and values of settings may hold anything. A reader that
/// has gone is no error.
pub(crate) fn print(text: &str) -> Result<u8, Failure> {
    match output::stdout().text(&sinew::term::sanitize(text)) {
        Ok(()) => Ok(0),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(0),
        Err(error) => Err(Failure::failed(format!("write to stdout: {error}"))),
    }
}

/// Runs the command that the words name; none where they are a message.
pub(crate) fn run(args: &Args, environment: &mut Environment, paths: &Paths) -> Result<Option<u8>, Failure> {
    // Nothing that these commands read needs the user's trust.
    let mut places = || Places::find(paths, &config::load(args, environment, paths).settings);
    let words: Vec<&str> = args.words.iter().map(String::as_str).collect();
    match words[..] {
        ["sessions"] if !args.has("print") => print(SESSIONS).map(Some),
        ["sessions", "list"] => list(args, paths, &places()).map(Some),
        ["sessions", "gc"] => collect(args.has("dry-run"), paths, &places()).map(Some),
        ["sessions", "list" | "gc", ..] | ["sessions", _] if !args.has("print") => {
            let rest = words[1..].join(" ");
            Err(Failure::usage(format!("sinew sessions {rest}: use list or gc. A message goes behind -p")))
        }
        ["mcp", ..] if !args.has("print") => Err(later("mcp")),
        ["plugin", "new", ..] => Err(later("plugin")),
        _ => Ok(None),
    }
}

fn later(command: &str) -> Failure {
    Failure::usage(format!("`sinew {command}` is not available yet in this version"))
}

/// What `--help` shows: of a command, where one is named.
pub(crate) fn help(args: &Args) -> String {
    match args.words.first().map(String::as_str) {
        Some("sessions") => SESSIONS.to_string(),
        Some("config") => crate::configure::HELP.to_string(),
        Some("login" | "logout") => crate::login::HELP.to_string(),
        _ => crate::args::help(),
    }
}

const SESSIONS: &str = "\
sinew sessions: what was said before

Usage:
  sinew sessions list [--all] [--session-dir DIR]      the sessions of this folder, newest first
  sinew sessions gc [--dry-run] [--session-dir DIR]    remove pictures that no session names

A line of the list is: id, when it was last written, title. With --all it is of every folder, and empty sessions are
shown too.

To go on with a session:
  sinew -p --continue \"message\"       the last one of this terminal, else of this folder
  sinew -p --resume 1f9d \"message\"    the one whose id begins or ends so
  sinew -p --fork 1f9d \"message\"      a copy of it; also of one from another folder, or in use

To read one in a browser, or to hand it on:
  sinew --export 1f9d [page.html]     one HTML file without scripts; values of secrets are hidden in it

A session is one file of JSON lines in ~/.sinew/agent/sessions, in a folder named after the one it works in. It is only
ever added to: a branch that was left is still in it. Large pictures lie beside, in ~/.sinew/agent/blobs; removing a
session file leaves them there, and gc removes them. gc looks at every folder in which a session was kept.
--session-dir DIR is a folder whose files are sessions themselves, for one call; the setting sessionDir is the same for
all.
";

fn list(args: &Args, paths: &Paths, places: &Places) -> Result<u8, Failure> {
    let scope = if args.has("all") { Scope::All } else { Scope::Cwd(&paths.cwd) };
    let mut out = String::new();
    for listed in session::list(&places.all, scope) {
        if !listed.has_messages && !args.has("all") {
            continue;
        }
        let since = listed.modified.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let when = iso(i64::try_from(since.as_millis()).unwrap_or_default());
        let place = if args.has("all") { format!("  {}", listed.cwd) } else { String::new() };
        out.push_str(&format!("{}  {}  {}{place}\n", listed.id, &when[..16], listed.title));
    }
    if out.is_empty() {
        out.push_str("No sessions found\n");
    }
    print(&out)
}

fn collect(dry: bool, paths: &Paths, places: &Places) -> Result<u8, Failure> {
    let blobs = Blobs::new(paths.agent.join("blobs"));
    let gone = session::collect(&places.known(paths)?, &blobs, !dry);
    let gone = gone.map_err(|error| Failure::failed(error.message()))?;
    let verb = if dry { "would be removed" } else { "removed" };
    print(&format!("{} unused pictures {verb}\n", gone.len()))
}

/// `--list-models [filter]`.
pub(crate) async fn list_models(
    args: &Args,
    environment: &Environment,
    paths: &Paths,
    config: &Config,
) -> Result<u8, Failure> {
    let mut chooser = Chooser::read(args, environment, paths, &config.settings, &secrets::none(), "")?;
    let filter = args.value("list-models").unwrap_or_default().to_lowercase();
    let mut notes: Vec<String> =
        config.warnings.iter().chain(&chooser.warnings).map(|text| format!("Warning: {text}")).collect();
    let asked = asked(&chooser, &filter);
    for asked in chooser.ask(&asked).await {
        let named = names(&filter, &asked.provider);
        if asked.good && named {
            // What went well is said only to who asked for this very server.
            notes.push(asked.text);
        } else if !asked.good && (named || chooser.is_configured(&asked.provider)) {
            // A server that nobody speaks of, Ollama, need not be there.
            notes.push(format!("Warning: {}", asked.text));
        }
    }
    for note in notes {
        output::tell(&note);
    }
    let fits = |key: &str, name: &str| key.to_lowercase().contains(&filter) || name.to_lowercase().contains(&filter);
    let models = chooser.registry().models().iter().filter(|model| fits(&model.key(), &model.name));
    let mut out = String::new();
    for model in models {
        let thinks = if model.reasoning { "thinking" } else { "" };
        let sees = if model.takes_images() && !model.unknown { "images" } else { "" };
        let key = if chooser.has_key(&model.provider) { "" } else { "no key" };
        let (window, answer) = (tokens(model.context_window), tokens(model.max_tokens));
        let line = format!("{:44} {window:>6} {answer:>6}  {thinks:8}  {sees:6}  {key}", model.key());
        out.push_str(line.trim_end());
        out.push('\n');
    }
    if !out.is_empty() {
        let head = format!("{:44} {:>6} {:>6}", "model", "window", "answer");
        out.insert_str(0, &format!("{head}\n"));
    }
    if out.is_empty() {
        out = format!("No model matches \"{filter}\"\n");
    }
    print(&out)
}

/// A number of tokens: `200K`, `1.0M`.
fn tokens(count: u64) -> String {
    match count {
        0..10_000 => count.to_string(),
        10_000..1_000_000 => format!("{}K", count / 1000),
        _ => format!("{:.1}M", count as f64 / 1e6),
    }
}

/// The providers that are asked for their models: those that the filter names, and those that have to be
/// asked anyway.
fn asked(chooser: &Chooser, filter: &str) -> Vec<String> {
    let wanted = chooser.wanted();
    let entries = chooser.registry().providers().iter();
    let entries =
        entries.filter(|entry| entry.discovery.is_some() && (names(filter, &entry.id) || wanted.contains(&entry.id)));
    entries.map(|entry| entry.id.clone()).collect()
}

/// Whether a filter speaks of this very provider.
fn names(filter: &str, provider: &str) -> bool {
    !filter.is_empty() && (filter.starts_with(provider) || provider.contains(filter))
}
