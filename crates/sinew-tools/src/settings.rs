//! The settings of the tools.

/// The settings of the tools; the defaults are those of a new installation.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The guard against overwriting files that changed outside the agent (`fileGuard`).
    pub file_guard: FileGuard,
    /// The settings of images.
    pub images: ImageSettings,
    /// The settings of edits.
    pub edit: EditSettings,
    /// The guard against accidental damage by commands.
    pub bash_guard: GuardSettings,
    /// Rejects commands that a tool can replace.
    pub bash_interceptor: InterceptorSettings,
    /// The default time limit of a command in seconds (`bash.timeoutSeconds`). Default: 120.
    pub bash_timeout_seconds: u64,
    /// The interpreter of commands (`shellPath`). Default: bash if it is installed, otherwise the built-in one.
    pub engine: sinew::shell::Engine,
    /// The path of bash if `shellPath` is one; `None` uses the one on `PATH`.
    pub bash: Option<std::path::PathBuf>,
    /// Allow background jobs (`async.enabled`); never for a subagent. Default: `false`.
    pub jobs: bool,
    /// The time in milliseconds after which a command becomes a job; 0 means never (`bash.autoBackground.thresholdMs`).
    pub auto_background_ms: u64,
    /// The time in seconds until a finished task list is cleared: 0 at once, negative never (`todo.autoClearSeconds`).
    /// Default: 60.
    pub todo_auto_clear_seconds: i64,
    /// A prefix of each command (`shellCommandPrefix`).
    pub shell_command_prefix: Option<String>,
    /// A script that a shell runs before its first command.
    pub shell_snapshot: Option<std::path::PathBuf>,
    /// Set `CI=true` for commands. Default: `true`.
    pub ci: bool,
    /// Variables that commands get even if they look like secrets (`env.passThrough`).
    pub pass_through: Vec<String>,
    /// Additional variables of commands (`env`).
    pub env: Vec<(String, String)>,
    /// The names of Sinew's own provider keys, which commands only get if they are passed through.
    pub provider_keys: Vec<String>,
    /// True if the tool `fetch` is available (`fetch.enabled`, not offline).
    pub fetch: bool,
    /// Hosts that may resolve to private addresses (`fetch.allowPrivate`).
    pub fetch_allow_private: Vec<String>,
    /// The time in seconds after which a question is answered with the recommended option; 0 means never
    /// (`ask.timeoutSeconds`).
    pub ask_timeout_seconds: u64,
    /// The reaction to a command that the sandbox refused (`approve.outside`, rules for `sandbox(off)`). Default:
    /// [`OutsideSandbox::Ask`].
    pub outside_sandbox: OutsideSandbox,
    /// The names of the active tools; `None` means all. The interceptor uses it.
    pub active: Option<Vec<String>>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            file_guard: FileGuard::default(),
            images: ImageSettings::default(),
            edit: EditSettings::default(),
            bash_guard: GuardSettings::default(),
            bash_interceptor: InterceptorSettings::default(),
            bash_timeout_seconds: 120,
            engine: sinew::shell::Engine::Auto,
            bash: None,
            jobs: false,
            auto_background_ms: 0,
            todo_auto_clear_seconds: 60,
            shell_command_prefix: None,
            shell_snapshot: None,
            ci: true,
            pass_through: Vec::new(),
            env: Vec::new(),
            provider_keys: Vec::new(),
            fetch: true,
            fetch_allow_private: Vec::new(),
            ask_timeout_seconds: 0,
            outside_sandbox: OutsideSandbox::Ask,
            active: None,
        }
    }
}

/// The reaction to a write to a stale or unread file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FileGuard {
    /// Refuse the write.
    #[default]
    On,
    /// Write with a warning.
    Warn,
    /// Write.
    Off,
}

/// The reaction to a command that the sandbox refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutsideSandbox {
    /// Ask the user whether it may run again outside; without a user interface, do not run it.
    #[default]
    Ask,
    /// Never run it outside.
    Deny,
    /// Run it again outside.
    Allow,
}

/// The settings `images.*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageSettings {
    /// Scale images down to the limits of providers. Default: `true`.
    pub auto_resize: bool,
    /// Never send images to the model. Default: `false`.
    pub block_images: bool,
}

impl Default for ImageSettings {
    fn default() -> ImageSettings {
        ImageSettings { auto_resize: true, block_images: false }
    }
}

/// The format in which a model writes changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EditMode {
    /// Replacements of exact text.
    #[default]
    Replace,
    /// Line numbers, checked with the tag of the file.
    Hashline,
    /// Unified diffs and the `*** Begin Patch` form.
    Patch,
}

/// The settings `edit.*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EditSettings {
    /// The format of changes (`edit.mode`). Default: [`EditMode::Replace`].
    pub mode: EditMode,
    /// Tolerate differences in white space and in typographic characters. Default: `true`.
    pub fuzzy: bool,
    /// Abort a streaming answer whose edit cannot succeed. Default: `false`.
    pub stream_guard: bool,
}

impl Default for EditSettings {
    fn default() -> EditSettings {
        EditSettings { mode: EditMode::Replace, fuzzy: true, stream_guard: false }
    }
}

/// The settings `bashGuard.*`: a protection against accidents, not a sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardSettings {
    /// Enable the guard. Default: `true`.
    pub enabled: bool,
    /// Additional regular expressions of commands that are refused.
    pub deny: Vec<String>,
    /// Commands that are never refused, compared literally.
    pub allow: Vec<String>,
}

impl GuardSettings {
    /// Returns why a text is not a rule of [`GuardSettings::deny`]; `None` if it is.
    #[must_use]
    pub fn rule_fault(rule: &str) -> Option<String> {
        let error = regex::Regex::new(rule).err()?.to_string();
        Some(error.lines().last().unwrap_or_default().trim().to_string())
    }
}

impl Default for GuardSettings {
    fn default() -> GuardSettings {
        GuardSettings { enabled: true, deny: Vec::new(), allow: Vec::new() }
    }
}

/// The settings `bashInterceptor.*`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InterceptorSettings {
    /// Enable the interceptor. Default: `false`.
    pub enabled: bool,
    /// Additional rules: a regular expression of whole commands, and the tool to use instead.
    pub patterns: Vec<(String, String)>,
}
