//! Compares the editor with a plain model over grapheme clusters.

use proptest::prelude::*;
use sinew_tui::{EditAction, Editor, EditorStyle};

#[derive(Clone, Debug)]
enum Step {
    Insert(String),
    Act(EditAction),
}

fn step() -> impl Strategy<Value = Step> {
    use EditAction as A;
    let actions = [
        A::Left,
        A::Right,
        A::LineStart,
        A::LineEnd,
        A::TextStart,
        A::TextEnd,
        A::DeleteBackward,
        A::DeleteForward,
        A::NewLine,
        A::Undo,
        A::Redo,
        A::KillToLineEnd,
        A::KillToLineStart,
        A::KillWordBackward,
        A::KillWordForward,
        A::Yank,
        A::YankPop,
        A::WordLeft,
        A::WordRight,
        A::Transpose,
        A::Up,
        A::Down,
    ];
    prop_oneof!["[a-z é日😀]{1,6}".prop_map(Step::Insert), prop::sample::select(actions.to_vec()).prop_map(Step::Act),]
}

/// Clusters and the number of them before the cursor.
#[derive(Default)]
struct Model {
    clusters: Vec<String>,
    cursor: usize,
}

impl Model {
    /// Executes an action that needs no memory; returns false for other actions.
    fn act(&mut self, action: EditAction) -> bool {
        let line_start = self.clusters[..self.cursor].iter().rposition(|c| c == "\n").map_or(0, |at| at + 1);
        let line_end = self.clusters[self.cursor..]
            .iter()
            .position(|c| c == "\n")
            .map_or(self.clusters.len(), |at| at + self.cursor);
        match action {
            EditAction::Left => self.cursor = self.cursor.saturating_sub(1),
            EditAction::Right => self.cursor = (self.cursor + 1).min(self.clusters.len()),
            EditAction::LineStart => self.cursor = line_start,
            EditAction::LineEnd => self.cursor = line_end,
            EditAction::TextStart => self.cursor = 0,
            EditAction::TextEnd => self.cursor = self.clusters.len(),
            EditAction::DeleteBackward if self.cursor > 0 => {
                self.cursor -= 1;
                self.clusters.remove(self.cursor);
            }
            EditAction::DeleteForward if self.cursor < self.clusters.len() => drop(self.clusters.remove(self.cursor)),
            EditAction::DeleteBackward | EditAction::DeleteForward => {}
            EditAction::NewLine => {
                self.clusters.insert(self.cursor, "\n".into());
                self.cursor += 1;
            }
            EditAction::KillToLineEnd => {
                let end = if line_end == self.cursor { (line_end + 1).min(self.clusters.len()) } else { line_end };
                self.clusters.drain(self.cursor..end);
            }
            _ => return false,
        }
        true
    }

    fn follow(&mut self, editor: &Editor) {
        self.clusters = split(&editor.text());
        self.cursor = split(editor.before_cursor()).len();
    }
}

/// The characters that the steps type are clusters of their own.
fn split(text: &str) -> Vec<String> {
    text.chars().map(String::from).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_actions_match_a_plain_model(steps in prop::collection::vec(step(), 1..40), width in 2..30usize) {
        let mut editor = Editor::new();
        let mut model = Model::default();
        for step in &steps {
            let known = match step {
                Step::Insert(text) => {
                    editor.insert(text);
                    let new = split(text);
                    let count = new.len();
                    model.clusters.splice(model.cursor..model.cursor, new);
                    model.cursor += count;
                    true
                }
                Step::Act(action) => {
                    editor.act(*action);
                    model.act(*action)
                }
            };
            if !known {
                model.follow(&editor);
            }
            prop_assert_eq!(editor.text(), model.clusters.concat());
            prop_assert_eq!(editor.before_cursor(), model.clusters[..model.cursor].concat());
            let rows = editor.rows(width, 5, &EditorStyle::default());
            prop_assert!(rows.rows.len() <= 5 && rows.caret.0 < rows.rows.len());
            prop_assert!(rows.caret.1 < width);
            prop_assert!(rows.rows.iter().all(|row| row.width() <= width));
        }
    }

    #[test]
    fn undo_to_the_start_and_redo_to_the_end_are_inverse(steps in prop::collection::vec(step(), 1..30), submits in any::<bool>()) {
        let mut editor = Editor::new();
        for step in &steps {
            match step {
                Step::Insert(text) => editor.insert(text),
                Step::Act(EditAction::Undo | EditAction::Redo) => {}
                Step::Act(action) => drop(editor.act(*action)),
            }
        }
        if submits {
            editor.submit();
        }
        let end = editor.text();
        while editor.act(EditAction::Undo) {}
        prop_assert_eq!(editor.text(), "");
        while editor.act(EditAction::Redo) {}
        prop_assert_eq!(editor.text(), end);
    }

    #[test]
    fn yank_restores_killed_text(text in "[a-z /_.é日\n]{0,40}", kills in 1..5usize, back in any::<bool>()) {
        let mut editor = Editor::new();
        editor.insert(&text);
        let action = if back { EditAction::KillWordBackward } else { EditAction::KillToLineEnd };
        if !back {
            editor.act(EditAction::TextStart);
        }
        let killed = (0..kills).filter(|_| editor.act(action)).count();
        if killed > 0 {
            editor.act(EditAction::Yank);
        }
        prop_assert_eq!(editor.text(), text);
    }
}

