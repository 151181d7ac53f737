//! The map from keys to actions.

use sinew_term::{Key, KeyPress, Modifiers};

/// A key, or two keys that are pressed in sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Chord {
    /// The key, or the first of two.
    pub first: Key,
    /// The second key; `None` for a single key.
    pub then: Option<Key>,
}

impl Chord {
    /// Parses `ctrl+x`, or `ctrl+x ctrl+e` for two keys. Returns `None` if a key is unknown or there are more than two.
    #[must_use]
    pub fn parse(text: &str) -> Option<Chord> {
        let mut keys = text.split_whitespace().map(Key::parse);
        let (first, then) = (keys.next()??, keys.next());
        match (then, keys.next()) {
            (None, None) => Some(Chord { first, then: None }),
            (Some(then), None) => Some(Chord { first, then: Some(then?) }),
            _ => None,
        }
    }

    /// Returns true if the chords are equal or one begins with the other.
    fn hides(self, other: Chord) -> bool {
        self.first == other.first && (self.then == other.then || self.then.is_none() || other.then.is_none())
    }
}

impl std::fmt::Display for Chord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.then {
            Some(then) => write!(f, "{} {then}", self.first),
            None => write!(f, "{}", self.first),
        }
    }
}

/// Returns true if a key ends a line: Enter, or the line feed that some terminals send for it.
pub(crate) fn ends_line(key: Key) -> bool {
    key.name() == Some("enter") || key.character() == Some('j') && key.modifiers == Modifiers::CTRL
}

/// Actions by name, each with its chords. If two actions of one context share a chord, the first one has priority.
#[derive(Clone, Debug, Default)]
pub struct KeyMap {
    bindings: Vec<Binding>,
}

#[derive(Clone, Debug)]
struct Binding {
    action: String,
    context: String,
    chords: Vec<Chord>,
}

/// A problem in a table of keys; the rest of the table is used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KeyProblem {
    /// No action has this name; a similar name, if there is one.
    UnknownAction(String, Option<String>),
    /// A key of this action is not valid.
    BadKey(String, String),
    /// Two actions share the chord; the first one has priority.
    Conflict(String, String, Chord),
}

impl std::fmt::Display for KeyProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            KeyProblem::UnknownAction(name, Some(near)) => write!(f, "unknown action `{name}`; did you mean `{near}`?"),
            KeyProblem::UnknownAction(name, None) => write!(f, "unknown action `{name}`; /hotkeys lists all actions"),
            KeyProblem::BadKey(action, key) => {
                write!(f, "`{action}`: `{key}` is not a key; use for example `ctrl+x`, or `ctrl+x ctrl+e`")
            }
            KeyProblem::Conflict(first, second, chord) => {
                write!(
                    f,
                    "`{chord}` is bound to both `{first}` and `{second}`; only `{first}` works until you give it another key or []"
                )
            }
        }
    }
}

/// The meaning of a key press.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyLookup<'a> {
    /// The key calls this action.
    Action(&'a str),
    /// The key is the first one of a chord.
    Begins(Key),
    /// The key has no meaning.
    Nothing,
}

impl KeyMap {
    /// Creates a map of defaults: actions, the context of each, and its chords. Invalid chords are left out.
    #[must_use]
    pub fn new<'a>(defaults: impl IntoIterator<Item = (&'a str, &'a str, &'a [&'a str])>) -> KeyMap {
        let binding = |(action, context, chords): (&str, &str, &[&str])| Binding {
            action: action.to_owned(),
            context: context.to_owned(),
            chords: chords.iter().filter_map(|chord| Chord::parse(chord)).collect(),
        };
        KeyMap { bindings: defaults.into_iter().map(binding).collect() }
    }

