//! The newest 64 KB of a block of an answer, on which regular expressions are matched.

use serde_json::Value;

use super::condition::Condition;

/// The number of bytes that are kept.
const KEPT: usize = 64 * 1024;
/// A check of the whole window is due after 1/32 of its size has arrived, so that the cost of a stream is linear in its
/// length. The rest is checked at the next pause.
const SHARE: usize = 32;
/// The number of bytes at the start of a call in which its path is searched.
const START: usize = 8 * 1024;

/// A growing block of an answer.
pub(super) struct Window {
    text: String,
    /// The number of bytes that were not checked yet.
    unseen: usize,
    /// Whether earlier text was dropped; the first character is then only used for lookbehind.
    cut: bool,
    /// The JSON decoder for the arguments of a call; `None` for prose.
    json: Option<Json>,
}

impl Window {
    /// Creates a window for prose or, with `tool`, for the arguments of a call.
    pub(super) fn new(tool: bool) -> Window {
        Window { text: String::new(), unseen: 0, cut: false, json: tool.then(Json::default) }
    }

    pub(super) fn push(&mut self, delta: &str) {
        let before = self.text.len();
        match &mut self.json {
            Some(json) => json.push(delta, &mut self.text),
            None => self.text.push_str(delta),
        }
        self.unseen += self.text.len() - before;
    }

    /// Returns whether no text has arrived.
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty() && !self.cut
    }

    /// Returns whether enough new text has arrived for another check.
    pub(super) fn is_due(&self) -> bool {
        self.unseen > 0 && self.unseen >= self.text.len().min(KEPT) / SHARE
    }

    /// Returns whether there is unchecked text.
    pub(super) fn is_behind(&self) -> bool {
        self.unseen > 0
    }

    /// Returns whether a condition matches in the window. `ended` says that the block is complete.
    pub(super) fn finds(&self, condition: &Condition, ended: bool) -> bool {
        let start = if self.cut { self.text.chars().next().map_or(0, char::len_utf8) } else { 0 };
        condition.is_found(&self.text, start, ended)
    }

    /// Marks all text as checked and drops old text.
    pub(super) fn looked(&mut self) {
        self.unseen = 0;
        if self.text.len() > 2 * KEPT {
            let from = self.text.ceil_char_boundary(self.text.len() - KEPT);
            self.text.drain(..from);
            self.cut = true;
        }
    }

    /// Returns the path of a call once it is complete.
    pub(super) fn paths(&self) -> Option<Vec<String>> {
        let json = self.json.as_ref()?;
        let path = named(&sinew_llm::partial_json::parse(&json.start))?;
        // A path that is still incomplete ends where the JSON ends, without a closing quote.
        json.start.contains(&Value::from(path.as_str()).to_string()).then(|| vec![path])
    }
}

/// Returns the paths in the arguments of a complete call: from the usual argument names, otherwise from the headers
/// `@path#tag` of a patch.
pub(super) fn paths_of(arguments: &Value) -> Vec<String> {
    if let Some(path) = named(arguments) {
        return vec![path];
    }
    let patch = arguments.get("input").and_then(Value::as_str).unwrap_or_default();
    let headers = patch.lines().filter_map(|line| line.strip_prefix('@')?.rsplit_once('#'));
    headers.map(|(path, _)| path.to_string()).collect()
}

fn named(arguments: &Value) -> Option<String> {
    ["path", "file_path", "filePath"].iter().find_map(|key| arguments.get(key)?.as_str()).map(str::to_string)
}

/// Decodes JSON as it streams: strings without their escapes.
#[derive(Default)]
struct Json {
    /// The first bytes, undecoded.
    start: String,
    in_string: bool,
    escape: Escape,
    /// The high surrogate of a character outside of the basic plane.
    high: Option<u16>,
}

#[derive(Default, Clone, Copy)]
enum Escape {
    #[default]
    None,
    Begun,
    /// The number of digits of `\u` so far, and their value.
    Unicode(u8, u16),
}

impl Json {
    fn push(&mut self, delta: &str, out: &mut String) {
        let room = START.saturating_sub(self.start.len());
        self.start.push_str(&delta[..delta.floor_char_boundary(room.min(delta.len()))]);
        for c in delta.chars() {
            match self.escape {
                Escape::None if c == '"' => {
                    self.in_string = !self.in_string;
                    out.push(c);
                }
                Escape::None if c == '\\' && self.in_string => self.escape = Escape::Begun,
                Escape::None => out.push(c),
                Escape::Begun => {
                    self.escape = Escape::None;
                    match c {
                        'n' => out.push('\n'),
                        't' => out.push('\t'),
                        'r' => out.push('\r'),
                        'b' => out.push('\u{8}'),
                        'f' => out.push('\u{c}'),
                        'u' => self.escape = Escape::Unicode(0, 0),
                        other => out.push(other),
                    }
                }
                Escape::Unicode(count, value) => match c.to_digit(16) {
                    #[allow(clippy::cast_possible_truncation, reason = "a digit is below 16")]
                    Some(digit) => {
                        let value = value << 4 | digit as u16;
                        self.escape = Escape::Unicode(count + 1, value);
                        if count == 3 {
                            self.escape = Escape::None;
                            self.unit(value, out);
                        }
                    }
                    None => {
                        self.escape = Escape::None;
                        out.push(c);
                    }
                },
            }
        }
    }

    fn unit(&mut self, unit: u16, out: &mut String) {
        if (0xd800..0xdc00).contains(&unit) {
            self.high = Some(unit);
            return;
        }
        let units = self.high.take().into_iter().chain([unit]);
        out.extend(char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)));
    }
}
