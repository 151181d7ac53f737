//! Configures queues, retries and compaction.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;
use sinew_agent::core::{Interrupt, QueueMode};
use sinew_control::actions::mode::SessionMode;

use super::client::{Fields, Rpc, fields};
use super::reply::{Answer, Reply};

#[derive(Deserialize)]
struct Queue {
    mode: QueueModeField,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum QueueModeField {
    All,
    OneAtATime,
}

impl From<QueueModeField> for QueueMode {
    fn from(taken: QueueModeField) -> QueueMode {
        match taken {
            QueueModeField::All => QueueMode::All,
            QueueModeField::OneAtATime => QueueMode::OneAtATime,
        }
    }
}

pub(super) async fn steering(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let Queue { mode } = fields("set_steering_mode", given)?;
    rpc.control.set_steering_mode(mode.into());
    Ok(None)
}

pub(super) async fn follow_up(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let Queue { mode } = fields("set_follow_up_mode", given)?;
    rpc.control.set_follow_up_mode(mode.into());
    Ok(None)
}

#[derive(Deserialize)]
struct InterruptField {
    mode: InterruptModeField,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum InterruptModeField {
    Immediate,
    Wait,
}

pub(super) async fn interrupt(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let InterruptField { mode } = fields("set_interrupt_mode", given)?;
    let mode = match mode {
        InterruptModeField::Immediate => Interrupt::Immediate,
        InterruptModeField::Wait => Interrupt::Wait,
    };
    rpc.control.set_interrupt_mode(mode);
    Ok(None)
}

#[derive(Deserialize)]
struct ModeField {
    mode: ModeWord,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum ModeWord {
    Default,
    Plan,
}

/// Enters or leaves plan mode.
pub(super) async fn mode(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let ModeField { mode } = fields("set_mode", given)?;
    let mode = match mode {
        ModeWord::Default => SessionMode::Default,
        ModeWord::Plan => SessionMode::Plan,
    };
    rpc.control.set_mode(mode).await?;
    Ok(None)
}

#[derive(Deserialize)]
struct Switch {
    enabled: bool,
}

pub(super) async fn auto_compaction(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let Switch { enabled } = fields("set_auto_compaction", given)?;
    rpc.control.set_auto_compaction(enabled);
    Ok(None)
}

pub(super) async fn auto_retry(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let Switch { enabled } = fields("set_auto_retry", given)?;
    rpc.control.set_auto_retry(enabled);
    Ok(None)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Compact {
    custom_instructions: Option<String>,
}

/// Compacts the context, and then processes the messages that arrived meanwhile.
pub(super) async fn compact(rpc: Arc<Rpc>, given: Fields, reply: Reply) {
    let Compact { custom_instructions } = match fields("compact", given) {
        Ok(fields) => fields,
        Err(error) => return reply.send(Err(error)).await,
    };
    let open = rpc.control.session();
    let done = rpc.control.compact(&open, custom_instructions.as_deref()).await;
    let answer = done.map(|done| {
        Some(json!({
            "summary": done.summary,
            "firstKeptEntryId": done.first_kept_entry_id,
            "tokensBefore": done.tokens_before,
            "estimatedTokensAfter": done.tokens_after,
        }))
    });
    reply.send(answer).await;
    open.agent.take_up().await;
}

/// Cancels a running compaction; the context stays unchanged.
pub(super) async fn abort_compaction(rpc: Arc<Rpc>, _: Fields) -> Answer {
    rpc.control.abort_compaction();
    Ok(None)
}

/// Cancels the wait for a retry, if there is one.
pub(super) async fn abort_retry(rpc: Arc<Rpc>, _: Fields) -> Answer {
    rpc.control.abort_retry();
    Ok(None)
}
