//! The typed settings, and their conversion to the options of other crates.
//!
//! A key of the table is the path of a field here. Defaults are in the table; a key without a default is an `Option`.
//! Keys that are not implemented yet have no field.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use sinew::shell::Engine;
use sinew_agent::agent::{AgentSettings, BranchSummarySettings, CompactionSettings, RetrySettings};
use sinew_agent::compaction::Limits;
use sinew_agent::core::{Interrupt, QueueMode, RunSettings, ToolExecution};
use sinew_agent::resource::stream::{InterruptMode, StreamSettings};
use sinew_agent::resource::{ResourceFolders, ResourceOptions};
use sinew_llm::http::HttpConfig;
use sinew_llm::model::ThinkingLevel;
use sinew_llm::provider::CacheRetention;
use sinew_session::Sync;
use sinew_tools::{
    EditMode, EditSettings, FileGuard, GuardSettings, ImageSettings, InterceptorSettings, OutsideSandbox,
};
use sinew_tui::OutputUnit;

/// All settings that are in force.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Settings {
    pub(crate) default_provider: Option<String>,
    pub(crate) default_model: Option<String>,
    pub(crate) default_thinking_level: ThinkingLevel,
    pub(crate) model_roles: BTreeMap<String, String>,
    pub(crate) enabled_models: Vec<String>,
    thinking_budgets: ThinkingBudgets,
    provider_timeouts: ProviderTimeouts,
    #[serde(with = "CacheRetentionWord")]
    cache_retention: CacheRetention,
    pub(crate) tools: Option<Vec<String>>,
    pub(crate) exclude_tools: Vec<String>,
    #[serde(with = "ToolExecutionWord")]
    tool_execution: ToolExecution,
    #[serde(with = "DeliveryWord")]
    steering_mode: QueueMode,
    #[serde(with = "DeliveryWord")]
    follow_up_mode: QueueMode,
    #[serde(with = "InterruptWord")]
    interrupt_mode: Interrupt,
    max_turns: u64,
    retry: Retry,
    context_promotion: Switch,
    compaction: Compaction,
    branch_summary: BranchSummary,
    sessions: Sessions,
    edit: Edit,
    #[serde(with = "FileGuardWord")]
    file_guard: FileGuard,
    bash: Bash,
    #[serde(rename = "async")]
    jobs: Switch,
    bash_guard: BashGuard,
    bash_interceptor: BashInterceptor,
    shell_path: String,
    shell_command_prefix: Option<String>,
    images: Images,
    fetch: Fetch,
    pub(crate) search: Search,
    pub(crate) checkpoint: Checkpoint,
    pub(crate) ask: Ask,
    pub(crate) acp: Acp,
    todo: Todo,
    #[serde(rename = "ttsr")]
    stream_rules: StreamRuleSection,
    pub(crate) mcp: Mcp,
    pub(crate) secrets: Switch,
    pub(crate) env: Env,
    skills: Skills,
    pub(crate) agents: Agents,
    rules: Rules,
    pub(crate) theme: ThemeNames,
    pub(crate) notifications: bool,
    pub(crate) symbol_preset: SymbolPreset,
    pub(crate) color_blind_mode: bool,
    pub(crate) hide_thinking_block: bool,
    pub(crate) double_escape_action: DoubleEscape,
    pub(crate) quiet_startup: bool,
    pub(crate) verbose: bool,
    pub(crate) tui: Tui,
    /// Permission rules; null if there are none. The permissions check their contents.
    #[serde(default)]
    pub(crate) permissions: Value,
    pub(crate) sandbox: Sandbox,
    approve: Approve,
    pub(crate) plan: Plan,
    pub(crate) task: Task,
    #[serde(default)]
    pub(crate) share: Share,
    pub(crate) session_dir: Option<String>,
}

/// The sandbox of commands and tools.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Sandbox {
    pub(crate) mode: Option<SandboxMode>,
    pub(crate) network: Option<SandboxNetwork>,
    pub(crate) write: Vec<String>,
    pub(crate) deny_read: Vec<String>,
    pub(crate) deny_write: Vec<String>,
    pub(crate) deny_exec: Vec<String>,
    pub(crate) fallback: bool,
}

/// The values of `sandbox.mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SandboxMode {
    Off,
    Rules,
    Workspace,
    ReadOnly,
}

/// The values of `sandbox.network`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SandboxNetwork {
    Off,
    On,
    Loopback,
}

/// Plan mode.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Plan {
    pub(crate) model_may_enter: bool,
}

