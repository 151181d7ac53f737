//! The policy of a sandbox.

use std::path::PathBuf;

use crate::Promise;

/// Files of Sinew in `~/.sinew` and `~/.sinew/agent` that contain keys, start programs or configure security. Programs of
/// [`Mode::Workspace`] and [`Mode::ReadOnly`] cannot read them.
pub const OWN_FILES: [&str; 10] = [
    "auth.json",
    "mcp-auth.json",
    "settings.json",
    "hooks.json",
    "mcp.json",
    "models.json",
    "secrets.json",
    "secrets.key",
    "trust.json",
    ".env",
];

/// The base of a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Programs write to the roots, the temporary directories and [`Policy::write`]. The user's secrets cannot be read.
    Workspace,
    /// Programs write to the temporary directories only. The user's secrets cannot be read.
    ReadOnly,
    /// Only [`Policy::deny_read`], [`Policy::deny_write`] and [`Policy::deny_exec`] limit programs.
    Rules,
}

impl Mode {
    /// Returns the mode's name: `workspace`, `read-only` or `rules`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Mode::Workspace => "workspace",
            Mode::ReadOnly => "read-only",
            Mode::Rules => "rules",
        }
    }

    /// Returns the mode with a name: `workspace`, `read-only` or `rules`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Mode> {
        match name {
            "workspace" => Some(Mode::Workspace),
            "read-only" => Some(Mode::ReadOnly),
            "rules" => Some(Mode::Rules),
            _ => None,
        }
    }
}

/// How a program uses a file that it opens itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileUse {
    /// Reads the content.
    Read,
    /// Creates, changes or deletes the file.
    Write,
}

/// The network that programs can reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// No network.
    Off,
    /// A loopback interface that only the programs of this sandbox share.
    Loopback,
    /// The whole network.
    On,
}

/// The paths in the roots that programs cannot change, because they can start programs later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Protect {
    /// Hooks and configuration of git, and the configuration of agents, editors and package managers.
    Default,
    /// Only these paths.
    Paths(Vec<String>),
}

/// The limits of a sandbox.
///
/// An entry is a path or a glob. `~`, `$HOME`, `.`, `..` and trailing slashes are resolved; a relative entry is
/// relative to each root. Denied entries have priority over allowed ones. A path need not exist yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The base of the policy.
    pub mode: Mode,
    /// The directories that programs may write in [`Mode::Workspace`]. A relative root is relative to
    /// [`CallerEnvironment::cwd`].
    pub roots: Vec<String>,
    /// Further writable paths and globs. Default: none.
    pub write: Vec<String>,
    /// Paths that are never writable. Default: none.
    pub deny_write: Vec<String>,
    /// Paths that are never readable. Default: none.
    pub deny_read: Vec<String>,
    /// Programs that cannot be executed: names on `PATH`, or paths. A copy of a program is another file. Default: none.
    pub deny_exec: Vec<String>,
    /// The protected paths. Default: [`Protect::Default`]; none in [`Mode::Rules`].
    pub protect: Option<Protect>,
    /// The network. Default: [`Network::Off`]; [`Network::On`] in [`Mode::Rules`].
    pub network: Option<Network>,
    /// The Unix sockets that programs may connect to, in addition to those that are created in a writable directory
    /// after the sandbox. Default: none; all in [`Mode::Rules`].
    pub unix_sockets: Option<Vec<String>>,
    /// The promises that must be enforced; otherwise preparing the sandbox fails. Default: none.
    pub required: Vec<Promise>,
}

impl Policy {
    /// Creates a policy with the defaults of `mode` and no roots.
    #[must_use]
    pub fn new(mode: Mode) -> Policy {
        Policy {
            mode,
            roots: Vec::new(),
            write: Vec::new(),
            deny_write: Vec::new(),
            deny_read: Vec::new(),
            deny_exec: Vec::new(),
            protect: None,
            network: None,
            unix_sockets: None,
            required: Vec::new(),
        }
    }

    /// Returns the network that the policy allows.
    #[must_use]
    pub fn network(&self) -> Network {
        self.network.unwrap_or(if self.mode == Mode::Rules { Network::On } else { Network::Off })
    }

    /// Returns true if Unix sockets are limited.
    #[must_use]
    pub fn limits_sockets(&self) -> bool {
        self.unix_sockets.is_some() || self.mode != Mode::Rules
    }
}

/// The parts of the caller's environment to which a policy refers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CallerEnvironment {
    /// The working directory. Relative roots are relative to it.
    pub cwd: PathBuf,
    /// The user's home directory, for `~` and `$HOME` and for the user's secrets. Default: unknown.
    pub home: Option<PathBuf>,
    /// The value of `TMPDIR`, which is writable in addition to `/tmp` and `/var/tmp`. Default: none.
    pub temp: Option<PathBuf>,
    /// The value of `PATH`, in which the names of [`Policy::deny_exec`] are searched. Default: none.
    pub path: Option<std::ffi::OsString>,
    /// The variables of [`CallerEnvironment::GIT_VARIABLES`] that are set, which name settings of git. Default: none.
    pub git_variables: Vec<(String, std::ffi::OsString)>,
}

impl CallerEnvironment {
    /// The names of [`CallerEnvironment::git_variables`].
    pub const GIT_VARIABLES: [&str; 4] =
        ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "XDG_CONFIG_HOME"];

    /// Reads the variables that name settings of git.
    #[must_use]
    pub fn read_git_variables(get: impl Fn(&str) -> Option<std::ffi::OsString>) -> Vec<(String, std::ffi::OsString)> {
        let read = |name: &str| Some((name.to_string(), get(name)?));
        CallerEnvironment::GIT_VARIABLES.into_iter().filter_map(read).collect()
    }

    /// Returns the directories for temporary files, which programs may write in every mode.
    #[must_use]
    pub fn temporary_directories(&self) -> Vec<PathBuf> {
        [PathBuf::from("/tmp"), "/var/tmp".into()].into_iter().chain(self.temp.clone()).collect()
    }
}
