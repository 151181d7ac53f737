//! What a client switches, and what it ends beside runs.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;
use sinew_agent::agent::AgentSettings;
use sinew_agent::core::{Interrupt, Mode};

use super::Rpc;
use super::command::{Fields, fields};
use super::reply::{Answer, Fault, Reply};

#[derive(Deserialize)]
struct Queue {
    mode: Taken,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Taken {
    All,
    OneAtATime,
}

impl From<Taken> for Mode {
    fn from(taken: Taken) -> Mode {
        match taken {
            Taken::All => Mode::All,
            Taken::OneAtATime => Mode::OneAtATime,
        }
    }
}

fn change(rpc: &Rpc, change: impl FnOnce(&mut AgentSettings)) -> Answer {
    rpc.open().agent.change_settings(change);
    Ok(None)
}

pub(super) async fn steering(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let Queue { mode } = fields("set_steering_mode", given)?;
    change(&rpc, |settings| settings.steering_mode = mode.into())
}

pub(super) async fn follow_up(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let Queue { mode } = fields("set_follow_up_mode", given)?;
    change(&rpc, |settings| settings.follow_up_mode = mode.into())
}

#[derive(Deserialize)]
struct Steered {
    mode: When,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum When {
    Immediate,
    Wait,
}

pub(super) async fn interrupt(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let Steered { mode } = fields("set_interrupt_mode", given)?;
    let mode = match mode {
        When::Immediate => Interrupt::Immediate,
        When::Wait => Interrupt::Wait,
    };
    change(&rpc, |settings| settings.run.interrupt = mode)
}

#[derive(Deserialize)]
struct Switch {
    enabled: bool,
}

pub(super) async fn auto_compaction(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let Switch { enabled } = fields("set_auto_compaction", given)?;
    change(&rpc, |settings| settings.compaction.enabled = enabled)
}

pub(super) async fn auto_retry(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let Switch { enabled } = fields("set_auto_retry", given)?;
    change(&rpc, |settings| settings.retry.enabled = enabled)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Compact {
    custom_instructions: Option<String>,
}

/// Sums up; what was said meanwhile has its turn then.
pub(super) async fn compact(rpc: Arc<Rpc>, given: Fields, reply: Reply) {
    let Compact { custom_instructions } = match fields("compact", given) {
        Ok(fields) => fields,
        Err(fault) => return reply.send(Err(fault)).await,
    };
    let open = rpc.open();
    let done = open.agent.compact(custom_instructions.as_deref()).await;
    let answer = done.map(|done| {
        Some(json!({
            "summary": done.summary,
            "firstKeptEntryId": done.first_kept_entry_id,
            "tokensBefore": done.tokens_before,
            "estimatedTokensAfter": done.tokens_after,
        }))
    });
    reply.send(answer.map_err(Fault::from)).await;
    open.agent.take_up().await;
}

/// Ends a compaction; the context stays as it is. No error where there is none.
pub(super) async fn abort_compaction(rpc: Arc<Rpc>, _: Fields) -> Answer {
    rpc.open().agent.abort_compaction();
    Ok(None)
}

/// Ends the wait for another attempt. No error where nothing waits.
pub(super) async fn abort_retry(rpc: Arc<Rpc>, _: Fields) -> Answer {
    rpc.open().agent.abort_retry();
    Ok(None)
}
