//! Texts that were sent before.

use std::collections::HashSet;

/// Sent texts, oldest first, and the place in them while the keys go through them.
#[derive(Debug, Default)]
pub struct History {
    entries: Vec<String>,
    /// The entry that is shown, and the draft that it hides.
    at: Option<(usize, String)>,
}

impl History {
    /// Takes entries that were kept elsewhere, oldest first. What was added here and is not among them stays behind them.
    pub fn fill(&mut self, mut entries: Vec<String>) {
        let known: HashSet<&str> = entries.iter().map(String::as_str).collect();
        let own: Vec<String> = self.entries.drain(..).filter(|entry| !known.contains(entry.as_str())).collect();
        entries.extend(own);
        self.entries = entries;
        self.at = None;
    }

    /// Adds a text as the newest; an empty one and one equal to the newest are left out.
    pub fn add(&mut self, text: &str) {
        self.at = None;
        if !text.trim().is_empty() && self.entries.last().is_none_or(|last| last != text) {
            self.entries.push(text.to_owned());
        }
    }

    /// The entries, oldest first.
    #[must_use]
    pub fn entries(&self) -> &[String] {
        &self.entries
    }

    /// The entries that contain all words of `query` in any case, newest first, each once.
    pub fn search<'a>(&'a self, query: &str) -> impl Iterator<Item = &'a str> {
        let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
        let mut seen = HashSet::new();
        self.entries.iter().rev().map(String::as_str).filter(move |entry| {
            let lower = entry.to_lowercase();
            words.iter().all(|word| lower.contains(word)) && seen.insert(*entry)
        })
    }

    /// The next older text; `draft` is kept and comes back below the newest.
    pub(super) fn older(&mut self, draft: &str) -> Option<String> {
        let at = self.at.as_ref().map_or(self.entries.len(), |(at, _)| *at).checked_sub(1)?;
        let draft = self.at.take().map_or_else(|| draft.to_owned(), |(_, draft)| draft);
        self.at = Some((at, draft));
        self.entries.get(at).cloned()
    }

    /// The next newer text, or the draft.
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

    /// A change was made: the text that is shown is the draft now.
    pub(super) fn leave(&mut self) {
        self.at = None;
    }

    /// The place while the keys go through the entries.
    pub(super) fn take_place(&mut self) -> Option<(usize, String)> {
        self.at.take()
    }

    pub(super) fn set_place(&mut self, place: Option<(usize, String)>) {
        self.at = place;
    }
}