/// Subagents.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Task {
    pub(crate) max_depth: u64,
    pub(crate) max_concurrency: usize,
    pub(crate) max_total: usize,
    pub(crate) max_turns: u32,
    pub(crate) max_tokens: u64,
    #[serde(default, deserialize_with = "amount")]
    pub(crate) max_cost: Option<f64>,
}

fn amount<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let value = Option::<f64>::deserialize(deserializer)?;
    match value.filter(|value| *value < 0.0) {
        Some(negative) => Err(serde::de::Error::custom(format!("{negative} is negative"))),
        None => Ok(value),
    }
}

/// Questions to the user.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Approve {
    outside: ApproveOutside,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ApproveOutside {
    Ask,
    Deny,
}

/// Publishing sessions.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub(crate) struct Share {
    pub(crate) command: Option<String>,
}

/// Searches of files.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Search {
    index: IndexPolicy,
}

impl Search {
    /// Returns true if the repository is watched, and indexed if that is worthwhile.
    pub(crate) fn is_indexed(&self) -> bool {
        self.index == IndexPolicy::Auto
    }
}

/// Undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Checkpoint {
    pub(crate) enabled: bool,
    pub(crate) max_file_bytes: u64,
    /// The time limit in milliseconds.
    pub(crate) wait: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum IndexPolicy {
    Auto,
    Off,
}

/// The interactive mode.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Tui {
    pub(crate) mode: TuiMode,
    pub(crate) resize: TuiResize,
    pub(crate) editor: TuiEditor,
    pub(crate) status_command: Option<String>,
    pub(crate) status_rows: usize,
    pub(crate) reduced_motion: bool,
    pub(crate) passthrough: bool,
    pub(crate) resume_rows: usize,
    pub(crate) replay_rows: usize,
    pub(crate) title: bool,
    pub(crate) progress: bool,
    pub(crate) marks: bool,
    pub(crate) links: bool,
    pub(crate) notify: TuiNotify,
    pub(crate) notify_after_seconds: u64,
    pub(crate) approval_delay_ms: u64,
    pub(crate) max_inline_images: usize,
    pub(crate) linear: Linear,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TuiMode {
    Auto,
    Screen,
    Linear,
}

/// The key bindings of the editor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TuiEditor {
    Emacs,
    Vi,
}

/// How the terminal notifies the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TuiNotify {
    Auto,
    Osc99,
    Osc777,
    Osc9,
    Bell,
    Off,
}

/// The part of the terminal that is redrawn after a change of its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TuiResize {
    Screen,
    Live,
    Rebuild,
}

/// The set of symbols on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SymbolPreset {
    Unicode,
    /// For fonts with more symbols; currently the same set.
    Nerd,
    Ascii,
}

/// The panel that opens when Esc is pressed twice in an empty editor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DoubleEscape {
    Tree,
    Branch,
    None,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Linear {
    #[serde(with = "OutputUnitWord")]
    pub(crate) stream: OutputUnit,
}

/// A section with one switch.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Switch {
    pub(crate) enabled: bool,
}

