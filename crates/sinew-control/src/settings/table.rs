//! The table of settings. Each row is a field of the struct with the values in force, and the only place for its
//! default and its help.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;
use sinew_agent::core::{Interrupt, QueueMode, ToolExecution};
use sinew_agent::resource::stream::InterruptMode;
use sinew_llm::model::ThinkingLevel;
use sinew_llm::provider::CacheRetention;
use sinew_session::Sync;
use sinew_tools::{EditMode, FileGuard};
use sinew_tui::OutputUnit;

use super::row::{Applies, Key, Kind, Row, Scope, row, sections};
use super::words::*;
use Applies::{Now, Start};
use Kind::{Amount, Flag, List, Number, Object, Signed, Text, Texts, Word};
use Scope::{Display, Tighten, Trusted};

const LEVELS: Kind = Word(&["off", "minimal", "low", "medium", "high", "xhigh"]);
/// The modes of the sandbox, from the least to the most strict.
pub const SANDBOX_MODES: [&str; 4] = ["off", "rules", "workspace", "read-only"];
const DELIVERY: Kind = Word(&["one-at-a-time", "all"]);

sections! {
    /// All settings that are in force.
    pub struct Settings in "" {
        pub default_provider: Option<String> = "defaultProvider" (Text, "", Trusted, Start, "Provider to use at the start. Unset: the provider of `defaultModel`, else the first one with a key.");
        pub default_model: Option<String> = "defaultModel" (Text, "", Trusted, Start, "Model to use at the start: `provider/id`, or a part of an id.");
        pub default_thinking_level: ThinkingLevel = "defaultThinkingLevel" (LEVELS, "\"medium\"", Trusted, Now, "Default thinking level.");
        pub model_roles: BTreeMap<String, String> = "modelRoles" (Object, "{}", Trusted, Start, "Models by role: `{\"fast\": \"…\", \"slow\": \"…\", \"plan\": \"…\", \"default\": \"…\"}`.");
        pub enabled_models: Vec<String> = "enabledModels" (Texts, "[]", Trusted, Start, "Globs of the models that ctrl+p cycles through. Empty: all models with a key.");
        pub(super) thinking_budgets: ThinkingBudgets = "thinkingBudgets" (Object, "{}", Trusted, Now, "Thinking tokens for each level, for providers with a budget: `{\"high\": 20000}`.");
        pub(super) provider_timeouts: ProviderTimeouts = "providerTimeouts";
        #[serde(with = "CacheRetentionWord")]
        pub(super) cache_retention: CacheRetention = "cacheRetention" (Word(&["none", "short", "long"]), "\"short\"", Trusted, Now, "How long providers cache the common prefix of requests.");
        pub tools: Option<Vec<String>> = "tools" (Texts, "", Trusted, Start, "Tools to offer. Unset: all.");
        pub exclude_tools: Vec<String> = "excludeTools" (Texts, "[]", Trusted, Start, "Tools that are not offered.");
        #[serde(with = "ToolExecutionWord")]
        pub(super) tool_execution: ToolExecution = "toolExecution" (Word(&["parallel", "sequential"]), "\"parallel\"", Trusted, Now, "Whether the tool calls of a turn run in parallel.");
        #[serde(with = "DeliveryWord")]
        pub(super) steering_mode: QueueMode = "steeringMode" (DELIVERY, "\"one-at-a-time\"", Trusted, Now, "How many queued steering messages are sent at a time.");
        #[serde(with = "DeliveryWord")]
        pub(super) follow_up_mode: QueueMode = "followUpMode" (DELIVERY, "\"one-at-a-time\"", Trusted, Now, "How many queued follow-up messages are sent at a time.");
        #[serde(with = "InterruptWord")]
        pub(super) interrupt_mode: Interrupt = "interruptMode" (Word(&["immediate", "wait"]), "\"wait\"", Trusted, Now, "Whether a steering message waits for running tools (`wait`) or stops them (`immediate`). Other tools are skipped.");
        pub(super) max_turns: u64 = "maxTurns" (Number, "1000", Trusted, Now, "Limit of requests to the model per prompt. 0: no limit.");
        pub double_escape_action: DoubleEscape = "doubleEscapeAction" (Word(&["tree", "branch", "none"]), "\"tree\"", Trusted, Now, "What pressing Esc twice in an empty editor opens.");
        pub(super) retry: Retry = "retry";
        pub(super) context_promotion: ContextPromotion = "contextPromotion";
        pub(super) compaction: Compaction = "compaction";
        pub(super) branch_summary: BranchSummary = "branchSummary";
        pub(super) sessions: Sessions = "sessions";
        pub(super) edit: Edit = "edit";
        #[serde(with = "FileGuardWord")]
        pub(super) file_guard: FileGuard = "fileGuard" (Word(&["on", "warn", "off"]), "\"on\"", Trusted, Start, "Refuse (`on`) or warn about (`warn`) writes to a file that changed since it was read.");
        pub(super) bash: Bash = "bash";
        pub(super) jobs: Jobs = "async";
        pub(super) bash_guard: BashGuard = "bashGuard";
        pub(super) bash_interceptor: BashInterceptor = "bashInterceptor";
        pub(super) shell_path: String = "shellPath" (Text, "\"auto\"", Trusted, Start, "Interpreter of commands: `auto`, `bash`, `brush`, or the path of a bash.");
        pub(super) shell_command_prefix: Option<String> = "shellCommandPrefix" (Text, "", Trusted, Start, "Text to put before each command.");
        pub(super) images: Images = "images";
        pub(super) fetch: Fetch = "fetch";
        pub search: Search = "search";
        pub checkpoint: Checkpoint = "checkpoint";
        pub ask: Ask = "ask";
        pub acp: Acp = "acp";
        pub(super) todo: Todo = "todo";
        pub(super) stream_rules: StreamRuleSection = "ttsr";
        pub task: Task = "task";
        pub mcp: Mcp = "mcp";
        pub secrets: Secrets = "secrets";
        pub env: Env = "env";
        pub(super) skills: Skills = "skills";
        pub(super) rules: Rules = "rules";
        pub agents: Agents = "agents";
        pub theme: ThemeNames = "theme";
        pub symbol_preset: SymbolPreset = "symbolPreset" (Word(&["unicode", "nerd", "ascii"]), "\"unicode\"", Display, Now, "Symbols of the screen: `unicode`, or only ASCII (`ascii`). `nerd` is the same as `unicode`.");
        pub color_blind_mode: bool = "colorBlindMode" (Flag, "false", Display, Now, "Show added and removed lines in blue and orange.");
        pub hide_thinking_block: bool = "hideThinkingBlock" (Flag, "false", Display, Now, "Show only the first heading or row of thinking (ctrl+t).");
        pub quiet_startup: bool = "quietStartup" (Flag, "false", Display, Start, "Do not print name, model and hints at the start.");
        pub tui: Tui = "tui";
        pub notifications: bool = "notifications" (Flag, "true", Trusted, Now, "Notify you when a long run ends or needs an answer while the terminal is not focused.");
        pub verbose: bool = "verbose" (Flag, "false", Trusted, Start, "Show tool calls, thinking and all warnings.");
        /// Permission rules; null if there are none. The permissions check their contents.
        #[serde(default)]
        pub permissions: Value = "permissions" (Object, "", Trusted, Start, "Permission rules: `{\"deny\": [\"write(/etc/**)\"], \"ask\": [], \"allow\": [\"bash(git status*)\"]}`.");
        pub sandbox: Sandbox = "sandbox";
        pub(super) approve: Approve = "approve";
        pub plan: Plan = "plan";
        #[serde(default)]
        pub share: Share = "share";
        pub session_dir: Option<String> = "sessionDir" (Text, "", Trusted, Start, "Directory for the session files of all projects.");
    }

    /// Time limits of requests to providers.
    pub(super) struct ProviderTimeouts in "providerTimeouts." {
        pub(super) connect_ms: u64 = "connectMs" (Number, "30000", Trusted, Start, "Timeout for connecting to a provider, in milliseconds. 0: none.");
        pub(super) idle_ms: u64 = "idleMs" (Number, "300000", Trusted, Start, "Longest pause within an answer, in milliseconds. 0: no limit.");
    }

    /// Repetition of failed requests.
    pub(super) struct Retry in "retry." {
        pub(super) enabled: bool = "enabled" (Flag, "true", Trusted, Now, "Retry failed requests.");
        pub(super) max_retries: u64 = "maxRetries" (Number, "3", Trusted, Now, "Maximum number of retries.");
        pub(super) base_delay_ms: u64 = "baseDelayMs" (Number, "2000", Trusted, Now, "Delay before the first retry, in milliseconds. Doubled for each further retry.");
        pub(super) max_delay_ms: u64 = "maxDelayMs" (Number, "60000", Trusted, Now, "Maximum delay before a retry, in milliseconds.");
    }

    /// Models with larger context windows.
    pub(super) struct ContextPromotion in "contextPromotion." {
        pub enabled: bool = "enabled" (Flag, "false", Trusted, Now, "Change to a model with a larger context window when the context is full.");
    }

    /// Summaries of long conversations.
    pub(super) struct Compaction in "compaction." {
        pub(super) enabled: bool = "enabled" (Flag, "true", Trusted, Now, "Summarize the conversation when the context is full.");
        pub(super) reserve_tokens: u64 = "reserveTokens" (Number, "16384", Trusted, Now, "Tokens of the context window that stay free.");
        pub(super) keep_recent_tokens: u64 = "keepRecentTokens" (Number, "20000", Trusted, Now, "Tokens of the newest messages that are kept unchanged.");
        pub(super) auto_continue: bool = "autoContinue" (Flag, "true", Trusted, Now, "Let the model continue automatically after a compaction.");
        pub(super) model: Option<String> = "model" (Text, "", Trusted, Now, "Model that writes the summary. Unset: the current model.");
        pub(super) remote_endpoint: Option<String> = "remoteEndpoint" (Text, "", Trusted, Now, "URL of a server that writes the summary.");
    }

    /// Summaries of branches that the user leaves.
    pub(super) struct BranchSummary in "branchSummary." {
        pub(super) enabled: bool = "enabled" (Flag, "false", Trusted, Now, "Summarize a branch when you leave it.");
        pub(super) reserve_tokens: u64 = "reserveTokens" (Number, "16384", Trusted, Now, "Tokens of the context window that stay free for such a summary.");
    }

    /// Session files.
    pub(super) struct Sessions in "sessions." {
        #[serde(with = "SyncWord")]
        pub(super) fsync: Sync = "fsync" (Word(&["turn", "always", "never"]), "\"turn\"", Trusted, Start, "When session files are flushed to disk.");
    }

    /// The tools that change files.
    pub(super) struct Edit in "edit." {
        #[serde(with = "EditModeWord")]
        pub(super) mode: EditMode = "mode" (Word(&["replace", "hashline", "patch"]), "\"replace\"", Trusted, Start, "How the model writes edits: old and new text (`replace`), line numbers with hashes (`hashline`), or patches (`patch`).");
        pub(super) fuzzy: bool = "fuzzy" (Flag, "true", Trusted, Start, "Ignore differences in white space and typographic characters when an edit is applied.");
        pub(super) stream_guard: bool = "streamGuard" (Flag, "false", Trusted, Start, "Stop an answer as soon as its edit cannot succeed.");
    }

    /// The tool `bash`.
    pub(super) struct Bash in "bash." {
        pub(super) timeout_seconds: u64 = "timeoutSeconds" (Number, "120", Trusted, Start, "Default timeout of a command, in seconds.");
        pub(super) auto_background: AutoBackground = "autoBackground";
    }

    /// Commands that continue in the background.
    pub(super) struct AutoBackground in "bash.autoBackground." {
        pub(super) threshold_ms: u64 = "thresholdMs" (Number, "0", Trusted, Start, "Time after which a command continues in the background, in milliseconds. 0: never.");
    }

    /// Background commands.
    pub(super) struct Jobs in "async." {
        pub enabled: bool = "enabled" (Flag, "false", Trusted, Start, "Allow background commands.");
    }

    /// The check of commands that could destroy much.
    pub(super) struct BashGuard in "bashGuard." {
        pub(super) enabled: bool = "enabled" (Flag, "true", Trusted, Start, "Refuse commands that could destroy much by accident.");
        pub(super) deny: Vec<String> = "deny" (Texts, "[]", Trusted, Start, "Regular expressions of further commands to refuse.");
        pub(super) allow: Vec<String> = "allow" (Texts, "[]", Trusted, Start, "Exact commands that are never refused.");
    }

    /// The check of commands for which there is a tool.
    pub(super) struct BashInterceptor in "bashInterceptor." {
        pub(super) enabled: bool = "enabled" (Flag, "false", Trusted, Start, "Refuse commands for which there is a tool.");
        /// Such as `[{"pattern": "^cat ", "tool": "read"}]`; invalid rules are ignored.
        pub(super) rules: Vec<Value> = "rules" (List, "[]", Trusted, Start, "Further rules for it: `[{\"pattern\": \"^cat \", \"tool\": \"read\"}]`.");
    }

    /// Images for models.
    pub(super) struct Images in "images." {
        pub(super) auto_resize: bool = "autoResize" (Flag, "true", Trusted, Start, "Resize images to the limits of providers.");
        pub(super) block_images: bool = "blockImages" (Flag, "false", Trusted, Start, "Do not send images to models.");
    }

    /// The tool `fetch`.
    pub(super) struct Fetch in "fetch." {
        pub(super) enabled: bool = "enabled" (Flag, "true", Trusted, Start, "Offer the tool `fetch`.");
        pub(super) allow_private: Vec<String> = "allowPrivate" (Texts, "[]", Trusted, Start, "Hosts that may resolve to private addresses.");
    }

    /// Searches of files.
    pub struct Search in "search." {
        pub(super) index: IndexPolicy = "index" (Word(&["auto", "off"]), "\"auto\"", Trusted, Start, "Index large work trees for searches. `off`: every search reads the files.");
    }

    /// Undo.
    #[derive(Copy)]
    pub struct Checkpoint in "checkpoint." {
        pub enabled: bool = "enabled" (Flag, "true", Trusted, Start, "Record what each turn changes in the working directory, so that `/undo` can undo it.");
        pub max_file_bytes: u64 = "maxFileBytes" (Number, "5000000", Trusted, Start, "Largest file whose old content is kept for `/undo`, in bytes.");
        /// The time limit in milliseconds.
        pub wait: u64 = "wait" (Number, "300", Trusted, Start, "Longest time that the first command of a session waits for the first checkpoint, in milliseconds.");
    }

    /// Questions of the model.
    pub struct Ask in "ask." {
        pub timeout_seconds: u64 = "timeoutSeconds" (Number, "0", Trusted, Start, "Time after which a question is answered with the recommended answer, in seconds. 0: never.");
    }

    /// Settings for editors that use the Agent Client Protocol.
    pub struct Acp in "acp." {
        pub client_fs: ClientFs = "clientFs" (Word(&["auto", "off"]), "\"auto\"", Trusted, Start, "In an editor that supports it, read unsaved files and write through the editor. `off`: use the disk only.");
    }

    /// The task list.
    pub(super) struct Todo in "todo." {
        pub(super) reminders: bool = "reminders" (Flag, "true", Trusted, Now, "Remind the model of open tasks when it stops. In print mode the default is off.");
        pub(super) auto_clear_seconds: i64 = "autoClearSeconds" (Signed, "60", Trusted, Start, "Time until a finished task list is cleared, in seconds. 0: at once; negative: never.");
    }

    /// Rules that check answers while they are streamed.
    pub(super) struct StreamRuleSection in "ttsr." {
        pub(super) enabled: bool = "enabled" (Flag, "true", Trusted, Start, "Stop an answer that breaks a stream rule, and ask for it again.");
        pub(super) context_mode: ContextMode = "contextMode" (Word(&["discard", "keep"]), "\"discard\"", Trusted, Start, "Whether the stopped answer stays in the context.");
        pub(super) repeat_mode: RepeatMode = "repeatMode" (Word(&["once", "after-gap"]), "\"once\"", Trusted, Start, "Whether a rule can be sent to the model again.");
        pub(super) repeat_gap: u64 = "repeatGap" (Number, "10", Trusted, Start, "Turns after which a rule can be sent again (`after-gap`).");
        #[serde(with = "InterruptModeWord")]
        pub(super) interrupt_mode: InterruptMode = "interruptMode" (Word(&["always", "prose-only", "tool-only", "never"]), "\"always\"", Trusted, Start, "The parts of an answer that a rule can stop. Matches in other parts are reported afterwards.");
        pub(super) disabled_rules: Vec<String> = "disabledRules" (Texts, "[]", Trusted, Start, "Names of stream rules to ignore.");
    }

    /// MCP servers.
    pub struct Mcp in "mcp." {
        pub enabled: bool = "enabled" (Flag, "true", Trusted, Start, "Use MCP servers.");
        pub enable_project_config: bool = "enableProjectConfig" (Flag, "true", Trusted, Start, "Use the MCP servers of a trusted project too.");
    }

    /// Masks of secret values.
    pub struct Secrets in "secrets." {
        pub enabled: bool = "enabled" (Flag, "false", Trusted, Start, "Mask secret values for models and in session files.");
    }

    /// Environment variables of commands.
    pub struct Env in "env." {
        pub pass_through: Vec<String> = "passThrough" (Texts, "[]", Trusted, Start, "Variables that programs receive although they look like credentials. Other names in `env` are variables for commands.");
        #[serde(flatten)]
        pub(super) variables: BTreeMap<String, String>;
    }

    /// Skills.
    pub(super) struct Skills in "skills." {
        pub(super) enabled: bool = "enabled" (Flag, "true", Trusted, Start, "Load skills.");
        pub(super) enable_commands: bool = "enableCommands" (Flag, "true", Trusted, Start, "Offer skills as commands: `/skill:name`.");
        pub(super) directories: Vec<String> = "directories" (Texts, "[]", Trusted, Start, "Further directories with skills.");
        pub(super) include: Vec<String> = "include" (Texts, "[]", Trusted, Start, "Globs of the skills to load. Empty: all.");
        pub(super) ignore: Vec<String> = "ignore" (Texts, "[]", Trusted, Start, "Globs of skills to ignore.");
        pub(super) enable_claude: bool = "enableClaude" (Flag, "true", Trusted, Start, "Load `.claude/skills` too.");
    }

    /// Subagents from files.
    #[derive(Copy)]
    pub struct Agents in "agents." {
        pub enable_foreign: bool = "enableForeign" (Flag, "false", Trusted, Start, "Load the subagents of other programs too, from `.claude/agents`.");
    }

    /// Rules from files.
    pub(super) struct Rules in "rules." {
        pub(super) enable_foreign: bool = "enableForeign" (Flag, "false", Trusted, Start, "Load the rules of other programs too.");
    }

    /// The names of the themes for dark and for light backgrounds.
    pub struct ThemeNames in "theme." {
        pub dark: String = "dark" (Text, "\"dark\"", Display, Now, "Theme for a dark background: `dark`, `light` or `ansi`.");
        pub light: String = "light" (Text, "\"light\"", Display, Now, "Theme for a light background.");
    }

    /// The interactive mode.
    pub struct Tui in "tui." {
        pub mode: TuiMode = "mode" (Word(&["auto", "screen", "linear"]), "\"auto\"", Trusted, Start, "`screen`, or lines that never change (`linear`). `auto`: `linear` if the terminal has no cursor movement.");
        pub resize: TuiResize = "resize" (Word(&["screen", "live", "rebuild"]), "\"screen\"", Trusted, Now, "What is redrawn after a resize: the screen, its changing part (`live`), or all of `/redraw all` (`rebuild`).");
        pub editor: TuiEditor = "editor" (Word(&["emacs", "vi"]), "\"emacs\"", Trusted, Now, "Key style of the editor. `/vim` changes it until you quit.");
        pub status_rows: usize = "statusRows" (Number, "1", Display, Now, "Rows of the status. With 2, directory, branch and title have a row of their own.");
        pub status_command: Option<String> = "statusCommand" (Text, "", Trusted, Start, "Command that prints the right part of the status row; it receives JSON. Only used from your own settings.");
        pub reduced_motion: bool = "reducedMotion" (Flag, "false", Display, Now, "Update elapsed times only every ten seconds.");
        pub passthrough: bool = "passthrough" (Flag, "false", Trusted, Start, "Send notifications, progress and images through tmux to the outer terminal (needs `allow-passthrough` in tmux).");
        pub resume_rows: usize = "resumeRows" (Number, "200", Display, Now, "Approximate number of rows replayed when a session is resumed.");
        pub replay_rows: usize = "replayRows" (Number, "2000", Display, Now, "Approximate number of rows that `/redraw all` prints.");
        pub title: bool = "title" (Flag, "true", Trusted, Start, "Show the session and its state in the terminal's title.");
        pub progress: bool = "progress" (Flag, "true", Trusted, Start, "Show progress in terminals that support it.");
        pub marks: bool = "marks" (Flag, "true", Display, Start, "Mark prompts, so that terminals can jump between them.");
        pub links: bool = "links" (Flag, "true", Trusted, Start, "Make URLs clickable.");
        pub notify: TuiNotify = "notify" (Word(&["auto", "osc99", "osc777", "osc9", "bell", "off"]), "\"auto\"", Trusted, Now, "How to notify you: chosen for the terminal (`auto`), with one of these codes, with the bell, or not at all.");
        pub notify_after_seconds: u64 = "notifyAfterSeconds" (Number, "10", Trusted, Now, "Shortest run, in seconds, whose end is notified.");
        pub approval_delay_ms: u64 = "approvalDelayMs" (Number, "400", Trusted, Now, "Time for which a new question ignores keys, in milliseconds, so that no key answers it by accident.");
        pub linear: Linear = "linear";
        pub max_inline_images: usize = "maxInlineImages" (Number, "8", Display, Now, "Maximum number of images on the screen, the newest first. Terminals without image support show a line instead.");
    }

    /// Linear mode.
    pub struct Linear in "tui.linear." {
        #[serde(with = "OutputUnitWord")]
        pub stream: OutputUnit = "stream" (Word(&["line", "sentence", "end"]), "\"line\"", Display, Now, "When linear mode prints an answer: by line, by sentence, or at its end.");
    }

    /// The sandbox of commands and tools.
    pub struct Sandbox in "sandbox." {
        pub mode: Option<SandboxMode> = "mode" (Word(&SANDBOX_MODES), "", Tighten, Start, "Sandbox of commands and tools. Unset: `rules` if a permission rule denies files, else `off`.");
        pub network: Option<SandboxNetwork> = "network" (Word(&["off", "on", "loopback"]), "", Tighten, Start, "Network in the sandbox. Unset: `on` with `rules`, else `off`.");
        pub write: Vec<String> = "write" (Texts, "[]", Trusted, Start, "Further paths and globs that can be written in the sandbox. Only used from your own settings.");
        pub deny_read: Vec<String> = "denyRead" (Texts, "[]", Tighten, Start, "Paths and globs that cannot be read in the sandbox.");
        pub deny_write: Vec<String> = "denyWrite" (Texts, "[]", Tighten, Start, "Paths and globs that cannot be written in the sandbox.");
        pub deny_exec: Vec<String> = "denyExec" (Texts, "[]", Tighten, Start, "Programs that cannot be executed in the sandbox: names, or paths.");
        pub fallback: bool = "fallback" (Flag, "false", Trusted, Start, "Run without the limits that the system cannot enforce. Only used from your own settings.");
    }

    /// Questions to the user.
    pub(super) struct Approve in "approve." {
        pub(super) outside: ApproveOutside = "outside" (Word(&["ask", "deny"]), "\"ask\"", Tighten, Start, "Whether to offer to run a refused command again outside the sandbox.");
    }

    /// Plan mode.
    pub struct Plan in "plan." {
        pub model_may_enter: bool = "modelMayEnter" (Flag, "false", Trusted, Start, "Offer the tool `enter_plan`, by which the model changes to plan mode.");
    }

    /// Subagents.
    #[derive(Copy)]
    pub struct Task in "task." {
        pub max_depth: u64 = "maxDepth" (Number, "1", Trusted, Start, "Depth to which agents can start subagents. 0: none.");
        pub max_concurrency: usize = "maxConcurrency" (Number, "4", Trusted, Start, "Maximum number of subagents that work at the same time.");
        pub max_total: usize = "maxTotal" (Number, "100", Trusted, Start, "Maximum number of subagents of a session.");
        pub max_turns: u32 = "maxTurns" (Number, "100", Trusted, Start, "Maximum number of requests of a subagent; it is then asked once more for its result.");
        pub max_tokens: u64 = "maxTokens" (Number, "2000000", Trusted, Start, "Maximum number of tokens of a subagent, without those from a cache.");
        #[serde(default, deserialize_with = "amount")]
        pub max_cost: Option<f64> = "maxCost" (Amount, "", Trusted, Start, "Maximum cost of all subagents of the program, in US dollars. No default.");
    }

    /// Publishing sessions.
    #[derive(Default)]
    pub struct Share in "share." {
        pub command: Option<String> = "command" (Text, "", Trusted, Start, "Command of `/share`. It receives the session's page and prints its link. Unset: `gh gist create --public=false`.");
    }
}

/// The value of `thinkingBudgets`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct ThinkingBudgets {
    pub(super) minimal: Option<u64>,
    pub(super) low: Option<u64>,
    pub(super) medium: Option<u64>,
    pub(super) high: Option<u64>,
    pub(super) xhigh: Option<u64>,
}

/// Keys that are not implemented yet.
const LATER: [Key; 2] = [
    later("lsp.formatOnWrite", "false", "Format written files with a language server."),
    later("lsp.diagnosticsOnWrite", "true", "Show the diagnostics of a language server after a write."),
];

const fn later(path: &'static str, default: &'static str, help: &'static str) -> Key {
    let waits_for = Some("language servers");
    Key { path, kind: Flag, default, scope: Trusted, applies: Start, waits_for, help }
}

/// All keys, in the order of the reference page.
pub static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
    let mut keys = Vec::new();
    Row::collect(Settings::ROWS, &mut keys);
    keys.extend(LATER);
    keys
});
