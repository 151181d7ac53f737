//! Lists and changes the MCP servers of a running program: `/mcp …`, and the commands `mcp_…` of the RPC mode.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};
use sinew_agent::mcp::Logout;
use sinew_agent::mcp::config::{Entry, EntryStatus};
use sinew_agent::mcp::manager::ServerState;

use sinew_llm::message::ToolCall;
use sinew_process::resident_bytes;
use sinew_tools::tool::ToolOutput;
use tokio_util::sync::CancellationToken;

use super::{Control, ControlError};
use crate::app::App;
use crate::failure::Failure;
use crate::mcp::{edit, login as words, servers};

/// The argument that applies a change of servers or tools to the current session at once.
pub const NOW: &str = "--now";

/// Returns all servers with their current state.
pub fn list(app: &App) -> Value {
    let mcp = &app.mcp;
    let entries = mcp.entries();
    let facts = entries.list.iter().map(|entry| {
        let (state, reason) = standing(entry, mcp.state(&entry.name).as_ref());
        let mut facts = json!({"name": entry.name, "file": entry.file, "state": state});
        if let (EntryStatus::Ready(_), Some(known)) = (&entry.standing, mcp.state(&entry.name)) {
            facts["tools"] = json!(known.tools);
            facts["tokens"] = json!(known.bytes / 4);
            facts["era"] = json!(known.version);
            facts["pid"] = json!(known.pid);
            facts["memory"] = json!(known.pid.and_then(resident_bytes));
        }
        if let Some(reason) = reason {
            facts["error"] = json!(reason);
        }
        facts
    });
    json!({ "servers": facts.collect::<Vec<_>>() })
}

