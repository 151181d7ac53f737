//! `umask` with symbolic modes.

use std::io::Write;

use brush_core::builtins::{ContentOptions, ContentType, SimpleCommand};
use brush_core::{Error, ExecutionContext, ExecutionResult, ShellExtensions};

use super::arguments::{content, fail, flags};

/// The permissions that new files do not get.
pub(super) struct Umask;

impl SimpleCommand for Umask {
    fn get_content(_: &str, kind: ContentType, _: &ContentOptions) -> Result<String, Error> {
        Ok(content(kind, "umask [-p] [-S] [mode]"))
    }

    fn execute<SE: ShellExtensions, I: Iterator<Item = S>, S: AsRef<str>>(
        context: ExecutionContext<'_, SE>,
        args: I,
    ) -> Result<ExecutionResult, Error> {
        let args: Vec<String> = args.skip(1).map(|arg| arg.as_ref().to_string()).collect();
        let (flags, rest) = match flags(&args, "Sp") {
            Ok(read) => read,
            Err(flag) => return Ok(fail(&context, &format!("-{flag}: invalid option"), 2)),
        };
        let (letters, again) = (flags.contains('S'), flags.contains('p'));
        let now = current();
        let Some(mode) = rest.first() else {
            let text = if letters { symbols(now) } else { format!("{now:04o}") };
            let prefix = if again && letters {
                "umask -S "
            } else if again {
                "umask "
            } else {
                ""
            };
            let _ = writeln!(context.stdout(), "{prefix}{text}");
            return Ok(ExecutionResult::success());
        };
        let octal = mode.starts_with(|first: char| first.is_ascii_digit());
        let new = match octal {
            true => u32::from_str_radix(mode, 8).ok().filter(|mask| *mask <= 0o777),
            false => parse(mode, now),
        };
        let Some(new) = new else {
            let text = match octal {
                true => format!("{mode}: octal number out of range"),
                false => format!("`{mode}': invalid symbolic mode"),
            };
            return Ok(fail(&context, &text, 1));
        };
        // SAFETY: only an integer is passed.
        unsafe { libc::umask(new) };
        if letters {
            let _ = writeln!(context.stdout(), "{}", symbols(new));
        }
        Ok(ExecutionResult::success())
    }
}

fn current() -> u32 {
    // SAFETY: only integers are passed; the first value is restored at once.
    unsafe {
        let mask = libc::umask(0o077);
        libc::umask(mask);
        mask
    }
}

/// Applies a mode such as `u=rwx,g-w` to `mask`; `None` if it is invalid.
fn parse(mode: &str, mask: u32) -> Option<u32> {
    let before = !mask & 0o777;
    let mut allowed = before;
    for clause in mode.split(',') {
        let operator = clause.find(['+', '-', '='])?;
        let (who, rest) = clause.split_at(operator);
        let mut whom = 0;
        for letter in who.chars() {
            whom |= match letter {
                'u' => 0o700,
                'g' => 0o070,
                'o' => 0o007,
                'a' => 0o777,
                _ => return None,
            };
        }
        if whom == 0 {
            whom = 0o777;
        }
        let mut bits = 0;
        for letter in rest[1..].chars() {
            bits |= match letter {
                'r' => 0o444,
                'w' => 0o222,
                'x' => 0o111,
                _ => return None,
            };
        }
        match rest.as_bytes()[0] {
            b'+' => allowed |= bits & whom,
            b'-' => allowed &= !(bits & whom),
            _ => allowed = (allowed & !whom) | (bits & whom),
        }
    }
    Some(!allowed & 0o777)
}

fn symbols(mask: u32) -> String {
    let part = |name: char, shift: u32| {
        let bits = !mask >> shift & 7;
        let letters: String = [(4, 'r'), (2, 'w'), (1, 'x')]
            .into_iter()
            .filter(|(bit, _)| bits & bit != 0)
            .map(|(_, letter)| letter)
            .collect();
        format!("{name}={letters}")
    };
    format!("{},{},{}", part('u', 6), part('g', 3), part('o', 0))
}