/// The names of the themes for dark and for light backgrounds.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct ThemeNames {
    pub(crate) dark: String,
    pub(crate) light: String,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct ThinkingBudgets {
    minimal: Option<u64>,
    low: Option<u64>,
    medium: Option<u64>,
    high: Option<u64>,
    xhigh: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ProviderTimeouts {
    connect_ms: u64,
    idle_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Retry {
    enabled: bool,
    max_retries: u64,
    base_delay_ms: u64,
    max_delay_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Compaction {
    enabled: bool,
    reserve_tokens: u64,
    keep_recent_tokens: u64,
    auto_continue: bool,
    model: Option<String>,
    remote_endpoint: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct BranchSummary {
    enabled: bool,
    reserve_tokens: u64,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Sessions {
    #[serde(with = "SyncWord")]
    fsync: Sync,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Edit {
    #[serde(with = "EditModeWord")]
    mode: EditMode,
    fuzzy: bool,
    stream_guard: bool,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bash {
    timeout_seconds: u64,
    auto_background: AutoBackground,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AutoBackground {
    threshold_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct BashGuard {
    enabled: bool,
    deny: Vec<String>,
    allow: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct BashInterceptor {
    enabled: bool,
    /// Such as `[{"pattern": "^cat ", "tool": "read"}]`; invalid rules are ignored.
    rules: Vec<Value>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Images {
    auto_resize: bool,
    block_images: bool,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fetch {
    enabled: bool,
    allow_private: Vec<String>,
}

/// Settings for editors that use the Agent Client Protocol.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Acp {
    pub(crate) client_fs: ClientFs,
}

/// Whether tools use the files of the editor or those on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ClientFs {
    /// The files of the editor, if it supports that.
    Auto,
    Off,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Ask {
    pub(crate) timeout_seconds: u64,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Todo {
    reminders: bool,
    auto_clear_seconds: i64,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StreamRuleSection {
    enabled: bool,
    context_mode: ContextMode,
    repeat_mode: RepeatMode,
    repeat_gap: u64,
    #[serde(with = "InterruptModeWord")]
    interrupt_mode: InterruptMode,
    disabled_rules: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ContextMode {
    Discard,
    Keep,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RepeatMode {
    Once,
    AfterGap,
}

/// Environment variables of commands.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Env {
    pub(crate) pass_through: Vec<String>,
    #[serde(flatten)]
    variables: BTreeMap<String, String>,
}

/// MCP servers.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Mcp {
    pub(crate) enabled: bool,
    pub(crate) enable_project_config: bool,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Skills {
    enabled: bool,
    enable_commands: bool,
    directories: Vec<String>,
    include: Vec<String>,
    ignore: Vec<String>,
    enable_claude: bool,
}

/// Subagents from files.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Agents {
    pub(crate) enable_foreign: bool,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rules {
    enable_foreign: bool,
}

// The values of types that other crates define.

#[derive(Deserialize)]
#[serde(remote = "CacheRetention", rename_all = "kebab-case")]
enum CacheRetentionWord {
    None,
    Short,
    Long,
}

#[derive(Deserialize)]
#[serde(remote = "ToolExecution", rename_all = "kebab-case")]
enum ToolExecutionWord {
    Parallel,
    Sequential,
}

#[derive(Deserialize)]
#[serde(remote = "QueueMode", rename_all = "kebab-case")]
enum DeliveryWord {
    All,
    OneAtATime,
}

#[derive(Deserialize)]
#[serde(remote = "Interrupt", rename_all = "kebab-case")]
enum InterruptWord {
    Immediate,
    Wait,
}

#[derive(Deserialize)]
#[serde(remote = "FileGuard", rename_all = "kebab-case")]
enum FileGuardWord {
    On,
    Warn,
    Off,
}

#[derive(Deserialize)]
#[serde(remote = "EditMode", rename_all = "kebab-case")]
enum EditModeWord {
    Replace,
    Hashline,
    Patch,
}

#[derive(Deserialize)]
#[serde(remote = "Sync", rename_all = "kebab-case")]
enum SyncWord {
    Turn,
    Always,
    Never,
}

#[derive(Deserialize)]
#[serde(remote = "InterruptMode", rename_all = "kebab-case")]
enum InterruptModeWord {
    Always,
    ProseOnly,
    ToolOnly,
    Never,
}

#[derive(Deserialize)]
#[serde(remote = "OutputUnit", rename_all = "kebab-case")]
enum OutputUnitWord {
    Line,
    Sentence,
    End,
}

impl Settings {
    /// Returns the settings of the agent, without the options of the command line.
    pub(crate) fn agent(&self) -> AgentSettings {
        let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let Settings { retry, compaction, branch_summary, thinking_budgets: budgets, .. } = self;
        let budgets = [
            (ThinkingLevel::Minimal, budgets.minimal),
            (ThinkingLevel::Low, budgets.low),
            (ThinkingLevel::Medium, budgets.medium),
            (ThinkingLevel::High, budgets.high),
            (ThinkingLevel::XHigh, budgets.xhigh),
        ];
        AgentSettings {
            run: RunSettings {
                max_turns: small(self.max_turns),
                execution: self.tool_execution,
                interrupt: self.interrupt_mode,
            },
            retry: RetrySettings {
                enabled: retry.enabled,
                max_retries: small(retry.max_retries),
                base_delay_ms: retry.base_delay_ms,
                max_delay_ms: retry.max_delay_ms,
            },
            compaction: CompactionSettings {
                enabled: compaction.enabled,
                limits: Limits { reserve: compaction.reserve_tokens, keep_recent: compaction.keep_recent_tokens },
                auto_continue: compaction.auto_continue,
                model: compaction.model.clone(),
                remote_endpoint: compaction.remote_endpoint.clone(),
            },
            http: HttpConfig::default(),
            branch_summary: BranchSummarySettings {
                enabled: branch_summary.enabled,
                reserve: branch_summary.reserve_tokens,
            },
            titles: false,
            promotion: self.context_promotion.enabled,
            todo_reminders: self.todo.reminders,
            steering_mode: self.steering_mode,
            follow_up_mode: self.follow_up_mode,
            cache: self.cache_retention,
            thinking_budgets: budgets.into_iter().filter_map(|(level, tokens)| Some((level, tokens?))).collect(),
            max_tokens: None,
            budgets: Vec::new(),
            allows_empty: false,
            tool_choice: Default::default(),
            fallback: None,
        }
    }

    /// Returns the settings of the tools. The app adds the rest: keys of providers, active tools, `CI`.
    pub(crate) fn tools(&self) -> sinew_tools::Settings {
        let shell = Engine::from_name(&self.shell_path);
        sinew_tools::Settings {
            file_guard: self.file_guard,
            outside_sandbox: match self.approve.outside {
                ApproveOutside::Ask => OutsideSandbox::Ask,
                ApproveOutside::Deny => OutsideSandbox::Deny,
            },
            images: self.images(),
            edit: EditSettings { mode: self.edit.mode, fuzzy: self.edit.fuzzy, stream_guard: self.edit.stream_guard },
            bash_guard: GuardSettings {
                enabled: self.bash_guard.enabled,
                deny: self.bash_guard.deny.clone(),
                allow: self.bash_guard.allow.clone(),
            },
            bash_interceptor: InterceptorSettings {
                enabled: self.bash_interceptor.enabled,
                patterns: self.bash_interceptor.patterns(),
            },
            bash_timeout_seconds: self.bash.timeout_seconds,
            // `auto`, `bash` and `brush` are names; any other value is the path of a bash.
            engine: shell.unwrap_or_default(),
            bash: shell.is_none().then(|| self.shell_path.clone().into()),
            jobs: self.jobs.enabled,
            auto_background_ms: self.bash.auto_background.threshold_ms,
            todo_auto_clear_seconds: self.todo.auto_clear_seconds,
            shell_command_prefix: self.shell_command_prefix.clone(),
            pass_through: self.env.pass_through.clone(),
            env: self.env.variables.clone().into_iter().collect(),
            fetch: self.fetch.enabled,
            fetch_allow_private: self.fetch.allow_private.clone(),
            ask_timeout_seconds: self.ask.timeout_seconds,
            ..sinew_tools::Settings::default()
        }
    }

    /// Returns the settings of images.
    pub(crate) fn images(&self) -> ImageSettings {
        ImageSettings { auto_resize: self.images.auto_resize, block_images: self.images.block_images }
    }

    /// Returns the options of skills, commands, templates and rules in `folders`, without flags.
    pub(crate) fn resources(&self, folders: ResourceFolders) -> ResourceOptions {
        let skills = &self.skills;
        ResourceOptions {
            skills: skills.enabled,
            skill_commands: skills.enable_commands,
            skill_directories: skills.directories.iter().map(|path| folders.resolve(path)).collect(),
            skill_include: skills.include.clone(),
            skill_ignore: skills.ignore.clone(),
            claude_skills: skills.enable_claude,
            foreign_rules: self.rules.enable_foreign,
            ..ResourceOptions::new(folders)
        }
    }

    /// Returns the settings of rules that check answers while they are streamed.
    pub(crate) fn stream_rules(&self) -> StreamSettings {
        let rules = &self.stream_rules;
        StreamSettings {
            enabled: rules.enabled,
            keep: rules.context_mode == ContextMode::Keep,
            gap: (rules.repeat_mode == RepeatMode::AfterGap).then_some(rules.repeat_gap),
            interrupt: rules.interrupt_mode,
            disabled: rules.disabled_rules.clone(),
        }
    }

    /// Returns when session files are flushed to disk.
    pub(crate) fn sync(&self) -> Sync {
        self.sessions.fsync
    }

    /// Returns the time limit for a connection; `None` for no limit.
    pub(crate) fn connect_timeout(&self) -> Option<Duration> {
        limit(self.provider_timeouts.connect_ms)
    }

    /// Returns the time limit for a pause within an answer; `None` for no limit.
    pub(crate) fn idle_timeout(&self) -> Option<Duration> {
        limit(self.provider_timeouts.idle_ms)
    }
}

fn limit(ms: u64) -> Option<Duration> {
    (ms > 0).then(|| Duration::from_millis(ms))
}

impl BashInterceptor {
    fn patterns(&self) -> Vec<(String, String)> {
        let text = |rule: &Value, key: &str| rule.get(key)?.as_str().map(str::to_string);
        self.rules.iter().filter_map(|rule| Some((text(rule, "pattern")?, text(rule, "tool")?))).collect()
    }
}
