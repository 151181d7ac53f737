//! The traps that a script sets, and the generated lines around it.
//!
//! A DEBUG trap runs before every simple command, including those of `runs.bash`. So it is removed after each run
//! ([`Handlers::parse`] reads it) and set again in the next one ([`before_run`]).

use crate::request::quote;

/// Parses the handlers printed by `trap -p`, by signal name.
fn handlers(listing: &str) -> Vec<(&str, String)> {
    let mut found = Vec::new();
    let mut rest = listing;
    while let Some((handler, after)) = rest.strip_prefix("trap -- ").and_then(unquote) {
        let Some((name, next)) = after.strip_prefix(' ').and_then(|after| after.split_once('\n')) else { break };
        found.push((name, handler));
        rest = next;
    }
    found
}

/// The handlers that a script has set.
#[derive(Debug, Default, Clone)]
pub(super) struct Handlers {
    pub(super) debug: Option<String>,
    pub(super) error: Option<String>,
}

impl Handlers {
    /// Reads what `trap -p ERR DEBUG` prints.
    pub(super) fn parse(listing: &str) -> Handlers {
        let mut found = Handlers::default();
        for (name, handler) in handlers(listing) {
            match name {
                "ERR" => found.error = Some(handler),
                "DEBUG" => found.debug = Some(handler),
                _ => {}
            }
        }
        found
    }
}

/// The lines about traps that a command needs.
#[derive(Debug)]
pub(super) struct TrapLines {
    /// True if it may list all traps, so that none of ours may be set.
    pub(super) lists: bool,
    /// The DEBUG handler of the script, quoted, without effect on the lines of the session.
    pub(super) debug: Option<String>,
    /// The same as the script has set it, for a command that may list or replace it. It is set last.
    pub(super) listed_debug: Option<String>,
    /// True if a DEBUG trap may be set at the end of the command.
    pub(super) may_have_debug_trap: bool,
    /// True if an ERR trap may be set at the end of the command.
    pub(super) may_have_error_trap: bool,
}

/// Returns the lines that a command needs. `lists` is true if a function of the script may list all traps,
/// `unknown` if there may be traps that are not in `set`.
pub(super) fn before_run(command: &str, set: &Handlers, lists: bool, unknown: bool) -> TrapLines {
    let names = |name: &str| words(command).any(|(word, _)| word.eq_ignore_ascii_case(name));
    let (debug, listed_debug) = match &set.debug {
        None => (None, None),
        Some(debug) if names("trap") => (None, Some(quote(debug))),
        Some(debug) => (
            Some(quote(&format!(
                "case ${{FUNCNAME[0]-}}:$BASH_COMMAND in __sinew_*:*|:__sinew_*|:'\\b\\uiltin '*) ;; *) {debug}\n;; esac"
            ))),
            None,
        ),
    };
    TrapLines {
        lists: lists || lists_traps(command),
        debug,
        listed_debug,
        may_have_debug_trap: unknown || set.debug.is_some() || names("DEBUG"),
        may_have_error_trap: unknown || set.error.is_some() || names("ERR"),
    }
}

/// Returns true if a script lists all traps: a `trap` without a signal.
pub(super) fn lists_traps(script: &str) -> bool {
    words(script).any(|(word, after)| {
        let mut rest = after.trim_start_matches([' ', '\t']);
        while let Some(next) = rest.strip_prefix("-p").or_else(|| rest.strip_prefix("--")) {
            rest = next.trim_start_matches([' ', '\t']);
        }
        word == "trap"
            && (rest.is_empty() || rest.starts_with(['\n', ';', '&', '|', ')', '<', '>', '`', '}', '#', '"']))
    })
}

/// Returns true if a script may define a function, which later runs can call.
pub(super) fn defines_functions(script: &str) -> bool {
    script.contains("()") || words(script).any(|(word, _)| word == "function")
}

/// Returns the words of letters, digits, `_`, `-`, `.`, `/` and `$`, each with the text after it.
pub(super) fn words(script: &str) -> impl Iterator<Item = (&str, &str)> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '$');
    let mut rest = script;
    std::iter::from_fn(move || {
        rest = &rest[rest.find(is_part)?..];
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        rest = after;
        Some((word, after))
    })
}

/// Parses one word in bash's quotes: `'…'`, `\'` and `$'…'` in sequence. `None` if it is invalid.
fn unquote(text: &str) -> Option<(String, &str)> {
    let mut done = String::new();
    let mut rest = text;
    loop {
        if let Some(after) = rest.strip_prefix('\'') {
            let (part, after) = after.split_once('\'')?;
            done.push_str(part);
            rest = after;
        } else if let Some(after) = rest.strip_prefix("\\'") {
            done.push('\'');
            rest = after;
        } else {
            return (rest.len() < text.len()).then_some((done, rest));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_handlers_as_bash_prints_them() {
        for handler in ["echo a", "", "it's", "'", "a\nb ' DEBUG\ntrap -- 'x' ERR", "''\\''"] {
            let mut shell = std::process::Command::new("bash");
            shell.args(["-c", r#"trap -- "$1" ERR; trap -- "$1" DEBUG; trap -p ERR DEBUG"#, "bash", handler]);
            let output = shell.output().unwrap().stdout;
            // The DEBUG trap has run before the listing and may have printed something.
            let text = String::from_utf8(output).unwrap();
            let listing = &text[text.find("trap -- ").unwrap()..];
            assert_eq!(handlers(listing), [("ERR", handler.to_string()), ("DEBUG", handler.to_string())], "{listing}");
        }
        assert_eq!(handlers(""), []);
        assert_eq!(handlers("trap -- 'a"), []);
    }

    #[test]
    fn recognizes_commands_that_list_all_traps() {
        for script in
            ["trap", "trap -p", "x=$(trap)", "trap -p | wc -l", "(trap -p)", "a; trap\nb", "trap -- ; a", "`trap`"]
        {
            assert!(lists_traps(script), "{script}");
        }
        for script in ["trap 'x' EXIT", "trap -p EXIT", "trap - INT", "echo a-trap", "trapped", "./trap", "$trap"] {
            assert!(!lists_traps(script), "{script}");
        }
    }
}
