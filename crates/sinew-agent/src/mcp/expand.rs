//! Expands `${VAR}` and `${VAR:-default}` in entries. `$VAR` without braces is not expanded.

use std::time::Duration;

/// The environment variables that an entry may use.
pub struct Variables<'a> {
    /// Returns the value of a variable.
    pub get: &'a dyn Fn(&str) -> Option<String>,
    /// Returns true if a variable looks like a secret; a project's file may use it only in `env` and `headers`.
    pub hides: &'a dyn Fn(&str) -> bool,
    /// Returns true if a variable contains the key of a provider, which no server may receive.
    pub is_key: &'a dyn Fn(&str) -> bool,
    /// Overrides the `timeout` of every entry.
    pub timeout: Option<Duration>,
}

/// The owner of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    Project,
    User,
    /// The client of a session; it has already expanded variables itself.
    Client,
}

/// Expands the variables in a text. `key` is the key of the entry that the text belongs to.
///
/// # Errors
/// Returns an error if a variable is missing or must not be used here.
pub(super) fn expand(text: &str, key: &str, scope: Scope, variables: &Variables<'_>) -> Result<String, String> {
    if scope == Scope::Client {
        return Ok(text.to_string());
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("${") {
        out.push_str(before);
        let Some((inner, behind)) = behind.split_once('}') else {
            out.push_str("${");
            rest = behind;
            continue;
        };
        rest = behind;
        let (name, default) = match inner.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inner, None),
        };
        let is_name = !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && !name.starts_with(|first: char| first.is_ascii_digit());
        if !is_name {
            out.push_str(&format!("${{{inner}}}"));
            continue;
        }
        if (variables.is_key)(name) {
            return Err(format!(
                "\"{key}\": {name} contains the key of a provider, which servers do not receive; add it to env.passThrough to pass it on"
            ));
        }
        if scope == Scope::Project && (variables.hides)(name) && !matches!(key, "env" | "headers") {
            return Err(format!(
                "\"{key}\": {name} looks like a secret, which a project may only use in \"env\" and \"headers\""
            ));
        }
        match ((variables.get)(name).filter(|value| !value.is_empty()), default) {
            (Some(value), _) => out.push_str(&value),
            (None, Some(default)) => out.push_str(default),
            (None, None) => {
                return Err(format!(
                    "\"{key}\": the variable {name} is not set; set it, or write ${{{name}:-default}}"
                ));
            }
        }
    }
    out.push_str(rest);
    Ok(out)
}
