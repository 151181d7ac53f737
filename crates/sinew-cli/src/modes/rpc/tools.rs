//! Which tools the model has, its list of tasks, and what files add.

use std::sync::{Arc, PoisonError};

use serde::Deserialize;
use serde_json::{Value, json};
use sinew_agent::core::Toolset;
use sinew_agent::tool::Tool;
use sinew_agent::tools::Phase;

use super::Rpc;
use super::command::{Fields, fields};
use super::host_tools::{self, Described};
use super::reply::{Answer, Fault};
use crate::assemble::Open;

/// What the client made of the tools.
#[derive(Default)]
pub(super) struct Chosen {
    /// The tools that are on; none: those that flags and settings leave, and the client's.
    names: Option<Vec<String>>,
    /// Those that the client runs.
    host: Vec<Arc<dyn Tool>>,
}

impl Rpc {
    /// All tools that there are: those of the session, then the client's.
    fn known(&self, open: &Open) -> Vec<Arc<dyn Tool>> {
        let mut known = self.assembly.known_tools(&open.host);
        known.retain(|tool| !tool.flags().hidden);
        known.extend(self.chosen.lock().unwrap_or_else(PoisonError::into_inner).host.iter().cloned());
        known
    }

    /// Offers what is chosen, from the next turn on. What is wrong with files of the prompt goes to `warnings`.
    pub(super) fn offer(&self, open: &Open, warnings: &mut Vec<String>) -> Result<(), Fault> {
        let (names, host) = {
            let chosen = self.chosen.lock().unwrap_or_else(PoisonError::into_inner);
            (chosen.names.clone(), chosen.host.clone())
        };
        let tools: Vec<Arc<dyn Tool>> = match names {
            Some(names) => {
                let known = self.known(open).into_iter();
                known.filter(|tool| names.iter().any(|name| name == tool.name())).collect()
            }
            None => self.assembly.toolset(&open.host)?.all().iter().cloned().chain(host).collect(),
        };
        let tools = Toolset::new(tools).0;
        let system = self.assembly.system(&tools, warnings)?;
        open.agent.set_tools(tools, system);
        Ok(())
    }

    fn listed(&self, open: &Open) -> Value {
        let active = open.agent.tools();
        let list: Vec<Value> = self
            .known(open)
            .iter()
            .map(|tool| {
                json!({
                    "name": tool.name(),
                    "label": tool.label(),
                    "description": tool.description(),
                    "parameters": tool.parameters(),
                    "active": active.find(tool.name()).is_some(),
                })
            })
            .collect();
        json!({"tools": list})
    }
}

pub(super) async fn get(rpc: Arc<Rpc>, _: Fields) -> Answer {
    Ok(Some(rpc.listed(&rpc.open())))
}

#[derive(Deserialize)]
struct Names {
    names: Vec<String>,
}

pub(super) async fn set(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let Names { names } = fields("set_tools", given)?;
    let open = rpc.open();
    let known = rpc.known(&open);
    if let Some(unknown) = names.iter().find(|name| known.iter().all(|tool| tool.name() != **name)) {
        let known: Vec<&str> = known.iter().map(|tool| tool.name()).collect();
        return Err(format!("set_tools: unknown tool {unknown:?}; known: {}", known.join(", ")).into());
    }
    rpc.chosen.lock().unwrap_or_else(PoisonError::into_inner).names = Some(names);
    rpc.offer(&open, &mut Vec::new())?;
    Ok(Some(rpc.listed(&open)))
}

#[derive(Deserialize)]
struct Host {
    tools: Vec<Described>,
}

/// Takes the client's tools in place of those that it brought before.
pub(super) async fn set_host(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let Host { tools } = fields("set_host_tools", given)?;
    let open = rpc.open();
    let others = rpc.assembly.known_tools(&open.host);
    let taken = sinew_agent::tools::names().map(str::to_string);
    let taken: Vec<String> = taken.chain(others.iter().map(|tool| tool.name().to_string())).collect();
    let made = host_tools::tools(tools, &taken, &rpc.calls)?;
    let names: Vec<String> = made.iter().map(|tool| tool.name().to_string()).collect();
    {
        let mut chosen = rpc.chosen.lock().unwrap_or_else(PoisonError::into_inner);
        let old = std::mem::replace(&mut chosen.host, made);
        if let Some(on) = &mut chosen.names {
            on.retain(|name| old.iter().all(|tool| tool.name() != name));
            on.extend(names.iter().cloned());
        }
    }
    rpc.offer(&open, &mut Vec::new())?;
    Ok(Some(json!({"names": names})))
}

#[derive(Deserialize)]
struct Todos {
    phases: Vec<Phase>,
}

pub(super) async fn set_todos(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let Todos { phases } = fields("set_todos", given)?;
    let open = rpc.open();
    let phases = open.host.set_todo(phases).map_err(|reason| format!("set_todos: {reason}"))?;
    open.agent.record_todo(&phases);
    Ok(Some(json!({"phases": phases})))
}

/// Reads skills, commands, templates, rules and the files of the system prompt anew.
pub(super) async fn reload(rpc: Arc<Rpc>, _: Fields) -> Answer {
    let open = rpc.open();
    let mut warnings = Vec::new();
    let loaded = rpc.assembly.reload(&open.agent, &mut warnings).await?;
    open.host.set_resources(Arc::clone(&loaded.resources));
    open.agent.set_stream_rules(loaded.rules());
    rpc.offer(&open, &mut warnings)?;
    Ok(Some(json!({"warnings": warnings})))
}
