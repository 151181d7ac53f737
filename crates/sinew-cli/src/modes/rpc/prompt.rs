//! Prompts, steering, follow-ups, and the end of a run.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;
use sinew_agent::agent::Delivery;
use sinew_control::actions::ControlError;
use sinew_control::actions::prompt::{Message, QueuedTexts, Submission};
use sinew_llm::message::ImageBlock;

use super::client::{Fields, Rpc, fields};
use super::reply::{Answer, Reply};

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
    // The prompt is checked first, so that an invalid one aborts nothing.
    match read(&rpc, "abort_and_prompt", given, None) {
        Ok(message) => {
            rpc.control.abort().await;
            submit(&rpc, message, reply).await;
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
    match read(rpc, name, given, delivery) {
        Ok(message) => submit(rpc, message, reply).await,
        Err(error) => reply.send(Err(error)).await,
    }
}

/// Reads the fields of a prompt. `delivery` takes precedence over that of the prompt.
///
/// # Errors
/// Returns an error if a field is invalid, if an image cannot be used, or if the prompt is empty.
fn read(rpc: &Rpc, name: &str, given: Fields, delivery: Option<Delivery>) -> Result<Message, ControlError> {
    let Prompt { message, images, streaming_behavior } = fields(name, given)?;
    if message.trim().is_empty() && images.is_empty() {
        return Err(format!("{name}: the message is empty").into());
    }
    let decoded = images.iter().enumerate().map(|(at, image)| {
        rpc.control.image(image).map_err(|reason| ControlError::from(format!("images/{at}: {reason}")))
    });
    let images = decoded.collect::<Result<_, _>>()?;
    Ok(Message { text: message, images, delivery: delivery.or(streaming_behavior.map(Delivery::from)) })
}

/// Submits a message, answers when it is accepted, and waits for the end of its run.
async fn submit(rpc: &Rpc, message: Message, reply: Reply) {
    let open = rpc.control.session();
    let submission = match rpc.control.submit(&open, message).await {
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
