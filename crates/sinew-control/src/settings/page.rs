//! Generates the reference of all settings from the table.

use super::lookup::STRICTER;
use super::row::{Applies, Key, Scope};
use super::table::KEYS;

/// Returns the reference for a terminal.
pub fn listing() -> String {
    let mut out = String::new();
    for key in KEYS.iter() {
        let default = if key.default.is_empty() { "unset" } else { key.default };
        out.push_str(&format!("{}\n    {}\n    {}; default {default}", key.path, key.help, key.kind.describe()));
        notes(key).for_each(|note| out.push_str(&format!("\n    {note}")));
        out.push_str("\n\n");
    }
    out.truncate(out.trim_end().len());
    out + "\n"
}

/// Returns the reference as Markdown, which is committed.
pub fn markdown() -> String {
    let mut out = String::from(
        "# Settings\n\n\
         <!-- Written by `cargo xtask gen settings` from crates/sinew-control/src/settings/table.rs. -->\n\n\
         Settings are JSON with comments, in `~/.sinew/agent/settings.json` and in `.sinew/settings.json` of the project. Each of\n\
         these overrides the ones before it: defaults, your settings, the project's settings, environment variables such as\n\
         `SINEW_MODEL`, options. `sinew config get` prints the values in effect, `sinew config set KEY VALUE` changes yours.\n\n\
         The column *untrusted project* shows what a project can set before you trust it: only display settings, rules that deny\n\
         or ask, and a stricter sandbox. A project adds its lists of rules and of denied paths to yours and never replaces them.\n\n\
         A change applies *now* if you make it with `/settings`, or from the next *start* of the program on.\n\n\
         | key | type | default | untrusted project | applies | meaning |\n|---|---|---|---|---|---|\n",
    );
    for key in KEYS.iter() {
        let default = if key.default.is_empty() { "–".into() } else { format!("`{}`", key.default) };
        let notes: String = early(key).into_iter().map(|note| format!(" *{note}*")).collect();
        let (path, kind, help) = (key.path, key.kind.describe(), key.help);
        out.push_str(&format!(
            "| `{path}` | {kind} | {default} | {} | {} | {help}{notes} |\n",
            from_untrusted(key),
            applies(key)
        ));
    }
    out
}

fn notes(key: &Key) -> impl Iterator<Item = String> {
    let trusted = match from_untrusted(key) {
        "no" => Some("A project can set it only once you trust the project.".into()),
        "if stricter" => Some("A project can only make it stricter.".into()),
        "yes" => None,
        part => Some(format!("A project that you do not trust can only set {part}.")),
    };
    trusted.into_iter().chain(early(key))
}

fn early(key: &Key) -> Option<String> {
    key.waits_for.map(|part| format!("No effect yet: this version does not have {part}."))
}

/// Says when a change applies.
fn applies(key: &Key) -> &'static str {
    match key.applies {
        Applies::Now => "now",
        Applies::Start => "start",
    }
}

/// Describes which values of an untrusted project are in force.
fn from_untrusted(key: &Key) -> &'static str {
    match key.scope {
        Scope::Display => "yes",
        Scope::Tighten => "if stricter",
        Scope::Trusted if STRICTER.iter().any(|path| path.split('.').next() == Some(key.path)) => "`deny` and `ask`",
        Scope::Trusted => "no",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_page_matches_the_table() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/SETTINGS.md");
        let committed = std::fs::read_to_string(file).unwrap_or_default();
        assert!(committed == markdown(), "SETTINGS.md is not up to date; run: cargo xtask gen settings");
    }

    #[test]
    fn each_key_has_one_line_of_help() {
        for key in KEYS.iter() {
            let help = key.help;
            assert!(help.ends_with('.') && !help.contains(['\n', '|']) && help.len() < 130, "{}: {help}", key.path);
        }
        assert!(listing().lines().all(|line| line.chars().count() <= 130));
    }
}
