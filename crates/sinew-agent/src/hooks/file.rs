//! Parses `hooks.json`.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use regex::Regex;
use serde::Deserialize;
use serde_json::Value;
use sinew_llm::models::plain_json;
use sinew_tools::child::Variables;

use super::process::Program;
use super::{Hook, LIMIT, command};

/// The owner of a hooks file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The user. Also used for a file that a flag names.
    User,
    /// A trusted project.
    Project,
}

/// The events that hooks may name, in addition to the extension points.
const EVENTS: &[&str] = &[
    "context",
    "agent_start",
    "agent_end",
    "turn_start",
    "turn_end",
    "message_start",
    "message_end",
    "tool_call",
    "tool_result",
    "tool_execution_start",
    "tool_execution_update",
    "tool_execution_end",
    "auto_compaction_start",
    "auto_compaction_end",
    "auto_retry_start",
    "auto_retry_end",
    "ttsr_triggered",
    "todo_reminder",
    "credential_disabled",
];

/// The keys of the file.
const KEYS: [&str; 2] = ["hooks", "$schema"];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Entry {
    event: String,
    #[serde(default, rename = "match")]
    matches: Match,
    command: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    shell: bool,
    timeout_ms: Option<u64>,
    #[serde(default)]
    on_failure: OnFailure,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Match {
    tool: Option<String>,
    args: Option<String>,
}

#[derive(Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum OnFailure {
    #[default]
    Block,
    Allow,
}

/// Parses the text of a `hooks.json`, which is JSON with comments. `path` is the file; `environment` contains the
/// variables for its programs. Warnings name the invalid entries; an invalid entry for `tool_call` also blocks the
/// calls that it may have applied to.
///
/// # Errors
/// Returns an error with the position if the text is not a JSON object with a list `hooks`.
pub fn read(
    text: &str,
    path: &Path,
    origin: Origin,
    environment: &Arc<Variables>,
) -> Result<(Vec<Hook>, Vec<String>), String> {
    let name = path.display();
    if text.trim().is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let value: Value = serde_json::from_str(&plain_json(text))
        .map_err(|error| format!("{name}:{}:{}: {}", error.line(), error.column(), reason(&error)))?;
    if let Some(unknown) = value.as_object().and_then(|all| all.keys().find(|key| !KEYS.contains(&key.as_str()))) {
        return Err(format!("{name}: unknown key \"{unknown}\"; hooks are listed under \"hooks\""));
    }
    let list = match value.get("hooks") {
        Some(Value::Array(list)) => list,
        _ => return Err(format!("{name}: expected an object with a list \"hooks\"")),
    };
    let mut hooks = Vec::new();
    let mut warnings = Vec::new();
    for (index, value) in list.iter().enumerate() {
        let place = format!("{name}: hooks[{index}]");
        match entry(value, path, origin, environment) {
            Ok(hook) => hooks.push(hook),
            Err(fault) => {
                warnings.push(format!("{place}: {fault}"));
                hooks.extend(broken(value, &place, fault, environment));
            }
        }
    }
    Ok((hooks, warnings))
}

/// Returns serde's message without its position, which would refer to the text of the entry.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_string()
}

fn entry(value: &Value, path: &Path, origin: Origin, environment: &Arc<Variables>) -> Result<Hook, String> {
    let entry: Entry = serde_json::from_value(value.clone()).map_err(|error| reason(&error))?;
    if entry.event == "message_update" {
        return Err("programs do not receive message_update".into());
    }
    if !EVENTS.contains(&entry.event.as_str()) && !crate::hook_points::is_point(&entry.event) {
        return Err(format!("unknown event \"{}\"", entry.event));
    }
    if entry.command.trim().is_empty() {
        return Err("the command is empty".into());
    }
    let regex = entry.matches.args.as_deref().map(Regex::new).transpose();
    let arguments =
        regex.map_err(|error| format!("match.args: {}", error.to_string().lines().last().unwrap_or_default()))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let (file, arguments_of_program) = match entry.shell {
        true => {
            let mut words = vec!["-c".to_string(), entry.command.clone(), "sh".to_string()];
            words.extend(entry.args);
            ("/bin/sh".into(), words)
        }
        false => (command(folder, &entry.command, origin), entry.args),
    };
    Ok(Hook {
        name: format!("{} ({})", path.display(), entry.command),
        event: entry.event,
        tools: tools(entry.matches.tool.as_deref()),
        arguments,
        program: Program {
            file,
            arguments: arguments_of_program,
            limit: entry.timeout_ms.map_or(LIMIT, Duration::from_millis),
        },
        allows: entry.on_failure == OnFailure::Allow,
        fault: None,
        environment: Arc::clone(environment),
        secrets: None,
    })
}

fn tools(text: Option<&str>) -> Vec<String> {
    let names = text.unwrap_or_default().split('|').map(str::trim);
    names.filter(|name| !name.is_empty()).map(str::to_string).collect()
}

/// Returns a hook that blocks in place of an invalid entry for `tool_call`, because the entry was meant to guard calls;
/// `None` for other events.
fn broken(value: &Value, place: &str, fault: String, environment: &Arc<Variables>) -> Option<Hook> {
    if value.get("event").and_then(Value::as_str) != Some("tool_call") {
        return None;
    }
    let tool = value.get("match").and_then(|matches| matches.get("tool")).and_then(Value::as_str);
    Some(Hook {
        name: place.to_string(),
        event: "tool_call".into(),
        tools: tools(tool),
        arguments: None,
        program: Program::default(),
        allows: false,
        fault: Some(fault),
        environment: Arc::clone(environment),
        secrets: None,
    })
}
