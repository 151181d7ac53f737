//! Replacements for builtins of the embedded interpreter that differ from bash's.

mod arguments;
mod declare;
mod original;
mod printf;
mod read;
mod trap;
mod umask;

use std::collections::HashMap;
use std::future::ready;
use std::io::Write;

use brush_core::builtins::{
    CommandExecuteFunc, ContentOptions, ContentType, Registration, SimpleCommand, simple_builtin,
};
use brush_core::commands::CommandArg;
use brush_core::traps::TrapSignal;
use brush_core::{
    Error, ExecutionContext, ExecutionControlFlow, ExecutionResult, ShellExtensions, ShellVariable, SourceInfo,
};

use super::deferred_expansion;
use super::interpreter::{BrushExtensions, Shell};
use arguments::{content, fail};
use original::{BuiltinFuture, THEIRS, theirs};

/// Returns all builtins, with replacements where they exist.
pub(super) fn all() -> HashMap<String, Registration<BrushExtensions>> {
    let mut builtins = THEIRS.clone();
    builtins.insert("kill".into(), simple_builtin::<Kill, BrushExtensions>());
    builtins.insert("shift".into(), simple_builtin::<Shift, BrushExtensions>().special());
    builtins.insert("logout".into(), simple_builtin::<Logout, BrushExtensions>());
    builtins.insert("trap".into(), simple_builtin::<trap::Trap, BrushExtensions>().special());
    builtins.insert("umask".into(), simple_builtin::<umask::Umask, BrushExtensions>());
    let ours: [(&str, CommandExecuteFunc<BrushExtensions>); 16] = [
        ("cd", cd),
        ("[", test),
        ("test", test),
        ("exec", exec),
        ("printf", formatted),
        ("break", leave),
        ("continue", leave),
        ("declare", declaration),
        ("typeset", declaration),
        ("local", declaration),
        ("readonly", declaration),
        ("export", declaration),
        ("kill", kill),
        ("eval", eval),
        ("unset", unset),
        ("read", read::read),
    ];
    for (name, execute) in ours {
        if let Some(builtin) = builtins.get_mut(name) {
            builtin.execute_func = execute;
        }
    }
    builtins
}

/// Registers the builtins of rewritten programs, without adding them to any list of builtins.
pub(super) fn hidden(shell: &mut Shell) {
    for (name, execute) in deferred_expansion::builtins() {
        if let Some(colon) = THEIRS.get(":") {
            let mut builtin = colon.clone();
            builtin.execute_func = execute;
            shell.register_builtin(name, builtin);
        }
    }
}

