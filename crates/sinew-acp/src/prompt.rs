//! Runs a prompt of the editor: converts its blocks to a message, and reports the end of the run.

use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol_schema::v1 as acp;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sinew::base::utf16_file_text;
use sinew_agent::agent::{Delivery, Stop};
use sinew_control::actions::commands;
use sinew_control::actions::prompt::Message;
use sinew_control::file_uri::path_of;
use sinew_jsonrpc::RpcError;
use sinew_llm::error::{ErrorInfo, ErrorKind};
use sinew_llm::message::ImageBlock;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::map::chunk;
use super::session::{RunningTurn, Session};

/// The time that a cancelled run may take before the editor is told that it has ended.
const PATIENCE: Duration = Duration::from_millis(60);
/// The interval at which work that does not stop is aborted again.
const ABORT_INTERVAL: Duration = Duration::from_millis(50);

/// Answers a prompt.
///
/// # Errors
/// Returns an error if a block cannot be used, or if the provider failed.
pub(super) async fn answer(turn: RunningTurn, blocks: Vec<acp::ContentBlock>) -> Result<acp::PromptResponse, RpcError> {
    let RunningTurn { session, cancel } = &turn;
    let message = message(session, blocks, None)?;
    let (send, mut ended) = oneshot::channel();
    let work = {
        let (session, cancel) = (Arc::clone(session), cancel.clone());
        async move {
            // The prompt may have been answered already.
            let _ = send.send(work(&session, &cancel, message).await);
        }
    };
    session.control.tasks.begin(work).await;
    let late = async {
        cancel.cancelled().await;
        tokio::time::sleep(PATIENCE).await;
    };
    let stop = tokio::select! {
        biased;
        stop = &mut ended => stop.unwrap_or_else(|_| Err(failed("The turn ended because of a bug in sinew; please report it."))),
        () = late => {
            session.pump.mute().await;
            Ok(acp::StopReason::Cancelled)
        }
    };
    session.pump.caught_up().await;
    let stop = stop?;
    tell_usage(session).await;
    if stop == acp::StopReason::EndTurn && session.makes_titles {
        give_title(Arc::clone(session));
    }
    Ok(acp::PromptResponse::new(stop))
}

/// Adds a message to the queue of the running turn.
///
/// # Errors
/// Returns an error if a block cannot be used, or if the queue is full.
pub(super) async fn queue(
    session: &Arc<Session>,
    blocks: Vec<acp::ContentBlock>,
    delivery: Delivery,
) -> Result<acp::PromptResponse, RpcError> {
    let message = message(session, blocks, Some(delivery))?;
    let open = session.control.session();
    let submission = session.control.submit(&open, message).await.map_err(|error| failed(error.message))?;
    // If the turn ended meanwhile, the message runs here, and its stop reason is that of this prompt.
    let outcome = submission.run().await.outcome;
    session.pump.caught_up().await;
    stop_of(outcome.map(|outcome| outcome.stop)).map(acp::PromptResponse::new)
}

/// Returns how to deliver a prompt during a running turn, from `_meta.sinew.deliver`; `None` if that is missing.
///
/// # Errors
/// Returns an error if the value is unknown.
pub(super) fn delivery(meta: Option<&acp::Meta>) -> Result<Option<Delivery>, RpcError> {
    let asked = meta.and_then(|meta| meta.get("sinew")).and_then(|own| own.get("deliver"));
    match asked.map(|value| value.as_str().unwrap_or_default()) {
        None => Ok(None),
        Some("steer") => Ok(Some(Delivery::Steer)),
        Some("followUp") => Ok(Some(Delivery::FollowUp)),
        Some(_) => {
            let text = "/_meta/sinew/deliver: use \"steer\" or \"followUp\"";
            Err(RpcError::invalid_params(text))
        }
    }
}

