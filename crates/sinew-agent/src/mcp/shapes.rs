//! The shapes of configuration files: which keys of a file contain servers, and how other programs write an entry.

use std::collections::HashMap;

use serde_json::{Map, Value};
use sinew_llm::models::plain_json;

/// The keys whose value is a table of servers.
const KEYS: [&str; 4] = ["mcpServers", "servers", "mcp", "context_servers"];
/// Keys that only an entry of a server has.
const MARKS: [&str; 4] = ["command", "url", "httpUrl", "serverUrl"];
/// Keys of other programs, with ours.
const ALIASES: [(&str, &str); 3] = [("environment", "env"), ("httpUrl", "url"), ("serverUrl", "url")];

/// A table with the key that contains it.
type Table = (&'static str, Vec<(String, Value)>);

/// The servers of a file, and warnings about keys that are not used.
#[derive(Debug, Default)]
pub(super) struct FileServers {
    /// The entries with their names, in order.
    pub(super) entries: Vec<(String, Value)>,
    /// The warnings, without the name of the file.
    pub(super) warnings: Vec<String>,
}

/// Returns the servers of a file. Several tables are merged; if two have the same name, the first is used:
///
/// | key | used by |
/// |---|---|
/// | `mcpServers` | most programs |
/// | `servers`, `mcp.servers` | VS Code |
/// | `mcp` | opencode |
/// | `context_servers` | Zed |
///
/// # Errors
/// Returns an error if the text is not a JSON object, or if its `mcpServers` is not one.
pub(super) fn servers(text: &str) -> Result<FileServers, String> {
    let mut found = FileServers::default();
    if text.trim().is_empty() {
        return Ok(found);
    }
    let value: Value = serde_json::from_str(&plain_json(text)).map_err(|error| error.to_string())?;
    let Value::Object(root) = value else { return Err("not an object with \"mcpServers\"".into()) };
    let mut origins: HashMap<String, &str> = HashMap::new();
    for (key, table) in tables(&root, &mut found.warnings)? {
        for (name, entry) in table {
            match origins.get(&name) {
                Some(first) => found
                    .warnings
                    .push(format!("\"{key}\" also has \"{name}\", which is ignored: the one of \"{first}\" is used")),
                None => drop(origins.insert(name.clone(), key)),
            }
            found.entries.push((name, translated(entry)));
        }
    }
    Ok(found)
}

/// Returns the tables of a file with their keys.
fn tables(root: &Map<String, Value>, warnings: &mut Vec<String>) -> Result<Vec<Table>, String> {
    let mut tables = Vec::new();
    for key in KEYS {
        match (key, root.get(key)) {
            (_, None) => {}
            ("mcp", Some(Value::Object(members))) => {
                let inner = members.get("servers").filter(|inner| !is_entry(inner));
                match inner {
                    Some(Value::Object(inner)) => tables.push(("mcp.servers", listed(inner))),
                    Some(_) => warnings.push("\"mcp.servers\" is not an object".into()),
                    None => {}
                }
                let mut others = listed(members);
                // VS Code keeps the questions for secrets next to its servers.
                others.retain(|(name, _)| name != "inputs" && (name != "servers" || inner.is_none()));
                tables.push((key, others));
            }
            (_, Some(Value::Object(members))) => tables.push((key, listed(members))),
            ("servers", Some(Value::Array(list))) => tables.push((key, list.iter().map(named).collect())),
            ("mcpServers", Some(_)) => return Err("\"mcpServers\" is not an object".into()),
            (_, Some(_)) => warnings.push(format!("\"{key}\" is not an object")),
        }
    }
    for (key, value) in root.iter().filter(|(key, _)| !KEYS.contains(&key.as_str())) {
        if let Some(what) = kind_of(key, value) {
            let [first, second, third, last] = KEYS;
            warnings.push(format!(
                "\"{key}\" looks like {what}, but is ignored; use \"{first}\", \"{second}\", \"{third}\" or \"{last}\""
            ));
        }
    }
    Ok(tables)
}

/// Returns what an unknown key seems to contain; `None` if it has nothing to do with servers.
fn kind_of(key: &str, value: &Value) -> Option<&'static str> {
    let letters: String = key.chars().filter(char::is_ascii_alphanumeric).collect();
    let is_table =
        |members: &Map<String, Value>| letters.eq_ignore_ascii_case("mcpServers") || members.values().any(is_entry);
    if is_entry(value) {
        return Some("a server");
    }
    value.as_object().filter(|members| is_table(members)).map(|_| "servers")
}

fn listed(members: &Map<String, Value>) -> Vec<(String, Value)> {
    members.iter().map(|(name, entry)| (name.clone(), entry.clone())).collect()
}

/// Returns an entry of a list, which contains its name.
fn named(entry: &Value) -> (String, Value) {
    let mut entry = entry.clone();
    let name = entry.as_object_mut().and_then(|members| members.remove("name"));
    (name.as_ref().and_then(Value::as_str).unwrap_or_default().to_string(), entry)
}

/// Returns true if a value is the entry of a server.
fn is_entry(value: &Value) -> bool {
    MARKS.iter().any(|mark| value.get(mark).is_some_and(|found| !found.is_null() && !found.is_number()))
}

/// Rewrites an entry of another program in our keys. An entry in our keys is unchanged.
fn translated(mut entry: Value) -> Value {
    let Value::Object(members) = &mut entry else { return entry };
    for (other, own) in ALIASES {
        if !members.contains_key(own)
            && let Some(value) = members.remove(other)
        {
            members.insert(own.into(), value);
        }
    }
    let kind = match members.get("type").and_then(Value::as_str) {
        Some("local") => Some("stdio"),
        Some("remote") => Some("http"),
        _ => None,
    };
    if let Some(kind) = kind {
        members.insert("type".into(), kind.into());
    }
    if members.get("source").and_then(Value::as_str) == Some("custom") {
        members.remove("source");
    }
    match members.get("command").cloned() {
        // opencode: the program and its arguments are one list.
        Some(Value::Array(mut words)) if !words.is_empty() => {
            let command = words.remove(0);
            if let Some(Value::Array(more)) = members.remove("args") {
                words.extend(more);
            }
            members.insert("command".into(), command);
            members.insert("args".into(), words.into());
        }
        // Zed: the program, its arguments and its variables are one object.
        Some(Value::Object(mut inner)) if inner.contains_key("path") => {
            inner.remove("path").map(|path| members.insert("command".into(), path));
            for key in ["args", "env"] {
                if let Some(value) = inner.remove(key) {
                    members.entry(key).or_insert(value);
                }
            }
        }
        _ => {}
    }
    entry
}
