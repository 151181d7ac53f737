//! A filtered list for panels and popups.

use sinew_fuzzy::{Matcher, Query};

use crate::text::row::{Line, Row};
use crate::text::style::Attrs;
use crate::theme::{Theme, Token};

/// Entries with a name and a description, the filter, and the selected entry.
#[derive(Debug, Default)]
pub struct List {
    entries: Vec<(String, String)>,
    filter: String,
    /// True if the filter consists of words that must all occur in a name, ignoring case; entries keep their order.
    by_words: bool,
    /// The entries that match the filter, best first.
    shown: Vec<usize>,
    chosen: usize,
}

impl List {
    /// Creates a list of names and descriptions.
    #[must_use]
    pub fn new(entries: Vec<(String, String)>) -> List {
        let shown = (0..entries.len()).collect();
        List { entries, shown, ..List::default() }
    }

    /// Makes the filter match words or parts of words, all of which must occur in the name.
    #[must_use]
    pub fn by_words(self) -> List {
        List { by_words: true, ..self }
    }

    /// Filters by the names and selects the first entry. An empty filter shows all entries in their order.
    pub fn set_filter(&mut self, filter: &str) {
        self.filter = filter.to_owned();
        self.chosen = 0;
        if self.by_words {
            let words: Vec<String> = filter.split_whitespace().map(str::to_lowercase).collect();
            let holds = |name: &str| {
                let name = name.to_lowercase();
                words.iter().all(|word| name.contains(word.as_str()))
            };
            let fitting = self.entries.iter().enumerate().filter(|(_, (name, _))| holds(name));
            self.shown = fitting.map(|(index, _)| index).collect();
            return;
        }
        let query = Query::new(filter);
        let mut matcher = Matcher::new(&query);
        let mut scored: Vec<_> = self
            .entries
            .iter()
            .enumerate()
            .filter_map(|(index, (name, _))| matcher.score(name).map(|score| (score, index)))
            .collect();
        if !query.is_empty() {
            scored.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        }
        self.shown = scored.into_iter().map(|(_, index)| index).collect();
    }

    /// Replaces the entries. Keeps the filter, and the selection if its name still exists.
    pub fn set_entries(&mut self, entries: Vec<(String, String)>) {
        let before = self.chosen().map(|at| self.entries[at].0.clone());
        self.entries = entries;
        let filter = std::mem::take(&mut self.filter);
        self.set_filter(&filter);
        if let Some(at) = self.entries.iter().position(|(name, _)| Some(name) == before.as_ref()) {
            self.choose(at);
        }
    }

    /// Returns the filter.
    #[must_use]
    pub fn filter(&self) -> &str {
        &self.filter
    }

    /// Returns the number of entries that match the filter.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shown.len()
    }

    /// Returns true if no entry matches the filter.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    /// Moves the selection by `by` entries, at most to the ends.
    pub fn step(&mut self, by: isize) {
        self.chosen = self.chosen.saturating_add_signed(by).min(self.shown.len().saturating_sub(1));
    }

    /// Selects an entry by its index in the original list; does nothing if the filter hides it.
    pub fn choose(&mut self, entry: usize) {
        if let Some(at) = self.shown.iter().position(|index| *index == entry) {
            self.chosen = at;
        }
    }

    /// Returns the index of the selected entry in the original list; `None` if no entry is shown.
    #[must_use]
    pub fn chosen(&self) -> Option<usize> {
        self.shown.get(self.chosen).copied()
    }

    /// Returns at most `height` rows around the selected entry, and the index of its row.
    #[must_use]
    pub fn rows(&self, width: usize, height: usize, theme: &Theme) -> (Vec<Row>, usize) {
        let first = self.chosen.saturating_sub(height.saturating_sub(1));
        let rows = self.shown.iter().enumerate().skip(first).take(height).map(|(at, index)| {
            let (name, text) = &self.entries[*index];
            let chosen = at == self.chosen;
            let style = if chosen { theme.style(Token::Accent).with(Attrs::BOLD) } else { theme.style(Token::Text) };
            let mut line = Line::styled(if chosen { "→ " } else { "  " }, style);
            line.push(name, style);
            if !text.is_empty() {
                line.push("  ", style).push(text, theme.style(Token::Muted));
            }
            line.into_row(width)
        });
        (rows.collect(), self.chosen - first)
    }
}
