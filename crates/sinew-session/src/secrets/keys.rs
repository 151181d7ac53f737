//! API keys of providers, which are hidden from everyone.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use regex::Regex;
use regex::bytes;

/// The keys of all providers that were used or may be used, and their replacements.
#[derive(Clone, Default)]
pub(super) struct Keys {
    stands: BTreeMap<String, String>,
    /// Keys as they are written in a line of JSON, and in JSON inside a string of the line.
    escaped: BTreeMap<Vec<u8>, String>,
    // Compiled for the first text: many keys are added at the start, and each would recompile all of them.
    text: OnceLock<Option<Regex>>,
    json: OnceLock<Option<bytes::Regex>>,
}

impl Keys {
    pub(super) fn has(&self, value: &str) -> bool {
        self.stands.contains_key(value)
    }

    pub(super) fn add(&mut self, key: &str, stand: String) {
        for form in [key.to_string(), in_json(key), in_json(&in_json(key))] {
            self.escaped.insert(form.into_bytes(), stand.clone());
        }
        self.stands.insert(key.to_string(), stand);
        (self.text, self.json) = (OnceLock::new(), OnceLock::new());
    }

    fn text(&self) -> Option<&Regex> {
        let compile = || {
            let any = any(self.stands.keys().map(String::as_str));
            (!any.is_empty()).then(|| Regex::new(&any).ok())?
        };
        self.text.get_or_init(compile).as_ref()
    }

    fn json(&self) -> Option<&bytes::Regex> {
        let compile = || {
            let any = any(self.escaped.keys().filter_map(|form| std::str::from_utf8(form).ok()));
            (!any.is_empty()).then(|| bytes::Regex::new(&any).ok())?
        };
        self.json.get_or_init(compile).as_ref()
    }

    pub(super) fn is_in(&self, text: &str) -> bool {
        self.text().is_some_and(|regex| regex.is_match(text))
    }

    /// `None` if there is no key in it.
    pub(super) fn hidden(&self, text: &str) -> Option<String> {
        let regex = self.text().filter(|regex| regex.is_match(text))?;
        let stand = |found: &regex::Captures<'_>| self.stands.get(&found[0]).cloned().unwrap_or_default();
        Some(regex.replace_all(text, stand).into_owned())
    }

    /// `None` if there is no key in it.
    pub(super) fn hidden_in_json(&self, line: &[u8]) -> Option<Vec<u8>> {
        let regex = self.json().filter(|regex| regex.is_match(line))?;
        let stand = |found: &bytes::Captures<'_>| {
            let stand = self.escaped.get(&found[0]).cloned().unwrap_or_default();
            // A replacement chosen by the user may contain any characters.
            in_json(&stand).into_bytes()
        };
        Some(regex.replace_all(line, stand).into_owned())
    }

    /// Returns the number of bytes at the end of `text` that a key may begin with; in JSON text, in JSON's encoding.
    pub(super) fn begun(&self, text: &str, json: bool) -> usize {
        let begun = |key: &[u8]| {
            let most = key.len().saturating_sub(1).min(text.len());
            (1..=most).rev().find(|length| text.as_bytes().ends_with(&key[..*length])).unwrap_or_default()
        };
        match json {
            true => self.escaped.keys().map(|key| begun(key)).max().unwrap_or_default(),
            false => self.stands.keys().map(|key| begun(key.as_bytes())).max().unwrap_or_default(),
        }
    }
}

/// Returns a text as it is written between the quotes of JSON.
fn in_json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_string()
}

/// The longest first, because one key may be the prefix of another.
fn any<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let mut words: Vec<&str> = words.collect();
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    words.iter().map(|word| regex::escape(word)).collect::<Vec<_>>().join("|")
}
