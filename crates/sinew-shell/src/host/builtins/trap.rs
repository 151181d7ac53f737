//! `trap` that sorts its list by signal number, quotes the list, and continues after an unknown signal.

use std::io::Write;

use brush_core::builtins::{ContentOptions, ContentType, SimpleCommand};
use brush_core::traps::TrapSignal;
use brush_core::{Error, ExecutionContext, ExecutionResult, ShellExtensions};

use super::arguments::{content, fail, flags};
use super::list;

/// The builtin `trap`: commands for signals and for the end of the shell.
pub(super) struct Trap;

const USAGE: &str = "trap [-lp] [[arg] signal_spec ...]";

impl SimpleCommand for Trap {
    fn get_content(_: &str, kind: ContentType, _: &ContentOptions) -> Result<String, Error> {
        Ok(content(kind, USAGE))
    }

    fn execute<SE: ShellExtensions, I: Iterator<Item = S>, S: AsRef<str>>(
        context: ExecutionContext<'_, SE>,
        args: I,
    ) -> Result<ExecutionResult, Error> {
        let args: Vec<String> = args.skip(1).map(|arg| arg.as_ref().to_string()).collect();
        let (letters, rest) = match flags(&args, "lp") {
            Ok(read) => read,
            Err(flag) => return Ok(fail(&context, &format!("-{flag}: invalid option\ntrap: usage: {USAGE}"), 2)),
        };
        if letters.contains('l') {
            return Ok(list(&context, &[]));
        }
        if letters.contains('p') || rest.is_empty() {
            return Ok(print(&context, rest));
        }
        let (command, signals) = match wish(rest) {
            Some(wish) => wish,
            None => return Ok(fail(&context, &format!("usage: {USAGE}"), 2)),
        };
        let source = context.shell.call_stack().current_pos_as_source_info();
        let mut result = ExecutionResult::success();
        for word in signals {
            let Some(signal) = signal(word) else {
                result = invalid(&context, word);
                continue;
            };
            let traps = context.shell.traps_mut();
            match command {
                Some(command) => traps.register_handler(signal, command.to_string(), source.clone()),
                None => traps.remove_handlers(signal),
            }
        }
        Ok(result)
    }
}

/// Returns the command (`None` removes traps) and the signals; `None` if there is no signal.
fn wish(words: &[String]) -> Option<(Option<&str>, &[String])> {
    let (first, signals) = words.split_first()?;
    let number = !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit());
    // A single signal, or a list of numbers, removes traps.
    if (number || signals.is_empty()) && signal(first).is_some() {
        return Some((None, words));
    }
    (!signals.is_empty()).then_some(((first != "-").then_some(first), signals))
}

/// Lists the traps of the signals in `words`, or all if it is empty.
fn print(context: &ExecutionContext<'_, impl ShellExtensions>, words: &[String]) -> ExecutionResult {
    let mut result = ExecutionResult::success();
    let mut signals: Vec<TrapSignal> = context.shell.traps().iter_handlers().map(|(signal, _)| signal).collect();
    signals.sort_by_key(|signal| rank(*signal));
    if !words.is_empty() {
        signals.clear();
        for word in words {
            match signal(word) {
                Some(signal) => signals.push(signal),
                None => result = invalid(context, word),
            }
        }
    }
    let mut out = context.stdout();
    for signal in signals {
        if let Some(handler) = context.shell.traps().get_handler(signal) {
            let _ = writeln!(out, "trap -- '{}' {signal}", handler.command.replace('\'', "'\\''"));
        }
    }
    result
}

/// Returns the position of a signal in bash's order: the end of the shell first, pseudo-signals last.
fn rank(signal: TrapSignal) -> i32 {
    match signal {
        TrapSignal::Debug => 65,
        TrapSignal::Err => 66,
        TrapSignal::Return => 67,
        signal => signal.try_into().unwrap_or(68),
    }
}

fn signal(word: &str) -> Option<TrapSignal> {
    word.parse().ok()
}

fn invalid(context: &ExecutionContext<'_, impl ShellExtensions>, word: &str) -> ExecutionResult {
    fail(context, &format!("{word}: invalid signal specification"), 1)
}
