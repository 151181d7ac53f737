//! Implements `sinew config get|set|unset|list|path`.

use std::path::Path;

use serde_json::{Value, json};
use sinew::base::ErrorCode;
use sinew_control::failure::Failure;
use sinew_control::output::{print, warn};
use sinew_control::settings::{self, KEYS, Values};
use sinew_control::startup::Startup;

const USAGE: &str = "use sinew config get [KEY], sinew config set KEY VALUE, sinew config unset KEY, sinew config list or sinew config path";

pub(super) const HELP: &str = "\
sinew config: show and change settings

Usage:
  sinew config get                show the value of every setting, as JSON
  sinew config get KEY            show one setting, or a section: compaction.enabled, compaction
  sinew config set KEY VALUE      change your settings; comments in the file are kept
  sinew config unset KEY          reset a setting to its default
  sinew config list               list every setting with type, default and meaning
  sinew config path               show the file of your settings

Examples:
  sinew config set defaultModel anthropic/claude-sonnet-5-5
  sinew config set bash.timeoutSeconds 300
  sinew config set tools '[\"read\", \"grep\", \"find\"]'

VALUE is JSON; anything else is stored as text. Values are merged in this order, and the last one wins: the defaults,
your settings, .sinew/settings.json of the project, variables such as SINEW_MODEL, and flags. Project settings that can
start programs are ignored until you trust the project.
";

/// Runs the command that the words after `config` name.
///
/// # Errors
/// Returns an error if the command or key does not exist, or if the file cannot be written.
pub(super) fn run(startup: &Startup, warnings: &[String], words: &[&str]) -> Result<Option<u8>, Failure> {
    let file = startup.paths.agent.join("settings.json");
    match words {
        [] => print(HELP).map(Some),
        ["path"] => print(&format!("{}\n", file.display())).map(Some),
        ["get"] => get(startup, warnings, "").map(Some),
        ["get", key] => get(startup, warnings, key).map(Some),
        ["set", key, value] => set(&file, key, value).map(Some),
        ["unset", key] => unset(&file, key).map(Some),
        ["list"] => print(&settings::listing()).map(Some),
        ["list", "markdown"] => print(&settings::markdown()).map(Some),
        ["get" | "set" | "unset" | "list" | "path", ..] => Err(Failure::usage(USAGE)),
        [other] => Err(Failure::usage(format!("sinew config {other}: {USAGE}. Use -p to send a message"))),
        _ => Ok(None),
    }
}

/// Prints the values in force: strings unquoted, other values as JSON.
fn get(startup: &Startup, warnings: &[String], key: &str) -> Result<u8, Failure> {
    if !key.is_empty() && !settings::is_known(key) {
        let near = settings::nearest(key).map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        return Err(Failure::usage(format!("config get {key}: unknown key{near}")));
    }
    warn(warnings);
    match effective(&startup.values, key) {
        Value::String(text) => print(&format!("{text}\n")),
        value => print(&format!("{value:#}\n")),
    }
}

/// Returns the value of a key, or an object with all keys below it.
fn effective(values: &Values, key: &str) -> Value {
    let below: Vec<&str> = KEYS
        .iter()
        .map(|known| known.path)
        .filter(|path| key.is_empty() || path.strip_prefix(key).is_some_and(|rest| rest.starts_with('.')))
        .collect();
    if below.is_empty() {
        return values.get(key);
    }
    // Includes keys that are missing in the table, such as variables of commands.
    let mut out = Values::default();
    if let Value::Object(set) = if key.is_empty() { Value::Null } else { values.get(key) } {
        out.set(key, Value::Object(set));
    }
    for path in below {
        out.set(path, values.get(path));
    }
    if key.is_empty() { json!(out.into_map()) } else { out.get(key) }
}

fn unset(file: &Path, key: &str) -> Result<u8, Failure> {
    settings::unset(file, key).map_err(|error| refused("unset", &error))?;
    Ok(0)
}

/// Converts an error of a change to the settings file.
fn refused(verb: &str, error: &sinew::base::Error) -> Failure {
    match error.code() {
        ErrorCode::InvalidArgument => Failure::usage(format!("config {verb} {}", error.message())),
        ErrorCode::InvalidData => Failure::config(error.message()),
        _ => Failure::failed(error.message()),
    }
}

fn set(file: &Path, key: &str, text: &str) -> Result<u8, Failure> {
    let parsed = serde_json::from_str(text).unwrap_or_else(|_| json!(text));
    // If the parsed value has the wrong type, the text itself is used, as in `defaultModel 7`.
    let as_text = |error: sinew::base::Error| match error.code() {
        ErrorCode::InvalidArgument if !parsed.is_string() => {
            settings::write(file, key, &json!(text)).map_err(|_| error)
        }
        _ => Err(error),
    };
    settings::write(file, key, &parsed).or_else(as_text).map_err(|error| refused("set", &error))?;
    let mut alone = Values::default();
    alone.set(key, parsed);
    warn(&settings::without_effect(&alone.into_map()));
    Ok(0)
}
