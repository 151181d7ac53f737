//! Formats the results of a server for the model.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sinew::base::CancelToken;
use sinew_llm::message::Block;
use sinew_mcp::model::{Resource, ResourceBody};
use sinew_mcp::{Content, ToolResult};
use sinew_session::artifacts::Artifacts;
use sinew_session::files::size_text;
use sinew_tools::picture_block;
use sinew_tools::tool::{ToolError, ToolOutput};

/// The maximum number of bytes and lines of text.
const BYTES: usize = 50 * 1024;
const LINES: usize = 2_000;
/// The maximum number of images.
const PICTURES: usize = 8;

/// The limits of the conversion.
pub(super) struct Limits<'a> {
    pub(super) artifacts: &'a Artifacts,
    pub(super) resize: bool,
    pub(super) cancel: &'a CancelToken,
}

/// Converts the result of a call. `facts` contains details about the call.
///
/// # Errors
/// Returns an error if the call is cancelled.
pub(super) fn output(
    answer: ToolResult,
    server: &str,
    limits: &Limits<'_>,
    mut facts: Value,
) -> Result<ToolOutput, ToolError> {
    let mut texts: Vec<String> = Vec::new();
    let mut pictures = Vec::new();
    let mut left_out = 0;
    for part in answer.content {
        match part {
            Content::Text(text) => texts.push(text),
            Content::Image { data, mime } => match STANDARD.decode(data.trim()) {
                Ok(_) if pictures.len() >= PICTURES => left_out += 1,
                Ok(bytes) => {
                    let (words, block) = picture_block(&bytes, limits.resize, limits.cancel)?;
                    texts.push(format!("Picture {words}"));
                    pictures.extend(block);
                }
                Err(_) => texts.push(format!("[a picture ({mime}) that cannot be decoded]")),
            },
            Content::Audio { data, mime } => texts.push(blob("audio", &mime, &data, limits)),
            Content::Link { uri, name, mime } => {
                texts.push(format!("[resource {uri} ({mime}) {name}; read mcp://{server}/{uri}]"));
            }
            Content::Resource(resource) => texts.push(resource_text(resource, limits)),
            Content::Other(kind) => texts.push(format!("[content of the unknown type {kind:?}]")),
        }
    }
    if left_out > 0 {
        texts.push(format!("[{left_out} more pictures are left out; a result shows {PICTURES}]"));
    }
    if let Some(structured) = &answer.structured {
        if texts.is_empty() {
            texts.push(structured.get().to_string());
        }
        facts["structured"] = serde_json::from_str(structured.get()).unwrap_or_default();
    }
    let text = texts.join("\n");
    let text = if answer.is_error { format!("Error: {text}") } else { text };
    let (text, meta) = fitted(text, limits.artifacts);
    if let Some(meta) = meta {
        facts["meta"] = json!({"truncation": meta});
    }
    let text = if text.is_empty() { "(no output)".to_string() } else { text };
    Ok(ToolOutput {
        content: std::iter::once(Block::text(text)).chain(pictures).collect(),
        details: Some(facts),
        is_error: answer.is_error,
        ..ToolOutput::default()
    })
}

fn resource_text(resource: Resource, limits: &Limits<'_>) -> String {
    match resource.body {
        ResourceBody::Text(text) => format!("[resource {}]\n{text}", resource.uri),
        ResourceBody::Blob(data) => {
            format!("[resource {}]\n{}", resource.uri, blob("data", &resource.mime, &data, limits))
        }
    }
}

/// Saves binary data and returns its reference: `[audio audio/wav, 12 KB: artifact://3]`.
fn blob(kind: &str, mime: &str, data: &str, limits: &Limits<'_>) -> String {
    let Ok(bytes) = STANDARD.decode(data.trim()) else { return format!("[{kind} ({mime}) that cannot be decoded]") };
    let size = size_text(bytes.len() as u64);
    let saved = limits.artifacts.next("mcp").and_then(|(id, path)| std::fs::write(path, &bytes).map(|()| id));
    match saved {
        Ok(id) => format!("[{kind} {mime}, {size}: artifact://{id}]"),
        Err(error) => format!("[{kind} {mime}, {size}, not saved: {error}]"),
    }
}

/// Truncates a text to the limits; a truncated text is saved completely as an artifact.
fn fitted(text: String, artifacts: &Artifacts) -> (String, Option<Value>) {
    let (mut end, mut lines) = (0, 0);
    for line in text.split_inclusive('\n') {
        if lines == LINES || end + line.len() > BYTES {
            break;
        }
        (end, lines) = (end + line.len(), lines + 1);
    }
    if end == text.len() {
        return (text, None);
    }
    // If the first line exceeds the limit, it is truncated.
    let head = if end == 0 { cut(&text, BYTES) } else { &text[..end] };
    let total = text.lines().count();
    let saved = artifacts.begin("mcp").and_then(|(id, mut file)| {
        file.push(text.as_bytes())?;
        file.finish()?;
        Ok(id)
    });
    let (rest, id) = match saved {
        Ok(id) => (format!("Full: artifact://{id}"), Some(id)),
        Err(error) => (format!("The rest could not be saved: {error}"), None),
    };
    let note = format!(
        "[Output cut: {} of {}, {lines} of {total} lines. {rest}]",
        size_text(head.len() as u64),
        size_text(text.len() as u64)
    );
    let mut meta = json!({"direction": "head", "totalBytes": text.len(), "totalLines": total, "outputBytes": head.len(), "outputLines": lines});
    if let Some(id) = id {
        meta["artifactId"] = json!(id.to_string());
    }
    (format!("{}\n{note}", head.trim_end_matches('\n')), Some(meta))
}

/// Returns the beginning of a text, at most `bytes` bytes.
pub(super) fn cut(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
