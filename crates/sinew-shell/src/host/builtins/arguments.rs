//! Arguments and messages of builtins.

use std::io::Write;

use brush_core::builtins::ContentType;
use brush_core::{ExecutionContext, ExecutionResult, ShellExtensions};

pub(super) fn fail(context: &ExecutionContext<'_, impl ShellExtensions>, text: &str, code: u8) -> ExecutionResult {
    let _ = writeln!(context.stderr(), "bash: {}: {text}", context.command_name);
    ExecutionResult::new(code)
}

/// Returns the letters of all flags before the first other word, and the remaining words; the first letter that is not
/// in `known` is the error.
pub(super) fn flags<'a>(args: &'a [String], known: &str) -> Result<(String, &'a [String]), char> {
    let mut letters = String::new();
    let mut rest = args;
    while let Some((word, after)) = rest.split_first().filter(|(word, _)| word.len() > 1 && word.starts_with('-')) {
        rest = after;
        if word == "--" {
            break;
        }
        for letter in word.chars().skip(1) {
            if !known.contains(letter) {
                return Err(letter);
            }
            letters.push(letter);
        }
    }
    Ok((letters, rest))
}

pub(super) fn content(kind: ContentType, usage: &str) -> String {
    match kind {
        ContentType::ShortDescription => usage.split(' ').next().unwrap_or_default().to_string(),
        _ => usage.to_string(),
    }
}
