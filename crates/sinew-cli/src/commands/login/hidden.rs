//! Reads a line from the terminal without echo.

use std::io::BufRead;

use sinew_control::failure::Failure;
use sinew_control::output::tell;
use sinew_control::sys::hide_typing;
use tokio::sync::oneshot;

/// The maximum length of a line in bytes.
const LONGEST: usize = 16 * 1024;

/// Prints `prompt` and reads a line without echo, even if it is pasted at once. Keys that send signals cancel it, so
/// that the terminal is restored first.
///
/// # Errors
/// Returns an error if there is no terminal, or if the user cancelled.
pub(super) async fn line(prompt: &str) -> Result<String, Failure> {
    let hidden = hide_typing();
    let shown = hidden.map_err(|error| Failure::failed(format!("failed to read from the terminal: {error}")))?;
    tell(prompt);
    let (send, typed) = oneshot::channel();
    std::thread::spawn(move || {
        // The receiver may have been dropped.
        let _ = send.send(typed_line(std::io::stdin().lock()));
    });
    let typed = typed.await.ok().flatten();
    drop(shown);
    typed.ok_or_else(|| Failure { code: 130, ..Failure::failed("login: cancelled; nothing was stored") })
}

/// Reads input until Enter; returns `None` if it was cancelled.
fn typed_line(input: impl BufRead) -> Option<String> {
    let mut line = Vec::new();
    for byte in input.bytes() {
        match byte.ok()? {
            b'\r' | b'\n' => return String::from_utf8(line).ok(),
            // Ctrl-C, Ctrl-\ and Ctrl-Z.
            0x03 | 0x1a | 0x1c => return None,
            0x04 if line.is_empty() => return None,
            0x04 => return String::from_utf8(line).ok(),
            // Backspace; Ctrl-U.
            0x08 | 0x7f => drop(line.pop()),
            0x15 => line.clear(),
            other if line.len() < LONGEST => line.push(other),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(typed: &str, expect: Option<&str>) {
        assert_eq!(typed_line(typed.as_bytes()).as_deref(), expect, "{typed:?}");
    }

    #[test]
    fn keys_that_edit_and_end_a_line_do_so() {
        check("sk-1\rrest", Some("sk-1"));
        check("sk-12\x7f\x08-\n", Some("sk--"));
        check("wrong\x15right\r", Some("right"));
        check("\x7f\x7fa\n", Some("a"));
        check("a\x04", Some("a"));
        for ended in ["abc\x03\r", "\x04", "a\x1c", "a\x1a", "never", ""] {
            check(ended, None);
        }
        check(&format!("{}\r", "x".repeat(2 * LONGEST)), Some(&"x".repeat(LONGEST)));
    }
}
