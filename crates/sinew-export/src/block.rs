//! Blocks of messages: texts, thinking, images.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sinew_llm::message::{Block, ImageBlock, ToolCall};

use super::code::{self, Fold};
use super::html_writer::HtmlWriter;
use super::markdown::markdown;

/// Image types that a page may show; others are only named.
pub(super) const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
/// User texts with more than this number of lines or bytes are collapsed.
const LONG_TEXT: (usize, usize) = (40, 6_000);

/// Writes a block that does not depend on its context; `call` writes a tool call.
pub(super) fn block(html: &mut HtmlWriter<'_>, block: &Block, call: fn(&mut HtmlWriter<'_>, &ToolCall)) {
    match block {
        Block::Text(text) => plain(html, &text.text),
        Block::Thinking(thinking) if thinking.thinking.trim().is_empty() => {
            if thinking.redacted {
                html.tag("<p class=\"thinking note\">Thoughts that the provider keeps to itself</p>\n");
            }
        }
        Block::Thinking(thinking) => {
            html.tag("<details class=\"thinking\"><summary>Thinking</summary>");
            markdown(html, &thinking.thinking);
            html.tag("</details>\n");
        }
        Block::ToolCall(block) => call(html, block),
        Block::Image(image) => picture(html, image),
        Block::Other(value) => json(html, "Block of an unknown type", value),
    }
}

/// Writes a text unchanged.
pub(super) fn plain(html: &mut HtmlWriter<'_>, text: &str) {
    let text = html.clean(text);
    let text = text.trim_matches('\n');
    if text.is_empty() {
        return;
    }
    let (lines, bytes) = LONG_TEXT;
    if text.len() <= bytes && text.lines().count() <= lines {
        html.tag("<div class=\"plain\">").part(text).tag("</div>\n");
        return;
    }
    let mut end: usize = text.split_inclusive('\n').take(lines / 2).map(str::len).sum();
    if end > bytes / 2 {
        end = text.floor_char_boundary(bytes / 2);
    }
    let (first, rest) = text.split_at(end);
    html.tag("<div class=\"plain\">").part(first.trim_end_matches('\n')).tag("</div>\n");
    html.tag("<details class=\"more\"><summary>").many(rest.lines().count() as u64, "more line", "more lines");
    html.tag("</summary><div class=\"plain\">").part(rest).tag("</div></details>\n");
}

pub(super) fn picture(html: &mut HtmlWriter<'_>, image: &ImageBlock) {
    let kind = image.mime_type.as_str();
    if image.data.starts_with("blob:") {
        html.tag("<p class=\"note\">[image missing]</p>\n");
    } else if !PICTURES.contains(&kind) {
        html.tag("<p class=\"note\">[image of the type ").text(kind).tag(" is not shown]</p>\n");
    } else if !is_base64(&image.data) {
        html.tag("<p class=\"note\">[image that cannot be read]</p>\n");
    } else {
        html.tag("<img alt=\"\" src=\"data:").part(kind).tag(";base64,").part(&image.data).tag("\">\n");
    }
}

/// Returns true if the text is base64, without decoding all of it.
fn is_base64(data: &str) -> bool {
    let body = data.trim_end_matches('=');
    let letters = body.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/');
    letters && data.len().is_multiple_of(4) && STANDARD.decode(&data[data.len().saturating_sub(4)..]).is_ok()
}

pub(super) fn json(html: &mut HtmlWriter<'_>, title: &'static str, value: &Value) {
    html.tag("<details class=\"more\"><summary>").tag(title).tag("</summary>");
    code::block(html, &html.json(value), "json", Fold::Never);
    html.tag("</details>\n");
}
