//! A panel with a list: a title, a filter that the user types, entries, and a hint.

use sinew_tui::theme::{Theme, Token};
use sinew_tui::{Attrs, EditAction, Line, List, Row, Style};

use super::keys::{Action, ListAction, Press};

/// The number of entries by which `page up` and `page down` move.
const PAGE: isize = 8;
/// The maximum number of rows in the preview.
const PREVIEW: usize = 6;

/// An entry, and the value that it selects.
pub(super) struct Entry<T> {
    pub(super) name: String,
    /// Shown after the name, and not part of the filter.
    pub(super) text: String,
    pub(super) choice: T,
}

impl<T> Entry<T> {
    pub(super) fn new(name: impl Into<String>, text: impl Into<String>, choice: T) -> Entry<T> {
        Entry { name: name.into(), text: text.into(), choice }
    }
}

/// A panel from which the user selects an entry.
pub(super) struct Picker<T> {
    title: String,
    hint: String,
    list: List,
    choices: Vec<T>,
    /// Shown instead of the list if that is empty.
    pub(super) nothing: String,
    /// Details of the selected entry, shown below the list.
    pub(super) preview: Vec<String>,
}

/// The effect of a key in a picker.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PickerEffect<T> {
    /// Nothing changed.
    Nothing,
    /// Another entry is selected.
    Moved,
    /// The panel was closed.
    Closed,
    /// An entry was chosen.
    Taken(T),
    /// Another action was requested for an entry.
    Other(Action, T),
}

impl<T: Clone> Picker<T> {
    pub(super) fn new(title: impl Into<String>, entries: Vec<Entry<T>>) -> Picker<T> {
        let mut picker = Picker {
            title: title.into(),
            hint: String::new(),
            list: List::default(),
            choices: Vec::new(),
            nothing: "no matches".into(),
            preview: Vec::new(),
        };
        picker.set_entries(entries);
        picker
    }

    /// Shows the keys in the last row.
    pub(super) fn with_hint(mut self, hint: String) -> Picker<T> {
        self.hint = hint;
        self
    }

    /// Filters by words that must all occur in a name.
    pub(super) fn by_words(mut self) -> Picker<T> {
        self.list = self.list.by_words();
        self
    }

    /// Replaces the entries, and keeps the filter and the selection.
    pub(super) fn set_entries(&mut self, entries: Vec<Entry<T>>) {
        let (choices, listed) =
            entries.into_iter().map(|entry| (entry.choice, (entry.name, entry.text))).unzip::<T, _, Vec<T>, Vec<_>>();
        self.choices = choices;
        self.list.set_entries(listed);
    }

    /// Selects the first entry for which `fits` returns true.
    pub(super) fn mark(&mut self, fits: impl Fn(&T) -> bool) {
        if let Some(at) = self.choices.iter().position(fits) {
            self.list.choose(at);
        }
    }

    /// Selects the last entry.
    pub(super) fn mark_last(&mut self) {
        self.list.step(isize::MAX / 2);
    }

    /// Returns the value of the selected entry.
    pub(super) fn marked(&self) -> Option<T> {
        self.list.chosen().map(|at| self.choices[at].clone())
    }

    /// Handles a key.
    pub(super) fn key(&mut self, press: Press<'_>) -> PickerEffect<T> {
        let before = self.list.chosen();
        match (press, press.list()) {
            (_, Some(ListAction::Cancel)) => return PickerEffect::Closed,
            (_, Some(ListAction::Confirm)) => return self.marked().map_or(PickerEffect::Nothing, PickerEffect::Taken),
            (_, Some(ListAction::Up)) => self.list.step(-1),
            (_, Some(ListAction::Down)) => self.list.step(1),
            (_, Some(ListAction::PageUp)) => self.list.step(-PAGE),
            (_, Some(ListAction::PageDown)) => self.list.step(PAGE),
            (Press::Action(Action::Edit(EditAction::LineStart)), _) => self.list.step(isize::MIN / 2),
            (Press::Action(Action::Edit(EditAction::LineEnd)), _) => self.mark_last(),
            (Press::Action(Action::Edit(EditAction::DeleteBackward)), _) => {
                let mut filter = self.list.filter().to_string();
                filter.pop();
                self.list.set_filter(&filter);
            }
            (Press::Action(Action::Edit(EditAction::KillToLineStart)), _) => self.list.set_filter(""),
            (Press::Action(action), _) => {
                return self.marked().map_or(PickerEffect::Nothing, |marked| PickerEffect::Other(action, marked));
            }
            (Press::Text(text), _) => self.type_text(text),
        }
        if self.list.chosen() == before { PickerEffect::Nothing } else { PickerEffect::Moved }
    }

