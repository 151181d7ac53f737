//! MCP servers: their state, enabling and disabling, reloading of files, logins.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use sinew_agent::mcp::Logout;
use sinew_control::actions::mcp as verbs;
use sinew_tools::tool::ToolOutput;

use super::client::{Fields, Rpc, fields};
use super::reply::Answer;

#[derive(Deserialize)]
struct ServerName {
    name: String,
}

#[derive(Deserialize)]
struct Switch {
    name: String,
    enabled: bool,
    #[serde(default)]
    now: bool,
}

#[derive(Deserialize)]
struct Reload {
    name: Option<String>,
    #[serde(default)]
    now: bool,
}

pub(super) async fn list(rpc: Arc<Rpc>, _: Fields) -> Answer {
    Ok(Some(verbs::list(&rpc.control.app)))
}

pub(super) async fn set(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let Switch { name, enabled, now } = fields("mcp_set", given)?;
    let warnings = verbs::set(&rpc.control.app, &name, enabled)?;
    changed(&rpc, &warnings, now)
}

pub(super) async fn reload(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let Reload { name, now } = fields("mcp_reload", given)?;
    let warnings = verbs::reload(&rpc.control.app, name.as_deref()).await?;
    changed(&rpc, &warnings, now)
}

/// Returns the URL that the user opens. An event `mcp_status` reports the end of the login.
pub(super) async fn login(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let ServerName { name } = fields("mcp_login", given)?;
    Ok(Some(json!({"url": verbs::login(&rpc.control.app, &name).await?})))
}

pub(super) async fn logout(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let ServerName { name } = fields("mcp_logout", given)?;
    let logout = verbs::logout(&rpc.control.app, &name).await?;
    let mut answer = json!({"loggedOut": logout != Logout::None, "revoked": logout == Logout::Revoked});
    if let Logout::Failed(reason) = logout {
        answer["error"] = reason.into();
    }
    Ok(Some(answer))
}

#[derive(Deserialize)]
struct ToolOfServer {
    server: String,
    tool: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

/// Calls a tool for the user. `abort_bash` cancels it.
pub(super) async fn call(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let ToolOfServer { server, tool, arguments } = fields("mcp_call", given)?;
    let (name, output) = rpc.control.mcp_call(&server, &tool, Value::Object(arguments)).await?;
    let ToolOutput { content, details, is_error, .. } = output;
    Ok(Some(json!({"tool": name, "content": content, "details": details, "isError": is_error})))
}

/// Returns the list after a change. With `now` the change applies to the current session at once: `lostTokens` is the
/// number of tokens that the provider may have cached, or null if the prefix of requests does not change.
fn changed(rpc: &Rpc, warnings: &[String], now: bool) -> Answer {
    let mut list = verbs::list(&rpc.control.app);
    list["warnings"] = json!(warnings);
    if now {
        list["lostTokens"] = json!(rpc.control.renew_servers()?);
    }
    Ok(Some(list))
}
