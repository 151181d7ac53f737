//! Writes to stdout and stderr, with keys of providers masked. All output uses this module.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::Arc;

use parking_lot::RwLock;
use sinew::term::{is_hidden, reveal_where, sanitize};
use sinew_session::secrets::Secrets;

use crate::failure::Failure;

/// The keys that are known so far. They are process-wide, like the streams.
static KEYS: RwLock<Keys> = RwLock::new(Keys::Values(Vec::new()));

enum Keys {
    /// The keys from the command line and the environment.
    Values(Vec<String>),
    /// The keys of each session, including those from its settings. An editor may have several sessions.
    All(Vec<Arc<Secrets>>),
}

/// The replacement of a key before [`hide_all`] was called.
const STAND: &str = "***";

/// Masks these keys until `hide_all` is called.
pub fn hide(values: Vec<String>) {
    *KEYS.write() = Keys::Values(values);
}

/// Masks the keys of `secrets` from now on, including those that are added later.
pub(crate) fn hide_all(secrets: &Arc<Secrets>) {
    let mut keys = KEYS.write();
    let mut known = match std::mem::replace(&mut *keys, Keys::Values(Vec::new())) {
        Keys::All(known) => known,
        // `secrets` contains these keys too.
        Keys::Values(_) => Vec::new(),
    };
    // Removes the keys of sessions that are closed.
    known.retain(|known| Arc::strong_count(known) > 1);
    known.push(Arc::clone(secrets));
    *keys = Keys::All(known);
}

/// Masks keys in a text for people.
fn text(text: &str) -> Cow<'_, str> {
    match &*KEYS.read() {
        Keys::All(all) => all.iter().fold(Cow::Borrowed(text), |text, secrets| match secrets.without_keys(&text) {
            Some(hidden) => Cow::Owned(hidden),
            None => text,
        }),
        Keys::Values(values) => replaced(text, values),
    }
}

/// Masks keys in a line of JSON.
fn json(line: Vec<u8>) -> Vec<u8> {
    match &*KEYS.read() {
        Keys::All(all) => all.iter().fold(line, |line, secrets| secrets.line_without_keys(&line).unwrap_or(line)),
        Keys::Values(values) => match std::str::from_utf8(&line) {
            Ok(text) => replaced(text, values).into_owned().into_bytes(),
            Err(_) => line,
        },
    }
}

fn replaced<'a>(text: &'a str, values: &[String]) -> Cow<'a, str> {
    match values.iter().any(|value| text.contains(value)) {
        true => Cow::Owned(values.iter().fold(text.to_string(), |text, value| text.replace(value, STAND))),
        false => Cow::Borrowed(text),
    }
}

/// The stream for answers: stdout, or memory in tests.
pub struct Output<W> {
    out: W,
}

/// Returns standard output, with keys masked.
#[expect(clippy::disallowed_methods, reason = "this is the way to it")]
pub fn stdout() -> Output<io::Stdout> {
    Output { out: io::stdout() }
}

impl<W: Write> Output<W> {
    /// Creates an output to `out`, which is not a standard stream.
    pub fn new(out: W) -> Output<W> {
        Output { out }
    }

    /// Writes a text.
    pub fn text(&mut self, words: &str) -> io::Result<()> {
        self.out.write_all(text(words).as_bytes())?;
        self.out.flush()
    }

    /// Writes a JSON value as a line; `written` receives the number of bytes after each write.
    pub fn line(&mut self, line: Vec<u8>, mut written: impl FnMut(usize)) -> io::Result<()> {
        let mut line = escaped(json(line));
        line.push(b'\n');
        for part in line.chunks(64 << 10) {
            self.out.write_all(part)?;
            written(part.len());
        }
        self.out.flush()
    }
}

/// Writes to stderr. Errors are ignored, because there is no other place to report them.
#[expect(clippy::disallowed_methods, reason = "this is the way to it")]
pub fn stderr(words: &str) {
    let _ = io::stderr().write_all(text(words).as_bytes());
}