/// Makes `cd ""` stay in the directory, and searches `CDPATH`.
fn cd(context: ExecutionContext<'_, BrushExtensions>, mut args: Vec<CommandArg>) -> BuiltinFuture<'_> {
    if let Some(CommandArg::String(word)) = args.last()
        && args.len() > 1
        && !word.is_empty()
        && !word.starts_with(['/', '-'])
        && !matches!(word.split('/').next(), Some("." | ".."))
        && let Some(places) = context.shell.env_str("CDPATH").filter(|places| !places.is_empty())
    {
        let found = places.split(':').find(|place| context.shell.absolute_path(place).join(word).is_dir());
        if let Some(place) = found.filter(|place| !place.is_empty()) {
            let target = context.shell.absolute_path(place).join(word);
            let _ = writeln!(context.stdout(), "{}", target.display());
            let at = args.len() - 1;
            args[at] = CommandArg::String(target.to_string_lossy().into_owned());
        }
    }
    match args.get(1) {
        Some(CommandArg::String(dir)) if dir.is_empty() && args.len() == 2 => {
            Box::pin(ready(Ok(ExecutionResult::success())))
        }
        _ => theirs(context, args),
    }
}

/// Makes an invalid number a usage error (2) instead of a comparison result (1).
fn test(context: ExecutionContext<'_, BrushExtensions>, args: Vec<CommandArg>) -> BuiltinFuture<'_> {
    let words: Vec<String> = args.iter().map(CommandArg::to_string).collect();
    let is_number = |word: &String| word.trim().parse::<i64>().is_ok();
    let wrong = words.windows(3).find_map(|part| match part[1].as_str() {
        "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" => [&part[0], &part[2]].into_iter().find(|word| !is_number(word)),
        _ => None,
    });
    match wrong {
        // Only the simple form: with more words these may be plain strings.
        Some(word) if words.iter().skip(1).filter(|word| *word != "]").count() == 3 => {
            let result = fail(&context, &format!("{word}: integer expression expected"), 2);
            Box::pin(ready(Ok(result)))
        }
        _ => theirs(context, args),
    }
}

fn formatted(context: ExecutionContext<'_, BrushExtensions>, args: Vec<CommandArg>) -> BuiltinFuture<'_> {
    let zone = context
        .shell
        .env_var("TZ")
        .filter(|zone| zone.is_exported())
        .map(|zone| zone.value().to_cow_str(context.shell));
    let args = printf::prepare(args, zone.as_deref());
    theirs(context, args)
}

/// Ends the shell even if the program cannot be run, as well as a subshell, which the original continues.
fn exec(context: ExecutionContext<'_, BrushExtensions>, args: Vec<CommandArg>) -> BuiltinFuture<'_> {
    let runs = args.iter().skip(1).map(CommandArg::to_string).find(|word| !word.starts_with('-'));
    let stays = runs.is_none() || (!context.shell.is_subshell() && context.shell.options().exit_on_exec_fail);
    let mut errors = context.stderr();
    Box::pin(async move {
        let mut result = match theirs(context, args).await {
            Err(cause) if runs.is_some() => {
                let _ = writeln!(errors, "bash: exec: {cause}");
                ExecutionResult::new(if cause.as_io_error().is_some() { 126 } else { 127 })
            }
            result => result?,
        };
        if !stays {
            result.next_control_flow = ExecutionControlFlow::ExitShell;
        }
        Ok(result)
    })
}

/// Ends the shell if the loop count is not a number.
fn leave(context: ExecutionContext<'_, BrushExtensions>, args: Vec<CommandArg>) -> BuiltinFuture<'_> {
    let wrong =
        args.iter().skip(1).map(CommandArg::to_string).find(|word| word != "--" && word.parse::<i64>().is_err());
    match wrong {
        Some(word) => {
            let mut result = fail(&context, &format!("{word}: numeric argument required"), 128);
            result.next_control_flow = ExecutionControlFlow::ExitShell;
            Box::pin(ready(Ok(result)))
        }
        None => theirs(context, args),
    }
}

/// Rewrites the text and runs the original builtin.
fn eval(context: ExecutionContext<'_, BrushExtensions>, args: Vec<CommandArg>) -> BuiltinFuture<'_> {
    let words: Vec<String> = args.iter().skip(1).map(CommandArg::to_string).collect();
    if words.is_empty() || words[0].starts_with('-') {
        return theirs(context, args);
    }
    let text = words.join(" ");
    // The interpreter ends the shell for a text that it cannot parse.
    if let Err(cause) = deferred_expansion::parse(context.shell, &text) {
        return Box::pin(ready(Ok(fail(&context, &cause.to_string(), 2))));
    }
    Box::pin(async move {
        let source = context.shell.call_stack().current_pos_as_source_info();
        let parameters = context.params.clone();
        deferred_expansion::run_string(context.shell, &text, &source, &parameters).await
    })
}

/// Removes references with `unset -n`, which the original does not support.
fn unset(context: ExecutionContext<'_, BrushExtensions>, args: Vec<CommandArg>) -> BuiltinFuture<'_> {
    let words: Vec<String> = args.iter().skip(1).map(CommandArg::to_string).collect();
    if words.first().is_none_or(|flag| flag != "-n") {
        return theirs(context, args);
    }
    let mut result = ExecutionResult::success();
    for name in &words[1..] {
        let reference = context.shell.env_var(name).is_some_and(ShellVariable::is_treated_as_nameref);
        if reference && context.shell.env_mut().unset(name).is_err() {
            result = fail(&context, &format!("{name}: cannot unset: readonly variable"), 1);
        }
    }
    Box::pin(ready(Ok(result)))
}

fn declaration(mut context: ExecutionContext<'_, BrushExtensions>, args: Vec<CommandArg>) -> BuiltinFuture<'_> {
    Box::pin(async move {
        let args = declare::prepare(&mut context, args).await;
        theirs(context, args).await
    })
}

struct Kill;
struct Shift;
struct Logout;

impl SimpleCommand for Kill {
    fn get_content(_: &str, kind: ContentType, _: &ContentOptions) -> Result<String, Error> {
        Ok(content(kind, "kill [-s sigspec | -n signum | -sigspec] pid | jobspec ... or kill -l [sigspec]"))
    }

    fn execute<SE: ShellExtensions, I: Iterator<Item = S>, S: AsRef<str>>(
        context: ExecutionContext<'_, SE>,
        args: I,
    ) -> Result<ExecutionResult, Error> {
        let args: Vec<String> = args.skip(1).map(|arg| arg.as_ref().to_string()).collect();
        if args.first().is_some_and(|word| word == "-l" || word == "-L") {
            return Ok(list(&context, &args[1..]));
        }
        let (signal, rest) = match wish(&args) {
            Ok(wish) => wish,
            Err((text, code)) => return Ok(fail(&context, &text, code)),
        };
        let mut result = ExecutionResult::success();
        for arg in rest {
            if arg == deferred_expansion::SELF {
                return Ok(ended_by(signal));
            }
            let target = match arg.starts_with('%') {
                true => context.shell.jobs_mut().resolve_job_spec(arg).and_then(|job| job.representative_pid()),
                false => arg.parse().ok(),
            };
            let Some(target) = target else {
                result = fail(&context, &format!("{arg}: arguments must be process or job IDs"), 1);
                continue;
            };
            // SAFETY: only integers are passed.
            if unsafe { libc::kill(target, signal) } != 0 {
                let cause = std::io::Error::last_os_error();
                result = fail(&context, &format!("({arg}) - {}", brief(&cause)), 1);
            }
        }
        Ok(result)
    }
}

/// Returns the result of a subshell that was killed by a signal.
fn ended_by(signal: i32) -> ExecutionResult {
    if matches!(signal, 0 | libc::SIGCHLD | libc::SIGCONT | libc::SIGURG | libc::SIGWINCH) {
        return ExecutionResult::success();
    }
    let mut result = ExecutionResult::new(128 + u8::try_from(signal).unwrap_or(0));
    result.next_control_flow = ExecutionControlFlow::ExitShell;
    result
}

impl SimpleCommand for Shift {
    fn get_content(_: &str, kind: ContentType, _: &ContentOptions) -> Result<String, Error> {
        Ok(content(kind, "shift [n]"))
    }

    fn execute<SE: ShellExtensions, I: Iterator<Item = S>, S: AsRef<str>>(
        context: ExecutionContext<'_, SE>,
        mut args: I,
    ) -> Result<ExecutionResult, Error> {
        let count = args.nth(1).map_or(Ok(1), |arg| arg.as_ref().parse::<usize>());
        let Ok(count) = count else { return Ok(fail(&context, "numeric argument required", 1)) };
        let parameters = context.shell.current_shell_args_mut();
        if count > parameters.len() {
            return Ok(ExecutionResult::new(1));
        }
        parameters.drain(..count);
        Ok(ExecutionResult::success())
    }
}

impl SimpleCommand for Logout {
    fn get_content(_: &str, kind: ContentType, _: &ContentOptions) -> Result<String, Error> {
        Ok(content(kind, "logout [n]"))
    }

    fn execute<SE: ShellExtensions, I: Iterator<Item = S>, S: AsRef<str>>(
        context: ExecutionContext<'_, SE>,
        _: I,
    ) -> Result<ExecutionResult, Error> {
        Ok(fail(&context, "not login shell: use `exit'", 1))
    }
}

/// Returns the signal and the targets of `kill`; otherwise the error and the exit code.
fn wish(args: &[String]) -> Result<(i32, &[String]), (String, u8)> {
    let mut rest = args;
    let mut signal = libc::SIGTERM;
    if let Some(first) = rest.first().filter(|first| first.starts_with('-') && first.len() > 1) {
        rest = &rest[1..];
        let word = match first.as_str() {
            "--" => None,
            "-s" | "-n" => {
                let word = rest.first().map(String::as_str);
                rest = rest.get(1..).unwrap_or_default();
                Some(word.unwrap_or_default())
            }
            word => Some(&word[1..]),
        };
        if let Some(word) = word {
            signal = number(word).ok_or_else(|| (format!("{word}: invalid signal specification"), 1))?;
        }
    }
    if rest.first().is_some_and(|arg| arg == "--") {
        rest = &rest[1..];
    }
    match rest.is_empty() {
        true => Err(("usage: kill [-s sigspec | -n signum | -sigspec] pid | jobspec ...".into(), 2)),
        false => Ok((signal, rest)),
    }
}

/// Runs the trap for a signal to the shell itself, which the original only stores.
fn kill(context: ExecutionContext<'_, BrushExtensions>, args: Vec<CommandArg>) -> BuiltinFuture<'_> {
    let words: Vec<String> = args.iter().skip(1).map(CommandArg::to_string).collect();
    let own = std::process::id().to_string();
    let handler = wish(&words)
        .ok()
        .filter(|(_, targets)| matches!(targets, [target] if *target == own))
        .and_then(|(signal, _)| TrapSignal::try_from(signal).ok())
        .and_then(|signal| context.shell.traps().get_handler(signal))
        .map(|handler| handler.command.clone());
    let Some(handler) = handler else {
        return Box::pin(async move {
            let words: Vec<String> = args.iter().map(CommandArg::to_string).collect();
            Kill::execute(context, words.into_iter())
        });
    };
    Box::pin(async move {
        let parameters = context.params.clone();
        let mut result = context.shell.run_string(handler, &SourceInfo::from("trap"), &parameters).await?;
        if result.is_normal_flow() {
            result = ExecutionResult::success();
        }
        Ok(result)
    })
}

/// `kill -l`: lists all names, or converts between numbers and names.
fn list(context: &ExecutionContext<'_, impl ShellExtensions>, args: &[String]) -> ExecutionResult {
    let mut out = context.stdout();
    let short = |number: i32| crate::signals::name(number).trim_start_matches("SIG").to_string();
    if args.is_empty() {
        for number in 1..=31 {
            let _ = writeln!(out, "{number:2}) {}", crate::signals::name(number));
        }
    }
    let mut result = ExecutionResult::success();
    for arg in args {
        match (arg.parse::<i32>(), number(arg)) {
            // A status above 128 is that of a process ended by a signal.
            (Ok(status), _) if (1..=31).contains(&status) || (129..=159).contains(&status) => {
                let _ = writeln!(out, "{}", short(status & 127));
            }
            (Err(_), _) if arg.eq_ignore_ascii_case("EXIT") => {
                let _ = writeln!(out, "0");
            }
            (Err(_), Some(number)) => {
                let _ = writeln!(out, "{number}");
            }
            _ => result = fail(context, &format!("{arg}: invalid signal specification"), 1),
        }
    }
    result
}

/// Parses a signal number or name, with or without `SIG`; `None` if it is unknown.
fn number(word: &str) -> Option<i32> {
    match word.parse::<i32>() {
        Ok(number) => (0..=64).contains(&number).then_some(number),
        Err(_) => {
            let name = word.to_ascii_uppercase();
            let name = name.strip_prefix("SIG").unwrap_or(&name);
            (1..=31).find(|number| &crate::signals::name(*number)[3..] == name)
        }
    }
}

fn brief(cause: &std::io::Error) -> String {
    let text = cause.to_string();
    text.split(" (os error").next().unwrap_or_default().to_string()
}
