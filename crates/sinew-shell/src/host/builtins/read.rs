//! `read` that counts UTF-8 characters, and whose errors do not end the script.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use brush_core::openfiles::OpenFile;
use brush_core::variables::{ArrayLiteral, ShellValueLiteral};
use brush_core::{CommandArg, ExecutionContext, ExecutionResult, ShellValue};

use super::super::interpreter::BrushExtensions;
use super::original::{BuiltinFuture, theirs};

/// The status of a `read` that timed out.
const TIMED_OUT: u8 = 142;

/// Makes a variable that cannot be set an error of the command instead of the end of the script; the input is UTF-8.
pub(super) fn read(context: ExecutionContext<'_, BrushExtensions>, args: Vec<CommandArg>) -> BuiltinFuture<'_> {
    let mut errors = context.stderr();
    let words: Vec<String> = args.iter().skip(1).map(CommandArg::to_string).collect();
    let mut names: Vec<String> =
        words.iter().filter(|word| brush_core::env::valid_variable_name(word)).cloned().collect();
    names.push("REPLY".into());
    Box::pin(async move {
        let ExecutionContext { shell, command_name, mut params } = context;
        let mut args = args;
        let mut timed_out = false;
        if let Some(limit) = Limit::from(&words)
            && let Some(input) = params.try_fd(shell, limit.fd)
            && !input.is_terminal()
        {
            let taken = tokio::task::block_in_place(|| limit.take(input));
            timed_out = taken.timed_out;
            params.set_fd(limit.fd, contents(&taken.bytes)?);
            args.truncate(1);
            args.extend(limit.words(taken.count).into_iter().map(CommandArg::String));
        }
        let result = theirs(ExecutionContext { shell: &mut *shell, command_name, params }, args).await;
        for name in names {
            if let Some((_, variable)) = shell.env_mut().get_mut(&name)
                && let Some(value) = decoded(variable.value())
            {
                // If it is read-only, it was not read either.
                let _ = variable.assign(value, false);
            }
        }
        match result {
            Err(cause) if cause.as_io_error().is_none() => {
                let _ = writeln!(errors, "bash: {cause}");
                Ok(ExecutionResult::new(1))
            }
            Ok(_) if timed_out => Ok(ExecutionResult::new(TIMED_OUT)),
            result => result,
        }
    })
}

/// A `read` of a number of characters (`-n`, `-N`). The original builtin counts a byte beyond ASCII as two characters,
/// so it receives only the bytes of these characters, and a count that includes this error.
struct Limit<'a> {
    characters: usize,
    fd: i32,
    // The delimiter that ends it earlier; `None` with `-N`.
    delimiter: Option<u8>,
    raw: bool,
    until: Option<Instant>,
    // Its flags without the count.
    flag: char,
    others: Vec<String>,
    names: &'a [String],
}

/// The bytes that a [`Limit`] has read from the input.
struct ReadBytes {
    bytes: Vec<u8>,
    // The count as the original builtin counts it.
    count: usize,
    timed_out: bool,
}