#[test]
fn pages_move_by_the_shown_rows_and_stop_at_the_edges() {
    let mut editor = Editor::new();
    let text: String = (1..=30).map(|line| format!("line {line}\n")).collect();
    editor.set_text(&text);
    editor.rows(40, 5, &EditorStyle::default());
    let line = |editor: &Editor| editor.line();
    assert_eq!(line(&editor), "");
    for (action, expect) in [
        (EditAction::PageUp, "line 26"),
        (EditAction::PageUp, "line 21"),
        (EditAction::PageDown, "line 26"),
        (EditAction::TextStart, "line 1"),
        (EditAction::Down, "line 2"),
        (EditAction::PageUp, "line 1"),
    ] {
        editor.act(action);
        assert_eq!(line(&editor), expect, "{action:?}");
    }
    // At the last row, a page does not move through the history.
    editor.history().add("earlier");
    assert!(!editor.act(EditAction::PageUp) && line(&editor) == "line 1");
}

#[test]
fn paste_markers_are_one_unit_and_expand_exactly() {
    let paste: String = (0..20).map(|n| format!("line {n}\n")).collect();
    let mut editor = Editor::new();
    editor.insert("see ");
    editor.paste(&paste);
    editor.insert(" end");
    assert_eq!(editor.shown_text(), "see [paste #1 +20 lines] end");
    assert_eq!(editor.text(), format!("see {paste} end"));
    for _ in 0..4 {
        editor.act(EditAction::Left);
    }
    assert_eq!(editor.marker_at_cursor(), Some(paste.as_str()));
    editor.act(EditAction::Left);
    assert_eq!(editor.before_cursor(), "see ", "one step over the whole marker");
    editor.act(EditAction::DeleteForward);
    assert_eq!(editor.text(), "see  end");
    editor.act(EditAction::Undo);
    assert_eq!(editor.submit(), format!("see {paste} end"));
    // Typed characters of the markers' plane are dropped, so that a marker cannot be forged.
    editor.insert("\u{100000}x");
    assert_eq!(editor.shown_text(), "x");
}

#[test]
fn a_cleared_draft_is_in_history_and_undo() {
    let mut editor = Editor::new();
    editor.insert("draft");
    assert!(editor.clear());
    assert!(editor.is_empty() && !editor.clear());
    assert_eq!(editor.history().entries(), ["draft"]);
    editor.act(EditAction::Up);
    assert_eq!(editor.text(), "draft");
    editor.act(EditAction::Down);
    assert_eq!(editor.text(), "");
    editor.act(EditAction::Undo);
    editor.act(EditAction::Undo);
    editor.act(EditAction::Undo);
    assert_eq!(editor.text(), "draft");
}

#[test]
fn browsing_the_history_keeps_the_draft() {
    let mut editor = Editor::new();
    editor.history().fill(vec!["one".into(), "two".into()]);
    editor.insert("draft");
    editor.act(EditAction::Up);
    editor.act(EditAction::Up);
    assert_eq!(editor.text(), "one");
    editor.act(EditAction::Down);
    editor.act(EditAction::Down);
    assert_eq!(editor.text(), "draft");
}

#[test]
fn prepends_returned_texts_to_the_draft() {
    let mut editor = Editor::new();
    editor.insert("draft");
    editor.act(EditAction::Left);
    editor.prepend("first\n\nsecond");
    assert_eq!(editor.text(), "first\n\nsecond\n\ndraft");
    editor.insert("X");
    assert_eq!(editor.text(), "first\n\nsecond\n\ndrafXt", "the cursor keeps its place");
}

#[test]
fn long_lines_wrap_at_words_and_leave_room_for_the_cursor() {
    let mut editor = Editor::new();
    editor.insert("alpha beta gamma");
    let rows = editor.rows(10, 5, &EditorStyle::default());
    let text: Vec<&str> = rows.rows.iter().map(sinew_tui::Row::text).collect();
    assert_eq!(text, ["› alpha", "  beta", "  gamma"]);
    assert_eq!(rows.caret, (2, 7));
}

#[test]
fn jumps_find_the_next_and_the_previous_occurrence() {
    let mut editor = Editor::new();
    editor.set_text("one two\ntwo é");
    assert!(!editor.jump("o", true) && editor.jump("o", false));
    assert_eq!(editor.cursor(), 10, "across lines");
    assert!(editor.jump("t", false) && editor.jump("t", false) && !editor.jump("t", false));
    assert_eq!(editor.cursor(), 4);
    assert!(editor.jump("t", true) && editor.jump("é", true) && !editor.jump("", true));
    assert_eq!(editor.cursor(), 12);
    editor.insert("x");
    assert_eq!(editor.text(), "one two\ntwo xé");
}
