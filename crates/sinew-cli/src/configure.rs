//! `sinew config get|set|path`.

use serde_json::{Value, json};
use sinew::base::ErrorCode;
use sinew_agent::settings::{self, KEYS, Settings};

use crate::args::Args;
use crate::commands::print;
use crate::config::{self, Environment, Paths};
use crate::failure::Failure;

const USAGE: &str = "use sinew config get [KEY], sinew config set KEY VALUE or sinew config path";

pub(crate) const HELP: &str = "\
sinew config: what holds, and your own settings

Usage:
  sinew config get                what holds for every setting, as JSON
  sinew config get KEY            of one, or of all below it: compaction, compaction.enabled
  sinew config set KEY VALUE      changes your settings; the comments of the file stay
  sinew config path               where your settings stand

Examples:
  sinew config set defaultModel anthropic/claude-sonnet-5-5
  sinew config set bash.timeoutSeconds 300
  sinew config set tools '[\"read\", \"grep\", \"find\"]'

A VALUE is JSON; what is no JSON is text. Of the defaults, your settings, .sinew/settings.json of the project,
variables such as SINEW_MODEL, and flags, the later one counts. A setting of a project that starts programs counts
once you trust the project.
";

/// Runs the command that the words name; none where they are a message.
pub(crate) fn run(args: &Args, environment: &mut Environment, paths: &Paths) -> Result<Option<u8>, Failure> {
    let words: Vec<&str> = args.words.iter().map(String::as_str).collect();
    match words[..] {
        _ if args.has("print") => Ok(None),
        ["config"] => print(HELP).map(Some),
        ["config", "path"] => print(&format!("{}\n", file(paths).display())).map(Some),
        ["config", "get"] => get(args, environment, paths, "").map(Some),
        ["config", "get", key] => get(args, environment, paths, key).map(Some),
        ["config", "set", key, value] => set(paths, key, value).map(Some),
        ["config", "get" | "set" | "path", ..] => Err(Failure::usage(USAGE)),
        ["config", other] => Err(Failure::usage(format!("sinew config {other}: {USAGE}. A message goes behind -p"))),
        _ => Ok(None),
    }
}

fn file(paths: &Paths) -> std::path::PathBuf {
    paths.agent.join("settings.json")
}

/// Writes what holds: texts as they are, everything else as JSON.
fn get(args: &Args, environment: &mut Environment, paths: &Paths, key: &str) -> Result<u8, Failure> {
    if !key.is_empty() && !settings::is_known(key) {
        let near = settings::nearest(key).map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        return Err(Failure::usage(format!("config get {key}: unknown key{near}")));
    }
    let config = config::load(args, environment, paths);
    warn(&config.warnings);
    match effective(&config.settings, key) {
        Value::String(text) => print(&format!("{text}\n")),
        value => print(&format!("{value:#}\n")),
    }
}

fn warn(warnings: &[String]) {
    for warning in warnings {
        crate::output::tell(&format!("Warning: {warning}"));
    }
}

/// The value of a key, or an object of all keys below it.
fn effective(settings: &Settings, key: &str) -> Value {
    let below: Vec<&str> = KEYS
        .iter()
        .map(|known| known.path)
        .filter(|path| key.is_empty() || path.strip_prefix(key).is_some_and(|rest| rest.starts_with('.')))
        .collect();
    if below.is_empty() {
        return settings.get(key);
    }
    // What the table does not name, variables for commands for instance, stands there too.
    let mut out = Settings::default();
    if let Value::Object(set) = if key.is_empty() { Value::Null } else { settings.get(key) } {
        out.set(key, Value::Object(set));
    }
    for path in below {
        out.set(path, settings.get(path));
    }
    if key.is_empty() { json!(out.into_values()) } else { out.get(key) }
}

fn set(paths: &Paths, key: &str, text: &str) -> Result<u8, Failure> {
    let parsed = serde_json::from_str(text).unwrap_or_else(|_| json!(text));
    let file = file(paths);
    let fail = |error: sinew::base::Error| match error.code() {
        ErrorCode::InvalidArgument => Failure::usage(format!("config set {}", error.message())),
        ErrorCode::InvalidData => Failure::config(error.message()),
        _ => Failure::failed(error.message()),
    };
    // `defaultModel 7` means the text.
    let as_text = |error: sinew::base::Error| match error.code() {
        ErrorCode::InvalidArgument if !parsed.is_string() => {
            settings::write(&file, key, &json!(text)).map_err(|_| error)
        }
        _ => Err(error),
    };
    settings::write(&file, key, &parsed).or_else(as_text).map_err(fail)?;
    let mut alone = Settings::default();
    alone.set(key, parsed);
    warn(&settings::without_effect(&alone.into_values()));
    Ok(0)
}
