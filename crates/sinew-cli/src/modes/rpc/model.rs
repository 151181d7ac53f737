//! Models and thinking levels.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use sinew_control::actions::model::{ModelChange, Turn};
use sinew_llm::model::{Model, ThinkingLevel};

use super::client::{Fields, Rpc, fields};
use super::reply::Answer;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ModelName {
    provider: String,
    model_id: String,
}

pub(super) async fn set(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let ModelName { provider, model_id } = fields("set_model", given)?;
    Ok(Some(describe(&rpc.control.set_model(&provider, &model_id).await?)))
}

pub(super) async fn cycle(rpc: Arc<Rpc>, _: Fields) -> Answer {
    let change = rpc.control.cycle_model(Turn::Forward).await?;
    let told = change.map(|ModelChange { model, thinking, is_scoped }| {
        json!({"model": describe(&model), "thinkingLevel": thinking.as_str(), "isScoped": is_scoped})
    });
    Ok(Some(told.unwrap_or_default()))
}

pub(super) async fn available(rpc: Arc<Rpc>, _: Fields) -> Answer {
    let models: Vec<Value> = rpc.control.models().iter().map(describe).collect();
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
    // The protocol defines no data for this response; `get_state` returns the effective level.
    rpc.control.set_thinking(level);
    Ok(None)
}

pub(super) async fn cycle_thinking(rpc: Arc<Rpc>, _: Fields) -> Answer {
    let level = rpc.control.cycle_thinking();
    Ok(Some(level.map_or(Value::Null, |level| json!({"level": level.as_str()}))))
}

pub(super) async fn available_thinking(rpc: Arc<Rpc>, _: Fields) -> Answer {
    Ok(Some(json!({"levels": rpc.control.thinking_levels()})))
}

/// Describes a model for clients, without headers, which may contain keys.
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
