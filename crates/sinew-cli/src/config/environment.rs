//! The environment, read once.

use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;

use sinew_llm::http::Proxies;

/// Variables, and which of the standard streams are terminals.
#[derive(Clone)]
pub(crate) struct Environment {
    variables: Vec<(OsString, OsString)>,
    /// Variables of `.env`, for the program alone: commands do not get them.
    own: Vec<(String, String)>,
    pub(crate) stdin: bool,
    pub(crate) stdout: bool,
    pub(crate) stderr: bool,
}

impl Environment {
    pub(crate) fn read() -> Environment {
        Environment {
            variables: std::env::vars_os().collect(),
            own: Vec::new(),
            stdin: std::io::stdin().is_terminal(),
            stdout: std::io::stdout().is_terminal(),
            stderr: std::io::stderr().is_terminal(),
        }
    }

    /// Adds variables of a `.env` file where they are not set.
    pub(crate) fn add(&mut self, variables: Vec<(String, String)>) {
        for (name, value) in variables {
            if self.get(&name).is_none() {
                self.own.push((name, value));
            }
        }
    }

    /// A variable that is set and not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let set = self.variables.iter().find(|(known, _)| known == OsStr::new(name));
        let set = set.and_then(|(_, value)| value.to_str());
        let own = || self.own.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        set.filter(|value| !value.is_empty()).or_else(own)
    }

    /// Whether a switch such as `SINEW_OFFLINE` is on.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value != "0" && value != "false")
    }

    /// What commands start with.
    pub(crate) fn variables(&self) -> &[(OsString, OsString)] {
        &self.variables
    }

    /// The variables as texts, for scripts.
    pub(crate) fn texts(&self) -> Vec<(String, String)> {
        let texts = self.variables.iter().filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
        texts.map(|(name, value)| (name.to_string(), value.to_string())).chain(self.own.iter().cloned()).collect()
    }

    pub(crate) fn proxies(&self) -> Proxies {
        let either = |small: &str, large: &str| self.get(small).or_else(|| self.get(large)).map(str::to_string);
        Proxies {
            // In upper case a web server's request could set it.
            http: self.get("http_proxy").map(str::to_string),
            https: either("https_proxy", "HTTPS_PROXY"),
            all: either("all_proxy", "ALL_PROXY"),
            none: either("no_proxy", "NO_PROXY"),
        }
    }

    /// Whether a stream that is, or is not, a terminal gets colours.
    pub(crate) fn colour(&self, terminal: bool) -> bool {
        if self.get("NO_COLOR").is_some() {
            return false;
        }
        if self.is_on("FORCE_COLOR") || self.is_on("CLICOLOR_FORCE") {
            return true;
        }
        terminal && self.get("TERM") != Some("dumb")
    }

    /// What names the terminal: its device, else what its program says of itself.
    pub(crate) fn terminal(&self) -> Option<String> {
        const NAMES: [&str; 5] = ["TMUX_PANE", "KITTY_WINDOW_ID", "WEZTERM_PANE", "TERM_SESSION_ID", "WT_SESSION"];
        let device = rustix::termios::ttyname(std::io::stdin(), Vec::new()).ok();
        let device = device.and_then(|name| name.into_string().ok());
        device.or_else(|| NAMES.iter().find_map(|name| self.get(name)).map(str::to_string))
    }
}
