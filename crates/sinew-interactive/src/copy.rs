//! Implements `/copy`: copies the source of answers to the clipboard of the desktop, or else of the terminal, or else
//! to a file.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sinew::clipboard::{Clipboard, ClipboardOptions};
use sinew_control::actions::{Control, ControlError};
use sinew_llm::message::AgentMessage;

use super::conversation_text::ConversationText;
use super::private_file;

/// The maximum number of bytes that terminals accept.
const TERMINAL_LIMIT: usize = 74_994;

/// A completed copy.
pub(super) struct CopyResult {
    /// The line about it for the user.
    pub(super) text: String,
    /// True if the line names a file, and should stay visible.
    pub(super) is_file: bool,
    /// The bytes that copy the text through the terminal; `None` if another clipboard has it.
    pub(super) bytes: Option<Vec<u8>>,
    /// The owner of the copied text, which must live as long as the desktop may paste it.
    pub(super) clipboard: Option<Clipboard>,
}

/// Copies the requested part of the conversation.
///
/// # Errors
/// Returns an error if the conversation has no such part, or if no file can be written.
pub(super) fn copy(control: &Control, what: &str) -> Result<CopyResult, ControlError> {
    let text = match what {
        "all" => conversation(&control.messages()?),
        what => {
            let answer = control.last_text()?.ok_or("there is no answer to copy yet")?;
            part(&answer, what)?
        }
    };
    copy_text(control, &text)
}

/// Returns the clipboard of the desktop; `None` if there is no desktop, or it is that of another machine.
pub(super) fn desktop(control: &Control) -> Option<Clipboard> {
    let environment = &control.app.startup.environment;
    let display = environment.get("DISPLAY").map(str::to_string);
    let is_here =
        if cfg!(target_os = "linux") { display.is_some() } else { environment.get("SSH_CONNECTION").is_none() };
    is_here.then(|| Clipboard::new(ClipboardOptions { display, ..ClipboardOptions::default() }))
}

/// Copies a text.
///
/// # Errors
/// Returns an error if the text is too long for a terminal, and no file can be written.
pub(super) fn copy_text(control: &Control, text: &str) -> Result<CopyResult, ControlError> {
    let lines = text.lines().count();
    let size = format!("{lines} {}", if lines == 1 { "line" } else { "lines" });
    if let Some(clipboard) = desktop(control)
        && clipboard.write_text(text).is_ok()
    {
        return Ok(CopyResult {
            text: format!("copied {size}"),
            is_file: false,
            bytes: None,
            clipboard: Some(clipboard),
        });
    }
    let has_cursor = control.app.startup.environment.has_cursor();
    if !has_cursor || text.len() > TERMINAL_LIMIT {
        let why = match has_cursor {
            true => format!("{} bytes are too many for a terminal", text.len()),
            false => "this terminal has no clipboard".into(),
        };
        let file = private_file::write(control, "copies", ("copy", "md"), text)?;
        let text = format!("{why}: wrote {size} to {}", file.display());
        return Ok(CopyResult { text, is_file: true, bytes: None, clipboard: None });
    }
    let bytes = format!("\x1b]52;c;{}\x1b\\", STANDARD.encode(text)).into_bytes();
    Ok(CopyResult {
        text: format!("copied {size} through the terminal"),
        is_file: false,
        bytes: Some(bytes),
        clipboard: None,
    })
}

/// Copies the whole conversation with all calls.
///
/// # Errors
/// Returns an error if the conversation is empty, or if no file can be written.
pub(super) fn dump(control: &Control) -> Result<CopyResult, ControlError> {
    let messages = control.messages()?;
    if messages.is_empty() {
        return Err("No messages to dump yet.".into());
    }
    copy_text(control, &ConversationText::of(&messages).text())
}

/// Returns a part of an answer: the whole text, its code blocks, or one of them by its number.
fn part(answer: &str, what: &str) -> Result<String, ControlError> {
    if what.is_empty() {
        return Ok(answer.to_string());
    }
    let blocks = code_blocks(answer);
    let number = what.parse::<usize>().ok();
    match (what, number) {
        ("code", _) if blocks.is_empty() => Err("the last answer has no code block".into()),
        ("code", _) => Ok(blocks.join("\n")),
        (_, Some(number)) => {
            let block = number.checked_sub(1).and_then(|at| blocks.get(at)).cloned();
            block.ok_or_else(|| {
                format!("the last answer has {} code blocks, so there is no block {number}", blocks.len()).into()
            })
        }
        _ => Err(format!("/copy {what}: use a number, code or all").into()),
    }
}

/// Returns the contents of the fenced code blocks in a Markdown text.
fn code_blocks(text: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<(String, usize, String)> = None;
    for line in text.lines() {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let rest = &line[indent..];
        let mark = rest.chars().next().unwrap_or(' ');
        let length = rest.chars().take_while(|letter| *letter == mark).count();
        let is_fence = indent < 4 && length >= 3 && (mark == '`' || mark == '~');
        match &mut open {
            Some((fence, _, block))
                if is_fence && rest.starts_with(fence.as_str()) && rest.trim_end().len() == length =>
            {
                blocks.push(std::mem::take(block));
                open = None;
            }
            Some((_, before, block)) => {
                // The indentation of the fence is removed from the lines of its block.
                block.push_str(&line[indent.min(*before)..]);
                block.push('\n');
            }
            None if is_fence && !(mark == '`' && rest[length..].contains('`')) => {
                open = Some((mark.to_string().repeat(length), indent, String::new()));
            }
            None => {}
        }
    }
    // A block without an end fence ends with the text.
    blocks.extend(open.map(|(_, _, block)| block));
    blocks
}

fn conversation(messages: &[AgentMessage]) -> String {
    let part = |message: &AgentMessage| match message {
        AgentMessage::User(user) => Some(format!("> {}", user.content.text().replace('\n', "\n> "))),
        AgentMessage::Assistant(answer) => Some(answer.text()).filter(|text| !text.trim().is_empty()),
        _ => None,
    };
    messages.iter().filter_map(part).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_blocks_are_their_source() {
        let text = "A\n```rust\nfn main() {}\n\n  // x\n```\nB `` ```no`` \n~~~\n```\n~~~\n  ```\n  moved\n    in\n  ```\n````\n```\n````\n```\nopen";
        assert_eq!(code_blocks(text), ["fn main() {}\n\n  // x\n", "```\n", "moved\n  in\n", "```\n", "open\n"]);
        assert_eq!(part(text, "3").unwrap(), "moved\n  in\n");
        assert_eq!(part(text, "").unwrap(), text);
        assert_eq!(part("none", "code").unwrap_err().message, "the last answer has no code block");
        assert!(part(text, "6").is_err() && part(text, "0").is_err() && part(text, "x").is_err());
    }
}
