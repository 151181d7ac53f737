//! Hides secret values from providers and session files.
//!
//! A value is replaced by a marker, `<<$env:S1a2b3c>>`, on its way out, and restored in the model's answer: in its
//! texts and in the arguments of its calls. The marker is a keyed hash of the value, so that it is the same after the
//! session is resumed. Entries of `secrets.json` may request a replacement that is not restored.
//!
//! Thinking that its provider has signed is never changed: if it contains a value, the thinking of its turn is not sent
//! again.
//!
//! Values shorter than 8 characters, and common words, are not hidden, because markers would replace parts of ordinary
//! text.
//!
//! Keys of providers ([`Secrets::add_key`]) are never restored: no person, no tool and no program that reads the
//! agent's output sees them. A value is recognised by its exact text, but not if it is encoded, reversed or cut.

mod file;
mod hiding_writer;
mod keys;
mod provider;
mod stream;
#[cfg(test)]
mod tests;
mod walk;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, OnceLock};

use parking_lot::RwLock;
use regex::{Captures, Regex, RegexBuilder};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::Mask;
pub use file::{Entry, read};
pub(crate) use hiding_writer::HidingWriter;
use keys::Keys;
pub use provider::HidingProvider;

/// The minimum length of a value in characters.
const SHORTEST: usize = 8;
/// Values that are common words.
const COMMON: [&str; 20] = [
    "password",
    "changeme",
    "undefined",
    "localhost",
    "production",
    "development",
    "disabled",
    "required",
    "username",
    "internal",
    "external",
    "anonymous",
    "administrator",
    "test1234",
    "12345678",
    "123456789",
    "1234567890",
    "placeholder",
    "your-api-key",
    "your_api_key",
];
/// The pattern of all markers; existing ones are not replaced.
const MARK: &str = r"<<\$env:S[0-9a-f]{6}>>";

/// The maximum expected length of a pattern's match in a text that arrives in chunks.
const LONGEST_FOUND: usize = 4 << 10;

/// Returns the key of the hash; called once, when the first value needs it.
pub type KeySource = Box<dyn Fn() -> [u8; 32] + Send + Sync>;

/// All secrets of a run.
pub struct Secrets {
    source: KeySource,
    key: OnceLock<[u8; 32]>,
    entries: Vec<Entry>,
    table: RwLock<Arc<Table>>,
    /// The values that patterns have matched, by marker.
    found: RwLock<HashMap<String, String>>,
}

/// The values to search for.
#[derive(Clone, Default)]
struct Table {
    /// Plain values with their replacements.
    values: BTreeMap<String, Replacement>,
    /// The markers of values that are restored.
    marks: HashMap<String, String>,
    regex: Option<Regex>,
    /// The values that are keys of providers.
    keys: Keys,
}

/// The replacement of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Replacement {
    Mark(String),
    Text(String),
}