/// Runs a message until it ends.
async fn work(session: &Session, cancel: &CancellationToken, message: Message) -> Result<acp::StopReason, RpcError> {
    let open = session.control.session();
    // A cancelled run may not have ended yet.
    tokio::select! {
        () = open.agent.idled() => {}
        () = cancel.cancelled() => return Ok(acp::StopReason::Cancelled),
    }
    session.pump.unmute().await;
    match commands::find(&message.text) {
        Ok(Some(command)) => {
            let text = tokio::select! {
                output = command.run(&session.control) => output.unwrap_or_else(|error| error.message),
                () = cancel.cancelled() => {
                    open.agent.abort();
                    return Ok(acp::StopReason::Cancelled);
                }
            };
            say(session, &text).await;
            return Ok(acp::StopReason::EndTurn);
        }
        Ok(None) => {}
        Err(failure) => {
            say(session, &failure.message).await;
            return Ok(acp::StopReason::EndTurn);
        }
    }
    let submitted = session.control.submit(&open, message).await;
    let submission = submitted.map_err(|error| match error.info {
        Some(info) => provider_error(&info),
        None => RpcError::invalid_params(error.message),
    })?;
    submission.warn().await;
    if let Some(info) = submission.info() {
        say(session, info).await;
    }
    let mut run = std::pin::pin!(submission.run());
    let ended = tokio::select! {
        ended = &mut run => {
            if cancel.is_cancelled() {
                session.control.stop_children();
            }
            ended
        }
        () = cancel.cancelled() => loop {
            session.control.stop_children();
            open.agent.abort();
            // Queued messages would begin when the run ends.
            open.agent.clear_queues().await;
            if let Ok(ended) = tokio::time::timeout(ABORT_INTERVAL, &mut run).await {
                break ended;
            }
        }
    };
    if cancel.is_cancelled() {
        // The next turn may have begun, so nothing is aborted again.
        return Ok(acp::StopReason::Cancelled);
    }
    // The turn of the editor continues while children work in the background and their ends are reported to the model.
    let later = tokio::select! {
        later = session.control.children_ended() => later,
        () = cancel.cancelled() => {
            session.control.abort().await;
            None
        }
    };
    match (cancel.is_cancelled(), later) {
        (true, _) => Ok(acp::StopReason::Cancelled),
        (false, Some(stop)) => stop_of(Some(stop)),
        (false, None) => stop_of(ended.outcome.map(|outcome| outcome.stop)),
    }
}

/// Shows a text of Sinew as an answer.
async fn say(session: &Session, text: &str) {
    if !text.is_empty() {
        let update = acp::SessionUpdate::AgentMessageChunk(chunk(text, None));
        session.wire.update(&session.id, update).await;
    }
}

fn stop_of(stop: Option<Stop>) -> Result<acp::StopReason, RpcError> {
    match stop {
        None | Some(Stop::Done | Stop::Queued) => Ok(acp::StopReason::EndTurn),
        Some(Stop::OutputLimit | Stop::CallCut) => Ok(acp::StopReason::MaxTokens),
        Some(Stop::TurnLimit(_)) => Ok(acp::StopReason::MaxTurnRequests),
        Some(Stop::Aborted) => Ok(acp::StopReason::Cancelled),
        Some(Stop::Failed(info)) if info.kind == ErrorKind::Refusal => Ok(acp::StopReason::Refusal),
        Some(Stop::Failed(info)) => Err(provider_error(&info)),
        Some(Stop::BudgetSpent { name, spent, limit }) => {
            Err(failed(format!("Stopped: {spent} was spent, and {name} allows {limit}.")))
        }
    }
}

fn failed(text: impl Into<String>) -> RpcError {
    RpcError::new(RpcError::INTERNAL_ERROR, text)
}

/// Converts an error of the provider, with the data that programs use to handle it.
fn provider_error(info: &ErrorInfo) -> RpcError {
    let code = match info.kind {
        ErrorKind::Auth => super::AUTH_REQUIRED,
        _ => RpcError::INTERNAL_ERROR,
    };
    RpcError { data: serde_json::value::to_raw_value(info).ok(), ..RpcError::new(code, info.message.clone()) }
}

/// Reports the usage of the context window and the cost of the session.
async fn tell_usage(session: &Session) {
    // A session file that cannot be read is reported by the next write.
    let Ok(stats) = session.control.stats() else { return };
    let Some(context) = stats.context else { return };
    let cost = acp::Cost::new(stats.counts.cost, "USD");
    let usage = acp::UsageUpdate::new(context.tokens, context.context_window).cost(cost);
    session.wire.update(&session.id, acp::SessionUpdate::UsageUpdate(usage)).await;
}

/// Generates a title for the session in the background.
fn give_title(session: Arc<Session>) {
    tokio::spawn(async move {
        let open = session.control.session();
        // An error is ignored, because the next answer tries again.
        if let Ok(Some(title)) = open.agent.give_title().await {
            let update = acp::SessionInfoUpdate::new().title(title);
            session.wire.update(&session.id, acp::SessionUpdate::SessionInfoUpdate(update)).await;
        }
    });
}

/// Converts the blocks of a prompt to a message. Images that cannot be used are described.
///
/// # Errors
/// Returns an error if the prompt is empty.
fn message(session: &Session, blocks: Vec<acp::ContentBlock>, delivery: Option<Delivery>) -> Result<Message, RpcError> {
    let PromptParts { mut text, attached, images: found } = parts(blocks);
    text.push_str(&attached);
    let mut images = Vec::with_capacity(found.len());
    for (name, image) in found {
        match session.control.image(&image) {
            Ok(block) => images.push(block),
            Err(reason) => {
                let reason = format!("It is not shown: {reason}.");
                text.push_str(&not_shown(&name, &image.mime_type, &image.data, &reason));
            }
        }
    }
    if text.trim().is_empty() && images.is_empty() {
        return Err(RpcError::invalid_params("/prompt: it is empty"));
    }
    Ok(Message { text, images, delivery })
}

