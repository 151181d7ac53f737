//! The settings of the tools.

/// Settings of the tools; the defaults are those of a fresh installation.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The guard of files that changed behind the agent's back (`fileGuard`).
    pub file_guard: FileGuard,
    /// Pictures that are read.
    pub images: ImageSettings,
    /// The matching of edits.
    pub edit: EditSettings,
    /// The guard against accidents in commands.
    pub bash_guard: GuardSettings,
    /// The refusal of commands for which there is a tool.
    pub bash_interceptor: InterceptorSettings,
    /// Seconds that a command may take where it names none (`bash.timeoutSeconds`). Default: 120.
    pub bash_timeout_seconds: u64,
    /// The interpreter that runs commands (`shellPath`). Default: bash where there is one, else the built-in one.
    pub engine: sinew::shell::Engine,
    /// The bash that runs commands where `shellPath` is the path of one. Default: the one on `PATH`.
    pub bash: Option<std::path::PathBuf>,
    /// Commands may run as jobs in the background (`async.enabled`); never for a subagent. Default: `false`.
    pub jobs: bool,
    /// Milliseconds after which a command becomes a job; 0: never (`bash.autoBackground.thresholdMs`).
    pub auto_background_ms: u64,
    /// Seconds until a list of which everything is finished is put away: 0 at once, negative never
    /// (`todo.autoClearSeconds`). Default: 60.
    pub todo_auto_clear_seconds: i64,
    /// Written before each command (`shellCommandPrefix`).
    pub shell_command_prefix: Option<String>,
    /// A script that a shell reads before its first command.
    pub shell_snapshot: Option<std::path::PathBuf>,
    /// Sets `CI=true` for commands. Default: `true`.
    pub ci: bool,
    /// Variables that commands get although they look like secrets (`env.passThrough`).
    pub pass_through: Vec<String>,
    /// Variables that commands get on top (`env`).
    pub env: Vec<(String, String)>,
    /// The names of our own provider keys, which commands never get unless they are passed through.
    pub provider_keys: Vec<String>,
    /// True if there is a tool `fetch` (`fetch.enabled`, not offline).
    pub fetch: bool,
    /// Hosts that may resolve to private addresses (`fetch.allowPrivate`).
    pub fetch_allow_private: Vec<String>,
    /// Seconds until a question is answered by what is recommended; 0: never (`ask.timeoutSeconds`).
    pub ask_timeout_seconds: u64,
    /// What happens when the sandbox refused a command (`approve.outside`, rules for `sandbox(off)`). Default:
    /// [`OutsideSandbox::Ask`].
    pub outside_sandbox: OutsideSandbox,
    /// The names of the tools that are active; `None`: all of them. The interceptor looks at it.
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

/// The effect of a stale or unread file on a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FileGuard {
    /// Refuses it.
    #[default]
    On,
    /// Goes on and says so.
    Warn,
    /// Goes on.
    Off,
}

/// What happens when the sandbox refused a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutsideSandbox {
    /// The user is asked whether it may run again outside. If nobody can be asked, it does not.
    #[default]
    Ask,
    /// It does not run outside.
    Deny,
    /// It runs again outside.
    Allow,
}

/// `images.*`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageSettings {
    /// Makes pictures fit what providers take. Default: `true`.
    pub auto_resize: bool,
    /// Shows no picture to the model. Default: `false`.
    pub block_images: bool,
}

impl Default for ImageSettings {
    fn default() -> ImageSettings {
        ImageSettings { auto_resize: true, block_images: false }
    }
}

/// The form in which a model writes changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EditMode {
    /// Texts that are replaced.
    #[default]
    Replace,
    /// Line numbers below the tag of a file.
    Hashline,
    /// Unified diffs and the `*** Begin Patch` form.
    Patch,
}

/// `edit.*`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EditSettings {
    /// The form of changes (`edit.mode`). Default: [`EditMode::Replace`].
    pub mode: EditMode,
    /// Tolerates differences in white space and in typographic characters. Default: `true`.
    pub fuzzy: bool,
    /// Ends an answer whose edit can only fail while it still comes. Default: `false`.
    pub stream_guard: bool,
}

impl Default for EditSettings {
    fn default() -> EditSettings {
        EditSettings { mode: EditMode::Replace, fuzzy: true, stream_guard: false }
    }
}

/// `bashGuard.*`: a speed bump against accidents, not a sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardSettings {
    /// Default: `true`.
    pub enabled: bool,
    /// More regular expressions of commands that are refused.
    pub deny: Vec<String>,
    /// Commands, word for word, that are never refused.
    pub allow: Vec<String>,
}

impl Default for GuardSettings {
    fn default() -> GuardSettings {
        GuardSettings { enabled: true, deny: Vec::new(), allow: Vec::new() }
    }
}

/// `bashInterceptor.*`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InterceptorSettings {
    /// Default: `false`.
    pub enabled: bool,
    /// More rules: a regular expression of whole commands, and the tool to use instead.
    pub patterns: Vec<(String, String)>,
}