impl Replacement {
    fn text(&self) -> &str {
        match self {
            Replacement::Mark(text) | Replacement::Text(text) => text,
        }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

impl Secrets {
    /// Searches for `entries`; of two with the same content the first is used. [`Secrets::add`] adds values.
    #[must_use]
    pub fn new(source: KeySource, entries: Vec<Entry>) -> Secrets {
        let secrets =
            Secrets { source, key: OnceLock::new(), entries, table: RwLock::default(), found: RwLock::default() };
        let plain = secrets.entries.iter().filter(|entry| !entry.pattern);
        let values: Vec<(String, Option<Replacement>)> =
            plain.map(|entry| (entry.content.clone(), secrets.stand_of(entry, &entry.content))).collect();
        secrets.extend(values);
        secrets
    }

    /// Hides a value from now on. Does nothing if it is hidden already.
    pub fn add(&self, value: &str) {
        self.extend([(value.to_string(), None)]);
    }

    /// Hides the key of a provider from now on, including from people.
    pub fn add_key(&self, value: &str) {
        self.add(value);
        let mut table = self.table.write();
        let known = table.values.get(value).map(Replacement::text);
        if let Some(stand) = known.filter(|_| !table.keys.has(value)) {
            let stand = stand.to_string();
            Arc::make_mut(&mut table).keys.add(value, stand);
        }
    }

    fn extend(&self, values: impl IntoIterator<Item = (String, Option<Replacement>)>) {
        let old = Arc::clone(&self.table.read());
        let new: Vec<_> = values
            .into_iter()
            .filter(|(value, _)| is_worth_it(value) && !old.values.contains_key(value.as_str()))
            .collect();
        let patterns = self.entries.iter().any(|entry| entry.pattern);
        if new.is_empty() && !(patterns && old.regex.is_none()) {
            return;
        }
        let mut table =
            Table { values: old.values.clone(), marks: old.marks.clone(), regex: None, keys: old.keys.clone() };
        for (value, stand) in new {
            let stand = stand.unwrap_or_else(|| Replacement::Mark(self.mark(&value, |mark| table.marks.get(mark))));
            if let Replacement::Mark(mark) = &stand {
                table.marks.insert(mark.clone(), value.clone());
            }
            table.values.entry(value).or_insert(stand);
        }
        table.regex = self.regex(&table.values);
        *self.table.write() = Arc::new(table);
    }

    /// Markers first, then values, the longest first, then patterns.
    fn regex(&self, values: &BTreeMap<String, Replacement>) -> Option<Regex> {
        let mut plain: Vec<&String> = values.keys().collect();
        plain.sort_by_key(|value| std::cmp::Reverse(value.len()));
        let mut text = MARK.to_string();
        for value in plain {
            text.push('|');
            text.push_str(&regex::escape(value));
        }
        for (at, entry) in self.entries.iter().enumerate().filter(|(_, entry)| entry.pattern) {
            text.push_str(&format!("|(?P<entry{at}>(?{}:{}))", entry.flags, entry.content));
        }
        // Each part was compiled separately; if they are too large together, only the values are used.
        let build = |text: &str| RegexBuilder::new(text).size_limit(64 << 20).build().ok();
        build(&text).or_else(|| build(text.split("|(?P<entry").next().unwrap_or_default()))
    }

    fn stand_of(&self, entry: &Entry, value: &str) -> Option<Replacement> {
        entry.replace.then(|| Replacement::Text(entry.replacement.clone().unwrap_or_else(|| self.same_length(value))))
    }

    fn key(&self) -> &[u8; 32] {
        self.key.get_or_init(|| (self.source)())
    }

    /// The inner digest prevents guessing a value by extending another one.
    fn digest(&self, value: &[u8], round: u32) -> [u8; 32] {
        let inner =
            Sha256::new().chain_update(self.key()).chain_update(round.to_le_bytes()).chain_update(value).finalize();
        Sha256::new().chain_update(self.key()).chain_update(inner).finalize().into()
    }

    /// `taken` returns the value that already has a marker.
    fn mark<'a>(&self, value: &str, taken: impl Fn(&str) -> Option<&'a String>) -> String {
        let mut round = 0;
        loop {
            let digest = self.digest(value.as_bytes(), round);
            let hex: String = digest.iter().take(3).map(|byte| format!("{byte:02x}")).collect();
            let mark = format!("<<$env:S{hex}>>");
            if taken(&mark).is_none_or(|other| other == value) {
                return mark;
            }
            round += 1;
        }
    }

    fn same_length(&self, value: &str) -> String {
        const LETTERS: &[u8; 62] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
        let mut letters = String::new();
        let mut round = 0;
        let length = value.chars().count();
        while letters.len() < length {
            let digest = self.digest(value.as_bytes(), round);
            letters.extend(digest.iter().map(|byte| char::from(LETTERS[usize::from(*byte) % LETTERS.len()])));
            round += 1;
        }
        letters.truncate(length);
        letters
    }

    fn table(&self) -> Arc<Table> {
        Arc::clone(&self.table.read())
    }

    /// Returns true if there is nothing to hide.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.table().regex.is_none()
    }

