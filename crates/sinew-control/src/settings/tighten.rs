//! Checks a project's settings that limit what programs can do: they are only in force if they are stricter.

use serde_json::{Map, Value};

use super::KEYS;
use super::lookup;
use super::row::{Key, Scope};
use super::values;

/// The values of settings that limit something, from the least to the most strict. The empty text stands for a setting
/// that is not set.
const ORDERS: [(&str, &[&str]); 3] = [
    ("sandbox.mode", &["off", "", "rules", "workspace", "read-only"]),
    ("sandbox.network", &["on", "", "loopback", "off"]),
    ("approve.outside", &["ask", "deny"]),
];
/// Settings that can only loosen limits, so only the user may set them.
const LOOSENING: [&str; 2] = ["sandbox.write", "sandbox.fallback"];

/// Removes the values from a project's layer that would loosen a limit of the lower layers, and returns warnings about
/// them.
pub(crate) fn tighten(below: &Map<String, Value>, layer: &mut Map<String, Value>) -> Vec<String> {
    let mut removed = Vec::new();
    for key in KEYS.iter().filter(|key| key.scope == Scope::Tighten || LOOSENING.contains(&key.path)) {
        let Some((section, name)) = key.path.split_once('.') else { continue };
        if layer.get(section).is_some_and(Value::is_null) {
            layer.shift_remove(section);
            removed.push(section.to_string());
        }
        let Some(Value::Object(own)) = layer.get_mut(section) else { continue };
        let Some(value) = own.get(name) else { continue };
        let applies = match ORDERS.iter().find(|(path, _)| *path == key.path) {
            Some((path, words)) => {
                let rank = |value: Option<&Value>| {
                    let word = value.and_then(Value::as_str).unwrap_or_default();
                    words.iter().position(|known| *known == word)
                };
                let default = lookup::find(path).map(Key::default_value);
                value.is_string() && rank(Some(value)) > rank(values::find(below, path).or(default.as_ref()))
            }
            None => key.scope == Scope::Tighten,
        };
        if !applies {
            own.shift_remove(name);
            removed.push(key.path.to_string());
        }
    }
    removed
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::settings::add_below;

    #[test]
    fn a_project_can_only_tighten_the_sandbox() {
        for (user, project, expect) in [
            (json!({}), json!({"mode": "workspace"}), json!({"mode": "workspace"})),
            (json!({}), json!({"mode": "off"}), json!({})),
            (json!({"mode": "workspace"}), json!({"mode": "rules"}), json!({"mode": "workspace"})),
            (json!({"mode": "workspace"}), json!({"mode": "read-only"}), json!({"mode": "read-only"})),
            (json!({"mode": "workspace"}), json!({"mode": null}), json!({"mode": "workspace"})),
            (json!({"mode": "workspace"}), Value::Null, json!({"mode": "workspace"})),
            (json!({"network": "loopback"}), json!({"network": "on"}), json!({"network": "loopback"})),
            (json!({"network": "on"}), json!({"network": "off"}), json!({"network": "off"})),
            (json!({}), json!({"write": ["/"], "fallback": true}), json!({})),
            (json!({"denyRead": ["a"]}), json!({"denyRead": ["b"]}), json!({"denyRead": ["a", "b"]})),
            (json!({"denyRead": ["a"]}), json!({"denyRead": null}), json!({"denyRead": ["a"]})),
        ] {
            let below = json!({"sandbox": user}).as_object().unwrap().clone();
            let mut layer = json!({"sandbox": project}).as_object().unwrap().clone();
            tighten(&below, &mut layer);
            add_below(&below, &mut layer);
            let mut all = crate::settings::Values::default();
            all.merge(below);
            all.merge(layer);
            assert_eq!(all.as_map()["sandbox"], expect, "{user} {project}");
        }
    }
}