    /// Replaces the chords of actions; an empty list removes them. Returns the problems of the table, and uses the
    /// rest.
    pub fn apply<'a>(&mut self, table: impl IntoIterator<Item = (&'a str, Vec<&'a str>)>) -> Vec<KeyProblem> {
        let mut problems = Vec::new();
        for (action, texts) in table {
            let Some(at) = self.bindings.iter().position(|binding| binding.action == action) else {
                problems.push(KeyProblem::UnknownAction(action.to_owned(), self.nearest(action)));
                continue;
            };
            let mut chords = Vec::new();
            for text in &texts {
                match Chord::parse(text) {
                    Some(chord) => chords.push(chord),
                    None => problems.push(KeyProblem::BadKey(action.to_owned(), (*text).to_owned())),
                }
            }
            // An action with only invalid chords keeps its previous ones.
            if texts.is_empty() || !chords.is_empty() {
                self.bindings[at].chords = chords;
            }
        }
        problems.extend(self.conflicts());
        problems
    }

    fn conflicts(&self) -> Vec<KeyProblem> {
        let mut problems = Vec::new();
        for (index, second) in self.bindings.iter().enumerate() {
            for chord in &second.chords {
                let hides = |first: &&Binding| {
                    first.context == second.context && first.chords.iter().any(|other| other.hides(*chord))
                };
                if let Some(first) = self.bindings[..index].iter().find(hides) {
                    problems.push(KeyProblem::Conflict(first.action.clone(), second.action.clone(), *chord));
                }
            }
        }
        problems
    }

    /// Returns the action of a key press in the first of `contexts` that binds it, trying the key itself before its
    /// other interpretations. `before` is the key that began a chord.
    ///
    /// A line feed is ctrl+j first: in raw mode no terminal sends it for enter.
    #[must_use]
    pub fn called(&self, contexts: &[&str], before: Option<Key>, press: &KeyPress) -> KeyLookup<'_> {
        let others = press.others.into_iter().flatten();
        let keys = press.line_feed().into_iter().chain([press.key]).chain(others);
        for (key, context) in keys.flat_map(|key| contexts.iter().map(move |context| (key, *context))) {
            let chord = Chord { first: before.unwrap_or(key), then: before.map(|_| key) };
            for binding in self.bindings.iter().filter(|binding| binding.context == context) {
                if binding.chords.contains(&chord) {
                    return KeyLookup::Action(&binding.action);
                }
                if before.is_none() && binding.chords.iter().any(|chord| chord.first == key) {
                    return KeyLookup::Begins(key);
                }
            }
        }
        KeyLookup::Nothing
    }

    /// Returns true if a press, or the last one of a chord, calls an action.
    #[must_use]
    pub fn calls(&self, action: &str, before: Option<Key>, press: &KeyPress) -> bool {
        let context = self.bindings.iter().find(|binding| binding.action == action);
        context.is_some_and(|binding| self.called(&[&binding.context], before, press) == KeyLookup::Action(action))
    }

    /// Returns the chords of an action.
    #[must_use]
    pub fn chords(&self, action: &str) -> &[Chord] {
        self.bindings.iter().find(|binding| binding.action == action).map_or(&[], |binding| &binding.chords)
    }

    fn nearest(&self, name: &str) -> Option<String> {
        let away = self.bindings.iter().map(|known| (strsim::osa_distance(&known.action, name), &known.action));
        // With more edits than a third of the name, the names are not similar.
        away.min().filter(|(edits, _)| *edits <= name.len().max(3) / 3).map(|(_, known)| known.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> KeyMap {
        KeyMap::new([
            ("app.exit", "app", &["ctrl+d"][..]),
            ("app.clear", "app", &["ctrl+c", "alt+c"]),
            ("app.open", "app", &["ctrl+o"]),
            ("edit.delete", "edit", &["ctrl+d", "delete"]),
        ])
    }

    fn press(data: &str) -> KeyPress {
        sinew_term::decode_key(data, false).expect("a key")
    }

    fn chord(text: &str) -> Chord {
        Chord::parse(text).expect("a chord")
    }

    #[test]
    fn reports_every_key_problem_and_applies_the_rest() {
        let mut map = map();
        let table = [
            ("app.exti", vec!["x"]),
            ("app.open", vec!["ctrl+nokey", "alt+o", "a b c"]),
            ("app.clear", vec!["ctrl+d"]),
            ("edit.delete", vec!["hyper+d"]),
        ];
        let problems = map.apply(table);
        assert_eq!(
            problems,
            [
                KeyProblem::UnknownAction("app.exti".into(), Some("app.exit".into())),
                KeyProblem::BadKey("app.open".into(), "ctrl+nokey".into()),
                KeyProblem::BadKey("app.open".into(), "a b c".into()),
                KeyProblem::BadKey("edit.delete".into(), "hyper+d".into()),
                KeyProblem::Conflict("app.exit".into(), "app.clear".into(), chord("ctrl+d")),
            ]
        );
        let called = |data| map.called(&["app"], None, &press(data));
        assert_eq!(called("\x1bo"), KeyLookup::Action("app.open"));
        assert_eq!(called("\x04"), KeyLookup::Action("app.exit"));
        assert_eq!(called("\x03"), KeyLookup::Nothing);
        assert_eq!(map.called(&["edit", "app"], None, &press("\x04")), KeyLookup::Action("edit.delete"));
        assert!(map.calls("app.exit", None, &press("\x04")));
        assert!(!map.calls("app.clear", None, &press("\x04")));
    }

    #[test]
    fn two_keys_form_a_chord_that_its_first_key_hides() {
        let mut map = map();
        assert_eq!(map.apply([("app.open", vec!["Ctrl+X ctrl+E", "ALT+Shift+o"]), ("app.exit", vec![])]), []);
        let (first, second) = (press("\x18"), press("\x05"));
        assert_eq!(map.called(&["app"], None, &first), KeyLookup::Begins(first.key));
        assert_eq!(map.called(&["app"], Some(first.key), &second), KeyLookup::Action("app.open"));
        assert_eq!(map.called(&["app"], Some(first.key), &first), KeyLookup::Nothing);
        assert_eq!(map.called(&["app"], None, &second), KeyLookup::Nothing);
        let shown: Vec<String> = map.chords("app.open").iter().map(Chord::to_string).collect();
        assert_eq!(shown, ["ctrl+x ctrl+e", "shift+alt+o"]);
        assert_eq!(map.chords("app.exit"), []);
        let problems = map.apply([("app.clear", vec!["ctrl+x"])]);
        assert_eq!(
            problems,
            [KeyProblem::Conflict("app.clear".into(), "app.open".into(), chord("ctrl+x ctrl+e"))],
            "nobody reaches the second key"
        );
        assert_eq!(map.called(&["app"], None, &first), KeyLookup::Action("app.clear"));
    }

    #[test]
    fn invalid_chords_do_not_parse() {
        for text in ["", " ", "ctrl+", "ctrl+x ", "a b", "ctrl+x nokey", "nokey", "a b c"] {
            let expect = ["ctrl+x ", "a b"].contains(&text);
            assert_eq!(Chord::parse(text).is_some(), expect, "{text:?}");
        }
    }
}
