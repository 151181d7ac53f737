//! Prompts, steering, follow-ups, and the end of a run.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;
use sinew_agent::agent::Delivery;
use sinew_llm::message::ImageBlock;

use super::client::{Fields, Rpc, fields};
use super::reply::{Answer, Reply};
use crate::control::prompt::{Message, QueuedTexts, Submission};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Prompt {
    message: String,
    #[serde(default)]
    images: Vec<ImageBlock>,
    streaming_behavior: Option<Behavior>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Behavior {
    Steer,
    FollowUp,
}

impl From<Behavior> for Delivery {
    fn from(behavior: Behavior) -> Delivery {
        match behavior {
            Behavior::Steer => Delivery::Steer,
            Behavior::FollowUp => Delivery::FollowUp,
        }
    }
}

pub(super) async fn prompt(rpc: Arc<Rpc>, given: Fields, reply: Reply) {
    read_and_submit(&rpc, "prompt", given, None, reply).await;
}

pub(super) async fn steer(rpc: Arc<Rpc>, given: Fields, reply: Reply) {
    read_and_submit(&rpc, "steer", given, Some(Delivery::Steer), reply).await;
}

pub(super) async fn follow_up(rpc: Arc<Rpc>, given: Fields, reply: Reply) {
    read_and_submit(&rpc, "follow_up", given, Some(Delivery::FollowUp), reply).await;
}

pub(super) async fn abort(rpc: Arc<Rpc>, _: Fields) -> Answer {
    rpc.control.abort().await;
    Ok(None)
}

pub(super) async fn abort_and_prompt(rpc: Arc<Rpc>, given: Fields, reply: Reply) {
    // The prompt is parsed first, so that an invalid one aborts nothing.
    match fields("abort_and_prompt", given) {
        Ok(prompt) => {
            rpc.control.abort().await;
            submit(&rpc, prompt, None, reply).await;
        }
        Err(error) => reply.send(Err(error)).await,
    }
}

/// Removes the queued messages, and returns their texts.
pub(super) async fn clear_queue(rpc: Arc<Rpc>, _: Fields) -> Answer {
    let QueuedTexts { steering, follow_up } = rpc.control.clear_queues().await;
    Ok(Some(json!({"steering": steering, "followUp": follow_up})))
}

/// Reads a prompt and submits it.
async fn read_and_submit(rpc: &Rpc, name: &str, given: Fields, delivery: Option<Delivery>, reply: Reply) {
    match fields(name, given) {
        Ok(prompt) => submit(rpc, prompt, delivery, reply).await,
        Err(error) => reply.send(Err(error)).await,
    }
}

/// Submits a prompt, answers when it is accepted, and waits for the end of its run.
async fn submit(rpc: &Rpc, prompt: Prompt, delivery: Option<Delivery>, reply: Reply) {
    let Prompt { message, images, streaming_behavior } = prompt;
    let delivery = delivery.or(streaming_behavior.map(Delivery::from));
    let open = rpc.control.session();
    let submission = match rpc.control.submit(&open, Message { text: message, images, delivery }).await {
        Ok(submission) => submission,
        Err(error) => return reply.send(Err(error)).await,
    };
    // Sent before the run begins, so that the response precedes its events.
    reply.send(Ok(None)).await;
    notify(rpc, &submission).await;
    if let Some(title) = submission.run().await.new_title {
        rpc.ui.tell("setTitle", json!({"title": title})).await;
    }
}

/// Shows the warnings and notices of a prompt.
async fn notify(rpc: &Rpc, submission: &Submission<'_>) {
    submission.warn().await;
    if let Some(info) = submission.info() {
        rpc.ui.tell("notify", json!({"message": info, "notifyType": "info"})).await;
    }
    if submission.quits() {
        rpc.quit.cancel();
    }
}
