//! Checks that only the modules of keys write keys as text. Other code handles actions and gets the key to show from the
//! bindings, because a key that is written as text would stay the same when the user rebinds it.

use super::source::{self, Excusable};

/// The crates that handle keys.
const CRATES: [&str; 5] = [
    "crates/sinew-acp/src/",
    "crates/sinew-cli/src/",
    "crates/sinew-control/src/",
    "crates/sinew-interactive/src/",
    "crates/sinew-tui/src/",
];
const MODIFIERS: [&str; 4] = ["ctrl+", "shift+", "alt+", "super+"];
/// Names of keys that have no other meaning.
const NAMES: [&str; 6] = ["escape", "enter", "tab", "pageUp", "pageDown", "backspace"];

/// Finds the files that write keys as text.
pub(super) fn check(files: &[(String, String)]) -> Vec<Excusable> {
    let mut faults = Vec::new();
    for (path, text) in files.iter().filter(|(path, _)| takes_keys(path)) {
        let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        if let Some(literal) = source::literals(code).into_iter().find(|literal| names_key(literal)) {
            faults.push((
                format!("key {path}"),
                format!("{path} writes a key as text, {literal}: take an action, and show its key by the bindings"),
            ));
        }
    }
    faults
}

fn takes_keys(path: &str) -> bool {
    let is_key_module = path.split('/').any(|part| part == "keys" || part == "keys.rs");
    CRATES.iter().any(|folder| path.starts_with(folder)) && !is_key_module && !path.ends_with("tests.rs")
}

/// Returns true if a literal is the name of a key or contains a chord.
fn names_key(literal: &str) -> bool {
    let inside = literal.trim_matches(['"', '#', 'r', 'b']);
    NAMES.contains(&literal.trim_matches('"'))
        || inside.split(|c: char| c.is_whitespace() || "·:,;()`\"".contains(c)).any(|word| {
            let chord = MODIFIERS.iter().find_map(|modifier| word.strip_prefix(modifier));
            word == "esc" || chord.is_some_and(|key| !key.is_empty())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_text(path: &str, text: &str, expect: bool) {
        let found = check(&[(path.to_string(), text.to_string())]);
        assert_eq!(!found.is_empty(), expect, "{path}: {text}");
    }

    #[test]
    fn a_key_as_text_is_found_outside_of_the_modules_of_keys() {
        let ui = "crates/sinew-interactive/src/ui.rs";
        for text in [
            "if key == \"ctrl+o\" {}",
            "hint(\"esc: back\")",
            "notify(\"cleared: ctrl+- brings it back\")",
            "match key { \"escape\" => {} }",
            "format!(\"{n} lines · shift+alt+l\")",
        ] {
            check_text(ui, text, true);
        }
        for text in [
            "// ctrl+o opens it.",
            "say(\"the escape of it\")",
            "let sum = \"alt\" + x;",
            "f(\"{control}+1\")",
            "#[cfg(test)]\nmod tests {\n    press(\"ctrl+o\");\n}",
        ] {
            check_text(ui, text, false);
        }
        let key = "press(\"ctrl+o\")";
        check_text("crates/sinew-interactive/src/keys/table.rs", key, false);
        check_text("crates/sinew-tui/src/keys.rs", key, false);
        check_text("crates/sinew-term/src/lib.rs", key, false);
        check_text("crates/sinew-tui/src/viewer.rs", key, true);
    }
}
