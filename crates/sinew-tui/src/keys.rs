//! The map from keys to actions.

use sinew_term::{Key, KeyPress};

/// Actions by name, each with the keys that call it; the first of two that share a key wins.
#[derive(Clone, Debug, Default)]
pub struct KeyMap {
    bindings: Vec<(String, Vec<Key>)>,
}

/// A fault of a table of keys; the rest of it works.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KeyProblem {
    /// No action has this name; the nearest one, if one is near.
    UnknownAction(String, Option<String>),
    /// This names no key, for this action.
    BadKey(String, String),
    /// Two actions, the first of which has the key.
    Conflict(String, String, Key),
}

impl std::fmt::Display for KeyProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            KeyProblem::UnknownAction(name, Some(near)) => write!(f, "`{name}` is no action; did you mean `{near}`?"),
            KeyProblem::UnknownAction(name, None) => write!(f, "`{name}` is no action"),
            KeyProblem::BadKey(action, key) => {
                write!(f, "`{key}` for `{action}` names no key; write for example `ctrl+x`")
            }
            KeyProblem::Conflict(first, second, key) => {
                write!(f, "`{key}` calls both `{first}` and `{second}`; `{first}` has it")
            }
        }
    }
}

impl KeyMap {
    /// A map of defaults: actions and the ids of their keys. An id that names no key is left out.
    #[must_use]
    pub fn new<'a>(defaults: impl IntoIterator<Item = (&'a str, &'a [&'a str])>) -> KeyMap {
        let keys = |ids: &[&str]| ids.iter().filter_map(|id| Key::parse(id)).collect();
        KeyMap { bindings: defaults.into_iter().map(|(name, ids)| (name.to_owned(), keys(ids))).collect() }
    }

    /// Replaces the keys of actions; an empty list takes them away. Gives what is wrong with the table, and works with
    /// the rest.
    pub fn apply<'a>(&mut self, table: impl IntoIterator<Item = (&'a str, Vec<&'a str>)>) -> Vec<KeyProblem> {
        let mut problems = Vec::new();
        for (action, ids) in table {
            let Some(at) = self.bindings.iter().position(|(name, _)| name == action) else {
                problems.push(KeyProblem::UnknownAction(action.to_owned(), self.nearest(action)));
                continue;
            };
            let mut keys = Vec::new();
            for id in ids {
                match Key::parse(id) {
                    Some(key) => keys.push(key),
                    None => problems.push(KeyProblem::BadKey(action.to_owned(), id.to_owned())),
                }
            }
            self.bindings[at].1 = keys;
        }
        for (index, (second, keys)) in self.bindings.iter().enumerate() {
            for key in keys {
                if let Some((first, _)) = self.bindings[..index].iter().find(|(_, keys)| keys.contains(key)) {
                    problems.push(KeyProblem::Conflict(first.clone(), second.clone(), *key));
                }
            }
        }
        problems
    }

    /// The action that a key press calls: by its key first, then by its other meanings.
    #[must_use]
    pub fn action(&self, press: &KeyPress) -> Option<&str> {
        let find = |key: Key| self.bindings.iter().find(|(_, keys)| keys.contains(&key)).map(|(name, _)| name.as_str());
        find(press.key).or_else(|| press.others.iter().flatten().find_map(|key| find(*key)))
    }

    /// The keys of an action.
    #[must_use]
    pub fn keys(&self, action: &str) -> &[Key] {
        self.bindings.iter().find(|(name, _)| name == action).map_or(&[], |(_, keys)| keys)
    }

    fn nearest(&self, name: &str) -> Option<String> {
        let away = self.bindings.iter().map(|(known, _)| (strsim::osa_distance(known, name), known));
        // More edits than a third of the name make another name.
        away.min().filter(|(edits, _)| *edits <= name.len().max(3) / 3).map(|(_, known)| known.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> KeyMap {
        KeyMap::new([("app.exit", &["ctrl+d"][..]), ("app.clear", &["ctrl+c", "alt+c"]), ("app.open", &["ctrl+o"])])
    }

    #[test]
    fn item_90_each_fault_is_told_and_the_rest_works() {
        let mut map = map();
        let table = [("app.exti", vec!["x"]), ("app.open", vec!["ctrl+nokey", "alt+o"]), ("app.clear", vec!["ctrl+d"])];
        let problems = map.apply(table);
        let key = Key::parse("ctrl+d").expect("a key");
        assert_eq!(
            problems,
            [
                KeyProblem::UnknownAction("app.exti".into(), Some("app.exit".into())),
                KeyProblem::BadKey("app.open".into(), "ctrl+nokey".into()),
                KeyProblem::Conflict("app.exit".into(), "app.clear".into(), key),
            ]
        );
        let press = |data| sinew_term::decode_key(data, false).expect("a key");
        assert_eq!(map.action(&press("\x1bo")), Some("app.open"));
        assert_eq!(map.action(&press("\x04")), Some("app.exit"));
        assert_eq!(map.action(&press("\x03")), None);
    }
}
