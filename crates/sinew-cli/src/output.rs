//! The one way to stdout and stderr: keys of providers do not pass it.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::Arc;

use parking_lot::RwLock;
use sinew::term::{is_hidden, reveal_where, sanitize};
use sinew_session::secrets::Secrets;

use crate::failure::Failure;

/// The keys that are known so far. They belong to the process, as the streams do.
static KEYS: RwLock<Keys> = RwLock::new(Keys::Values(Vec::new()));

enum Keys {
    /// Those that the command line and the environment hold.
    Values(Vec<String>),
    /// All of them: those of each session's settings, which an editor may have several of.
    All(Vec<Arc<Secrets>>),
}

/// The text in place of a key that no session has a mark for yet.
const STAND: &str = "***";

/// Hides these keys until [`hide_all`] knows more.
pub(crate) fn hide(values: Vec<String>) {
    *KEYS.write() = Keys::Values(values);
}

/// Hides the keys of `secrets` from now on, also those that it learns later.
pub(crate) fn hide_all(secrets: &Arc<Secrets>) {
    let mut keys = KEYS.write();
    let mut known = match std::mem::replace(&mut *keys, Keys::Values(Vec::new())) {
        Keys::All(known) => known,
        // They are among those of `secrets`.
        Keys::Values(_) => Vec::new(),
    };
    // Those that a closed session has left nobody speaks any more.
    known.retain(|known| Arc::strong_count(known) > 1);
    known.push(Arc::clone(secrets));
    *keys = Keys::All(known);
}

/// A text for people without keys.
fn text(text: &str) -> Cow<'_, str> {
    match &*KEYS.read() {
        Keys::All(all) => all.iter().fold(Cow::Borrowed(text), |text, secrets| match secrets.without_keys(&text) {
            Some(hidden) => Cow::Owned(hidden),
            None => text,
        }),
        Keys::Values(values) => replaced(text, values),
    }
}

/// A line of JSON without keys.
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

/// The stream that answers are written to: stdout, or memory in tests.
pub(crate) struct Output<W> {
    out: W,
}

#[expect(clippy::disallowed_methods, reason = "this is the way to it")]
pub(crate) fn stdout() -> Output<io::Stdout> {
    Output { out: io::stdout() }
}

impl<W: Write> Output<W> {
    /// Writes to `out`, which is no stream of the process.
    pub(crate) fn new(out: W) -> Output<W> {
        Output { out }
    }

    /// Writes a text.
    pub(crate) fn text(&mut self, words: &str) -> io::Result<()> {
        self.out.write_all(text(words).as_bytes())?;
        self.out.flush()
    }

    /// Writes a value of JSON as a line; `written` hears how many bytes went.
    pub(crate) fn line(&mut self, line: Vec<u8>, mut written: impl FnMut(usize)) -> io::Result<()> {
        let mut line = escaped(json(line));
        line.push(b'\n');
        for part in line.chunks(64 << 10) {
            self.out.write_all(part)?;
            written(part.len());
        }
        self.out.flush()
    }
}

/// Writes to stderr. Nobody is left to tell when it is closed.
#[expect(clippy::disallowed_methods, reason = "this is the way to it")]
pub(crate) fn stderr(words: &str) {
    let _ = io::stderr().write_all(text(words).as_bytes());
}

/// Writes to stdout what a terminal may show: names of folders and values of settings may hold anything. A reader that
/// is gone is no error. Gives the exit code.
pub(crate) fn print(text: &str) -> Result<u8, Failure> {
    match stdout().text(&visible(&sanitize(text))) {
        Ok(()) => Ok(0),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(0),
        Err(error) => Err(Failure::failed(format!("failed to write to stdout: {error}"))),
    }
}

/// Writes warnings to stderr, a line each.
pub(crate) fn warn(warnings: &[String]) {
    warnings.iter().for_each(|warning| tell(&format!("Warning: {warning}")));
}

/// A line on stderr, without what a terminal would obey.
pub(crate) fn tell(line: &str) {
    stderr(&format!("{}\n", plain(line)));
}

/// `text` without control characters but tabs and line feeds: a terminal obeys none of what is left, and what nobody
/// would see of it is shown. It goes character by character, so that a sequence cut into pieces gets no further.
pub(crate) fn plain(text: &str) -> String {
    let text: String = text.chars().filter(|c| matches!(c, '\n' | '\t') || !c.is_control()).collect();
    visible(&text).into_owned()
}

/// `text` in which a person sees what changes its order and what only a program would read. The marks of Hebrew and Arabic
/// texts stay: they move nothing but themselves.
fn visible(text: &str) -> Cow<'_, str> {
    reveal_where(text, |c| !matches!(c, '\u{61C}' | '\u{200E}' | '\u{200F}'))
}

/// A line of JSON in which nothing is written raw that a terminal would obey or nobody would see: whoever reads the value
/// gets the same characters.
fn escaped(line: Vec<u8>) -> Vec<u8> {
    // The first bytes of such characters, and of others; a control below U+0020 cannot be in JSON.
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
    fn json_holds_nothing_raw_that_a_terminal_obeys_or_nobody_sees() {
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
    fn a_text_for_people_shows_what_nobody_would_see() {
        assert_eq!(plain("a\u{1b}[2Jb\u{9b}\u{202e}c\u{E0041}\u{200f}\n"), "a[2Jb‹U+202E›c‹U+E0041›\u{200f}\n");
    }
}
