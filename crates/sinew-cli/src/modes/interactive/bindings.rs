//! The keys of the user: `keybindings.json`, the table of actions that it changes, and what a press means by both.
//!
//! The code knows each action by one key, the first of its defaults (`ctrl+o`), or by its name where it has none. A
//! press is translated to that, so that a key that was moved is moved everywhere.

use std::path::Path;

use serde_json::{Map, Value};
use sinew_llm::models::plain_json;
use sinew_tui::{Called, Chord, Key, KeyMap, KeyPress};

use super::keys::{ACTIONS, Action};

/// The file, beside the settings of the user.
pub(super) const FILE: &str = "keybindings.json";

/// Contexts of actions: two of one context cannot share a key.
pub(super) const APP: &str = "app";
pub(super) const EDITOR: &str = "editor";
pub(super) const LIST: &str = "list";
pub(super) const TREE: &str = "tree";

/// The keys that are in force.
#[derive(Clone)]
pub(super) struct Bindings {
    map: KeyMap,
    /// The faults of the file, each with the way out.
    pub(super) faults: Vec<String>,
}

/// The state of the editor that decides whose key one is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) is_empty: bool,
    pub(super) panel_waits: bool,
}

/// The meaning of a press, as the code knows it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// A key, or the name of an action.
    Known(String),
    /// The first key of a chord.
    Begins(Key),
    /// Nothing: its action has another key now, or no chord goes on with it.
    Nothing,
}

impl Default for Bindings {
    fn default() -> Bindings {
        let defaults = ACTIONS.iter().map(|action| (action.name, action.context, action.keys));
        Bindings { map: KeyMap::new(defaults), faults: Vec::new() }
    }
}

impl Bindings {
    /// Reads a file; without one the defaults count, and so they do for what is wrong in it.
    pub(super) fn read(file: &Path) -> Bindings {
        match std::fs::read_to_string(file) {
            Ok(text) => Bindings::of(&text, &file.display().to_string()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Bindings::default(),
            Err(error) => {
                Bindings::faulty(format!("failed to read {}: {error}; the default keys count", file.display()))
            }
        }
    }

    fn faulty(fault: String) -> Bindings {
        Bindings { faults: vec![fault], ..Bindings::default() }
    }

    /// Reads the text of a file: JSON with comments. `name` is used in the messages.
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
                return Bindings::faulty(format!("{name}:{line}:{column}: {reason}; the default keys count"));
            }
        };
        let mut bindings = Bindings::default();
        let (rows, faults) = rows(&table);
        bindings.faults.extend(faults.into_iter().map(|fault| format!("{name}: {fault}")));
        let problems = bindings.map.apply(rows);
        bindings.faults.extend(problems.into_iter().map(|problem| format!("{name}: {problem}")));
        bindings
    }

    /// Tells what a press means in the first of `contexts` that knows it. `before` has begun a chord.
    pub(super) fn meaning(&self, contexts: &[&str], before: Option<Key>, press: &KeyPress) -> Meaning {
        match self.map.called(contexts, before, press) {
            Called::Action(name) => {
                let action = ACTIONS.iter().find(|action| action.name == name);
                Meaning::Known(action.map_or_else(|| name.to_string(), |action| action.known_as().to_string()))
            }
            Called::Begins(key) => Meaning::Begins(key),
            Called::Nothing => {
                let key = press.key.to_string();
                let mut known = ACTIONS.iter().filter(|action| contexts.contains(&action.context));
                let was_moved = known.any(|action| action.keys.contains(&key.as_str()));
                if before.is_some() || was_moved { Meaning::Nothing } else { Meaning::Known(key) }
            }
        }
    }

    /// The same in the editor. Keys that leave an empty editor and those that turn to a panel that waits come before
    /// the keys of the editor.
    pub(super) fn in_editor(&self, now: Place, before: Option<Key>, press: &KeyPress) -> Meaning {
        let leaves = now.is_empty && self.calls("app.exit", before, press);
        let turns = now.panel_waits && self.calls("app.panel.focus", before, press);
        let contexts = if leaves || turns { [APP, EDITOR] } else { [EDITOR, APP] };
        self.meaning(&contexts, before, press)
    }

    /// Returns true if a press calls this action.
    pub(super) fn calls(&self, action: &str, before: Option<Key>, press: &KeyPress) -> bool {
        self.map.calls(action, before, press)
    }

    /// The keys that a text of help names for an action; empty where it has none.
    pub(super) fn keys_of(&self, action: &str) -> String {
        self.map.chords(action).iter().map(Chord::to_string).collect::<Vec<_>>().join(", ")
    }

    /// The table for `/hotkeys`: keys, what they do, and the names that a file gives them by; then what is wrong.
    pub(super) fn help(&self, has_kitty: bool) -> String {
        let rows: Vec<(String, &Action)> = ACTIONS.iter().map(|action| (self.keys_of(action.name), action)).collect();
        let width = rows.iter().map(|(keys, _)| keys.chars().count()).max().unwrap_or(0).min(30);
        let line = |(keys, action): &(String, &Action)| {
            let keys = if keys.is_empty() { "–" } else { keys };
            format!("{keys:width$}  {} · {}", action.help, action.name)
        };
        let mut lines: Vec<String> = rows.iter().map(line).collect();
        let unsent = self.unsent();
        if !has_kitty && !unsent.is_empty() {
            lines.push(format!("! this terminal does not tell these from other keys: {}", unsent.join(", ")));
        }
        lines.extend(self.faults.iter().map(|fault| format!("! {fault}")));
        lines.join("\n")
    }

    /// Chords with a key that only terminals with Kitty's protocol send as such.
    fn unsent(&self) -> Vec<String> {
        let chords = ACTIONS.iter().flat_map(|action| self.map.chords(action.name));
        let unsent = chords.filter(|chord| needs_protocol(chord.first) || chord.then.is_some_and(needs_protocol));
        unsent.map(Chord::to_string).collect()
    }
}

