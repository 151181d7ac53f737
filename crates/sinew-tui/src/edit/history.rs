//! Previously sent texts.

use std::collections::HashSet;

/// Sent texts, oldest first, and the position while the user browses them.
#[derive(Debug, Default)]
pub struct History {
    entries: Vec<String>,
    /// The shown entry, and the draft that it hides; `None` if the draft is shown.
    at: Option<(usize, String)>,
}

impl History {
    /// Loads saved entries, oldest first. Entries added here that are not among them stay after them.
    pub fn fill(&mut self, mut entries: Vec<String>) {
        let known: HashSet<&str> = entries.iter().map(String::as_str).collect();
        let own: Vec<String> = self.entries.drain(..).filter(|entry| !known.contains(entry.as_str())).collect();
        entries.extend(own);
        self.entries = entries;
        self.at = None;
    }

    /// Adds a text as the newest; ignores an empty text and one equal to the newest.
    pub fn add(&mut self, text: &str) {
        self.at = None;
        if !text.trim().is_empty() && self.entries.last().is_none_or(|last| last != text) {
            self.entries.push(text.to_owned());
        }
    }

    /// Returns the entries, oldest first.
    #[must_use]
    pub fn entries(&self) -> &[String] {
        &self.entries
    }

    /// Returns the entries that contain all words of `query`, ignoring case, newest first and without duplicates.
    pub fn search<'a>(&'a self, query: &str) -> impl Iterator<Item = &'a str> {
        let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
        let mut seen = HashSet::new();
        self.entries.iter().rev().map(String::as_str).filter(move |entry| {
            let lower = entry.to_lowercase();
            words.iter().all(|word| lower.contains(word)) && seen.insert(*entry)
        })
    }

    /// Returns the next older text; `None` at the oldest. `draft` is kept after the newest.
    pub(super) fn older(&mut self, draft: &str) -> Option<String> {
        let at = self.at.as_ref().map_or(self.entries.len(), |(at, _)| *at).checked_sub(1)?;
        let draft = self.at.take().map_or_else(|| draft.to_owned(), |(_, draft)| draft);
        self.at = Some((at, draft));
        self.entries.get(at).cloned()
    }

    /// Returns the next newer text or the draft; `None` at the draft.
    pub(super) fn newer(&mut self) -> Option<String> {
        let (at, draft) = self.at.take()?;
        match self.entries.get(at + 1) {
            Some(entry) => {
                self.at = Some((at + 1, draft));
                Some(entry.clone())
            }
            None => Some(draft),
        }
    }

    /// Called after a change: the shown text is now the draft.
    pub(super) fn leave(&mut self) {
        self.at = None;
    }

    /// Removes and returns the position while the user browses the entries.
    pub(super) fn take_place(&mut self) -> Option<(usize, String)> {
        self.at.take()
    }

    pub(super) fn set_place(&mut self, place: Option<(usize, String)>) {
        self.at = place;
    }
}
