//! Which model answers, and how much it thinks.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use sinew_llm::model::{Model, ThinkingLevel};
use sinew_llm::models::Selection;

use super::Rpc;
use super::command::{Fields, fields};
use super::reply::Answer;
use crate::assemble::Start;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Named {
    provider: String,
    model_id: String,
}

pub(super) async fn set(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let Named { provider, model_id } = fields("set_model", given)?;
    let chooser = &rpc.assembly.chooser;
    let model = chooser.available().into_iter().find(|model| model.provider == provider && model.id == model_id);
    let Some(model) = model else {
        let reason = match chooser.registry().models().iter().any(|m| m.provider == provider && m.id == model_id) {
            true => format!("No key for {provider}: set one up, or choose another model"),
            false => format!("Model not found: {provider}/{model_id}; get_available_models lists them"),
        };
        return Err(reason.into());
    };
    let reached = chooser.connect(model).await?;
    let told = describe(&reached.model);
    rpc.open().agent.set_model(reached, None);
    Ok(Some(told))
}

/// The next model: of those that `--models` names, else `enabledModels`, else of all that can answer.
pub(super) async fn cycle(rpc: Arc<Rpc>, _: Fields) -> Answer {
    let chooser = &rpc.assembly.chooser;
    let Start { args, settings, .. } = &rpc.assembly.start;
    let globs = args.list("models").unwrap_or_else(|| settings.texts("enabledModels"));
    let scoped = !globs.is_empty();
    let list = match scoped {
        true => chooser.matching(&globs),
        false => {
            let all = chooser.available().into_iter();
            all.map(|model| Selection { model, level: None, warning: None }).collect()
        }
    };
    if list.len() < 2 {
        return Ok(Some(Value::Null));
    }
    let open = rpc.open();
    let current = open.agent.model().model.key();
    let at = list.iter().position(|selection| selection.model.key() == current);
    let next = &list[at.map_or(0, |at| (at + 1) % list.len())];
    let reached = chooser.connect(next.model.clone()).await?;
    let told = describe(&reached.model);
    open.agent.set_model(reached, None);
    if let Some(level) = next.level {
        open.agent.set_thinking(level);
    }
    Ok(Some(json!({"model": told, "thinkingLevel": open.agent.thinking().as_str(), "isScoped": scoped})))
}

pub(super) async fn available(rpc: Arc<Rpc>, _: Fields) -> Answer {
    let models: Vec<Value> = rpc.assembly.chooser.available().iter().map(describe).collect();
    Ok(Some(json!({"models": models})))
}

#[derive(Deserialize)]
struct Level {
    level: String,
}

pub(super) async fn set_thinking(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let Level { level } = fields("set_thinking_level", given)?;
    let level = ThinkingLevel::parse(&level).ok_or_else(|| {
        format!("set_thinking_level: unknown level {level:?}; use off, minimal, low, medium, high or xhigh")
    })?;
    rpc.open().agent.set_thinking(level);
    Ok(None)
}

/// The next level that the model knows; null where it cannot think.
pub(super) async fn cycle_thinking(rpc: Arc<Rpc>, _: Fields) -> Answer {
    let open = rpc.open();
    let model = open.agent.model().model;
    if !model.reasoning {
        return Ok(Some(Value::Null));
    }
    let known = levels(&model);
    let current = open.agent.thinking();
    let at = known.iter().position(|level| *level == current).unwrap_or(0);
    let next = known[(at + 1) % known.len()];
    open.agent.set_thinking(next);
    Ok(Some(json!({"level": next.as_str()})))
}

/// The levels that the model knows; `off` alone where it cannot think.
pub(super) async fn available_thinking(rpc: Arc<Rpc>, _: Fields) -> Answer {
    Ok(Some(json!({"levels": levels(&rpc.open().agent.model().model)})))
}

fn levels(model: &Model) -> Vec<ThinkingLevel> {
    match model.reasoning {
        true => ThinkingLevel::ALL.into_iter().filter(|level| model.knows_level(*level)).collect(),
        false => vec![ThinkingLevel::Off],
    }
}

/// A model for clients. Headers stay here: they may hold keys.
pub(super) fn describe(model: &Model) -> Value {
    json!({
        "id": model.id,
        "name": model.name,
        "api": model.api,
        "provider": model.provider,
        "baseUrl": model.base_url,
        "reasoning": model.reasoning,
        "thinkingLevels": ThinkingLevel::ALL.into_iter().filter(|level| model.knows_level(*level)).collect::<Vec<_>>(),
        "input": model.input,
        "cost": {
            "input": model.cost.input,
            "output": model.cost.output,
            "cacheRead": model.cost.cache_read,
            "cacheWrite": model.cost.cache_write,
        },
        "contextWindow": model.context_window,
        "maxTokens": model.max_tokens,
    })
}
