//! Selects tools, sets the todo list, and reloads files.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use sinew_control::actions::tools::ListedTool;
use sinew_tools::Phase;

use super::client::{Fields, Rpc, fields};
use super::host_tools::{self, ToolDescription};
use super::reply::Answer;

fn listed(rpc: &Rpc) -> Value {
    let describe = |ListedTool { tool, is_active, .. }: ListedTool| {
        json!({
            "name": tool.name(),
            "label": tool.label(),
            "description": tool.description(),
            "parameters": tool.parameters(),
            "active": is_active,
        })
    };
    let list: Vec<Value> = rpc.control.tools().into_iter().map(describe).collect();
    json!({"tools": list})
}

pub(super) async fn get(rpc: Arc<Rpc>, _: Fields) -> Answer {
    Ok(Some(listed(&rpc)))
}

#[derive(Deserialize)]
struct Names {
    names: Vec<String>,
}

pub(super) async fn set(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let Names { names } = fields("set_tools", given)?;
    rpc.control.select_tools(names)?;
    Ok(Some(listed(&rpc)))
}

#[derive(Deserialize)]
struct Host {
    tools: Vec<ToolDescription>,
}

/// Replaces the client's tools.
pub(super) async fn set_host(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let Host { tools } = fields("set_host_tools", given)?;
    let tools = host_tools::tools(tools, &rpc.control.taken_names(), &rpc.calls)?;
    let names: Vec<String> = tools.iter().map(|tool| tool.name().to_string()).collect();
    rpc.control.set_client_tools(tools)?;
    Ok(Some(json!({"names": names})))
}

#[derive(Deserialize)]
struct Todos {
    phases: Vec<Phase>,
}

pub(super) async fn set_todos(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let Todos { phases } = fields("set_todos", given)?;
    Ok(Some(json!({"phases": rpc.control.set_todo(phases)?})))
}

pub(super) async fn reload(rpc: Arc<Rpc>, _: Fields) -> Answer {
    Ok(Some(json!({"warnings": rpc.control.reload().await?})))
}