impl<'a> Limit<'a> {
    /// Parses the limit in the words of a command; `None` if there is none, or if the original has to report an error.
    fn from(words: &'a [String]) -> Option<Limit<'a>> {
        let mut limit = Limit {
            characters: 0,
            fd: 0,
            delimiter: Some(b'\n'),
            raw: false,
            until: None,
            flag: ' ',
            others: Vec::new(),
            names: &[],
        };
        let mut at = 0;
        while let Some(letters) = words.get(at).and_then(|word| word.strip_prefix('-')).filter(|word| !word.is_empty())
        {
            at += 1;
            if letters == "-" {
                break;
            }
            for (place, letter) in letters.char_indices() {
                if matches!(letter, 'r' | 's' | 'e') {
                    limit.raw |= letter == 'r';
                    limit.others.push(format!("-{letter}"));
                    continue;
                }
                let joined = &letters[place + letter.len_utf8()..];
                let value = if joined.is_empty() { words.get(at)?.as_str() } else { joined };
                at += usize::from(joined.is_empty());
                match letter {
                    'n' | 'N' => {
                        limit.characters = value.parse().ok()?;
                        limit.flag = letter;
                        break;
                    }
                    'u' => limit.fd = value.parse().ok()?,
                    'd' => limit.delimiter = Some(value.bytes().next().unwrap_or(0)),
                    't' => {
                        let seconds = value.parse().ok().filter(|seconds: &f64| *seconds > 0.0)?;
                        limit.until = Some(Instant::now() + Duration::try_from_secs_f64(seconds).ok()?);
                        break;
                    }
                    'a' | 'p' | 'i' => {}
                    _ => return None,
                }
                limit.others.extend([format!("-{letter}"), value.to_string()]);
                break;
            }
        }
        if limit.flag == 'N' {
            limit.delimiter = None;
        }
        limit.names = &words[at..];
        (limit.characters > 0).then_some(limit)
    }

    /// Returns the words of the same command with another count.
    fn words(&self, count: usize) -> Vec<String> {
        let mut words = vec![format!("-{}", self.flag), count.to_string()];
        words.extend(self.others.iter().cloned());
        words.push("--".into());
        words.extend_from_slice(self.names);
        words
    }

    /// Reads that number of characters, up to the delimiter, the end or the time limit, and nothing beyond.
    fn take(&self, mut input: OpenFile) -> ReadBytes {
        let mut taken = ReadBytes { bytes: Vec::new(), count: 0, timed_out: false };
        let (mut characters, mut escaped, mut left) = (0, false, 0);
        while characters < self.characters || left > 0 {
            if let Some(until) = self.until {
                let wait = until.saturating_duration_since(Instant::now());
                if !brush_core::sys::poll::poll_for_input(&input, wait).unwrap_or(true) {
                    taken.timed_out = true;
                    break;
                }
            }
            let mut byte = [0];
            if !input.read(&mut byte).is_ok_and(|count| count == 1) {
                break;
            }
            let [byte] = byte;
            taken.bytes.push(byte);
            let is_end = Some(byte) == self.delimiter;
            if left == 0 {
                if is_end && !escaped {
                    break;
                }
                if byte == b'\\' && !self.raw && !escaped {
                    escaped = true;
                    continue;
                }
                let continues = escaped && is_end;
                escaped = false;
                if continues {
                    continue;
                }
                characters += 1;
                left = match byte {
                    0xc2..=0xdf => 1,
                    0xe0..=0xef => 2,
                    0xf0..=0xf4 => 3,
                    _ => 0,
                };
            } else {
                left -= 1;
            }
            taken.count += if byte.is_ascii() { 1 } else { 2 };
        }
        if characters < self.characters {
            // The limit was not reached, so the original must not reach it either.
            taken.count += 1;
        }
        taken
    }
}

/// Creates a file that contains `bytes`.
fn contents(bytes: &[u8]) -> std::io::Result<OpenFile> {
    let file = crate::supervisor::memory_file(bytes)?;
    Ok(OpenFile::from(std::fs::File::from(file)))
}

/// Decodes the value of a variable whose bytes were read as one character each; `None` if it is unchanged.
fn decoded(value: &ShellValue) -> Option<ShellValueLiteral> {
    match value {
        ShellValue::String(text) => from_bytes(text).map(ShellValueLiteral::Scalar),
        ShellValue::IndexedArray(items) if items.values().any(|text| from_bytes(text).is_some()) => {
            let items = items
                .iter()
                .map(|(index, text)| (Some(index.to_string()), from_bytes(text).unwrap_or_else(|| text.clone())));
            Some(ShellValueLiteral::Array(ArrayLiteral(items.collect())))
        }
        _ => None,
    }
}

/// Decodes a text whose bytes were read as one character each; `None` if it is not UTF-8.
fn from_bytes(text: &str) -> Option<String> {
    let bytes: Option<Vec<u8>> = text.chars().map(|c| u8::try_from(c).ok()).collect();
    bytes.filter(|bytes| !bytes.is_ascii()).and_then(|bytes| String::from_utf8(bytes).ok())
}
