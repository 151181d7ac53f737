//! A panel with a text field: for a key, a value or a URL.

use sinew_tui::theme::{Theme, Token};
use std::sync::Arc;

use sinew_tui::{Attrs, Editor, EditorStyle, Line, Row, Style, WrapMode, wrap};

use super::keys::{Action, Bindings, ListAction, Press};

/// A panel with a text above a text field.
pub(super) struct Form<T> {
    title: String,
    body: Vec<Line>,
    /// `None` if the panel has no text field, and only waits.
    editor: Option<Editor>,
    /// True if the typed text is not shown.
    hidden: bool,
    hint: String,
    /// The purpose of the text.
    pub(super) purpose: T,
}

/// The effect of a key in a form.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FormEffect {
    Stays,
    Closed,
    Done(String),
}

impl<T> Form<T> {
    pub(super) fn new(title: impl Into<String>, body: Vec<String>, purpose: T) -> Form<T> {
        let body = body.iter().map(|text| Line::plain(text)).collect();
        Form { title: title.into(), body, editor: Some(Editor::new()), hidden: false, hint: String::new(), purpose }
    }

    /// Adds a line with a text and a URL. All of its rows are one link to the complete URL, so that a terminal opens
    /// and copies it as a whole.
    pub(super) fn with_address(mut self, words: &str, address: &str) -> Form<T> {
        let mut line = Line::plain(words);
        line.push_linked(address, Style::PLAIN, Some(&Arc::from(address)));
        self.body.push(line);
        self
    }

    /// Adds a line.
    pub(super) fn with_line(mut self, text: &str) -> Form<T> {
        self.body.push(Line::plain(text));
        self
    }

    /// Hides the typed text.
    pub(super) fn hidden(mut self) -> Form<T> {
        self.hidden = true;
        self
    }

    /// Sets the initial text.
    pub(super) fn with_text(mut self, text: &str) -> Form<T> {
        if let Some(editor) = &mut self.editor {
            editor.set_text(text);
        }
        self
    }

    /// Removes the text field; the caller closes the panel.
    pub(super) fn waiting(mut self) -> Form<T> {
        self.editor = None;
        self
    }

    /// Shows the keys in the last row.
    pub(super) fn with_keys(mut self, keys: &Bindings) -> Form<T> {
        self.hint = match self.editor {
            Some(_) => keys.line_hint(),
            None => format!("waiting · {} cancels", keys.short(Action::List(ListAction::Cancel))),
        };
        self
    }

    /// Handles a key.
    pub(super) fn key(&mut self, press: Press<'_>) -> FormEffect {
        let list = press.list();
        let Some(editor) = &mut self.editor else {
            return if list == Some(ListAction::Cancel) { FormEffect::Closed } else { FormEffect::Stays };
        };
        match list {
            Some(ListAction::Cancel) => return FormEffect::Closed,
            Some(ListAction::Confirm) => return FormEffect::Done(editor.text()),
            _ => press.write(editor),
        }
        FormEffect::Stays
    }

    /// Inserts a pasted text; its line ends become blanks.
    pub(super) fn paste(&mut self, text: &str) {
        if let Some(editor) = &mut self.editor {
            editor.insert(text.trim().replace(['\r', '\n'], " ").as_str());
        }
    }

    /// Lays the panel out in at most `height` rows; also returns the row and column of the cursor.
    pub(super) fn rows(&mut self, width: usize, height: usize, theme: &Theme) -> (Vec<Row>, (usize, usize)) {
        let none = Line::new();
        let mut rows = vec![Line::styled(&self.title, Style::PLAIN.with(Attrs::BOLD)).into_row(width)];
        for line in &self.body {
            wrap(line, width, WrapMode::Words, 1, (&none, &none), &mut rows);
        }
        rows.truncate(height.saturating_sub(3).max(1));
        let mut caret = (rows.len() - 1, 0);
        if let Some(editor) = &mut self.editor {
            let shown = if self.hidden {
                let dots = "•".repeat(editor.text().chars().count().min(width.saturating_sub(4)));
                let row = Line::plain(&format!("› {dots}")).into_row(width);
                let column = row.width().max(2);
                sinew_tui::EditorRows { rows: vec![row], caret: (0, column) }
            } else {
                editor.rows(width, 3, &EditorStyle::default())
            };
            caret = (rows.len() + shown.caret.0, shown.caret.1);
            rows.extend(shown.rows);
        }
        rows.push(Line::styled(&self.hint, theme.style(Token::Muted)).into_row(width));
        (rows, caret)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::panel_press;

    #[test]
    fn a_hidden_line_is_never_shown() {
        let mut form = Form::new("Key", vec!["Paste it.".into()], ()).hidden();
        form.paste("sk-secret\n");
        form.key(panel_press("x", "x"));
        let (rows, (row, column)) = form.rows(40, 10, &Theme::default());
        assert!(rows.iter().all(|row| !row.text().contains("secret")), "{rows:?}");
        assert_eq!((rows[row].text(), column), ("› ••••••••••", 12));
        assert_eq!(form.key(panel_press("enter", "")), FormEffect::Done("sk-secretx".into()));
    }

    #[test]
    fn a_url_of_several_rows_is_one_link() {
        let address = format!("https://example.test/oauth?state={}", "x1".repeat(60));
        let mut form =
            Form::new("Log in", vec!["Open this:".into()], ()).with_address("", &address).with_line("then wait");
        for width in [20, 40, 80] {
            let (rows, _) = form.rows(width, 40, &Theme::default());
            let linked: Vec<&Row> = rows.iter().filter(|row| row.text().contains("x1x")).collect();
            assert!(linked.len() > 1, "{width}: {rows:#?}");
            for cell in linked.iter().flat_map(|row| row.cells()) {
                assert_eq!(cell.link.map(|link| &**link), Some(&*address), "{width}");
            }
            let whole: String = rows
                .iter()
                .flat_map(|row| row.cells())
                .filter(|cell| cell.link.is_some())
                .map(|cell| cell.text)
                .collect();
            assert_eq!(whole, address, "{width}");
        }
    }

    #[test]
    fn escape_closes_a_form_and_a_waiting_form_ignores_text() {
        let mut form = Form::new("Wait", Vec::new(), ()).waiting();
        assert_eq!(form.key(panel_press("enter", "")), FormEffect::Stays);
        assert_eq!(form.key(panel_press("escape", "")), FormEffect::Closed);
        let mut form = Form::new("Value", Vec::new(), ()).with_text("12");
        form.key(panel_press("backspace", ""));
        assert_eq!(form.key(panel_press("enter", "")), FormEffect::Done("1".into()));
    }
}