/// Writes a text to stdout without sequences that control the terminal, because names of directories and values of
/// settings may contain them. A closed reader is not an error. Returns the exit code.
pub fn print(text: &str) -> Result<u8, Failure> {
    match stdout().text(&visible(&sanitize(text))) {
        Ok(()) => Ok(0),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(0),
        Err(error) => Err(Failure::failed(format!("failed to write to stdout: {error}"))),
    }
}

/// Writes warnings to stderr, one per line.
pub fn warn(warnings: &[String]) {
    warnings.iter().for_each(|warning| tell(&format!("Warning: {warning}")));
}

/// Writes a line to stderr without sequences that control the terminal.
pub fn tell(line: &str) {
    stderr(&format!("{}\n", plain(line)));
}

/// Returns `text` without control characters other than tabs and line feeds, so that it cannot control a terminal, and
/// with invisible characters made visible. Each character is handled on its own, so that sequences split over several
/// calls are removed too.
pub fn plain(text: &str) -> String {
    let text: String = text.chars().filter(|c| matches!(c, '\n' | '\t') || !c.is_control()).collect();
    visible(&text).into_owned()
}

/// Returns `text` with characters made visible that change its direction or that are invisible. Marks of Hebrew and
/// Arabic texts are kept, because they only affect themselves.
fn visible(text: &str) -> Cow<'_, str> {
    reveal_where(text, |c| !matches!(c, '\u{61C}' | '\u{200E}' | '\u{200F}'))
}

/// Escapes the characters in a line of JSON that would control a terminal or that are invisible. The parsed value is
/// the same.
fn escaped(line: Vec<u8>) -> Vec<u8> {
    // The first bytes of such characters, and of some others. JSON cannot contain controls below U+0020.
    if !line.iter().any(|byte| matches!(byte, 0x7F | 0xC2 | 0xD8 | 0xE2 | 0xF3)) {
        return line;
    }
    let Ok(text) = std::str::from_utf8(&line) else { return line };
    let is_raw = |c: char| c.is_control() || is_hidden(c) || matches!(c, '\u{2028}' | '\u{2029}');
    let mut out = String::new();
    let mut done = 0;
    for (at, c) in text.char_indices().filter(|(_, c)| is_raw(*c) && !c.is_ascii_whitespace()) {
        out.push_str(&text[done..at]);
        let mut units = [0; 2];
        out.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        done = at + c.len_utf8();
    }
    if done == 0 {
        return line;
    }
    out.push_str(&text[done..]);
    out.into_bytes()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn json_escapes_control_and_invisible_characters() {
        for (text, raw) in [
            ("plain \"text\" — é 日本 👨‍👩‍👧 \n\t\u{1b}[2J", false),
            ("\u{9b}2J", true),
            ("\u{7f}\u{80}\u{9f}", true),
            ("user\u{202e}txt.exe \u{200f}\u{2066}", true),
            ("\u{E0041}\u{E007F}\u{E0100}", true),
            ("a\u{2028}b", true),
        ] {
            let line = serde_json::to_vec(&serde_json::json!({ text: [text] })).unwrap();
            let written = escaped(line.clone());
            assert_eq!(written == line, !raw, "{text:?}");
            assert_eq!(serde_json::from_slice::<Value>(&written).unwrap(), serde_json::json!({ text: [text] }));
            let written = String::from_utf8(written).unwrap();
            assert!(!written.chars().any(|c| c.is_control() || is_hidden(c)), "{written:?}");
        }
    }

    #[test]
    fn text_shows_invisible_characters() {
        assert_eq!(plain("a\u{1b}[2Jb\u{9b}\u{202e}c\u{E0041}\u{200f}\n"), "a[2Jb‹U+202E›c‹U+E0041›\u{200f}\n");
    }
}