/// The parts of a prompt.
#[derive(Default)]
struct PromptParts {
    /// The text of the user, with mentions of files.
    text: String,
    /// Embedded files, and descriptions of attachments that cannot be shown.
    attached: String,
    /// The images with their names.
    images: Vec<(String, ImageBlock)>,
}

fn parts(blocks: Vec<acp::ContentBlock>) -> PromptParts {
    let mut parts = PromptParts::default();
    for block in blocks {
        match block {
            acp::ContentBlock::Text(block) => parts.text.push_str(&block.text),
            acp::ContentBlock::Image(image) => {
                let name = image.uri.map_or_else(|| "image".to_string(), name_of);
                parts.images.push((name, ImageBlock { data: standard(&image.data), mime_type: image.mime_type }));
            }
            acp::ContentBlock::ResourceLink(link) => mention(&mut parts.text, &link.uri),
            acp::ContentBlock::Resource(embedded) => match embedded.resource {
                acp::EmbeddedResourceResource::TextResourceContents(resource) => {
                    parts.attached.push_str(&embedded_file(&name_of(resource.uri), &resource.text));
                }
                acp::EmbeddedResourceResource::BlobResourceContents(blob) => add_blob(&mut parts, blob),
                _ => parts.attached.push_str(UNSUPPORTED),
            },
            acp::ContentBlock::Audio(audio) => {
                parts.attached.push_str(&not_shown("audio", &audio.mime_type, &audio.data, NO_TEXT));
            }
            _ => parts.attached.push_str(UNSUPPORTED),
        }
    }
    parts
}

/// Adds an embedded blob: as a file if its bytes are text, as SVG, CSV and JSON are, and otherwise as an image if it
/// claims to be one.
fn add_blob(parts: &mut PromptParts, blob: acp::BlobResourceContents) {
    let mime_type = blob.mime_type.unwrap_or_else(|| "application/octet-stream".into());
    let data = standard(&blob.blob);
    let decoded = STANDARD.decode(&data).map_err(|error| format!("It is not valid base64: {error}"));
    let text = decoded.map(|bytes| text_of(&mime_type, bytes));
    let name = name_of(blob.uri);
    match text {
        Ok(Some(text)) => parts.attached.push_str(&embedded_file(&name, &text)),
        Ok(None) if mime_type.starts_with("image/") => {
            parts.images.push((name, ImageBlock { data, mime_type }));
        }
        Ok(None) => parts.attached.push_str(&not_shown(&name, &mime_type, &blob.blob, NO_TEXT)),
        Err(reason) => parts.attached.push_str(&not_shown(&name, &mime_type, &blob.blob, &reason)),
    }
}

/// Returns base64 in its standard form: without line breaks, the head of a `data:` URL and the alphabet for URLs.
fn standard(data: &str) -> String {
    let data = data.strip_prefix("data:").and_then(|url| url.split_once(',')).map_or(data, |(_, data)| data);
    let plain = data.chars().filter(|letter| !letter.is_ascii_whitespace() && *letter != '=');
    let mut out: String = plain
        .map(|letter| match letter {
            '-' => '+',
            '_' => '/',
            other => other,
        })
        .collect();
    out.extend(std::iter::repeat_n('=', out.len().wrapping_neg() % 4));
    out
}

/// Returns the text of an attached file: UTF-8, UTF-16 with a byte order mark, or Latin-1 if the type says that it is
/// text. `None` if it is not text.
fn text_of(mime_type: &str, bytes: Vec<u8>) -> Option<String> {
    if let Some(text) = utf16_file_text(&bytes) {
        return Some(text);
    }
    match String::from_utf8(bytes) {
        Ok(text) => Some(text).filter(|text| !text.contains('\0')),
        Err(error) => {
            let bytes = error.into_bytes();
            let is_text = mime_type.starts_with("text/") && !bytes.contains(&0);
            is_text.then(|| bytes.into_iter().map(char::from).collect())
        }
    }
}

/// Stands for a block of a type that this version does not know.
pub(super) fn unsupported() -> acp::ContentBlock {
    acp::ContentBlock::Text(acp::TextContent::new(UNSUPPORTED))
}

/// Returns the path of a file, and any other URI itself.
fn name_of(uri: String) -> String {
    path_of(&uri).unwrap_or(uri)
}

