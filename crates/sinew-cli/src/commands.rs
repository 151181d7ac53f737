//! What is answered without an agent.

use std::io::Write;

use sinew_agent::clock::iso;
use sinew_agent::session::{self, Blobs, Scope};
use sinew_llm::models::Registry;

use crate::args::Args;
use crate::config::{Config, Environment, Paths};
use crate::failure::Failure;
use crate::models::Chooser;

/// Writes to stdout. A reader that has gone is no error.
pub(crate) fn print(text: &str) -> Result<u8, Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(0),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(0),
        Err(error) => Err(Failure::failed(format!("write to stdout: {error}"))),
    }
}

/// Runs the command that the words name; none where they are a message.
pub(crate) fn run(args: &Args, paths: &Paths) -> Result<Option<u8>, Failure> {
    let words: Vec<&str> = args.words.iter().map(String::as_str).collect();
    match words[..] {
        ["sessions", "list"] => list(args, paths).map(Some),
        ["sessions", "gc"] => collect(args.has("dry-run"), paths).map(Some),
        ["mcp", ..] if !args.has("print") => Err(later("mcp")),
        ["config", "get" | "set" | "path", ..] => Err(later("config")),
        ["plugin", "new", ..] => Err(later("plugin")),
        _ => Ok(None),
    }
}

fn later(command: &str) -> Failure {
    Failure::usage(format!("`sinew {command}` is not available yet in this version"))
}

fn list(args: &Args, paths: &Paths) -> Result<u8, Failure> {
    let scope = if args.has("all") { Scope::All } else { Scope::Cwd(&paths.cwd) };
    let mut out = String::new();
    for listed in session::list(&paths.agent.join("sessions"), scope) {
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

fn collect(dry: bool, paths: &Paths) -> Result<u8, Failure> {
    let blobs = Blobs::new(paths.agent.join("blobs"));
    let gone = session::collect(&paths.agent.join("sessions"), &blobs, !dry);
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
    let mut chooser = Chooser::read(args, environment, paths, &config.settings, "")?;
    let filter = args.value("list-models").unwrap_or_default().to_lowercase();
    let mut warnings = [config.warnings.clone(), chooser.warnings.clone()].concat();
    if !(args.has("offline") || environment.is_on("SINEW_OFFLINE")) {
        for provider in asked(chooser.registry(), &filter) {
            warnings.extend(chooser.ask(&provider).await);
        }
    }
    for warning in warnings {
        // Nobody is left to tell when stderr is closed.
        let _ = writeln!(std::io::stderr(), "Warning: {warning}");
    }
    let fits = |key: &str, name: &str| key.to_lowercase().contains(&filter) || name.to_lowercase().contains(&filter);
    let models = chooser.registry().models().iter().filter(|model| fits(&model.key(), &model.name));
    let mut out = String::new();
    for model in models {
        let thinks = if model.reasoning { "thinking" } else { "" };
        let sees = if model.takes_images() { "images" } else { "" };
        let key = if chooser.has_key(&model.provider) { "" } else { "no key" };
        let line = format!("{:44} {:>9} {thinks:8} {sees:6} {key}", model.key(), model.context_window);
        out.push_str(line.trim_end());
        out.push('\n');
    }
    if out.is_empty() {
        out = format!("No model matches \"{filter}\"\n");
    }
    print(&out)
}

/// The providers that are asked for their models: those that the filter names.
fn asked(registry: &Registry, filter: &str) -> Vec<String> {
    let named = registry.providers().iter().filter(|entry| {
        entry.discovery.is_some() && !filter.is_empty() && (filter.starts_with(&entry.id) || entry.id.contains(filter))
    });
    named.map(|entry| entry.id.clone()).collect()
}
