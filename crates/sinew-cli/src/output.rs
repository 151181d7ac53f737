//! The one way to stdout and stderr: keys of providers do not pass it.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::Arc;

use parking_lot::RwLock;
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
        let mut line = json(line);
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
    let shown: String = sinew::term::sanitize(text).chars().filter(|c| !turns(*c)).collect();
    match stdout().text(&shown) {
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

/// `text` without control characters but tabs and line feeds: a terminal obeys none of what is left. It goes
/// character by character, so that a sequence cut into pieces gets no further.
pub(crate) fn plain(text: &str) -> String {
    text.chars().filter(|c| matches!(c, '\n' | '\t') || !c.is_control() && !turns(*c)).collect()
}

/// Returns true for a character that shows what follows in another order than it is written in.
fn turns(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