fn embedded_file(name: &str, text: &str) -> String {
    format!("\n\n<file path=\"{name}\">\n{}\n</file>", text.trim_end())
}

const UNSUPPORTED: &str = "\n\n[The editor attached something that this version of sinew does not support.]";
const NO_TEXT: &str = "Its content is not text and is not shown.";

/// Describes an attachment that is not shown, for the model. `data` is base64.
fn not_shown(name: &str, mime_type: &str, data: &str, reason: &str) -> String {
    let size = sinew_session::files::size_text((data.trim_end_matches('=').len() * 3 / 4) as u64);
    format!("\n\n[Attached: {name} ({mime_type}, {size}). {reason}]")
}

/// Adds a link to the text: a file is attached to the message, anything else is added as its URL.
fn mention(text: &mut String, uri: &str) {
    if !text.is_empty() && !text.ends_with(char::is_whitespace) {
        text.push(' ');
    }
    text.push_str(&path_of(uri).map_or_else(|| uri.to_string(), |path| sinew_agent::resource::mention(&path)));
    text.push(' ');
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[track_caller]
    fn check(blocks: Value, expect: &str) {
        let PromptParts { text, attached, .. } = parts(serde_json::from_value(blocks).unwrap());
        assert_eq!(text + &attached, expect);
    }

    #[test]
    fn links_to_files_become_mentions() {
        let link = |uri: &str| json!({"type": "resource_link", "name": "n", "uri": uri});
        let text = |text: &str| json!({"type": "text", "text": text});
        check(json!([text("look at"), link("file:///a/b.rs#L3"), text("please")]), "look at @/a/b.rs please");
        check(json!([link("file:///a%20b/%C3%A4.rs")]), "@\"/a b/ä.rs\" ");
        check(json!([link("https://x.y/z")]), "https://x.y/z ");
        check(json!([link("file://host/a%zz")]), "@/a%zz ");
    }

    #[test]
    fn embedded_files_follow_the_text() {
        let file = json!({"type": "resource", "resource": {"uri": "file:///a.rs", "text": "fn a() {}\n"}});
        let text = json!({"type": "text", "text": "/fix this"});
        check(json!([file, text]), "/fix this\n\n<file path=\"/a.rs\">\nfn a() {}\n</file>");
    }

    #[test]
    fn embedded_blobs_are_shown_as_what_they_contain() {
        let text = json!({"type": "text", "text": "a"});
        let blob = |name: &str, mime_type: &str, data: &str| {
            json!({"type": "resource",
                "resource": {"uri": format!("file:///{name}"), "mimeType": mime_type, "blob": data}})
        };
        let audio = json!({"type": "audio", "data": "AAAA", "mimeType": "audio/wav"});
        let file = |name: &str, text: &str| format!("a\n\n<file path=\"/{name}\">\n{text}\n</file>");
        let svg = STANDARD.encode("<svg/>");
        for (block, expect) in [
            (audio, "a\n\n[Attached: audio (audio/wav, 3 B). Its content is not text and is not shown.]".to_string()),
            (
                blob("b.zip", "application/zip", "UEsDBAD/"),
                "a\n\n[Attached: /b.zip (application/zip, 6 B). Its content is not text and is not shown.]".into(),
            ),
            (
                blob("b.csv", "text/csv", "!"),
                "a\n\n[Attached: /b.csv (text/csv, 0 B). It is not valid base64: Invalid symbol 33, offset 0.]".into(),
            ),
            (blob("b.csv", "text/csv", &STANDARD.encode("x,y\n1,2\n")), file("b.csv", "x,y\n1,2")),
            (blob("b.json", "application/json", &STANDARD.encode("{}")), file("b.json", "{}")),
            (blob("b.svg", "image/svg+xml", &svg), file("b.svg", "<svg/>")),
            (blob("b.txt", "text/plain", "PHN2\r\nZy8+\n"), file("b.txt", "<svg/>")),
            (blob("b.txt", "text/plain", "data:text/plain;base64,Pz8_Pz8-"), file("b.txt", "?????>")),
            (blob("b.txt", "text/plain", &STANDARD.encode(b"\xff\xfeh\0i\0")), file("b.txt", "hi")),
            (blob("b.txt", "text/plain", &STANDARD.encode(b"caf\xe9")), file("b.txt", "caf\u{e9}")),
            (serde_json::to_value(unsupported()).unwrap(), format!("a{UNSUPPORTED}")),
        ] {
            check(json!([text, block]), &expect);
        }
        let read = parts(serde_json::from_value(json!([blob("a.png", "image/png", "iVBORw0KGgo=")])).unwrap());
        assert_eq!(read.images.len(), 1);
        assert_eq!(read.images[0].0, "/a.png");
    }
}
