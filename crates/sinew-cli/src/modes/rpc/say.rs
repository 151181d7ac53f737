//! What the user says: prompts, steering, follow-ups, and the end of a run.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::json;
use sinew::base::Cancel;
use sinew_agent::agent::Streaming;
use sinew_agent::resource::{Attacher, Commands, Prompt, Reading};
use sinew_llm::message::{AgentMessage, Block, Content, ImageBlock};

use super::Rpc;
use super::command::{Fields, fields};
use super::reply::{Answer, Fault, Reply};
use crate::assemble::Open;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Said {
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

impl From<Behavior> for Streaming {
    fn from(behavior: Behavior) -> Streaming {
        match behavior {
            Behavior::Steer => Streaming::Steer,
            Behavior::FollowUp => Streaming::FollowUp,
        }
    }
}

pub(super) async fn prompt(rpc: Arc<Rpc>, given: Fields, reply: Reply) {
    say(&rpc, "prompt", given, None, reply).await;
}

pub(super) async fn steer(rpc: Arc<Rpc>, given: Fields, reply: Reply) {
    say(&rpc, "steer", given, Some(Streaming::Steer), reply).await;
}

pub(super) async fn follow_up(rpc: Arc<Rpc>, given: Fields, reply: Reply) {
    say(&rpc, "follow_up", given, Some(Streaming::FollowUp), reply).await;
}

pub(super) async fn abort(rpc: Arc<Rpc>, _: Fields) -> Answer {
    let open = rpc.open();
    open.agent.abort();
    open.agent.idled().await;
    Ok(None)
}

pub(super) async fn abort_and_prompt(rpc: Arc<Rpc>, given: Fields, reply: Reply) {
    let open = rpc.open();
    open.agent.abort();
    open.agent.idled().await;
    drop(open);
    say(&rpc, "abort_and_prompt", given, None, reply).await;
}

/// Takes back what waits to be said, and gives its texts.
pub(super) async fn clear_queue(rpc: Arc<Rpc>, _: Fields) -> Answer {
    let (steering, follow_up) = rpc.open().agent.clear_queues().await.texts();
    Ok(Some(json!({"steering": steering, "followUp": follow_up})))
}

/// Reads what was said, answers when it is accepted, and sees its run to the end.
async fn say(rpc: &Rpc, name: &str, given: Fields, streaming: Option<Streaming>, reply: Reply) {
    let said: Said = match fields(name, given) {
        Ok(said) => said,
        Err(fault) => return reply.send(Err(fault)).await,
    };
    let open = rpc.open();
    let streaming = streaming.or(said.streaming_behavior.map(Streaming::from));
    let mut prompt = match read(rpc, &open, said).await {
        Ok(prompt) => prompt,
        Err(fault) => return reply.send(Err(fault)).await,
    };
    let messages = std::mem::take(&mut prompt.messages);
    if messages.is_empty() {
        // A command of an extension has done everything.
        reply.send(Ok(None)).await;
        return tell(rpc, &open, &prompt).await;
    }
    let accepted = match open.agent.accept(messages, streaming).await {
        Ok(accepted) => accepted,
        Err(error) => return reply.send(Err(error.into())).await,
    };
    // Before the run begins: the answer comes in front of its events.
    reply.send(Ok(None)).await;
    tell(rpc, &open, &prompt).await;
    if !accepted.runs() {
        return;
    }
    let title = open.agent.session().title();
    let before = open.agent.borrow_model(prompt.model.as_deref(), prompt.thinking.as_deref()).await;
    accepted.run().await;
    open.agent.give_back_model(before);
    let now = open.agent.session().title();
    if let Some(now) = now.filter(|now| title.as_ref() != Some(now)) {
        rpc.ui.tell("setTitle", json!({"title": now})).await;
    }
}

/// Finds commands, templates and mentions in a text, and puts its pictures to it.
async fn read(rpc: &Rpc, open: &Open, said: Said) -> Result<Prompt, Fault> {
    let loaded = rpc.assembly.loaded();
    // A name that two extensions have was told of when they were loaded.
    let (commands, _) = Commands::new(&rpc.assembly.extensions);
    let (places, images) = (&loaded.options.places, loaded.images);
    let attacher = Attacher { places, images, cancel: Cancel::never(), host: Some(&open.host) };
    let context = rpc.assembly.context(&open.agent);
    let now = rpc.assembly.clock.now();
    let mut pictures = Vec::with_capacity(said.images.len());
    for (at, image) in said.images.iter().enumerate() {
        let bytes = STANDARD.decode(&image.data).map_err(|error| format!("images/{at}: data is no base64: {error}"))?;
        pictures.push(attacher.image(&bytes).map_err(|reason| format!("images/{at}: {reason}"))?);
    }
    let reading =
        Reading { commands: &commands, resources: &loaded.resources, attacher: &attacher, context: &context, now };
    let mut prompt = reading.read(&said.message, "").await;
    if let (Some(AgentMessage::User(user)), false) = (prompt.messages.last_mut(), pictures.is_empty()) {
        let text = user.content.text();
        let text = (!text.is_empty()).then(|| Block::text(text));
        Arc::make_mut(user).content = Content::Blocks(text.into_iter().chain(pictures).collect());
    }
    Ok(prompt)
}

/// What the user should read besides.
async fn tell(rpc: &Rpc, open: &Open, prompt: &Prompt) {
    for warning in &prompt.warnings {
        open.agent.warn(warning.clone()).await;
    }
    if let Some(info) = &prompt.info {
        rpc.ui.tell("notify", json!({"message": info, "notifyType": "info"})).await;
    }
    if prompt.quit {
        rpc.quit.cancel();
    }
}
