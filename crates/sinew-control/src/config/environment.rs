//! The environment variables, which are read once.

use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;

use sinew_llm::http::Proxies;

/// The environment variables, and which standard streams are terminals.
#[derive(Clone)]
pub struct Environment {
    variables: Vec<(OsString, OsString)>,
    /// Variables of `.env`, for Sinew only: commands do not inherit them.
    own: Vec<(String, String)>,
    /// The names of variables that contain keys of providers.
    pub keys: Vec<String>,
    /// Whether standard input is a terminal.
    pub stdin: bool,
    /// Whether standard output is a terminal.
    pub stdout: bool,
    /// Whether standard error is a terminal.
    pub stderr: bool,
}

impl Environment {
    /// Reads the environment of the process.
    #[expect(clippy::disallowed_methods, reason = "nothing is written")]
    pub fn read() -> Environment {
        Environment {
            variables: std::env::vars_os().collect(),
            own: Vec::new(),
            keys: Vec::new(),
            stdin: std::io::stdin().is_terminal(),
            stdout: std::io::stdout().is_terminal(),
            stderr: std::io::stderr().is_terminal(),
        }
    }

    /// Adds variables of a `.env` file that are not set yet.
    pub(crate) fn add(&mut self, variables: Vec<(String, String)>) {
        for (name, value) in variables {
            if self.get(&name).is_none() {
                self.own.push((name, value));
            }
        }
    }

    /// Returns a variable, or `None` if it is not set or empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        let set = self.variables.iter().find(|(known, _)| known == OsStr::new(name));
        let set = set.and_then(|(_, value)| value.to_str());
        let own = || self.own.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        set.filter(|value| !value.is_empty()).or_else(own)
    }

    /// Returns the same as an [`OsString`].
    pub fn os(&self, name: &str) -> Option<OsString> {
        let set = self.variables.iter().find(|(known, value)| known == OsStr::new(name) && !value.is_empty());
        set.map(|(_, value)| value.clone()).or_else(|| self.get(name).map(OsString::from))
    }

    /// Returns true if a switch such as `SINEW_OFFLINE` is on.
    pub fn is_on(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value != "0" && value != "false")
    }

    /// Returns the variables that commands inherit.
    pub fn variables(&self) -> &[(OsString, OsString)] {
        &self.variables
    }

    /// Returns the variables as strings, for scripts.
    pub(crate) fn texts(&self) -> Vec<(String, String)> {
        let texts = self.variables.iter().filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
        texts.map(|(name, value)| (name.to_string(), value.to_string())).chain(self.own.iter().cloned()).collect()
    }

    pub(crate) fn proxies(&self) -> Proxies {
        let either = |small: &str, large: &str| self.get(small).or_else(|| self.get(large)).map(str::to_string);
        Proxies {
            // The variable in upper case can be set by a request to a web server (CGI).
            http: self.get("http_proxy").map(str::to_string),
            https: either("https_proxy", "HTTPS_PROXY"),
            all: either("all_proxy", "ALL_PROXY"),
            none: either("no_proxy", "NO_PROXY"),
        }
    }

    /// Returns true if a stream should have colours; `terminal` says whether it is a terminal.
    pub fn colour(&self, terminal: bool) -> bool {
        if self.get("NO_COLOR").is_some() {
            return false;
        }
        if self.is_on("FORCE_COLOR") || self.is_on("CLICOLOR_FORCE") {
            return true;
        }
        terminal && self.get("TERM") != Some("dumb")
    }

    /// Returns true if the terminal, according to its name, supports cursor movement.
    pub fn has_cursor(&self) -> bool {
        !matches!(self.get("TERM"), None | Some("dumb"))
    }

    /// Returns an identifier of the terminal: its device, or otherwise the one that its program sets.
    pub(crate) fn terminal(&self) -> Option<String> {
        const NAMES: [&str; 5] = ["TMUX_PANE", "KITTY_WINDOW_ID", "WEZTERM_PANE", "TERM_SESSION_ID", "WT_SESSION"];
        crate::sys::terminal_name().or_else(|| NAMES.iter().find_map(|name| self.get(name)).map(str::to_string))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Environment {
        let variables = pairs.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect();
        Environment { variables, own: Vec::new(), keys: Vec::new(), stdin: false, stdout: false, stderr: false }
    }

    /// Checks whether a terminal, and a pipe, have colours.
    #[track_caller]
    fn colours(pairs: &[(&str, &str)], terminal: bool, pipe: bool) {
        let environment = environment(pairs);
        assert_eq!((environment.colour(true), environment.colour(false)), (terminal, pipe), "{pairs:?}");
    }

    #[test]
    fn variables_decide_about_colours() {
        colours(&[], true, false);
        colours(&[("TERM", "dumb")], false, false);
        colours(&[("NO_COLOR", "1")], false, false);
        colours(&[("NO_COLOR", "")], true, false);
        colours(&[("FORCE_COLOR", "1")], true, true);
        colours(&[("FORCE_COLOR", "0")], true, false);
        colours(&[("CLICOLOR_FORCE", "1"), ("TERM", "dumb")], true, true);
        colours(&[("FORCE_COLOR", "1"), ("NO_COLOR", "1")], false, false);
    }

    #[test]
    fn a_file_only_sets_unset_or_empty_variables() {
        let mut environment = environment(&[("A", "set"), ("B", "")]);
        let file = ["A", "B", "C"].map(|name| (name.to_string(), "file".to_string()));
        environment.add(file.to_vec());
        assert_eq!(
            ["A", "B", "C", "D"].map(|name| environment.get(name)),
            [Some("set"), Some("file"), Some("file"), None]
        );
        assert_eq!(environment.os("B"), Some("file".into()));
        assert_eq!(environment.variables().len(), 2, "commands do not inherit it");
    }
}