/// Returns the same as rows of text.
pub(crate) fn rows(app: &App) -> Vec<(String, String)> {
    let mcp = &app.mcp;
    let entries = mcp.entries();
    let rows = entries.list.iter().map(|entry| {
        let known = mcp.state(&entry.name);
        let (state, reason) = standing(entry, known.as_ref());
        let known = known.filter(|_| matches!(entry.standing, EntryStatus::Ready(_)));
        let tools = known.as_ref().and_then(|known| known.tools).map(|count| format!("{count} tools"));
        let pid = known.as_ref().and_then(|known| known.pid).map(|pid| match resident_bytes(pid) {
            Some(bytes) => format!("process {pid} with {} MB", bytes.div_ceil(1_000_000)),
            None => format!("process {pid}"),
        });
        let parts = [Some(state.to_string()), tools, pid, reason];
        (entry.name.clone(), parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
    });
    rows.collect()
}

fn standing(entry: &Entry, state: Option<&ServerState>) -> (&'static str, Option<String>) {
    match &entry.standing {
        EntryStatus::Ready(_) => match state {
            Some(known) => (known.state, known.error.clone()),
            None => ("idle", None),
        },
        EntryStatus::Disabled => ("disabled", None),
        EntryStatus::Untrusted => ("untrusted", Some("its project is not trusted".to_string())),
        EntryStatus::Shadowed(by) => ("shadowed", Some(format!("{} defines it first", by.display()))),
        EntryStatus::Invalid(reason) => ("invalid", Some(reason.clone())),
    }
}

/// Enables or disables a server in its configuration file, and reads the files again.
///
/// # Errors
/// Returns an error if no file defines the server, or if the file cannot be changed.
pub fn set(app: &App, name: &str, enabled: bool) -> Result<Vec<String>, Failure> {
    edit::set_enabled(&app.startup, &app.mcp.entries(), name, enabled)?;
    read_files(app)
}

/// Reads the configuration files again; with a name, also requests the lists of that server again. Returns warnings
/// about the files.
///
/// # Errors
/// Returns an error if a file named by a flag cannot be read, or if the server cannot be started.
pub async fn reload(app: &App, name: Option<&str>) -> Result<Vec<String>, Failure> {
    let warnings = read_files(app)?;
    if let Some(name) = name {
        app.mcp.restart(name).await.map_err(Failure::failed)?;
    }
    Ok(warnings)
}

fn read_files(app: &App) -> Result<Vec<String>, Failure> {
    let mut entries = servers::entries(&app.startup, &servers::keys(&app.startup)?)?;
    let warnings = std::mem::take(&mut entries.warnings);
    app.mcp.reload(entries);
    Ok(warnings)
}

/// Begins a login at a server and returns the URL for the user to open; `None` if the server requires no login. The
/// login continues in the background, and its result becomes the state of the server.
///
/// # Errors
/// Returns an error if the server does not exist or does not support logins.
pub async fn login(app: &App, name: &str) -> Result<Option<String>, Failure> {
    let Some(login) = app.mcp.begin_login(name).await.map_err(Failure::failed)? else { return Ok(None) };
    let (url, mcp, name) = (login.url().to_string(), std::sync::Arc::clone(&app.mcp), name.to_string());
    // The task ends with the program.
    tokio::spawn(async move {
        match login.finish(std::future::pending()).await {
            // The state of the server reports the result.
            Ok(()) => drop(mcp.connect(&name).await),
            Err(error) => mcp.refuse_login(&name, &error.message),
        }
    });
    Ok(Some(url))
}

impl Control {
    /// Updates the server tools in the cached prefix of the current session, from the next turn on. Returns the number
    /// of tokens that a provider may have cached for the old prefix; `None` if the prefix does not change.
    ///
    /// # Errors
    /// Returns an error if a file of the system prompt or the session file cannot be read any more.
    pub fn renew_servers(&self) -> Result<Option<u64>, ControlError> {
        let open = self.session();
        if !self.app.renew_servers(&open) {
            return Ok(None);
        }
        self.offer(&open, &mut Vec::new())?;
        Ok(Some(self.cached_tokens(&open)?.unwrap_or_default()))
    }

    /// Calls a tool of a server for the user. Hooks and rules apply as for a call of the model; the call is shown, but
    /// not added to the conversation. Returns the name that hooks and rules saw, and the result.
    ///
    /// # Errors
    /// Returns an error if the server or tool does not exist, or if the server cannot be started. A failed call is a
    /// result.
    pub async fn mcp_call(
        &self,
        server: &str,
        tool: &str,
        arguments: Value,
    ) -> Result<(String, ToolOutput), ControlError> {
        let (_running, cancel) = self.bash.begin();
        let ended = CancellationToken::new();
        let end = ended.clone();
        let _hook = cancel.on_cancel(move || end.cancel());
        let name = tokio::select! {
            biased;
            name = self.app.mcp.tool_name(server, tool) => name?,
            () = ended.cancelled() => return Err("Operation aborted".into()),
        };
        let open = self.session();
        let id = format!("user_call_{}", self.calls.fetch_add(1, Ordering::Relaxed));
        let call = ToolCall {
            id,
            name: name.clone(),
            arguments,
            thought_signature: None,
            partial_json: None,
            invalid_arguments: None,
        };
        Ok((name, open.agent.call_tool(&call, &ended).await))
    }
}

/// Deletes the login at a server.
///
/// # Errors
/// Returns an error if the server does not exist, or if the file of logins cannot be changed.
pub async fn logout(app: &App, name: &str) -> Result<Logout, Failure> {
    app.mcp.log_out(name).await.map_err(Failure::failed)
}

/// Runs `/mcp WORDS` and returns the text to show. `waits` says that the program continues afterwards, so that a login
/// can finish.
///
/// # Errors
/// Returns an error if the words are not a valid command, or if it fails.
pub(crate) async fn run(control: &Control, words: &str, waits: bool) -> Result<String, ControlError> {
    let app = &control.app;
    let (flags, words): (Vec<&str>, Vec<&str>) = words.split_whitespace().partition(|word| *word == NOW);
    let now = !flags.is_empty();
    let (text, warnings) = match *words {
        ["enable", name] => (format!("Enabled \"{name}\"."), set(app, name, true)?),
        ["disable", name] => (format!("Disabled \"{name}\"."), set(app, name, false)?),
        ["reload"] => {
            let warnings = reload(app, None).await?;
            (format!("Read the files: {} servers.", app.mcp.names().len()), warnings)
        }
        ["reload", name] => {
            let warnings = reload(app, Some(name)).await?;
            let count = app.mcp.state(name).and_then(|state| state.tools).unwrap_or_default();
            (format!("\"{name}\" has {count} tools."), warnings)
        }
        [command, ..] if now => {
            return Err(
                Failure::usage(format!("/mcp {command}: {NOW} only works with enable, disable and reload")).into()
            );
        }
        ["login", name] if waits => {
            return Ok(match login(app, name).await? {
                Some(url) => format!("Open this URL in a browser to sign in to \"{name}\":\n\n  {url}"),
                None => format!("Server \"{name}\" needs no login."),
            });
        }
        ["login", name] => {
            return Err(Failure::usage(format!("/mcp login does not run here: use sinew mcp login {name}")).into());
        }
        ["logout", name] => return Ok(words::logged_out(name, &logout(app, name).await?)),
        [command @ ("enable" | "disable" | "login" | "logout"), ..] => {
            return Err(Failure::usage(format!("/mcp {command} needs the name of a server")).into());
        }
        _ => {
            return Err(Failure::usage(format!(
                "/mcp {}: unknown; use list, enable, disable, reload, login or logout; sinew mcp adds and removes \
                 servers",
                words.join(" ")
            ))
            .into());
        }
    };
    let mut lines = vec![text];
    if now {
        lines.push(match control.renew_servers()? {
            None => "The prefix of requests does not change.".to_string(),
            Some(lost) => format!("The next request has a new prefix; about {lost} cached tokens are invalidated."),
        });
    }
    lines.extend(warnings.iter().map(|warning| format!("Warning: {warning}")));
    Ok(lines.join("\n"))
}
