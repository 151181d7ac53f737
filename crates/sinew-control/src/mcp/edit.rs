//! Changes one entry of a file that configures MCP servers, and leaves the rest unchanged: comments, order, white
//! space.

use std::path::{Path, PathBuf};

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstObjectProp, CstRootNode};
use sinew::base::{Error, ErrorCode};
use sinew_agent::mcp::config::{Entries, Origin};
use sinew_session::files;

use super::servers::{find, short};
use crate::args::McpArgs;
use crate::failure::Failure;
use crate::output::print;
use crate::startup::Startup;

/// The text may begin with a byte order mark.
const MARK: char = '\u{feff}';

/// Adds a server to a file: `sinew mcp add`.
///
/// # Errors
/// Returns an error if the flags do not describe a server, the name is in use, or the file cannot be written.
pub fn add(startup: &Startup, name: &str) -> Result<u8, Failure> {
    let entry = described(name, &startup.args.mcp).map_err(Failure::usage)?;
    let path = target(startup);
    change(&path, |servers| {
        if member(servers, name).is_some() {
            return Err(format!(
                "Server \"{name}\" already exists in {}; remove it with sinew mcp remove {name}",
                path.display()
            ));
        }
        servers.append(name, entry);
        Ok(())
    })?;
    let place = short(&path);
    print(&format!("Added \"{name}\" to {place}. sinew mcp test {name} starts it and shows its tools\n"))
}

/// Removes a server from its file: `sinew mcp remove`.
///
/// # Errors
/// Returns an error if the server does not exist, or the file cannot be written.
pub fn remove(startup: &Startup, entries: &Entries, name: &str) -> Result<u8, Failure> {
    let path = holder(startup, entries, "remove", name)?;
    change(&path, |servers| {
        let found = member(servers, name)
            .ok_or_else(|| format!("{}: no server named {name} in \"mcpServers\"", path.display()))?;
        found.remove();
        Ok(())
    })?;
    print(&format!("Removed \"{name}\" from {}\n", short(&path)))
}

/// Enables or disables a server in its file.
///
/// # Errors
/// Returns an error if the server does not exist, or the file cannot be written.
pub fn switch(startup: &Startup, entries: &Entries, name: &str, on: bool) -> Result<u8, Failure> {
    let path = set_enabled(startup, entries, name, on)?;
    let word = if on { "Enabled" } else { "Disabled" };
    print(&format!("{word} \"{name}\" in {}; it applies from the next session on\n", short(&path)))
}

/// Enables or disables an entry in its file, and returns the path of the file.
pub(crate) fn set_enabled(startup: &Startup, entries: &Entries, name: &str, on: bool) -> Result<PathBuf, Failure> {
    let command = if on { "enable" } else { "disable" };
    let path = holder(startup, entries, command, name)?;
    change(&path, |servers| {
        let missing = || format!("{}: no server named {name} in \"mcpServers\"", path.display());
        let entry = member(servers, name).ok_or_else(missing)?;
        let entry = entry.object_value().ok_or_else(|| format!("{}: {name} is not an object", path.display()))?;
        // Other programs use this key for the same purpose.
        if let Some(other) = member(&entry, "disabled") {
            other.remove();
        }
        match (member(&entry, "enabled"), on) {
            (Some(enabled), true) => enabled.remove(),
            (Some(enabled), false) => enabled.set_value(CstInputValue::Bool(false)),
            (None, true) => {}
            (None, false) => drop(entry.append("enabled", CstInputValue::Bool(false))),
        }
        Ok(())
    })?;
    Ok(path)
}

/// Returns the file for a new entry.
fn target(startup: &Startup) -> PathBuf {
    let folder = if startup.args.mcp.project { &startup.paths.project } else { &startup.paths.agent };
    folder.join("mcp.json")
}

/// Returns the file with the entry in force, or the file that a flag selects.
fn holder(startup: &Startup, entries: &Entries, command: &str, name: &str) -> Result<PathBuf, Failure> {
    if startup.args.mcp.project {
        return Ok(target(startup));
    }
    let entry = find(entries, command, name)?;
    match entry.origin {
        Origin::Flag | Origin::Project | Origin::User => Ok(entry.file.clone()),
        Origin::Client => {
            Err(Failure::failed(format!("Server \"{name}\" was added by the client of the session; it is in no file.")))
        }
    }
}

