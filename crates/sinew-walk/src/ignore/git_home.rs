//! The variables of the environment that name git's settings.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::config_syntax::{Entry, is_true};

/// The locations of a user's git configuration, and the settings in environment variables.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct GitHome {
    /// `HOME`.
    pub home: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`.
    pub config_home: Option<PathBuf>,
    /// `GIT_CONFIG_GLOBAL`.
    pub config: Option<PathBuf>,
    /// `GIT_CONFIG_SYSTEM`. Default: `/etc/gitconfig`.
    pub system: Option<PathBuf>,
    /// True if `GIT_CONFIG_NOSYSTEM` excludes the settings of the system.
    pub no_system: bool,
    /// Names and values of `GIT_CONFIG_COUNT` and `GIT_CONFIG_PARAMETERS`, which have precedence over every file. A
    /// name without a value means true.
    pub settings: Vec<(String, Option<Vec<u8>>)>,
}

impl GitHome {
    /// Reads the environment: `variable` returns the value of a variable. `home` is the user's home directory.
    #[must_use]
    pub fn from_variables(home: Option<PathBuf>, variable: impl Fn(&str) -> Option<OsString>) -> GitHome {
        let path = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let text = |name: &str| variable(name).map(|value| value.to_string_lossy().into_owned());
        let count = text("GIT_CONFIG_COUNT").and_then(|count| count.parse::<u32>().ok()).unwrap_or(0);
        let numbered = |index| {
            let value = variable(&format!("GIT_CONFIG_VALUE_{index}"))?;
            Some((text(&format!("GIT_CONFIG_KEY_{index}"))?, Some(value.into_encoded_bytes())))
        };
        let mut settings: Vec<_> = (0..count).map_while(numbered).collect();
        if let Some(parameters) = variable("GIT_CONFIG_PARAMETERS") {
            settings.extend(parameters_of(parameters.as_encoded_bytes()));
        }
        GitHome {
            home,
            config_home: path("XDG_CONFIG_HOME"),
            config: variable("GIT_CONFIG_GLOBAL").map(PathBuf::from),
            system: variable("GIT_CONFIG_SYSTEM").map(PathBuf::from),
            no_system: variable("GIT_CONFIG_NOSYSTEM").is_some_and(|value| is_true(value.as_encoded_bytes())),
            settings,
        }
    }

    /// Returns the configuration files of the system and the user, the one with the least precedence first.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let system = self.system.clone().unwrap_or_else(|| PathBuf::from("/etc/gitconfig"));
        let mut files = if self.no_system { Vec::new() } else { vec![system] };
        match &self.config {
            Some(one) => files.push(one.clone()),
            None => {
                files.extend(self.directory().map(|directory| directory.join("config")));
                files.extend(self.home.as_ref().map(|home| home.join(".gitconfig")));
            }
        }
        files
    }

    /// Returns the settings of the environment as entries.
    pub(super) fn entries(&self) -> impl Iterator<Item = Entry> {
        self.settings.iter().filter_map(|(name, value)| Entry::named(name, value.clone()))
    }

    /// Returns the ignore file that applies without a setting.
    pub(super) fn default_excludes(&self) -> Option<PathBuf> {
        self.directory().map(|directory| directory.join("ignore"))
    }

    /// Returns git's directory for settings.
    fn directory(&self) -> Option<PathBuf> {
        let given = self.config_home.as_ref().filter(|path| !path.as_os_str().is_empty());
        let settings = given.cloned().or_else(|| Some(self.home.as_ref()?.join(".config")))?;
        Some(settings.join("git"))
    }

    /// Replaces the `~` or `~user` at the start of a path by a home directory; `None` if the home directory is unknown.
    pub(super) fn expand(&self, path: &[u8]) -> Option<PathBuf> {
        let path_of = |bytes: &[u8]| crate::sys::path_of(bytes).into_owned();
        let Some(rest) = path.strip_prefix(b"~") else { return Some(path_of(path)) };
        let end = rest.iter().position(|byte| *byte == b'/').unwrap_or(rest.len());
        let home = match &rest[..end] {
            b"" => self.home.clone()?,
            user => home_of(user)?,
        };
        let below = rest[end..].strip_prefix(b"/").unwrap_or_default();
        Some(if below.is_empty() { home } else { home.join(path_of(below)) })
    }
}

/// Returns the home directory of a user in the system's table.
fn home_of(user: &[u8]) -> Option<PathBuf> {
    let table = std::fs::read(Path::new("/etc/passwd")).ok()?;
    table.split(|byte| *byte == b'\n').find_map(|line| {
        let mut fields = line.split(|byte| *byte == b':');
        let home = (fields.next() == Some(user)).then(|| fields.nth(4))??;
        Some(crate::sys::path_of(home).into_owned())
    })
}

/// Returns the settings of `GIT_CONFIG_PARAMETERS`, which git sets for programs that it starts: `'name'='value'` or
/// `'name=value'`, separated by blanks. Ends at the first error.
fn parameters_of(text: &[u8]) -> Vec<(String, Option<Vec<u8>>)> {
    let mut found = Vec::new();
    let mut rest = text.trim_ascii_start();
    while let Some((word, after)) = unquoted(rest) {
        rest = after;
        let cut = |at: usize| (word[..at].to_vec(), Some(word[at + 1..].to_vec()));
        let (name, value) = match rest.strip_prefix(b"=") {
            Some(after) => match unquoted(after) {
                Some((value, after)) => {
                    rest = after;
                    (word, Some(value))
                }
                None => {
                    rest = after;
                    (word, None)
                }
            },
            None => word.iter().position(|byte| *byte == b'=').map_or((word.clone(), None), cut),
        };
        found.push((String::from_utf8_lossy(&name).into_owned(), value));
        rest = rest.trim_ascii_start();
    }
    found
}

/// Returns the text of a word in single quotes, where `'\''` and `'\!'` are characters, and what follows it.
fn unquoted(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut word = Vec::new();
    let mut rest = text.strip_prefix(b"'")?;
    loop {
        let end = rest.iter().position(|byte| *byte == b'\'')?;
        word.extend_from_slice(&rest[..end]);
        rest = &rest[end + 1..];
        match rest {
            [b'\\', byte @ (b'\'' | b'!'), b'\'', after @ ..] => {
                word.push(*byte);
                rest = after;
            }
            _ => return Some((word, rest)),
        }
    }
}
