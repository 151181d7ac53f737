//! The reference of all settings, written from the table.

use super::table::{KEYS, Key, Scope};

/// Writes the reference for a terminal.
pub(crate) fn listing() -> String {
    let mut out = String::new();
    for key in KEYS {
        let default = if key.default.is_empty() { "unset" } else { key.default };
        out.push_str(&format!("{}\n    {}\n    {}; default {default}", key.path, key.help, key.kind.describe()));
        notes(key).for_each(|note| out.push_str(&format!("\n    {note}")));
        out.push_str("\n\n");
    }
    out.truncate(out.trim_end().len());
    out + "\n"
}

/// Writes the reference as Markdown, as it is committed.
pub(crate) fn markdown() -> String {
    let mut out = String::from(
        "# Settings\n\n\
         <!-- Written by `cargo xtask gen settings` from crates/sinew-cli/src/settings/table.rs. -->\n\n\
         Settings are read from `~/.sinew/agent/settings.json` and `.sinew/settings.json` of the project: JSON, with comments if\n\
         you like. Of the defaults, your settings, those of the project, variables such as `SINEW_MODEL`, and flags, the later one\n\
         counts. `sinew config get` shows the values in force, `sinew config set KEY VALUE` changes yours.\n\n\
         | key | type | default | meaning |\n|---|---|---|---|\n",
    );
    for key in KEYS {
        let default = if key.default.is_empty() { "–".into() } else { format!("`{}`", key.default) };
        let notes: String = notes(key).map(|note| format!(" *{note}*")).collect();
        out.push_str(&format!("| `{}` | {} | {default} | {}{notes} |\n", key.path, key.kind.describe(), key.help));
    }
    out
}

fn notes(key: &Key) -> impl Iterator<Item = String> {
    let trusted = (key.scope == Scope::Trusted).then(|| "A project may set it only once you trust the project.".into());
    let early = key.waits_for.map(|part| format!("No effect yet: this version does not have {part}."));
    trusted.into_iter().chain(early)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_page_is_the_one_of_the_table() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/SETTINGS.md");
        let committed = std::fs::read_to_string(file).unwrap_or_default();
        assert!(committed == markdown(), "SETTINGS.md is not up to date; run: cargo xtask gen settings");
    }

    #[test]
    fn each_key_has_one_line_of_help() {
        for key in KEYS {
            let help = key.help;
            assert!(help.ends_with('.') && !help.contains(['\n', '|']) && help.len() < 130, "{}: {help}", key.path);
        }
        assert!(listing().lines().all(|line| line.chars().count() <= 130));
    }
}