/// The rows of a table: actions by their present names, and their chords. What is no text and no list of texts is a
/// fault.
fn rows(table: &Map<String, Value>) -> (Vec<(&str, Vec<&str>)>, Vec<String>) {
    let (mut rows, mut faults) = (Vec::new(), Vec::new());
    for (name, value) in table {
        let chords = match value {
            Value::String(chord) => Some(vec![chord.as_str()]),
            Value::Array(chords) => chords.iter().map(Value::as_str).collect(),
            _ => None,
        };
        let known = ACTIONS.iter().find(|action| action.old == Some(name)).map_or(name.as_str(), |action| action.name);
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
    use super::*;

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
    fn known(bindings: &Bindings, contexts: &[&str], data: &str, expect: &str) {
        assert_eq!(bindings.meaning(contexts, None, &press(data)), Meaning::Known(expect.into()), "{data:?}");
    }

    #[test]
    fn the_defaults_have_no_fault_and_mean_themselves() {
        let mut bindings = Bindings::default();
        assert_eq!(bindings.map.apply([]), [], "no two share a key");
        for (data, expect) in [
            ("\r", "enter"),
            ("\x0f", "ctrl+o"),
            ("\x02", "left"),
            ("\x04", "delete"),
            ("\x1b\r", "ctrl+q"),
            ("\x1b", "escape"),
            ("\x1b[A", "up"),
            ("x", "x"),
            ("\x1b[Z", "shift+tab"),
        ] {
            known(&bindings, &[EDITOR, APP], data, expect);
        }
        known(&bindings, &[APP, EDITOR], "\x04", "ctrl+d");
        known(&bindings, &[LIST, EDITOR], "\x10", "up");
        known(&bindings, &[LIST, EDITOR], "\x13", "ctrl+s");
        for action in ACTIONS {
            assert!(
                !action.help.is_empty() && action.keys.iter().all(|key| Chord::parse(key).is_some()),
                "{}",
                action.name
            );
        }
    }

    #[test]
    fn a_key_that_is_moved_does_what_the_old_one_did_and_the_old_one_nothing() {
        let text = r#"{
            // Comments are allowed.
            "app.transcript.open": ["ctrl+x ctrl+o", "F2"],
            "app.suspend": [],
            "externalEditor": "alt+e", /* a name of pi */
            "tui.select.down": ["down", "f3"],
        }"#;
        let bindings = Bindings::of(text, "keybindings.json");
        assert_eq!(bindings.faults, Vec::<String>::new());
        known(&bindings, &[EDITOR, APP], "\x1bOQ", "ctrl+o");
        known(&bindings, &[EDITOR, APP], "\x1be", "ctrl+g");
        known(&bindings, &[LIST], "\x1bOR", "down");
        for data in ["\x0f", "\x1a", "\x07"] {
            assert_eq!(bindings.meaning(&[EDITOR, APP], None, &press(data)), Meaning::Nothing, "{data:?}");
        }
        let first = press("\x18").key;
        assert_eq!(bindings.meaning(&[EDITOR, APP], None, &press("\x18")), Meaning::Begins(first));
        let both = bindings.meaning(&[EDITOR, APP], Some(first), &press("\x0f"));
        assert_eq!(both, Meaning::Known("ctrl+o".into()));
        assert_eq!(bindings.meaning(&[EDITOR, APP], Some(first), &press("x")), Meaning::Nothing);
        assert!(bindings.help(true).contains("ctrl+x ctrl+o, f2"), "{}", bindings.help(true));
    }

    #[test]
    fn item_90_each_fault_of_a_file_names_it_and_the_way_out() {
        for (text, expect) in [
            ("[]", r#"keys: expected an object, such as {"app.exit": "ctrl+x"}"#),
            ("{\n\"app.exit\" 1}", "keys:2:12: expected `:`; the default keys count"),
            (
                r#"{"app.exit": 5}"#,
                r#"keys: `app.exit` is 5; write a chord such as "ctrl+x", a list of chords, or [] for no key"#,
            ),
            (
                r#"{"app.exit": ["ctrl+x", null]}"#,
                r#"keys: `app.exit` is ["ctrl+x",null]; write a chord such as "ctrl+x", a list of chords, or [] for no key"#,
            ),
            (r#"{"app.exti": "x"}"#, "keys: `app.exti` is no action; did you mean `app.exit`?"),
            (r#"{"zoom": "x"}"#, "keys: `zoom` is no action; /hotkeys lists them"),
            (
                r#"{"app.exit": "hyper+x"}"#,
                "keys: `hyper+x` for `app.exit` names no key; write for example `ctrl+x`, or `ctrl+x ctrl+e`",
            ),
            (
                r#"{"app.clear": "ctrl+d"}"#,
                "keys: `ctrl+d` calls both `app.clear` and `app.exit`; `app.clear` has it until it gets another key or []",
            ),
        ] {
            let bindings = Bindings::of(text, "keys");
            assert_eq!(bindings.faults, [expect], "{text}");
            assert!(bindings.help(true).contains(expect), "{text}");
            // The rest of the keys works.
            known(&bindings, &[EDITOR, APP], "\x0f", "ctrl+o");
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