/// Builds the entry that the flags describe.
fn described(name: &str, args: &McpArgs) -> Result<CstInputValue, String> {
    let letter = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '-');
    if name.is_empty() || name.len() > 100 || !name.chars().all(letter) {
        return Err(format!("sinew mcp add: {name:?} is not a valid name; use 1 to 100 letters, digits, _ . and -"));
    }
    let text = |text: &str| CstInputValue::String(text.to_string());
    let mut members = Vec::new();
    match (&args.url, &args.command) {
        (Some(_), Some(_)) => return Err("Use either --url or -- <command...>, not both.".into()),
        (None, None) => {
            return Err(format!("sinew mcp add {name} needs a program or a URL: -- COMMAND ARG…, or --url URL"));
        }
        (Some(url), None) => {
            if !(url.starts_with("http://") || url.starts_with("https://")) {
                return Err(format!("--url {url}: not a URL; it must begin with https:// or http://"));
            }
            if !args.env.is_empty() {
                return Err("--env is for a program; use --header for a server at a URL".into());
            }
            members.push(("url".to_string(), text(url)));
            let headers = pairs(&args.headers, ':', "--header", "'NAME: VALUE'")?;
            members.extend((!headers.is_empty()).then(|| ("headers".to_string(), CstInputValue::Object(headers))));
        }
        (None, Some(command)) => {
            let Some((program, rest)) = command.split_first() else {
                return Err(format!("sinew mcp add {name} --: put the program after --"));
            };
            if !args.headers.is_empty() {
                return Err("--header requires --url; use --env for a program".into());
            }
            members.push(("command".to_string(), text(program)));
            let rest: Vec<CstInputValue> = rest.iter().map(|arg| text(arg)).collect();
            members.extend((!rest.is_empty()).then(|| ("args".to_string(), CstInputValue::Array(rest))));
            let env = pairs(&args.env, '=', "--env", "NAME=VALUE")?;
            members.extend((!env.is_empty()).then(|| ("env".to_string(), CstInputValue::Object(env))));
        }
    }
    Ok(CstInputValue::Object(members))
}

fn pairs(given: &[String], mark: char, flag: &str, shape: &str) -> Result<Vec<(String, CstInputValue)>, String> {
    let pair = |text: &String| match text.split_once(mark) {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_string(), CstInputValue::String(value.trim().to_string())))
        }
        _ => Err(format!("{flag} needs {shape}")),
    };
    given.iter().map(pair).collect()
}

/// Applies `edit` to the servers of a file, which is created if it is missing. Locks the file against other processes.
fn change(path: &Path, edit: impl FnOnce(&CstObject) -> Result<(), String>) -> Result<(), Failure> {
    let changed = files::update(path, |old| {
        edited(old.unwrap_or_default(), edit).map_err(|reason| Error::new(ErrorCode::InvalidArgument, reason))
    });
    changed.map_err(|error| match error.code() {
        ErrorCode::InvalidArgument => Failure::failed(error.message()),
        _ => Failure::config(error.message()),
    })
}

fn edited(text: &str, edit: impl FnOnce(&CstObject) -> Result<(), String>) -> Result<String, String> {
    let body = text.trim_start_matches(MARK);
    let options = ParseOptions { allow_loose_object_property_names: false, ..ParseOptions::default() };
    let root = CstRootNode::parse(body, &options).map_err(|error| format!("invalid JSON: {error}"))?;
    let object = root.object_value_or_create().ok_or("the file is not an object with \"mcpServers\"")?;
    let servers = match member(&object, "mcpServers") {
        Some(found) => found.object_value().ok_or("\"mcpServers\" is not an object")?,
        None => object
            .append("mcpServers", CstInputValue::Object(Vec::new()))
            .object_value()
            .ok_or("\"mcpServers\" is not an object")?,
    };
    edit(&servers)?;
    Ok(format!("{}{root}", &text[..text.len() - body.len()]))
}

/// Returns the member with this name; the last one if there are several.
fn member(object: &CstObject, name: &str) -> Option<CstObjectProp> {
    object
        .properties()
        .into_iter()
        .rev()
        .find(|member| member.name().and_then(|name| name.decoded_value().ok()).is_some_and(|known| known == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_keep_comments_and_order() {
        let text = "\u{feff}// mine\n{\n  \"mcpServers\": {\n    // the first\n    \"a.b\": {\"command\": \"x\"}, // here\n    \"c\": {\"command\": \"y\"}\n  }\n}\n";
        let added = edited(text, |servers| {
            servers.append("d", CstInputValue::Object(vec![("command".into(), CstInputValue::String("z".into()))]));
            Ok(())
        })
        .unwrap();
        for kept in ["\u{feff}// mine", "// the first", "// here", "\"c\": {\"command\": \"y\"}"] {
            assert!(added.contains(kept), "{added}");
        }
        let removed = edited(&added, |servers| {
            member(servers, "a.b").unwrap().remove();
            Ok(())
        })
        .unwrap();
        assert!(!removed.contains("a.b") && removed.contains("// mine") && removed.contains("\"d\""), "{removed}");
    }

    #[test]
    fn invalid_files_are_not_changed() {
        for bad in ["{", "[]", "{\"mcpServers\": 7}"] {
            assert!(edited(bad, |_| Ok(())).is_err(), "{bad}");
        }
        assert!(edited("", |_| Ok(())).unwrap().contains("mcpServers"));
    }
}