    /// Returns true if `text` contains a value or a marker.
    fn finds(&self, text: &str) -> bool {
        self.table().regex.as_ref().is_some_and(|regex| regex.is_match(text))
    }

    /// Returns `text` with values hidden; `None` if it contains none. Runs in linear time.
    #[must_use]
    pub fn hidden(&self, text: &str) -> Option<String> {
        let table = self.table();
        let regex = table.regex.as_ref()?;
        let mut out = String::new();
        let mut behind = 0;
        for captures in regex.captures_iter(text) {
            let Some(whole) = captures.get(0) else { continue };
            let Some(stand) = self.stand(&table, &captures, whole.as_str()) else { continue };
            out.push_str(&text[behind..whole.start()]);
            out.push_str(&stand);
            behind = whole.end();
        }
        if behind == 0 {
            return None;
        }
        out.push_str(&text[behind..]);
        Some(out)
    }

    /// Returns the start of `text` with values hidden, and the number of bytes of `text` it represents. Excludes
    /// everything that may continue after the end of `text`.
    fn hidden_start(&self, text: &str) -> (String, usize) {
        let table = self.table();
        let Some(regex) = &table.regex else { return (text.to_string(), text.len()) };
        let longest = table.values.keys().map(String::len).max().unwrap_or_default();
        let pattern = if self.entries.iter().any(|entry| entry.pattern) { LONGEST_FOUND } else { 0 };
        let mut end = text.floor_char_boundary(text.len().saturating_sub(longest.max(pattern)));
        let (mut out, mut behind) = (String::new(), 0);
        for captures in regex.captures_iter(text) {
            let Some(whole) = captures.get(0).filter(|whole| whole.start() < end) else { break };
            if whole.end() > end {
                // It may continue after the end of the text.
                end = whole.start();
                break;
            }
            let Some(stand) = self.stand(&table, &captures, whole.as_str()) else { continue };
            out.push_str(&text[behind..whole.start()]);
            out.push_str(&stand);
            behind = whole.end();
        }
        out.push_str(&text[behind..end]);
        (out, end)
    }

    /// Hides values in texts that a reader may join, including values that span two texts.
    pub fn hide_joined(&self, texts: &mut [&mut String]) {
        let table = self.table();
        let Some(regex) = &table.regex else { return };
        if let [text] = texts {
            if let Some(hidden) = self.hidden(text) {
                **text = hidden;
            }
            return;
        }
        let joined: String = texts.iter().map(|text| text.as_str()).collect();
        // The offset of each text in the joined one.
        let mut begins = Vec::with_capacity(texts.len());
        let mut at = 0;
        for text in texts.iter() {
            begins.push(at);
            at += text.len();
        }
        let mut stands = Vec::new();
        for captures in regex.captures_iter(&joined) {
            let Some(whole) = captures.get(0) else { continue };
            let Some(stand) = self.stand(&table, &captures, whole.as_str()) else { continue };
            stands.push((whole.range(), stand));
        }
        if stands.is_empty() {
            return;
        }
        for (index, text) in texts.iter_mut().enumerate() {
            let begin = begins[index];
            let mut at = begin;
            let end = begins.get(index + 1).copied().unwrap_or(joined.len());
            text.clear();
            for (range, stand) in stands.iter().filter(|(range, _)| range.start < end && range.end > begin) {
                // A replacement belongs to the text in which the value begins.
                if range.start >= at {
                    text.push_str(&joined[at..range.start]);
                    text.push_str(stand);
                }
                at = range.end.min(end);
            }
            text.push_str(&joined[at..end]);
        }
    }

