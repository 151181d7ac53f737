//! The user's key bindings: `keybindings.json` changes the table of actions, and a press is looked up in the result.
//!
//! A press is translated to its action first, so that a changed key is changed in every context.

use std::path::Path;

use serde_json::{Map, Value};
use sinew_llm::models::plain_json;
use sinew_tui::{Chord, Key, KeyLookup, KeyMap, KeyPress, ViewAction};

use super::table::{ACTIONS, Context, Row, row_of};
use super::{Action, ListAction, RowKeys, label};

/// The name of the file, next to the user's settings.
pub(crate) const FILE: &str = "keybindings.json";

/// The key bindings in force.
#[derive(Clone)]
pub(crate) struct Bindings {
    map: KeyMap,
    /// The faults of the file, each with a remedy.
    pub(crate) faults: Vec<String>,
}

/// The state of the editor that determines the context of a key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EditorState {
    pub(crate) is_empty: bool,
    pub(crate) panel_waits: bool,
}

/// The meaning of a press.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyMeaning {
    Action(Action),
    /// The text that the press types, if it types one.
    Text,
    /// The first key of a chord.
    Begins(Key),
    /// No action: the key was bound to another one, or no chord continues with it.
    Nothing,
}

impl Default for Bindings {
    fn default() -> Bindings {
        let defaults = ACTIONS.iter().map(|row| (row.name, row.context.name(), row.keys));
        Bindings { map: KeyMap::new(defaults), faults: Vec::new() }
    }
}

