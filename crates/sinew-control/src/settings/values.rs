//! The merged layers of settings.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::lookup;
use super::row::Key;
use super::table::Settings;

/// The merged layers, without the defaults.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Values {
    values: Map<String, Value>,
}

impl Values {
    /// Merges a layer that overrides the previous ones: objects are merged recursively, other values are replaced.
    pub(crate) fn merge(&mut self, layer: Map<String, Value>) {
        merge(&mut self.values, layer);
    }

    /// Sets a key by its path, such as `retry.enabled`; null resets the values of lower layers.
    pub fn set(&mut self, path: &str, value: Value) {
        let mut layer = Map::new();
        insert(&mut layer, path, value);
        self.merge(layer);
    }

    /// Returns the values that were set.
    pub(crate) fn as_map(&self) -> &Map<String, Value> {
        &self.values
    }

    /// Returns the values that were set, as an object.
    pub fn into_map(self) -> Map<String, Value> {
        self.values
    }

    /// Returns the value of a key, or otherwise its default; null if there is neither.
    pub fn get(&self, path: &str) -> Value {
        match find(&self.values, path) {
            Some(value) => value.clone(),
            None => lookup::find(path).map(Key::default_value).unwrap_or_default(),
        }
    }

    /// Returns true if a layer has set `path`.
    pub fn is_set(&self, path: &str) -> bool {
        find(&self.values, path).is_some()
    }

    /// Returns the typed settings: the defaults, overridden by the values of known keys.
    pub fn typed(&self) -> Settings {
        self.parse().expect("the types of layers are checked, and tests parse every default")
    }

    pub(super) fn parse(&self) -> serde_json::Result<Settings> {
        let mut all = lookup::defaults();
        overlay(&mut all, &self.values, "");
        Settings::deserialize(Value::Object(all))
    }
}

/// Returns a value, unless it is missing or null.
pub(super) fn find<'a>(values: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    let mut words = path.split('.');
    let first = words.next().and_then(|word| values.get(word));
    words.fold(first, |value, word| value?.get(word)).filter(|value| !value.is_null())
}

/// Inserts a value at a path whose parents are missing or objects.
pub(super) fn insert(values: &mut Map<String, Value>, path: &str, value: Value) {
    let mut words = path.rsplit('.');
    let mut layer = Map::new();
    layer.insert(words.next().unwrap_or_default().into(), value);
    for word in words {
        layer = Map::from_iter([(word.to_string(), Value::Object(layer))]);
    }
    merge(values, layer);
}

fn merge(below: &mut Map<String, Value>, above: Map<String, Value>) {
    for (key, value) in above {
        match (below.get_mut(&key), value) {
            (Some(Value::Object(place)), Value::Object(value)) => merge(place, value),
            (_, value) => {
                below.insert(key, value);
            }
        }
    }
}

/// Overrides defaults with the known keys of `above`. Null has no effect here, because it has reset the lower layers
/// already.
fn overlay(below: &mut Map<String, Value>, above: &Map<String, Value>, prefix: &str) {
    for (key, value) in above.iter().filter(|(_, value)| !value.is_null()) {
        let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match value {
            Value::Object(inner) if lookup::has_entries(&path) => {
                let place = below.entry(key.clone()).or_insert_with(|| Value::Object(Map::new()));
                if let Value::Object(place) = place {
                    overlay(place, inner, &path);
                }
            }
            // The type of an unknown key was not checked.
            _ if lookup::find(&path).is_some() => {
                below.insert(key.clone(), value.clone());
            }
            _ => {}
        }
    }
}