    /// Appends a text to the filter.
    pub(super) fn type_text(&mut self, text: &str) {
        let typed: String = text.chars().filter(|letter| !letter.is_control()).collect();
        let filter = format!("{}{typed}", self.list.filter());
        self.list.set_filter(&filter);
    }

    /// Lays the panel out in at most `height` rows; also returns the row and column of the cursor.
    pub(super) fn rows(&self, width: usize, height: usize, theme: &Theme) -> (Vec<Row>, (usize, usize)) {
        let mut title = Line::styled(&self.title, Style::PLAIN.with(Attrs::BOLD));
        if !self.list.filter().is_empty() {
            title.push("  ", Style::PLAIN).push(self.list.filter(), theme.style(Token::Accent));
        }
        let mut rows = vec![title.into_row(width)];
        let muted = theme.style(Token::Muted);
        let preview = self.preview.len().min(PREVIEW).min(height.saturating_sub(6) / 2);
        let room = height.saturating_sub(2 + preview).max(1);
        let (mut listed, at) = self.list.rows(width, room, theme);
        if listed.is_empty() {
            listed.push(Line::styled(&format!("  {}", self.nothing), muted).into_row(width));
        }
        rows.append(&mut listed);
        rows.extend(
            self.preview.iter().take(preview).map(|line| Line::styled(&format!("  │ {line}"), muted).into_row(width)),
        );
        rows.push(Line::styled(&self.hint, muted).into_row(width));
        rows.truncate(height.max(2));
        (rows, (at + 1, 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::panel_press;

    fn fruit() -> Picker<u8> {
        let entries = ["apple", "banana", "cherry"].into_iter().zip(1..).map(|(name, at)| Entry::new(name, "", at));
        Picker::new("Which?", entries.collect())
    }

    #[track_caller]
    fn check(keys: &[(&str, &str)], expect: PickerEffect<u8>) {
        let mut picker = fruit();
        let mut effect = PickerEffect::Nothing;
        for (key, text) in keys {
            effect = picker.key(panel_press(key, text));
        }
        assert_eq!(effect, expect, "{keys:?}");
    }

    #[test]
    fn arrows_move_and_typing_filters() {
        check(&[("enter", "")], PickerEffect::Taken(1));
        check(&[("down", ""), ("down", ""), ("down", ""), ("enter", "")], PickerEffect::Taken(3));
        check(&[("end", ""), ("up", ""), ("enter", "")], PickerEffect::Taken(2));
        check(&[("end", ""), ("home", ""), ("enter", "")], PickerEffect::Taken(1));
        check(&[("n", "n"), ("enter", "")], PickerEffect::Taken(2));
        check(&[("x", "x"), ("enter", "")], PickerEffect::Nothing);
        check(&[("x", "x"), ("backspace", ""), ("enter", "")], PickerEffect::Taken(1));
        check(&[("c", "c"), ("h", "h"), ("ctrl+s", "")], PickerEffect::Other(Action::List(ListAction::Keep), 3));
        check(&[("escape", "")], PickerEffect::Closed);
    }

    #[test]
    fn late_entries_do_not_move_the_selection() {
        let mut picker = fruit();
        picker.key(panel_press("down", ""));
        let more = [("zero", 0), ("apple", 1), ("banana", 2), ("cherry", 3)];
        picker.set_entries(more.map(|(name, at)| Entry::new(name, "", at)).into());
        assert_eq!(picker.marked(), Some(2));
    }

    #[test]
    fn the_panel_fits_its_height_and_the_cursor_is_at_the_mark() {
        let entries = (0..50).map(|at| Entry::new(format!("entry {at}"), "text", at)).collect();
        let mut picker = Picker::new("Many", entries);
        picker.preview = (0..20).map(|at| format!("line {at}")).collect();
        for height in 3..30 {
            for _ in 0..50 {
                let (rows, (row, _)) = picker.rows(30, height, &Theme::default());
                assert!(rows.len() <= height, "{height}: {}", rows.len());
                assert!(rows[row].text().starts_with('→'), "{height}: {:?}", rows[row].text());
                assert!(rows.iter().all(|row| row.width() <= 30));
                picker.key(panel_press("down", ""));
            }
            picker.key(panel_press("home", ""));
        }
    }
}