    /// Returns the replacement of a match; `None` if it is kept.
    fn stand(&self, table: &Table, captures: &Captures<'_>, value: &str) -> Option<String> {
        if let Some(stand) = table.values.get(value) {
            return Some(stand.text().to_string());
        }
        let (_, entry) = self
            .entries
            .iter()
            .enumerate()
            .find(|(at, entry)| entry.pattern && captures.name(&format!("entry{at}")).is_some())?;
        if !is_worth_it(value) {
            return None;
        }
        if let Some(Replacement::Text(text)) = self.stand_of(entry, value) {
            return Some(text);
        }
        let mut found = self.found.write();
        let mark = self.mark(value, |mark| table.marks.get(mark).or_else(|| found.get(mark)));
        found.insert(mark.clone(), value.to_string());
        Some(mark)
    }

    /// Returns `text` with values restored; `None` if it contains no known marker. A value that contains the key of a
    /// provider is not restored.
    #[must_use]
    pub fn shown(&self, text: &str) -> Option<String> {
        if !text.contains(MARK_START) {
            return None;
        }
        let table = self.table();
        let found = self.found.read();
        let mut out = String::new();
        let mut rest = text;
        let mut changed = false;
        while let Some(at) = rest.find(MARK_START) {
            let mark = rest.get(at..at + MARK_LENGTH);
            let value = mark.and_then(|mark| table.marks.get(mark).or_else(|| found.get(mark)));
            let value = value.filter(|value| !table.keys.is_in(value));
            let (put, length) = match value {
                Some(value) => (value.as_str(), MARK_LENGTH),
                None => (MARK_START, MARK_START.len()),
            };
            changed |= value.is_some();
            out.push_str(&rest[..at]);
            out.push_str(put);
            rest = &rest[at + length..];
        }
        out.push_str(rest);
        changed.then_some(out)
    }

    /// Returns `text` without keys of providers; `None` if it contains none. Runs in linear time.
    #[must_use]
    pub fn without_keys(&self, text: &str) -> Option<String> {
        self.table().keys.hidden(text)
    }

    /// Returns a line of JSON without keys of providers, which are searched in JSON's encoding; `None` if it contains
    /// none. Runs in linear time.
    #[must_use]
    pub fn line_without_keys(&self, line: &[u8]) -> Option<Vec<u8>> {
        self.table().keys.hidden_in_json(line)
    }

    /// Returns a part of JSON without keys of providers; `None` if it contains none.
    fn piece_without_keys(&self, text: &str) -> Option<String> {
        self.line_without_keys(text.as_bytes()).and_then(|line| String::from_utf8(line).ok())
    }

    /// Returns the number of bytes at the end of a text that the key of a provider may begin with.
    fn key_begun(&self, text: &str, json: bool) -> usize {
        self.table().keys.begun(text, json)
    }

    /// Returns true if `text` contains the key of a provider.
    #[must_use]
    pub fn has_key(&self, text: &str) -> bool {
        self.table().keys.is_in(text)
    }

    /// Hides values in every text of a JSON value, including values that span adjacent texts of a message.
    pub fn hide_json(&self, value: &mut Value) {
        walk::hide_json(self, value);
    }

    /// Returns the mask that hides values in a session.
    #[must_use]
    pub fn mask(self: &Arc<Secrets>) -> Mask {
        let secrets = Arc::clone(self);
        Arc::new(move |body| {
            let Ok(written) = serde_json::to_value(&body) else { return body };
            let mut hidden = written.clone();
            secrets.hide_json(&mut hidden);
            match hidden == written {
                true => body,
                // Only texts have changed, so it parses to the same type.
                false => serde_json::from_value(hidden).unwrap_or(body),
            }
        })
    }

    /// Restores values in every text of a JSON value, and hides the keys of providers in it.
    pub fn show_json(&self, value: &mut Value) {
        walk::each_text(value, &mut |text| {
            if let Some(hidden) = self.without_keys(text) {
                *text = hidden;
            }
            if let Some(shown) = self.shown(text) {
                *text = shown;
            }
        });
    }
}

const MARK_START: &str = "<<$env:S";
const MARK_LENGTH: usize = MARK_START.len() + 6 + 2;

fn is_worth_it(value: &str) -> bool {
    value.chars().count() >= SHORTEST && !COMMON.contains(&value.to_lowercase().as_str())
}
