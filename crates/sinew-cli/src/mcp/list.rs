//! Implements `sinew mcp list` and `sinew mcp get`. They start no server.

use serde_json::{Value, json};
use sinew_agent::mcp::cache::{Cache, KnownServer};
use sinew_agent::mcp::config::{Entries, Entry, EntryStatus, ServerConfig, Transport};
use sinew_control::failure::Failure;
use sinew_control::mcp::servers::{find, short};
use sinew_control::output::print;
use sinew_control::startup::Startup;
use sinew_mcp::era::Era;
use sinew_session::clock::{Clock, SystemClock};

pub(super) fn list(startup: &Startup, entries: &Entries) -> Result<u8, Failure> {
    let cache = cache(startup);
    if startup.args.output.object {
        let list: Vec<Value> = entries.list.iter().map(|entry| facts(entry, &cache)).collect();
        return print(&format!("{:#}\n", json!(list)));
    }
    if entries.list.is_empty() {
        return print("No MCP servers. sinew mcp add NAME -- COMMAND adds one; sinew mcp lists all commands\n");
    }
    let mut out = String::new();
    for entry in &entries.list {
        let (state, about) = state(entry, &cache);
        let line = format!("{:20} {:10} {:28} {about}", entry.name, state, short(&entry.file));
        out.push_str(line.trim_end());
        out.push('\n');
    }
    print(&out)
}

pub(super) fn get(startup: &Startup, entries: &Entries, name: &str) -> Result<u8, Failure> {
    let entry = find(entries, "get", name)?;
    let cache = cache(startup);
    if startup.args.output.object {
        return print(&format!("{:#}\n", facts(entry, &cache)));
    }
    let (state, about) = state(entry, &cache);
    let mut rows = vec![("name", entry.name.clone()), ("file", entry.file.display().to_string()), ("state", state)];
    if !about.is_empty() {
        rows.push(("", about));
    }
    let mut out = String::new();
    let known = config(entry).and_then(|config| cache.get(&config.hash));
    if let Some(config) = config(entry) {
        match &config.transport {
            Transport::Stdio { command, args, env, cwd } => {
                rows.push(("command", [std::slice::from_ref(command), args].concat().join(" ")));
                // Only the names, because the values may be secrets.
                let names: Vec<&str> = env.iter().map(|(name, _)| name.as_str()).collect();
                rows.extend((!names.is_empty()).then(|| ("env", names.join(", "))));
                rows.extend(cwd.iter().map(|cwd| ("cwd", cwd.display().to_string())));
            }
            Transport::Http { url, headers } => {
                rows.push(("url", url.clone()));
                let names: Vec<&str> = headers.iter().map(|(name, _)| name.as_str()).collect();
                rows.extend((!names.is_empty()).then(|| ("headers", names.join(", "))));
            }
        }
    }
    if let Some(era) = known.as_ref().and_then(|known| known.era) {
        rows.push(("protocol", protocol(era).to_string()));
    }
    for (name, value) in rows {
        out.push_str(format!("{name:10} {value}").trim_end());
        out.push('\n');
    }
    for tool in known.iter().flat_map(|known| &known.tools) {
        let used = config(entry).is_none_or(|config| config.tools.takes(&tool.name));
        let mark = if used { "" } else { " (not used)" };
        let about: String = tool.text("description").lines().next().unwrap_or_default().chars().take(80).collect();
        out.push_str(format!("  {:28} {about}{mark}", tool.name).trim_end());
        out.push('\n');
    }
    print(&out)
}

/// Describes the protocol version of a server.
fn protocol(era: Era) -> &'static str {
    match era {
        Era::Modern => "2026-07-28",
        Era::Legacy => "2025-11-25 or earlier",
    }
}

fn cache(startup: &Startup) -> Cache {
    Cache::read(startup.paths.agent.join("mcp-cache.json"), SystemClock.now())
}

fn config(entry: &Entry) -> Option<&ServerConfig> {
    match &entry.standing {
        EntryStatus::Ready(config) => Some(config),
        _ => None,
    }
}

/// Returns the number of enabled tools, and their size in bytes.
fn counted(config: &ServerConfig, known: &KnownServer) -> (usize, usize) {
    let used = known.tools.iter().filter(|tool| config.tools.takes(&tool.name));
    used.fold((0, 0), |(count, bytes), tool| (count + 1, bytes + tool.raw.bytes()))
}

/// Returns the state of an entry, and a remark on it.
fn state(entry: &Entry, cache: &Cache) -> (String, String) {
    let (state, about) = match &entry.standing {
        EntryStatus::Ready(config) => match cache.get(&config.hash) {
            Some(known) => {
                let (count, bytes) = counted(config, &known);
                ("idle", format!("{count} tools, about {} tokens if all were sent", bytes / 4))
            }
            None => ("idle", format!("its tools are not known yet; run sinew mcp test {}", entry.name)),
        },
        EntryStatus::Disabled => ("disabled", format!("run sinew mcp enable {} to enable it", entry.name)),
        EntryStatus::Untrusted => ("untrusted", "the project is not trusted; --trust uses it for one run".to_string()),
        EntryStatus::Shadowed(by) => ("shadowed", format!("{} defines a server with this name first", short(by))),
        EntryStatus::Invalid(reason) => ("invalid", reason.clone()),
    };
    (state.to_string(), about)
}

fn facts(entry: &Entry, cache: &Cache) -> Value {
    let (state, about) = state(entry, cache);
    let mut facts = json!({"name": entry.name, "file": entry.file, "state": state, "about": about});
    if let Some(config) = config(entry) {
        facts["transport"] = match &config.transport {
            Transport::Stdio { command, args, .. } => json!({"command": command, "args": args}),
            Transport::Http { url, .. } => json!({"url": url}),
        };
        if let Some(known) = cache.get(&config.hash) {
            let names: Vec<&str> = known
                .tools
                .iter()
                .filter(|tool| config.tools.takes(&tool.name))
                .map(|tool| tool.name.as_str())
                .collect();
            facts["tokens"] = json!(counted(config, &known).1 / 4);
            facts["tools"] = json!(names);
            facts["protocol"] = json!(known.era.map(protocol));
        }
    }
    facts
}