impl Bindings {
    /// Reads a file. A missing file means the defaults; they also replace invalid entries, which are added to the
    /// faults.
    pub(crate) fn read(file: &Path) -> Bindings {
        match std::fs::read_to_string(file) {
            Ok(text) => Bindings::of(&text, &file.display().to_string()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Bindings::default(),
            Err(error) => {
                Bindings::faulty(format!("failed to read {}: {error}; using the default keys", file.display()))
            }
        }
    }

    fn faulty(fault: String) -> Bindings {
        Bindings { faults: vec![fault], ..Bindings::default() }
    }

    /// Parses the text of a file: JSON with comments. `name` is used in messages.
    fn of(text: &str, name: &str) -> Bindings {
        if text.trim().is_empty() {
            return Bindings::default();
        }
        let table = match serde_json::from_str(&plain_json(text)) {
            Ok(Value::Object(table)) => table,
            Ok(_) => {
                return Bindings::faulty(format!(r#"{name}: expected an object, such as {{"app.exit": "ctrl+x"}}"#));
            }
            Err(error) => {
                let reason = error.to_string();
                let reason = reason.split(" at line ").next().unwrap_or_default();
                let (line, column) = (error.line(), error.column());
                return Bindings::faulty(format!("{name}:{line}:{column}: {reason}; using the default keys"));
            }
        };
        let mut bindings = Bindings::default();
        let (rows, faults) = rows(&table);
        bindings.faults.extend(faults.into_iter().map(|fault| format!("{name}: {fault}")));
        let problems = bindings.map.apply(rows);
        bindings.faults.extend(problems.into_iter().map(|problem| format!("{name}: {problem}")));
        bindings
    }

    /// Returns the meaning of a press in the first of `contexts` that binds it. `before` is the first key of a chord.
    pub(crate) fn meaning(&self, contexts: &[Context], before: Option<Key>, press: &KeyPress) -> KeyMeaning {
        let names: Vec<&str> = contexts.iter().map(|context| context.name()).collect();
        match self.map.called(&names, before, press) {
            KeyLookup::Action(name) => {
                let row = ACTIONS.iter().find(|row| row.name == name);
                row.map_or(KeyMeaning::Nothing, |row| KeyMeaning::Action(row.action))
            }
            KeyLookup::Begins(key) => KeyMeaning::Begins(key),
            KeyLookup::Nothing => {
                let key = press.key.to_string();
                let mut known = ACTIONS.iter().filter(|row| contexts.contains(&row.context));
                let was_moved = known.any(|row| row.keys.contains(&key.as_str()));
                if before.is_some() || was_moved { KeyMeaning::Nothing } else { KeyMeaning::Text }
            }
        }
    }

    /// Does the same in the editor. Keys that exit from an empty editor, and keys that open a waiting panel, have
    /// priority over the keys of the editor.
    pub(crate) fn in_editor(&self, now: EditorState, before: Option<Key>, press: &KeyPress) -> KeyMeaning {
        let leaves = now.is_empty && self.calls(Action::Exit, before, press);
        let turns = now.panel_waits && self.calls(Action::FocusPanel, before, press);
        let app_first = leaves || turns;
        let contexts = if app_first { [Context::App, Context::Editor] } else { [Context::Editor, Context::App] };
        self.meaning(&contexts, before, press)
    }

    /// Returns true if a press is bound to this action.
    pub(crate) fn calls(&self, action: Action, before: Option<Key>, press: &KeyPress) -> bool {
        row_of(action).is_some_and(|row| self.map.calls(row.name, before, press))
    }

    /// Returns the keys of an action for the help, by its name; empty if it has none.
    fn keys_of(&self, name: &str) -> String {
        self.map.chords(name).iter().map(Chord::to_string).collect::<Vec<_>>().join(", ")
    }

    /// Returns the first key of an action.
    pub(crate) fn first(&self, action: Action) -> Option<Chord> {
        row_of(action).and_then(|row| self.map.chords(row.name).first().copied())
    }

    /// Returns the first key of an action as a hint shows it.
    pub(crate) fn short(&self, action: Action) -> String {
        self.first(action).map_or_else(|| "no key".into(), label)
    }

    /// Returns the same by the name of the action; `None` if it has no key.
    pub(crate) fn short_of(&self, name: &str) -> Option<String> {
        let row = ACTIONS.iter().find(|row| row.name == name)?;
        (!self.map.chords(name).is_empty()).then(|| self.short(row.action))
    }

    /// Returns the first key of an action of a view, with shift written as a capital letter.
    fn letter(&self, action: Action) -> String {
        let key = self.short(action);
        let capital = key.strip_prefix("shift+").filter(|letter| letter.chars().count() == 1);
        capital.map_or(key.clone(), str::to_uppercase)
    }

    /// Returns the keys that rows of the transcript name.
    pub(crate) fn of_rows(&self) -> RowKeys {
        RowKeys {
            more: self.first(Action::OpenTranscript),
            thoughts: self.first(Action::ToggleThoughts),
            interrupt: self.first(Action::Interrupt),
        }
    }

    /// Returns the keys of every list, after those of this list.
    pub(crate) fn list_hint(&self, own: &str) -> String {
        let dot = if own.is_empty() { "" } else { " · " };
        format!("{own}{dot}type to filter · {}", self.line_hint())
    }

    /// Returns the keys of a text field.
    pub(crate) fn line_hint(&self) -> String {
        let [confirm, cancel] = [ListAction::Confirm, ListAction::Cancel].map(|list| self.short(Action::List(list)));
        format!("{confirm} · {cancel}")
    }

    /// Returns the keys of a view.
    pub(crate) fn view_hint(&self) -> String {
        let view = |action| self.letter(Action::View(action));
        format!(
            "{} {} {} find · {} {} prompts · {} fold · {} copy · {} print · {}",
            view(ViewAction::Search),
            view(ViewAction::Next),
            view(ViewAction::Previous),
            view(ViewAction::PromptBefore),
            view(ViewAction::PromptAfter),
            view(ViewAction::Fold),
            self.letter(Action::CopyPart),
            self.letter(Action::PrintPart),
            view(ViewAction::Close),
        )
    }

    /// Returns the table for `/hotkeys`: keys, their effect, and the names of actions in the file; then the faults.
    pub(crate) fn help(&self, has_kitty: bool) -> String {
        let rows: Vec<(String, &Row)> = ACTIONS.iter().map(|row| (self.keys_of(row.name), row)).collect();
        let width = rows.iter().map(|(keys, _)| keys.chars().count()).max().unwrap_or(0).min(30);
        let line = |(keys, row): &(String, &Row)| {
            let keys = if keys.is_empty() { "–" } else { keys };
            format!("{keys:width$}  {} · {}", row.help, row.name)
        };
        let mut lines: Vec<String> = rows.iter().map(line).collect();
        let unsent = self.unsent();
        if !has_kitty && !unsent.is_empty() {
            lines.push(format!("! this terminal cannot distinguish these from other keys: {}", unsent.join(", ")));
        }
        lines.extend(self.faults.iter().map(|fault| format!("! {fault}")));
        lines.join("\n")
    }

    /// Returns the chords with a key that only terminals with Kitty's keyboard protocol distinguish.
    fn unsent(&self) -> Vec<String> {
        let chords = ACTIONS.iter().flat_map(|row| self.map.chords(row.name));
        let unsent = chords.filter(|chord| needs_protocol(chord.first) || chord.then.is_some_and(needs_protocol));
        unsent.map(Chord::to_string).collect()
    }
}

/// Parses a table of actions: their current names and their chords. A value that is neither a string nor a list of
/// strings is a fault.
fn rows(table: &Map<String, Value>) -> (Vec<(&str, Vec<&str>)>, Vec<String>) {
    let (mut rows, mut faults) = (Vec::new(), Vec::new());
    for (name, value) in table {
        let chords = match value {
            Value::String(chord) => Some(vec![chord.as_str()]),
            Value::Array(chords) => chords.iter().map(Value::as_str).collect(),
            _ => None,
        };
        let known = ACTIONS.iter().find(|row| row.old == Some(name)).map_or(name.as_str(), |row| row.name);
        match chords {
            Some(chords) => rows.push((known, chords)),
            None => faults.push(format!(
                r#"`{name}` is {value}; write a chord such as "ctrl+x", a list of chords, or [] for no key"#
            )),
        }
    }
    (rows, faults)
}

/// Returns true if terminals without Kitty's protocol send the bytes of another key for this one.
fn needs_protocol(key: Key) -> bool {
    use sinew::term::Modifiers;
    let has = |modifiers| key.modifiers.contains(modifiers);
    match (key.character(), key.name()) {
        _ if has(Modifiers::SUPER) => true,
        (Some('i' | 'm' | '['), _) if has(Modifiers::CTRL) => true,
        (Some(letter), _) if has(Modifiers::CTRL) => has(Modifiers::SHIFT) || letter.is_ascii_digit(),
        (_, Some("enter" | "backspace")) => has(Modifiers::CTRL) || has(Modifiers::SHIFT),
        (_, Some("tab" | "escape")) => has(Modifiers::CTRL),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use sinew_tui::EditAction;

    use super::*;

    const EDITOR: [Context; 2] = [Context::Editor, Context::App];
    const PANEL: [Context; 2] = [Context::List, Context::Editor];

    fn press(data: &str) -> KeyPress {
        let mut input = sinew_tui::InputParser::new(false);
        let mut events = input.feed(data.as_bytes());
        events.extend(input.expire());
        match events.pop() {
            Some(sinew_tui::Event::Key(press)) => press,
            other => panic!("{data:?}: {other:?}"),
        }
    }

    #[track_caller]
    fn known(bindings: &Bindings, contexts: &[Context], data: &str, expect: Action) {
        assert_eq!(bindings.meaning(contexts, None, &press(data)), KeyMeaning::Action(expect), "{data:?}");
    }

    #[test]
    fn the_defaults_are_valid_and_free_of_conflicts() {
        let mut bindings = Bindings::default();
        assert_eq!(bindings.map.apply([]), [], "no two share a key");
        for (data, expect) in [
            ("\r", Action::Submit),
            ("\n", Action::Edit(EditAction::NewLine)),
            ("\x0f", Action::OpenTranscript),
            ("\x02", Action::Edit(EditAction::Left)),
            ("\x04", Action::Edit(EditAction::DeleteForward)),
            ("\x1b\r", Action::FollowUp),
            ("\x1b", Action::Interrupt),
            ("\x1b[A", Action::Edit(EditAction::Up)),
            ("\x1b[Z", Action::CycleThinking),
        ] {
            known(&bindings, &EDITOR, data, expect);
        }
        known(&bindings, &[Context::App, Context::Editor], "\x04", Action::Exit);
        assert_eq!(bindings.meaning(&EDITOR, None, &press("x")), KeyMeaning::Text);
        known(&bindings, &PANEL, "\x10", Action::List(ListAction::Up));
        known(&bindings, &PANEL, "\x13", Action::List(ListAction::Keep));
        for action in ACTIONS {
            assert!(
                !action.help.is_empty() && action.keys.iter().all(|key| Chord::parse(key).is_some()),
                "{}",
                action.name
            );
        }
    }

    #[test]
    fn a_rebound_key_replaces_the_old_one() {
        let text = r#"{
            // Comments are allowed.
            "app.transcript.open": ["ctrl+x ctrl+o", "F2"],
            "app.suspend": [],
            "externalEditor": "alt+e", /* a name of pi */
            "tui.select.down": ["down", "f3"],
        }"#;
        let bindings = Bindings::of(text, "keybindings.json");
        assert_eq!(bindings.faults, Vec::<String>::new());
        known(&bindings, &EDITOR, "\x1bOQ", Action::OpenTranscript);
        known(&bindings, &EDITOR, "\x1be", Action::ExternalEditor);
        known(&bindings, &[Context::List], "\x1bOR", Action::List(ListAction::Down));
        for data in ["\x0f", "\x1a", "\x07"] {
            assert_eq!(bindings.meaning(&EDITOR, None, &press(data)), KeyMeaning::Nothing, "{data:?}");
        }
        let first = press("\x18").key;
        assert_eq!(bindings.meaning(&EDITOR, None, &press("\x18")), KeyMeaning::Begins(first));
        let both = bindings.meaning(&EDITOR, Some(first), &press("\x0f"));
        assert_eq!(both, KeyMeaning::Action(Action::OpenTranscript));
        assert_eq!(bindings.meaning(&EDITOR, Some(first), &press("x")), KeyMeaning::Nothing);
        assert!(bindings.help(true).contains("ctrl+x ctrl+o, f2"), "{}", bindings.help(true));
    }

    #[test]
    fn each_fault_names_the_entry_and_the_fix() {
        for (text, expect) in [
            ("[]", r#"keys: expected an object, such as {"app.exit": "ctrl+x"}"#),
            ("{\n\"app.exit\" 1}", "keys:2:12: expected `:`; using the default keys"),
            (
                r#"{"app.exit": 5}"#,
                r#"keys: `app.exit` is 5; write a chord such as "ctrl+x", a list of chords, or [] for no key"#,
            ),
            (
                r#"{"app.exit": ["ctrl+x", null]}"#,
                r#"keys: `app.exit` is ["ctrl+x",null]; write a chord such as "ctrl+x", a list of chords, or [] for no key"#,
            ),
            (r#"{"app.exti": "x"}"#, "keys: unknown action `app.exti`; did you mean `app.exit`?"),
            (r#"{"zoom": "x"}"#, "keys: unknown action `zoom`; /hotkeys lists all actions"),
            (
                r#"{"app.exit": "hyper+x"}"#,
                "keys: `app.exit`: `hyper+x` is not a key; use for example `ctrl+x`, or `ctrl+x ctrl+e`",
            ),
            (
                r#"{"app.clear": "ctrl+d"}"#,
                "keys: `ctrl+d` is bound to both `app.clear` and `app.exit`; only `app.clear` works until you give it another key or []",
            ),
        ] {
            let bindings = Bindings::of(text, "keys");
            assert_eq!(bindings.faults, [expect], "{text}");
            assert!(bindings.help(true).contains(expect), "{text}");
            // The remaining keys work.
            known(&bindings, &EDITOR, "\x0f", Action::OpenTranscript);
        }
        assert_eq!(Bindings::of(" \n", "keys").faults, Vec::<String>::new());
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Bindings::read(&folder.path().join("none.json")).faults, Vec::<String>::new());
        assert!(Bindings::read(folder.path()).faults[0].starts_with("failed to read "));
    }

    #[test]
    fn help_names_what_the_terminal_cannot_send() {
        let bindings = Bindings::of(r#"{"app.exit": "ctrl+i", "app.suspend": "super+z"}"#, "keys");
        let help = bindings.help(false);
        let line = help.lines().find(|line| line.starts_with("! this terminal")).unwrap();
        for chord in ["ctrl+i", "super+z", "ctrl+enter", "shift+enter"] {
            assert!(line.contains(chord), "{chord}: {line}");
        }
        assert!(!line.contains("alt+enter") && !bindings.help(true).contains("! this terminal"), "{line}");
    }
}
